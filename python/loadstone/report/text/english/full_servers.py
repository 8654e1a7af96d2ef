"""What one server does when it is full."""

from collections.abc import Callable, Sequence

from loadstone.figures import rounded
from loadstone.language import _, of_author, several
from loadstone.report.text.english.figures import listed


def figure(
    per_s: float,
    low: float | None,
    high: float | None,
    how: str,
    users: int,
    users_are: str,
    busy: float,
) -> str:
    """`127,000 [125,000, 129,000] a second (measured at 32 workers)`; `(estimated from 8 workers, busy .86)`."""
    ends = "" if low is None or high is None else f" [{rounded(low)}, {rounded(high)}]"
    return _(
        "{per_s}{ends} a second ({how_known})",
        per_s=rounded(per_s),
        ends=ends,
        how_known=how_known(how, users, users_are, busy),
    )


def how_known(how: str, users: int, users_are: str, busy: float) -> str:
    """`measured at 32 workers`, `estimated from 8 workers, busy .86`."""
    by = of_author(f"{users:,} {users_are.removesuffix('s') if users == 1 else users_are}")
    return (
        _("measured at {by}", by=by)
        if how == "measured"
        else _("estimated from {by}, busy {share}", by=by, share=share(busy))
    )


def share(busy: float) -> str:
    """`.86`."""
    return f"{busy:.2f}".removeprefix("0")


def _not_full(busy: float, users: int, generator: float) -> str:
    at = several(users, "{n:,} user", "{n:,} users")
    if generator >= _GENERATOR_FULL:
        return _(
            "not known: its thread was busy {busy} of the time with {users}, and the generator's thread was "
            "{generator} busy; a pipeline (-P) or a generator with more CPUs shows it",
            busy=share(busy),
            users=at,
            generator=share(generator),
        )
    return _(
        "not known: its thread was busy {busy} of the time with {users}; more users or a pipeline (-P) show it",
        busy=share(busy),
        users=at,
    )


_GENERATOR_FULL = 0.9


def _headline(server: str | None, place: str, figures: Sequence[str], quick: bool) -> str:
    at = _(" at {place}", place=place) if place else ""
    said = listed([one.replace(" a second (", " (", 1) for one in figures])
    return _(
        "One {server} when full{at}: {said} a second{rest}.",
        server=server or "server",
        at=at,
        said=said,
        rest=_(" (quick run)") if quick else "",
    )


FULL_SERVERS: dict[str, str | Callable[..., str]] = {
    "full_heading": "What one server does when it is full",
    "full_reading": (
        "Measured: its thread ran, or was ready to, for 97 % of the time or more; the interval is that of the rate. "
        "Estimated: for eight users more, from what a request costs it at .75 to .97, without what it would no longer "
        "spend on falling asleep. See docs/cost.md."
    ),
    "full_place": "condition",
    "full_place_meaning": "What is done, under any number of users.",
    "full_server": "server",
    "full_server_meaning": "One instance of it.",
    "full_figure_head": "a second",
    "full_figure_head_meaning": "Correct replies a second when it is full.",
    "full_low": "from",
    "full_low_meaning": "Lower end of the 95 % interval.",
    "full_high": "to",
    "full_high_meaning": "Upper end of the 95 % interval.",
    "full_how": "how",
    "full_how_meaning": "Measured where it was full, or estimated where it was nearly full.",
    "full_users": "users",
    "full_users_meaning": "With how many users it was measured, or from how many it is estimated.",
    "full_busy": "busy",
    "full_busy_meaning": "How much of the time its thread ran or was ready to, with so many users.",
    "full_measured": "measured",
    "full_estimated": "estimated",
    "full_unknown": "not known",
    "full_name": "{server}",
    "full_figure": figure,
    "full_short": "one {server} {figure}",
    "full_not_full": _not_full,
    "full_one_user": lambda busy: _(
        "not known: one user alone keeps it {share} busy, and each reply costs it a sleep; more users show it",
        share=share(busy),
    ),
    "full_too_wide": lambda busy, users, reach: _(
        "not known within 5 %: an estimate from {users:,} users, busy {share}, may be off by "
        "{reach:.0f} %; more users show it",
        users=users,
        share=share(busy),
        reach=100 * reach,
    ),
    "full_taken": lambda taken: _(
        "not known: other programs had its CPU for {taken:.0f} % of the time in which it had "
        "work; a machine without them shows it",
        taken=100 * taken,
    ),
    "full_uneven": lambda users, reach: _(
        "not known: its rate with {users:,} users is uneven, [+-{reach:.0f} %]; measure for longer",
        users=users,
        reach=100 * reach,
    ),
    "headline_full": _headline,
}
