"""Where a condition saturates in the closed model: its trials as the estimates take them, and what these give."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from loadstone.addons.saturation.closed_estimate import (
    TAIL_FROM,
    Estimate,
    Probe,
    RangeSearch,
    Saturation,
    Sweep,
    at_least,
    best_level,
    closed_saturation,
    hodges_lehmann,
    least_cycle,
    no_point,
    search_range,
)
from loadstone.addons.saturation.recorded_steps import phase_of, rounds_a_sweep_of, step_of, users_of
from loadstone.addons.saturation.spec import SaturationSettings
from loadstone.judge.checks.evidence import evidence_of
from loadstone.judge.checks.generator_bounds import FAR, GAIN, bound_over, limits_of
from loadstone.judge.compare.round_figures import slices_of
from loadstone.judge.verdict import up_to
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message, message

GENERATOR_FULL = 0.95
"""A generator that is so busy has nothing left."""

SEARCH_TRIES = 2


def search_probes(trials: Iterable[TrialRecord]) -> list[Probe]:
    """The search of one condition, one a doubling, in its order; of several attempts the last counts.

    What could not be driven, as where a server went away, is tried once more before it counts.
    """
    return [probe_of(trial) for trial in search_trials(trials)]


def search_trials(trials: Iterable[TrialRecord]) -> list[TrialRecord]:
    """The trials of these probes."""
    attempts: dict[int, list[TrialRecord]] = {}
    for one in trials:
        step = step_of(one)
        if step is not None and step.phase == "search" and step.users is not None:
            attempts.setdefault(step.users, []).append(one)
    counted: list[TrialRecord] = []
    for users in sorted(attempts):
        if users != 2 ** len(counted):
            break  # a folder that lost the probe before: the search ends there
        driven = [one for one in attempts[users] if not one.facts.failure]
        if driven or len(attempts[users]) >= SEARCH_TRIES:
            counted.append((driven or attempts[users])[-1])
    return counted


def measured_again(trials: Iterable[TrialRecord]) -> tuple[TrialRecord, TrialRecord] | None:
    """A level of the search that was measured once more after its end: its first trial and the later one."""
    search = [trial for trial in trials if phase_of(trial) == "search" and trial.phases]
    for later in search:
        step = step_of(later)
        if step is not None and step.users is not None and step.users < 2 ** (step.number - 1):
            earlier = [one for one in search if users_of(one) == step.users]
            return earlier[0], later
    return None


def probe_of(trial: TrialRecord) -> Probe:
    """A whole trial."""
    step = step_of(trial)
    users = 0 if step is None or step.users is None else step.users
    return Probe(users, trial.goodput_per_s, response_s(trial), failed_share(trial), generator_limit([trial]))


def sweeps_of(trials: Iterable[TrialRecord]) -> list[Sweep]:
    """The sweeps of one condition, in the order in which they were measured.

    Of a block that ended early only sweeps count that every level was measured in to their ends; the generator is a
    level's limit by all its trials together.
    """
    blocks = sweep_blocks(trials)
    by_users: dict[int, list[TrialRecord]] = {}
    for block in blocks:
        for users, trial in block.items():
            by_users.setdefault(users, []).append(trial)
    limits = {users: generator_limit(found) for users, found in by_users.items()}
    return [sweep for block in blocks for sweep in _of_block(block, limits)]


def sweep_blocks(trials: Iterable[TrialRecord]) -> list[dict[int, TrialRecord]]:
    """The blocks of sweeps in their order: users -> trial, of every attempt the last one."""
    blocks: dict[int, dict[int, TrialRecord]] = {}
    for trial in trials:
        step = step_of(trial)
        if step is not None and step.phase == "sweep" and step.users is not None:
            blocks.setdefault(step.number, {})[step.users] = trial
    return [blocks[number] for number in sorted(blocks)]


def sweep_rounds_of(block: Mapping[int, TrialRecord]) -> list[list[int]]:
    """The rounds of each sweep of a block that all its levels were measured in; none of whole trials."""
    trials = list(block.values())
    size = max((rounds_a_sweep_of(trial) for trial in trials), default=0)
    if not size:
        return []
    shared = sorted(set.intersection(*(set(slices_of(trial)) for trial in trials)))
    if any(trial.facts.failure or _stopped(trial) for trial in trials):
        shared = shared[:-1]  # in the last one it happened
    whole = [list(range(first, first + size)) for first in range(0, len(shared) // size * size, size)]
    return [rounds for rounds in whole if set(rounds) <= set(shared)]


def _stopped(trial: TrialRecord) -> bool:
    return trial.facts.drive is not None and trial.facts.drive.stopped is not None


def _of_block(block: Mapping[int, TrialRecord], limits: Mapping[int, Message | None]) -> list[Sweep]:
    trials = sorted(block.items(), key=lambda item: item[1].order)
    if all(rounds_a_sweep_of(trial) for _, trial in trials):
        return [
            tuple(_pooled(users, trial, rounds, limits[users]) for users, trial in _in_turn(trials, rounds[0]))
            for rounds in sweep_rounds_of(block)
        ]
    if any(not trial.phases for _, trial in trials):
        trials = [(users, trial) for users, trial in trials if trial.phases]
    sweep = tuple(
        Probe(users, trial.goodput_per_s, response_s(trial), failed_share(trial), limits[users])
        for users, trial in sorted(trials, key=lambda item: item[1].started_unix_ns)
    )
    return [sweep] if sweep else []


def _in_turn(trials: Sequence[tuple[int, TrialRecord]], number: int) -> list[tuple[int, TrialRecord]]:
    """The levels in the order of that round."""
    return sorted(trials, key=lambda item: slices_of(item[1])[number].position)


def _pooled(users: int, trial: TrialRecord, rounds: Sequence[int], limit: Message | None) -> Probe:
    """One level in the rounds of one sweep together."""
    slices = [slices_of(trial)[number] for number in rounds]
    measured_s = sum(one.end_s - one.begin_s for one in slices)
    ended = sum(one.ended or 0 for one in slices)
    offered = sum(one.offered for one in slices)
    return Probe(
        users,
        sum(one.ok for one in slices) / measured_s if measured_s > 0 else 0.0,
        sum(one.response_sum_ns or 0 for one in slices) / ended / 1e9 if ended else 0.0,
        sum(one.failed for one in slices) / offered if offered else 0.0,
        limit,
    )


def response_s(trial: TrialRecord) -> float:
    """The mean response time of correct replies; 0 where there was none."""
    return (trial.response_ns.mean or 0.0) / 1e9


def failed_share(trial: TrialRecord) -> float:
    """Wrong or missing replies as a share of what was offered; 1 of a trial that could not be driven."""
    counts = trial.counts
    failed = sum(counts.errors.values()) + counts.timeouts + counts.dropped
    return min(1.0, failed / counts.offered) if counts.offered else 1.0


def generator_limit(trials: Sequence[TrialRecord]) -> Message | None:
    """Why the generator could not have made more load in these trials of one level; None while it could.

    It is the limit where its thread is full, and a generator that costs nothing would bring more than a tenth. Below
    that the bound of the gain rule widens the interval.
    """
    driven = [evidence for trial in trials if (evidence := evidence_of(trial)) is not None]
    shares = [share for evidence in driven if (share := limits_of(evidence).generator) is not None]
    bound = bound_over(trials)
    if not shares or bound is None or bound.generator is None:
        return None
    share = fmean(shares)
    full = share >= GENERATOR_FULL and 100 * bound.generator > GAIN.valid
    return message("generator_full", busy_share=share, gain=bound.generator) if full else None


@dataclass(frozen=True)
class LevelLatency:
    """What one level did in one sweep."""

    per_s: float
    latency_s: float | None
    """The objective's quantile; None where it falls among the failures."""


