"""Peak throughput of one server: measured where its thread is busy all the time, else estimated or refused.

U is the share of the time for which the server's thread ran, or was ready to while others had its CPU; D what a
correct reply costs it (`judge.cost`). By the utilisation law a full server does 1/D a second, with the D that it has
*then*: a busier server sleeps less often between requests, and answers more of them for one look at its connections.
So with n users, and s times falling asleep for each reply,

    D = a + c/n + d s

is fitted to this run's own levels of users (more than one user, U of half or more), beside what servers of one thread
have shown so far (`LOOK`, `SLEEP`), and read off where the server no longer sleeps. Weighted least squares with a
normal prior (Gelman et al., Bayesian Data Analysis, 14.8); figures: docs/proofs.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from loadstone.judge.checks.evidence import evidence_of
from loadstone.judge.checks.utilisation import place_cpus
from loadstone.judge.compare.round_figures import slices_of
from loadstone.judge.cost import parts_with_cost
from loadstone.judge.statistics.rounds.row_rate import are_measured, row_rate
from loadstone.judge.verdict import AnalysisModel
from loadstone.run_folder.part_kinds import declared
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.bounds.replies import whole_number
from loadstone.text.message import Message, message

FULL = 0.97
"""A busy share from here on is a full server: what is left is the error of the two clocks."""
ESTIMATED_FROM = 0.75
"""Below it too much of a reply's cost is sleeping and waking, which a full server does not do."""
FITTED_FROM = 0.5
"""Levels that are less busy follow another law: the CPU itself falls asleep."""
MORE_USERS = 8
"""The estimate is for so many users more than its level has: more connections, more replies for one look at them."""
WIDEST = 0.05
"""An interval that reaches further to a side is no answer."""
LOOK, LOOK_SD = 0.65, 0.15
"""c as a share of D before this run showed its own: by five runs of json-documents, levels of 4 users against 8 and 16
(docs/proofs.md)."""
SLEEP, SLEEP_SD = 0.6, 0.3
"""d, the same: 4.6 to 6.8 us of 7 to 10."""
MODEL_SD = 0.012
"""What the model itself is wrong by, as a share."""
WIDEST_MEASURED = 0.2
"""A rate whose interval reaches further to a side is none of a full server, or was measured for too short a time."""
TAKEN_MAX, TAKEN_COSTS = 0.2, 0.25
"""Where others had its CPU for more than such a share of the time in which it had work, its cost is not its own any
more; below that it may be too high by a quarter of that share: 8 points at .4."""
TAKEN_FROM = 0.02
"""Less than this that others had is not taken off: the figure is that of the condition's row, and of nothing else."""
SHORTEST_S = 0.5
"""Whole trials shorter than this are not used: their CPU is observed about once a second, so they say too little."""
LIKE = 100.0
"""Costs that are so many times apart are of no one law."""
COST_SD = 0.01
"""What costs of two levels differ by beside their slices."""
Z = 1.96
_NS = 1e9


@dataclass(frozen=True)
class ServerLoadLevel:
    """What a server did under so many users."""

    users: int
    busy: float
    """U: the share of the time for which its thread, or all of its threads together, ran or was ready to."""
    ran: float
    """The share of the time for which it ran."""
    cost_ns: float
    """D: CPU time of its thread for a correct reply; of several threads over their number."""
    spread: float
    """Standard error of ln D, by the slices."""
    sleeps: float | None
    """How often its thread was given a CPU for each reply; None where it is not known."""
    per_s: float
    """Correct replies a second."""
    low_per_s: float | None
    high_per_s: float | None
    """95 % interval."""
    generator: float = 0.0
    """The busy share of the driver's thread."""
    group: str = ""
    """Levels of one group were measured in turns: what the machine's speed did meanwhile is in all of them alike."""
    measured_s: float = 0.0
    pipeline: int = 1
    """Requests that each user has under way at once."""

    @property
    def taken(self) -> float:
        """For which share of the time in which it had work others had its CPU."""
        return max(0.0, 1 - self.ran / self.busy) if self.busy > 0 else 0.0

    @property
    def at_once(self) -> int:
        """Requests that may be under way together."""
        return self.users * self.pipeline


class FullServer(AnalysisModel):
    """What one server does at most."""

    how: Literal["measured", "estimated", "refused"]
    per_s: float | None = None
    """Correct replies a second; None: refused."""
    low_per_s: float | None = None
    high_per_s: float | None = None
    """95 % interval; None of a measured one from too few slices."""
    users: int
    """Users of the level that it was measured at or is estimated from; if it is refused, those of the fullest level."""
    busy: float
    """U at that level."""
    taken: float = 0.0
    """For which share of its time others had its CPU, if that is taken off a measured figure."""
    why: Message | None = None
    """Refused: what is missing, and what would show it."""


