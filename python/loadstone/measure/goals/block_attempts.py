"""What was measured of a comparison's group: passes through its blocks, of which the last one of each block counts, and
how long block 0 is measured again."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from statistics import median

from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.rounds import APPLICATION_SLICE_S, Rounds
from loadstone.experiment.plan.run_plan import WARM_BLOCK, PlannedTrial
from loadstone.run_folder.trial import TrialRecord

PAUSE_MAX_S = 600.0
"""A block that was interrupted for longer is measured again: its trials would not be close in time."""


CLOCKS_APART_S = 60.0
"""A trial that seems to end by more in the future was measured before the clock was set: no one knows how long ago."""


class BlockAttempts:
    """The passes through the blocks of one group.

    A block is always run in the same order, so in the lines of `trials.jsonl` a pass begins where the order falls.
    """

    def __init__(self, group: Group, planned: Sequence[PlannedTrial]) -> None:
        """`planned` are the trials of the group, and of its stage."""
        self.group = group
        self._names = {trial.name for trial in planned}
        by_block = groupby(sorted(planned, key=lambda t: (t.block, t.order)), key=lambda t: t.block)
        self._planned = {block: tuple(trials) for block, trials in by_block}
        self._passes: dict[int, list[list[TrialRecord]]] = {}
        self._followed = 0

    def follow(self, trials: Sequence[TrialRecord]) -> None:
        """Those of the group that were added to the run's trials since; every attempt, in the order they ended."""
        for trial in trials[self._followed :]:
            if trial.trial in self._names:
                self.add(trial)
        self._followed = len(trials)

    def add(self, trial: TrialRecord) -> None:
        """A trial ended."""
        passes = self._passes.setdefault(trial.block, [[]])
        if passes[-1] and trial.order <= passes[-1][-1].order:
            passes.append([])
        passes[-1].append(trial)

    def pending(self, block: int) -> tuple[PlannedTrial, ...]:
        """What is left of the block's last pass."""
        done = {trial.trial for trial in self._last(block)}
        return tuple(trial for trial in self._planned[block] if trial.name not in done)

    def begin_whole(self, block: int) -> tuple[PlannedTrial, ...]:
        """All trials of a block, of which none that was finished before counts: they are measured together."""
        if self._last(block):
            self._passes[block].append([])
        return self._planned[block]

    @property
    def begun(self) -> bool:
        """Whether any trial of it ended."""
        return bool(self._passes)

    @property
    def warm(self) -> bool:
        """Whether the machine was warmed up, or need not be."""
        return not self.group.warm_block or not self.pending(WARM_BLOCK)

    @property
    def complete(self) -> int:
        """Blocks measured whole, the warm one not counted. They are measured one after another."""
        blocks = sorted(self._planned.keys() - {WARM_BLOCK})
        return next((number for number, block in enumerate(blocks) if self.pending(block)), len(blocks))

    def upto(self, block: int) -> list[TrialRecord]:
        """The trials that stand, of the blocks up to this one and of the warm one."""
        return [trial for number in sorted(self._passes) if number <= block for trial in self._last(number)]

    def half_done(self) -> int | None:
        """The block that was begun and not ended."""
        return next((block for block in sorted(self._passes) if self._last(block) and self.pending(block)), None)

    def give_up_after_pause(self, now_unix_s: float) -> int | None:
        """Begin the half done block again if it was left too long ago; its number if so."""
        block = self.half_done()
        if block is None or -CLOCKS_APART_S <= now_unix_s - self._last(block)[-1].ended_unix_s <= PAUSE_MAX_S:
            return None
        self._passes[block].append([])
        return block

    def next_s(self) -> float:
        """Seconds that the next block takes."""
        return self._seconds([self.complete + 1])

    def seconds_to(self, block: int) -> float:
        """Seconds until this block is complete, the warm one included where it is still to be measured."""
        warm = [] if self.warm else [WARM_BLOCK]
        return self._seconds([*warm, *range(self.complete + 1, block + 1)])

    def _seconds(self, blocks: Iterable[int]) -> float:
        """What the plan expects of these blocks, times the median of what the blocks so far took of it."""
        took = []
        for block in self._passes:
            if block == WARM_BLOCK:  # servers and subjects start in it
                continue
            if (measured_s := self._measured_s(block)) is not None:
                took.append(measured_s / self._planned_s(block))
        return (median(took) if took else 1.0) * self.group.seconds(blocks)

    def _planned_s(self, block: int) -> float:
        """What the plan expects of a block as it was measured: it may have had fewer rounds than planned."""
        rounds, trials = self.group.rounds, self._last(block)
        if rounds is None or not trials:
            return self.group.seconds([block])
        measured = round(max(trial.duration_s for trial in trials) / rounds.measured_s)
        return rounds.seconds(max(1, min(measured, rounds.of(block))), len(trials))

    def _measured_s(self, block: int) -> float | None:
        """Return how long a whole block took; None of one that is not whole, or of a single trial."""
        trials = self._last(block)
        if len(trials) < 2 or self.pending(block):
            return None
        starts = [trial.started_unix_ns / 1e9 for trial in trials]
        if self.group.rounds is not None:
            opening_s = self.group.rounds.opening_s(len(trials))
            return max(trial.ended_unix_s for trial in trials) - min(starts) + opening_s
        return (starts[-1] - starts[0]) / (len(starts) - 1) * len(starts)

    def _last(self, block: int) -> list[TrialRecord]:
        passes = self._passes.get(block)
        return passes[-1] if passes else []