@dataclass(frozen=True)
class Met:
    """Up to where an objective is met."""

    kind: Literal["limit", "met_always", "never", "unknown"]
    users: Estimate | None = None
    per_s: Estimate | None = None
    sweeps: int = 0


def met_up_to(sweeps: Sequence[Mapping[int, LevelLatency]], limit_s: float) -> Met:
    """Where the quantile crosses the limit, of each sweep by a straight line between two levels, both as logarithms.

    What most sweeps say of all levels holds: met always or never. Then the interval is that of the crossings.
    """
    answers = [_crossing(sweep, limit_s) for sweep in sweeps if sweep]
    if not answers:
        return Met("unknown")
    for kind in ("met_always", "never"):
        if 2 * sum(answer == kind for answer in answers) > len(answers):
            return Met(kind, sweeps=len(answers))
    crossings = [answer for answer in answers if not isinstance(answer, str)]
    try:
        users, per_s = (hodges_lehmann([crossing[place] for crossing in crossings]) for place in (0, 1))
    except ValueError:
        return Met("unknown", sweeps=len(crossings))
    return Met("limit", users, per_s, len(crossings))


def _crossing(
    sweep: Mapping[int, LevelLatency], limit_s: float
) -> tuple[float, float] | Literal["met_always", "never"]:
    """Users and rate where the limit is reached: before the first level from which on most levels miss it."""
    levels = sorted(sweep)
    keeps = [_keeps(sweep[users], limit_s) for users in levels]
    # The place that contradicts the fewest levels, if they are met before it and missed from it on.
    place = min(range(len(levels) + 1), key=lambda at: sum(not one for one in keeps[:at]) + sum(keeps[at:]))
    if place == len(levels):
        return "met_always"
    if place == 0:
        return "never"
    a, b = levels[place - 1], levels[place]
    before, after = sweep[a], sweep[b]
    share = _share(before.latency_s, after.latency_s, limit_s)
    rates = [max(before.per_s, 1e-9), max(after.per_s, 1e-9)]
    return _between(a, b, share), _between(rates[0], rates[1], share)


def _keeps(one: LevelLatency, limit_s: float) -> bool:
    return one.latency_s is not None and one.latency_s <= limit_s


