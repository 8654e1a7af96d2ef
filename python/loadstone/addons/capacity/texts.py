"""Where the capacity goes, and what a server does that is full."""

from collections.abc import Callable, Sequence

from loadstone.text.english.figures import figure as rate_text
from loadstone.text.english.figures import listed, parts_text, whole_percent
from loadstone.text.figures import digits, duration, rounded
from loadstone.text.language import _, of_author, plural, translatable, translated

_MEASURE = translatable(
    "`loadstone saturate redis URL` (or http) measures several numbers of users; in an experiment let a factor set "
    "them, with levels such as 1, 4, 16, 64"
)


def _station(name: str, busy_share: float, most_per_s: float) -> str:
    return _(
        "{name} ({busy_share} busy, at most {most_per_s} a second)",
        name=parts_text(name),
        busy_share=_busy(busy_share),
        most_per_s=rate_text(most_per_s),
    )


def _busy(share: float) -> str:
    """`89.7 %`: as the table of the parts has it."""
    return f"{digits(100 * share)} %"


def _limit(first: str, second: str | None, users: int, per_s: float, full: bool, generator: bool) -> str:
    at = _("at {users} and {per_s} a second", users=plural(users, "{n} user", "{n} users"), per_s=rate_text(per_s))
    head = (
        _("The limit {at}: {first}", at=at, first=first)
        if full
        else _("Nothing is full {at}. First to fill: {first}", at=at, first=first)
    )
    then = "" if second is None else _("; next: {second}", second=second)
    ours = _(". The generator is the limit, and not what it loads") if generator and full else ""
    return f"{head}{then}{ours}."


def _few(levels: int, least: int) -> str:
    measured = plural(levels, "{n} number of users measured", "{n} numbers of users measured")
    return _(
        "Nothing is predicted: {measured}, and it takes {least} to hold a model to some of them; {measure}.",
        measured=measured,
        least=least,
        measure=translated(_MEASURE),
    )


def _fails(users: int, measured_per_s: float, predicted_per_s: float, why: str) -> str:
    return _(
        "Nothing is predicted: a model of the other levels says {predicted_per_s} a second at "
        "{users}, and {measured_per_s} were measured. {why}",
        predicted_per_s=rounded(predicted_per_s),
        users=plural(users, "{n} user", "{n} users"),
        measured_per_s=rounded(measured_per_s),
        why=why,
    )


def _serial(most_per_s: float, each_ns: float, busy_share: float) -> str:
    return _(
        "Likely a lock or a pool: more users bring no more than {most_per_s} a second, one each "
        "{each_ns}, while the fullest CPU is {busy_share} busy.",
        most_per_s=rounded(most_per_s),
        each_ns=duration(each_ns),
        busy_share=whole_percent(busy_share),
    )


def _out_of_range(users: Sequence[int], least: int, most: int) -> str:
    """Beyond the run's levels the model is not held to anything where no CPU was full."""
    left = ", ".join(f"{number:,}" for number in users)
    return _(
        "No figure for {left} users: the model holds from {least:,} to {most:,}, and beyond only "
        "where a CPU was full at the most of them; measure further.",
        left=left,
        least=least,
        most=most,
    )


