"""What was measured of the table's group: its trials one by one, since no two of them are compared."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import mean, median

from loadstone.goals.budget import SESSION_GAP_S
from loadstone.goals.passes import ended_unix_s
from loadstone.plan.group import Group
from loadstone.plan.run_plan import PlannedTrial
from loadstone.record.trial import TrialRecord


class TableTrials:
    """The trials of a group without pairs. Of several attempts at one the last counts."""

    def __init__(self, group: Group, planned: Iterable[PlannedTrial]) -> None:
        """`planned` are those of the group."""
        self.group = group
        self._planned = {trial.name: trial for trial in planned}
        self._numbers = {name: number for number, name in enumerate(self._planned, start=1)}
        self._attempts: dict[str, list[TrialRecord]] = {}
        self._followed = 0

    def follow(self, trials: Sequence[TrialRecord]) -> None:
        """Those of the group that were added to the run's trials since; every attempt, in the order they ended."""
        for trial in trials[self._followed :]:
            if trial.trial in self._planned:
                self.add(trial)
        self._followed = len(trials)

    def add(self, trial: TrialRecord) -> None:
        """A trial ended."""
        self._attempts.setdefault(trial.trial, []).append(trial)

    @property
    def planned(self) -> int:
        """How many trials there are, repeats not counted."""
        return len(self._planned)

    @property
    def blocks(self) -> list[int]:
        """The numbers of its blocks, in order."""
        return sorted({trial.block for trial in self._planned.values()})

    @property
    def complete(self) -> int:
        """Blocks measured whole."""
        return sum(not self.pending(block) for block in self.blocks)

    def number(self, planned: PlannedTrial) -> int:
        """Which one it is of all, from 1."""
        return self._numbers[planned.name]

    def pending(self, block: int) -> list[PlannedTrial]:
        """What is left of a block."""
        return [trial for trial in self._of(block) if trial.name not in self._attempts]

    def block_s(self) -> float:
        """Seconds that a block takes: the trials' own time, and the usual pause between two.

        Before some pauses servers and applications start, each once: the median leaves them out. Before the first
        block is whole they may be most of them, and no pause is taken for longer than the plan has it.
        """
        trials = sorted((t for attempts in self._attempts.values() for t in attempts), key=lambda t: t.started_unix_ns)
        pauses = [max(0.0, b.started_unix_ns / 1e9 - ended_unix_s(a)) for a, b in pairwise(trials)]
        reported = [pause for pause in pauses if pause <= SESSION_GAP_S]
        if not reported:
            return self.group.block_s
        pause_s = median(reported) if self.complete else min(median(reported), self.group.overhead_s)
        own_s = mean(ended_unix_s(trial) - trial.started_unix_ns / 1e9 for trial in trials)
        return (own_s + pause_s) * len(self.group.conditions)

    def trial_s(self) -> float:
        """Seconds that one of its trials takes."""
        return self.block_s() / max(1, len(self.group.conditions))

    def left_s(self) -> float:
        """Seconds that the trials not measured yet will take."""
        return self.trial_s() * sum(name not in self._attempts for name in self._planned)

    def _of(self, block: int) -> list[PlannedTrial]:
        return [trial for trial in self._planned.values() if trial.block == block]