def _share(before_s: float | None, after_s: float | None, limit_s: float) -> float:
    """Return how far the limit lies between two quantiles, as logarithms: 0 at the first, 1 at the second."""
    if not before_s or not after_s or after_s <= before_s:
        return 0.0
    return min(1.0, max(0.0, math.log(limit_s / before_s) / math.log(after_s / before_s)))


def _between(a: float, b: float, share: float) -> float:
    return math.exp(math.log(a) + share * (math.log(b) - math.log(a)))


RISEN = 1.25
"""A level that does so many times as much later shows that time had to do with it."""


@dataclass(frozen=True)
class ClosedAnswer:
    """What was found, and what it rests on."""

    saturation: Saturation
    probes: tuple[Probe, ...]
    why: Message | None
    """Why the search ended; None where it did not."""
    sweeps: tuple[Sweep, ...]
    think_s: float
    unloaded_s: float | None
    """R_0: the shortest mean response time of any level, by N / X(N) less the pause."""
    unloaded_users: int | None = None
    """At how many users that is."""


def closed_answer(trials: Sequence[TrialRecord], settings: SaturationSettings) -> ClosedAnswer:
    """The answer of one condition's trials, of every attempt or the last ones."""
    pause_s, probes = think_s_of(trials), search_probes(trials)
    search, sweeps = search_range(probes, pause_s, settings.users_max), sweeps_of(trials)
    least = least_cycle(sweeps or [tuple(probes)])
    return ClosedAnswer(
        saturation=_saturation(trials, probes, search, sweeps),
        probes=tuple(probes),
        why=search.why,
        sweeps=tuple(sweeps),
        think_s=pause_s,
        unloaded_s=None if least is None else max(0.0, least[0] - pause_s),
        unloaded_users=None if least is None else least[1],
    )


def think_s_of(trials: Sequence[TrialRecord]) -> float:
    """The users' think time, as the plans of the trials have it."""
    models = (trial.facts.closed for trial in trials)
    return max((model.think_time_ms / 1e3 for model in models if model is not None), default=0.0)


def _saturation(
    trials: Sequence[TrialRecord],
    probes: Sequence[Probe],
    search: RangeSearch,
    sweeps: Sequence[Sweep],
) -> Saturation:
    if not trials:
        return no_point(message("saturation_not_measured"))
    best = _reached(trials, probes, sweeps)
    if search.answer is not None:
        return _still_warming(trials, search.answer)
    if not search.levels:
        return at_least(best, message("search_not_ended", users=probes[-1].users if probes else 0))
    if not sweeps:
        return at_least(best, message("sweeps_not_measured"))
    saturation = closed_saturation(sweeps)
    why = saturation.message.figures.get("why")
    if saturation.kind == "none" and isinstance(why, Message) and why.kind == "too_few_sweeps":
        return at_least(best, why)  # no interval yet; what was reached is known
    return _widened(saturation, trials)


def _reached(trials: Sequence[TrialRecord], probes: Sequence[Probe], sweeps: Sequence[Sweep]) -> float:
    """What the system did at least, a second: what its best level did in the sweeps.

    Where no sweep is whole, the levels of one that was begun count beside the search: each is one short trial.
    """
    if sweeps:
        return best_level(sweeps)
    begun = [(probe_of(trial),) for block in sweep_blocks(trials) for trial in block.values() if trial.phases]
    return best_level([*begun, tuple(probes)])


def _still_warming(trials: Sequence[TrialRecord], saturation: Saturation) -> Saturation:
    """Return the bound, with the reason where one level did much more later than before."""
    both = measured_again(trials)
    if both is None or saturation.at_least_per_s is None:
        return saturation
    before, after = both
    if after.goodput_per_s < RISEN * before.goodput_per_s or after.search is None:
        return saturation
    rates = {"before_per_s": before.goodput_per_s, "after_per_s": after.goodput_per_s}
    return at_least(saturation.at_least_per_s, message("still_warming", users=users_of(after), **rates))


def _widened(saturation: Saturation, trials: Sequence[TrialRecord]) -> Saturation:
    """The intervals reach as far as the levels that they rest on could come without the generator and other programs.

    Where others took so much that no row would have a figure, only what was reached is known.
    """
    if saturation.users is None or saturation.per_s is None:
        return saturation
    from_users = TAIL_FROM * saturation.users.value if saturation.kind == "plateau" else saturation.users.value
    tail = [trial for trial in trials if phase_of(trial) == "sweep" and (users_of(trial) or 0) >= from_users]
    bound = bound_over(tail)
    if bound is None or not bound.total:
        return saturation
    if bound.taken is not None and 100 * bound.taken > FAR:
        return at_least(saturation.per_s.value, message("others_took", bound=up_to(bound.taken)))
    gain = bound.total
    users, per_s = _higher(saturation.users, gain), _higher(saturation.per_s, gain)
    said = saturation.message.with_figures(users=users.figures, per_s=per_s.figures)
    return replace(saturation, users=users, per_s=per_s, message=said)


def _higher(one: Estimate, gain: float) -> Estimate:
    return replace(one, high=one.high * (1 + gain))