def when_full(levels: Sequence[ServerLoadLevel]) -> FullServer | None:
    """The capacity by what one server did under several numbers of users; None without any.

    Measured with most users of those that fill the server, never by which figure is the best; otherwise estimated from
    the fullest level.
    """
    if not levels:
        return None
    calm = [level for level in levels if level.taken <= TAKEN_MAX]
    fullest = max(calm or levels, key=lambda level: level.busy)
    full = [level for level in calm if level.busy >= FULL]
    if full:
        return _measured(max(full, key=lambda level: (level.users, level.measured_s)))
    if not calm:
        return _refused(fullest, message("full_taken", taken=fullest.taken))
    if fullest.busy < ESTIMATED_FROM:
        figures = {"busy": fullest.busy, "users": fullest.users, "generator": fullest.generator}
        return _refused(fullest, message("full_not_full", **figures))
    return _estimated(fullest, levels)


def _measured(level: ServerLoadLevel) -> FullServer:
    """Its rate; where others had its CPU for a part of the time, that of the time in which it ran. What is too little
    for that widens the interval alone."""
    own = 1 / (1 - level.taken)
    taken = level.taken if level.taken >= TAKEN_FROM else 0.0
    least = 1 / (1 - taken)
    if level.high_per_s is not None and level.high_per_s > level.per_s * (1 + WIDEST_MEASURED):
        return _refused(level, message("full_uneven", users=level.users, reach=level.high_per_s / level.per_s - 1))
    low, high = level.low_per_s, level.high_per_s
    return FullServer(
        how="measured",
        per_s=level.per_s * least,
        low_per_s=None if low is None else low * least,
        high_per_s=None if high is None else high * own * (1 + TAKEN_COSTS * level.taken),
        users=level.users,
        busy=min(1.0, level.busy),
        taken=taken,
    )


def _estimated(fullest: ServerLoadLevel, levels: Sequence[ServerLoadLevel]) -> FullServer:
    in_turns = [level for level in levels if level.group == fullest.group and level.at_once > 1]
    near = [level for level in in_turns if 1 / LIKE < level.cost_ns / fullest.cost_ns < LIKE]
    used = [level for level in near if level.busy >= FITTED_FROM and level.taken <= TAKEN_MAX]
    if not used:
        return _refused(fullest, message("full_one_user", busy=fullest.busy))
    full, error = cost_when_full(fullest, used)
    reach = Z * math.hypot(error / full, MODEL_SD) if full > 0 else 1.0
    if reach > WIDEST:
        return _refused(fullest, message("full_too_wide", busy=fullest.busy, users=fullest.users, reach=reach))
    per_s = _NS / (fullest.cost_ns * full)
    return FullServer(
        how="estimated",
        per_s=per_s,
        low_per_s=per_s * math.exp(-reach),
        high_per_s=per_s * math.exp(reach) * (1 + TAKEN_COSTS * fullest.taken),
        users=fullest.users,
        busy=fullest.busy,
    )


def cost_when_full(fullest: ServerLoadLevel, levels: Sequence[ServerLoadLevel]) -> tuple[float, float]:
    """D of the full server as a share of D at the fullest level, and its standard error: the model, fitted."""
    costs = np.array([level.cost_ns / fullest.cost_ns for level in levels])
    errors = costs * np.array([math.hypot(level.spread, COST_SD) for level in levels])
    terms = np.array([[1.0, 1 / level.at_once, _sleeps(level)] for level in levels])
    weights = terms.T / errors**2
    sleep = SLEEP if fullest.sleeps is not None else 1.0
    prior, expected = np.diag([0.0, LOOK_SD**-2, SLEEP_SD**-2]), np.array([0.0, LOOK, sleep])
    precision = weights @ terms + prior
    fit = np.linalg.solve(precision, weights @ costs + prior @ expected)
    full = np.array([1.0, 1 / ((fullest.users + MORE_USERS) * fullest.pipeline), 0.0])
    return float(full @ fit), math.sqrt(float(full @ np.linalg.solve(precision, full)))


def _sleeps(level: ServerLoadLevel) -> float:
    """Where it is not known how often it slept, the idle share stands for that."""
    return 1.0 - min(1.0, level.busy) if level.sleeps is None else level.sleeps


def _refused(fullest: ServerLoadLevel, why: Message) -> FullServer:
    return FullServer(how="refused", users=fullest.users, busy=fullest.busy, why=why)


