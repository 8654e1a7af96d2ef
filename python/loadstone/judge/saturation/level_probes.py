"""Trials of the closed model as the estimates take them: probes of the search, and sweeps over all levels."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from loadstone.judge.compare.round_figures import slices_of
from loadstone.judge.statistics.saturation_model import Probe, Sweep
from loadstone.judge.validity.bounds import GAIN, bound_over, limits_of
from loadstone.judge.validity.evidence import evidence_of
from loadstone.message import Message, message
from loadstone.record.trial import TrialRecord

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
        if one.saturation is not None and one.saturation.phase == "search" and one.saturation.users is not None:
            attempts.setdefault(one.saturation.users, []).append(one)
    found = []
    for users in sorted(attempts):
        driven = [one for one in attempts[users] if not one.facts.failure]
        if driven or len(attempts[users]) >= SEARCH_TRIES:
            found.append((driven or attempts[users])[-1])
    return found


def measured_again(trials: Iterable[TrialRecord]) -> tuple[TrialRecord, TrialRecord] | None:
    """A level of the search that was measured once more after its end: its first trial and the later one."""
    search = [one for one in trials if one.saturation is not None and one.saturation.phase == "search" and one.phases]
    for later in search:
        step = later.saturation
        if step is not None and step.users is not None and step.users < 2 ** (step.number - 1):
            earlier = [one for one in search if one.saturation and one.saturation.users == step.users]
            return earlier[0], later
    return None


def probe_of(trial: TrialRecord) -> Probe:
    """A whole trial."""
    step = trial.saturation
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
        step = trial.saturation
        if step is not None and step.phase == "sweep" and step.users is not None:
            blocks.setdefault(step.number, {})[step.users] = trial
    return [blocks[number] for number in sorted(blocks)]


def sweep_rounds_of(block: Mapping[int, TrialRecord]) -> list[list[int]]:
    """The rounds of each sweep of a block that all its levels were measured in; none of whole trials."""
    trials = list(block.values())
    size = max((one.saturation.rounds_a_sweep for one in trials if one.saturation), default=0)
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
    if all(trial.saturation and trial.saturation.rounds_a_sweep for _, trial in trials):
        return [
            tuple(_pooled(users, trial, rounds, limits[users]) for users, trial in _in_turn(trials, rounds[0]))
            for rounds in sweep_rounds_of(block)
        ]
    if any(not trial.phases for _, trial in trials):
        trials = [(users, trial) for users, trial in trials if trial.phases]
    found = tuple(
        Probe(users, trial.goodput_per_s, response_s(trial), failed_share(trial), limits[users])
        for users, trial in sorted(trials, key=lambda item: item[1].started_unix_ns)
    )
    return [found] if found else []


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
    evidence = [found for trial in trials if (found := evidence_of(trial)) is not None]
    shares = [share for found in evidence if (share := limits_of(found).generator) is not None]
    bound = bound_over(trials)
    if not shares or bound is None or bound.generator is None:
        return None
    share = fmean(shares)
    full = share >= GENERATOR_FULL and 100 * bound.generator > GAIN.valid
    return message("generator_full", busy_share=share, gain=bound.generator) if full else None