RISING = 1.05
"""A stretch that is so many times as fast as the fastest before it shows that what was measured was still cold."""
WARM_SHARE_MAX, WARM_LEAST_S = 0.3, 20.0
"""All passes together take at most so much of the time up to the first look, or so many seconds if that is more: then
the conditions are taken as they are."""


class WarmUpRounds:
    """Block 0 is measured again for as long as an application still gets faster.

    A JVM that was warmed up alone compiles once more under the load of its slices: one got twice as fast within the
    first minute of rounds, and the intervals were as wide as that. What an earlier session warmed up is cold again.
    """

    def __init__(self) -> None:
        self._passes: dict[tuple[str, int], list[list[TrialRecord]]] = {}
        """Those through block 0 that this process measured, by group and stage."""

    def required(self, passes: BlockAttempts) -> bool:
        """Whether block 0 is to be measured, for the first time or again."""
        if not passes.warm:
            return True
        group = passes.group
        if not group.warm_block or group.rounds is None or not _gets_faster(group.rounds) or passes.complete:
            return False
        measured = self._passes.get(_key(group), [])
        return not measured or (_fit(group, len(measured) + 1) and _rising(measured))

    def add(self, group: Group, trials: Iterable[TrialRecord]) -> None:
        """A pass through block 0 ended."""
        self._passes.setdefault(_key(group), []).append(list(trials))


def _key(group: Group) -> tuple[str, int]:
    return group.name, group.stage


def _gets_faster(rounds: Rounds) -> bool:
    """Applications, and processes that stay up; servers that start again are as cold in each block."""
    return rounds.processes == "once" or rounds.slice_s >= APPLICATION_SLICE_S


def _fit(group: Group, passes: int) -> bool:
    first_look_s = group.seconds(range(WARM_BLOCK + 1, group.looks[0] + 1))
    return passes * group.seconds([WARM_BLOCK]) <= max(WARM_LEAST_S, WARM_SHARE_MAX * first_look_s)


def _rising(passes: Sequence[Sequence[TrialRecord]]) -> bool:
    fastest: dict[str, float] = {}
    for trial in (trial for trials in passes[:-1] for trial in trials):
        fastest[trial.trial] = max(trial.goodput_per_s, fastest.get(trial.trial, 0.0))
    return any(trial.goodput_per_s > RISING * fastest.get(trial.trial, 0.0) for trial in passes[-1])
