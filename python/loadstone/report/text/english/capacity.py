"""Where the capacity goes."""

from collections.abc import Callable, Sequence

from loadstone.figures import duration, rounded
from loadstone.language import _, marked, several, translated
from loadstone.report.text.english.figures import parts_text, whole_percent

_MEASURE = marked(
    "`loadstone saturate redis URL` (or http) measures several numbers of users; in an experiment let a factor set "
    "them, with levels such as 1, 4, 16, 64"
)


def _station(name: str, busy_share: float, most_per_s: float) -> str:
    return _(
        "{name} ({busy_share} busy, at most {most_per_s} a second)",
        name=parts_text(name),
        busy_share=whole_percent(busy_share),
        most_per_s=rounded(most_per_s),
    )


def _limit(first: str, second: str | None, users: int, per_s: float, full: bool, generator: bool) -> str:
    at = _("at {users} and {per_s} a second", users=several(users, "{n} user", "{n} users"), per_s=rounded(per_s))
    head = (
        _("The limit {at}: {first}", at=at, first=first)
        if full
        else _("Nothing is full {at}. First to fill: {first}", at=at, first=first)
    )
    then = "" if second is None else _("; next: {second}", second=second)
    ours = _(". The generator is the limit, and not what it loads") if generator and full else ""
    return f"{head}{then}{ours}."


def _few(levels: int, least: int) -> str:
    measured = several(levels, "{n} number of users measured", "{n} numbers of users measured")
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
        users=several(users, "{n} user", "{n} users"),
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
    "capacity_users_meaning": "With so many most replies came; the line is about them.",
    "capacity_first": "fills first",
    "capacity_first_meaning": "The part, or the parts that share CPUs, that would be full first, and its busy share.",
    "capacity_next": "next",
    "capacity_next_meaning": "The one that would be full if that had all the CPU it takes.",
    "capacity_most": "at most /s",
    "capacity_most_meaning": "Replies a second if nothing else were the limit: CPUs over CPU a request.",
    "capacity_filled": lambda name, busy_share: f"{parts_text(name)} {whole_percent(busy_share)}",
    "capacity_station": _station,
    "capacity_limit": _limit,
    "capacity_unknown": "How many CPUs the parts can use is not known, so nothing can be said of their limits.",
    "capacity_few_levels": _few,
    "capacity_many_users": lambda users, most: _(
        "Nothing is predicted: a model is solved for {most:,} users at most in all levels "
        "together, and these have {users:,}.",
        most=most,
        users=users,
    ),
    "capacity_model_fails": _fails,
    "capacity_why_serial": _serial,
    "capacity_why_connections": lambda waiting_share, connections: _(
        "Users wait for the generator's {connections} for {waiting_share} of their response time: give each its own.",
        connections=several(connections, "{n} connection", "{n} connections"),
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
        users=several(users, "{n} user", "{n} users"),
    ),
    "capacity_out_of_range": _out_of_range,
    "capacity_beyond": lambda per_s: _(
        "More than {per_s} a second was never measured here: a lock, a pool or a disk that has "
        "not shown yet would come first.",
        per_s=rounded(per_s),
    ),
    "capacity_why_unknown": "The levels do not say why; measure more of them between these.",
}
