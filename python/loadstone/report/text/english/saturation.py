"""Where a system saturates, in fixed terms: the verdict, or why there is none."""

from collections.abc import Callable, Sequence

from loadstone.figures import digits
from loadstone.report.text.english.grammar import figure, interval, several


def _plateau(users: Sequence[float], per_s: Sequence[float]) -> str:
    return f"SATURATES at {interval(users)} users: {interval(per_s)} a second"


def _peak(users: Sequence[float], per_s: Sequence[float], end_per_s: float, end_users: int) -> str:
    falls = f"beyond it throughput falls, to {figure(end_per_s)} a second at {end_users} users"
    return f"PEAK at {interval(users)} users: {interval(per_s)} a second; {falls}"


def _failed(share: float, limit_share: float, users: int | None = None) -> str:
    at = "" if users is None else f" at {several(users, 'user')}"
    return f"{share:.1%} of the replies failed{at} (limit {limit_share:.0%})"


def _too_few_sweeps(sweeps: int, of: int, sweeps_min: int) -> str:
    whole = f"only {sweeps} of {of} sweeps hold every level" if sweeps < of else several(sweeps, "sweep")
    return f"{whole}; an interval needs at least {sweeps_min}"


def _too_few_bisections(blocks: int, blocks_min: int) -> str:
    return f"{blocks} block{'' if blocks == 1 else 's'} of bisections; at least {blocks_min} are needed"


def _latency_missed(quantile: float, latency_s: float | None, objective_s: float) -> str:
    measured = "too long to measure" if latency_s is None else f"{digits(1e3 * latency_s)} ms"
    return f"P{100 * quantile:g} {measured}, objective {digits(1e3 * objective_s)} ms"


def _objective_limit(objective: str, most_users: int, users: Sequence[float], per_s: Sequence[float]) -> str:
    return f"{objective}: met up to {interval(users)} users, {interval(per_s)} a second (of {most_users} measured)"


SATURATION: dict[str, str | Callable[..., str]] = {
    "saturation_plateau": _plateau,
    "saturation_peak": _peak,
    "saturation_limit": lambda objective, per_s: f"KEEPS {objective} up to {interval(per_s)} a second",
    "saturation_at_least": lambda per_s, why: f"CAPACITY >= {figure(per_s)} a second: {why}",
    "saturation_none": "NO POINT: {why}",
    "users_only_rose": (
        "the users only ever rose, so time and load cannot be separated (what was cold warmed up, what filled up "
        "stayed full); measure {sweeps_min} sweeps in random order, each level kept for a whole trial"
    ),
    "too_few_sweeps": _too_few_sweeps,
    "sweeps_in_one_order": (
        "every sweep ran in the same order, so time and load cannot be separated; order them randomly"
    ),
    "unloaded_time_unknown": "the unloaded response time R_0 is not known; measure 1 user in every sweep",
    "from_users_on": "from {users} users on {why}",
    "generator_gave_out": "the generator was saturated: {limit}",
    "generator_gave_out_at": "the generator was saturated at {users} users: {limit}",
    "replies_failed": _failed,
    "replies_failed_at": _failed,
    "no_correct_reply": "there was no correct reply",
    "not_levelled_off": "it had not levelled off at {users} users",
    "not_levelled_off_at_most": "it had not levelled off at {users} users, the most that were allowed",
    "still_rising": "it still rose at {users} users",
    "no_longer_exceeded": lambda per_s: f"{figure(per_s)} a second is no longer exceeded",
    "peak_not_located": (
        "throughput falls again before {users} users, but where it is highest is not known; measure more levels there"
    ),
    "saturations": lambda answers: ". ".join(answers),
    "saturation_of": lambda label, said: f"{label}: {said}" if label else said,
    "saturation_not_measured": "there was no time for it; give the run a larger budget",
    "search_not_ended": "the search ended early, at {users} users; go on with --resume",
    "search_of_rate_not_ended": "the search ended early, after {steps} of {of} rates; go on with --resume",
    "sweeps_not_measured": "no sweep was measured whole; go on with --resume",
    "generator_full": "{busy_share:.0%} of its thread's time; without it up to {gain:.0%} more",
    "still_warming": lambda users, before_per_s, after_per_s: (
        f"it did more with time, not only with users: {users} users {figure(before_per_s)} a second, and later "
        f"{figure(after_per_s)}; warm it up for longer"
    ),
    "others_took": "other programs took CPU time: without them {bound}",
    "generator_late": "it could not keep its own schedule",
    "objective_limit_by_users": _objective_limit,
    "objective_met_always_by_users": "{objective}: met up to {most_users} users, the most that were measured",
    "objective_never_by_users": "{objective}: not met with a single user",
    "objective_unknown_by_users": "{objective}: too few sweeps say where it is met",
    "latency_objective": lambda quantile, latency_s: f"P{100 * quantile:g} <= {digits(1e3 * latency_s)} ms",
    "latency_missed": _latency_missed,
    "goodput_missed": lambda share, objective_share: f"{share:.1%} answered correctly, objective {objective_share:.1%}",
    "backlog_grew": lambda arrivals: f"the backlog grew by {arrivals:,.0f} arrivals",
    "too_few_bisections": _too_few_bisections,
    "kept_at_every_rate": ("most blocks kept {objective} at every rate they tried; locate it again from higher rates"),
    "missed_at_every_rate": (
        "most blocks missed {objective} at every rate they tried; locate it again from lower rates"
    ),
}
