"""What was measured of a comparison's group: passes through its blocks, of which the last one of each block counts."""

from collections.abc import Iterable
from itertools import groupby
from statistics import median

from loadstone.plan.run_plan import WARM_BLOCK, Group, PlannedTrial
from loadstone.record.trial import TrialRecord

PAUSE_MAX_S = 600.0
"""A block that was interrupted for longer is measured again: its trials would not be close in time."""


CLOCKS_APART_S = 60.0
"""A trial that seems to end by more in the future was measured before the clock was set: no one knows how long ago."""


class Passes:
    """The passes through the blocks of one group.

    A block is always run in the same order, so in the lines of `trials.jsonl` a pass begins where the order falls.
    """

    def __init__(self, group: Group, planned: Iterable[PlannedTrial], finished: Iterable[TrialRecord]) -> None:
        """`planned` and `finished` are those of the group; `finished` with every attempt, in the order they ended."""
        self.group = group
        by_block = groupby(sorted(planned, key=lambda t: (t.block, t.order)), key=lambda t: t.block)
        self._planned = {block: tuple(trials) for block, trials in by_block}
        self._passes: dict[int, list[list[TrialRecord]]] = {}
        for trial in finished:
            self.add(trial)

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
        if block is None or -CLOCKS_APART_S <= now_unix_s - ended_unix_s(self._last(block)[-1]) <= PAUSE_MAX_S:
            return None
        self._passes[block].append([])
        return block

    def block_s(self) -> float:
        """Seconds that a block takes: the median of the blocks so far, or the plan's as long as there is none."""
        measured = []
        for block in self._passes:
            if block == WARM_BLOCK:  # servers and subjects start in it
                continue
            starts = [trial.started_unix_ns / 1e9 for trial in self._last(block)]
            if len(starts) > 1 and not self.pending(block):
                measured.append((starts[-1] - starts[0]) / (len(starts) - 1) * len(starts))
        return median(measured) if measured else self.group.block_s

    def _last(self, block: int) -> list[TrialRecord]:
        passes = self._passes.get(block)
        return passes[-1] if passes else []


def ended_unix_s(trial: TrialRecord) -> float:
    """When the trial's last phase ended, in seconds since 1970."""
    return trial.started_unix_ns / 1e9 + max((end for _, end in trial.phases.values()), default=0.0)