CAPACITY: dict[str, str | Callable[..., str]] = {
    "capacity_heading": "Where the capacity goes",
    "capacity_reading": (
        "What each part could do if nothing else were the limit: its CPUs over what a request costs it. Busy servers "
        "are cheaper, so it may be more. `loadstone capacity RUN` shows every part, and says what other users, CPUs, "
        "instances or costs would give."
    ),
    "capacity_condition": "condition",
    "capacity_condition_meaning": "The levels of the varied factors, without those that are numbers of users.",
    "capacity_users": "users",
    "capacity_users_meaning": "The number of users with the most replies; the row shows it.",
    "capacity_first": "fills first",
    "capacity_first_meaning": "The part, or the parts that share CPUs, that would be full first, and its busy share.",
    "capacity_next": "next",
    "capacity_next_meaning": "The next part to fill up if the first one had enough CPU.",
    "capacity_most": "at most /s",
    "capacity_most_meaning": "Replies a second if nothing else were the limit: CPUs over CPU per request.",
    "capacity_filled": lambda name, busy_share: f"{parts_text(name)} {whole_percent(busy_share)}",
    "capacity_station": _station,
    "capacity_limit": _limit,
    "capacity_unknown": "How many CPUs the parts can use is not known, so nothing can be said of their limits.",
    "capacity_few_levels": _few,
    "capacity_many_users": (
        "Nothing is predicted: a model is solved for {most:,} users at most in all levels "
        "together, and these have {users:,}."
    ),
    "capacity_model_fails": _fails,
    "capacity_why_serial": _serial,
    "capacity_why_connections": lambda waiting_share, connections: _(
        "Users wait for the generator's {connections} for {waiting_share} of their response time: give each its own.",
        connections=plural(connections, "{n} connection", "{n} connections"),
        waiting_share=whole_percent(waiting_share),
    ),
    "capacity_why_station": lambda station, name, busy_share: _(
        "Likely the {station} of {name}: requests held it for {busy_share} of the time.",
        station=station,
        name=parts_text(name),
        busy_share=whole_percent(busy_share),
    ),
    "capacity_why_neighbours": lambda name, waited_share: _(
        "Likely other programs: {name} waited for a CPU for {waited_share} of the time; measure on a quiet machine.",
        name=parts_text(name),
        waited_share=whole_percent(waited_share),
    ),
    "capacity_why_others": lambda taken_share: _(
        "Likely other programs: they took {taken_share} of the servers' CPU time; measure on a quiet machine.",
        taken_share=whole_percent(taken_share),
    ),
    "capacity_why_noise": lambda spread: _(
        "Rates of one level differ by up to ±{spread} from trial to trial: measure longer, or on a quiet machine.",
        spread=whole_percent(spread),
    ),
    "capacity_why_falls": lambda users: _(
        "The rate falls beyond {users}: they get into each other's way, as in a queue for a lock.",
        users=plural(users, "{n} user", "{n} users"),
    ),
    "capacity_out_of_range": _out_of_range,
    "capacity_beyond": lambda per_s: _(
        "More than {per_s} a second was never measured here: a lock, a pool or a disk that has "
        "not shown yet would come first.",
        per_s=rounded(per_s),
    ),
    "capacity_why_unknown": "The levels do not say why; measure more of them between these.",
}


def figure(
    per_s: float,
    low: float | None,
    high: float | None,
    how: str,
    users: int,
    users_are: str,
    busy: float,
    taken: float = 0.0,
) -> str:
    """`127,000 [125,000, 129,000] a second (measured at 32 workers)`; `(estimated from 8 workers, busy 86 %)`."""
    ends = "" if low is None or high is None else f" [{rounded(low)}, {rounded(high)}]"
    return _(
        "{per_s}{ends} a second ({how_known})",
        per_s=rounded(per_s),
        ends=ends,
        how_known=how_known(how, users, users_are, busy, taken),
    )


def how_known(how: str, users: int, users_are: str, busy: float, taken: float = 0.0) -> str:
    """`measured at 32 workers`, `estimated from 8 workers, busy 86 %`."""
    by = of_author(f"{users:,} {users_are.removesuffix('s') if users == 1 else users_are}")
    if taken:
        return _("measured at {by}, and other programs' {taken} added", by=by, taken=whole_percent(taken))
    return (
        _("measured at {by}", by=by)
        if how == "measured"
        else _("estimated from {by}, busy {share}", by=by, share=share(busy))
    )


def share(busy: float) -> str:
    """`86 %`."""
    return whole_percent(busy)


def _not_full(busy: float, users: int, generator: float) -> str:
    at = plural(users, "{n:,} user", "{n:,} users")
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
        "Peak of one {server}{at}: {said} a second{rest}.",
        server=server or "server",
        at=at,
        said=said,
        rest=_(" (quick run)") if quick else "",
    )


FULL_SERVERS: dict[str, str | Callable[..., str]] = {
    "full_heading": "Peak throughput of one server",
    "full_reading": (
        "Measured: its thread ran, or was ready to, for 97 % of the time or more; it is the rate of the condition's "
        "row, and where other programs had its CPU for 2 % of the time or more, what it would do then is added. "
        "Estimated: for eight users more, from what a request costs it at 75 to 97 %, without what it would no longer "
        "spend on falling asleep. See docs/cost.md."
    ),
    "full_place": "condition",
    "full_place_meaning": "The operation, whatever the number of users.",
    "full_server": "server",
    "full_server_meaning": "One server process.",
    "full_figure_head": "a second",
    "full_figure_head_meaning": "Correct replies a second at its peak.",
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
    "full_without": lambda taken: _("measured + {taken} of others", taken=whole_percent(taken)),
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