def level_of(trials: Sequence[TrialRecord], part: str) -> ServerLoadLevel | None:
    """What a server did in the trials of one condition; None where its load was set, or its CPU is not known.

    Args:
        trials: of one condition and one group, with no check that forbids their figures.
        part: a server that the condition has as one process, see `servers_of`.
    """
    first = evidence_of(trials[0]) if trials else None
    if first is None or first.closed is None:
        return None
    threads = threads_of(trials[0], part)
    figures = _of_slices(trials, part, threads) or _of_trials(trials, part, threads)
    if figures is None or threads is None:
        return None
    spent_s, waited_s, replies, seconds, sleeps = figures
    if not are_measured(spent_s, replies) or not are_measured(spent_s + waited_s, seconds):
        return None
    rate, cost = row_rate(replies, seconds), row_rate(spent_s, np.maximum(replies, 1))
    ran = float(spent_s.sum() / seconds.sum())
    driver = [thread.working_s / thread.wall_s for thread in first.drive.threads if thread.wall_s > 0]
    return ServerLoadLevel(
        users=first.closed.users,
        busy=float((spent_s.sum() + waited_s.sum()) / seconds.sum()),
        ran=ran,
        cost_ns=_NS * float(spent_s.sum() / replies.sum()),
        spread=0.0 if cost.high is None else math.log(cost.high / cost.figure) / Z,
        sleeps=None if sleeps is None else float(sleeps.sum() / replies.sum()),
        per_s=rate.figure,
        low_per_s=rate.low,
        high_per_s=rate.high,
        generator=max(driver, default=0.0),
        group=trials[0].group,
        measured_s=float(seconds.sum()),
        pipeline=first.plan.pipeline_depth,
    )


_Figures = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]
"""Seconds that its thread ran and was ready to, replies, seconds, and how often it began to run; of each slice."""


def _of_slices(trials: Sequence[TrialRecord], part: str, threads: int | None) -> _Figures | None:
    """None where a trial was not measured in slices, or a slice lacks the part."""
    slices = [one for trial in trials for one in slices_of(trial).values()]
    if not all(map(slices_of, trials)) or any(part not in one.parts for one in slices):
        return None
    parts = [one.parts[part] for one in slices]
    seconds = np.array([one.end_s - one.begin_s for one in slices])
    replies = np.array([one.ok for one in slices], dtype=np.float64)
    if declared(trials[0].facts.kinds.get(part)).threads == "one":
        if any(one.main_s is None for one in parts):
            return None
        runs = [one.main_runs for one in parts]
        return (
            np.array([one.main_s for one in parts], dtype=np.float64),
            np.array([one.main_wait_s or 0.0 for one in parts]),
            replies,
            seconds,
            None if None in runs else np.array(runs, dtype=np.float64),
        )
    if threads is None or any(one.cpu_s is None for one in parts):
        return None
    spent = np.array([one.cpu_s for one in parts], dtype=np.float64) / threads
    return spent, np.zeros(len(spent)), replies, seconds, None


def _of_trials(trials: Sequence[TrialRecord], part: str, threads: int | None) -> _Figures | None:
    """Return the figures of whole trials, from what the monitors saw of the part or what the server reports of its main
    thread."""
    shares = [_share(trial, part, threads) for trial in trials]
    known = [share for share in shares if share is not None]
    if len(known) < len(shares):
        return None
    seconds = np.array([trial.duration_s for trial in trials])
    replies = np.array([trial.replies for trial in trials])
    ran, waited = (np.array(each) * seconds for each in zip(*known, strict=True))
    return ran, waited, replies, seconds, None


def _share(trial: TrialRecord, part: str, threads: int | None) -> tuple[float, float] | None:
    """For which share of a trial its thread ran, and was ready to; None where that is not known."""
    seen = trial.facts.parts.get(part)
    if trial.duration_s < SHORTEST_S or threads is None:
        return None
    if threads == 1 and declared(trial.facts.kinds.get(part)).threads == "one":
        return (
            None if seen is None or seen.main_thread_share is None else (seen.main_thread_share, seen.wait_share or 0)
        )
    return None if part not in trial.cpu_s else (trial.cpu_s[part] / trial.duration_s / threads, 0.0)


def servers_of(trial: TrialRecord) -> list[str]:
    """The servers of a trial whose capacity can be known: one process that takes the load itself, with threads whose
    number is known. None of a trial with an application, which takes the load in their place."""
    if trial.facts.subjects:
        return []
    parts = parts_with_cost(trial)
    names = [name for name, of_it in parts.items() if declared(trial.facts.kinds.get(name)).store and of_it == (name,)]
    return [name for name in names if threads_of(trial, name) is not None]


def threads_of(trial: TrialRecord, server: str) -> int | None:
    """Return how many threads of a server answer requests, no more than the CPUs that it may use; None if their number
    is not known, or some of them do other work than the rest."""
    kind, evidence = declared(trial.facts.kinds.get(server)), evidence_of(trial)
    told = None if kind.threads_set_by is None else trial.facts.settings.get(server, {}).get(kind.threads_set_by)
    number = None if told is None else whole_number(told)
    if kind.threads == "one":
        return 1 if number in (None, 1) else None
    if number is None or evidence is None:
        return None
    return max(1, min(number, place_cpus(evidence, [server]) or number))
