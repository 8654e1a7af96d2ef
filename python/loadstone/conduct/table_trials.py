"""What was measured of the table's group: its trials one by one, since no two of them are compared."""

from collections.abc import Iterable
from itertools import pairwise

from loadstone.conduct.budget import SESSION_GAP_S
from loadstone.conduct.repeats import allowed, spoiled
from loadstone.plan.run_plan import Group, PlannedTrial
from loadstone.record.trial import CheckResult, TrialRecord


class TableTrials:
    """The trials of a group without pairs. Of several attempts at one the last counts."""

    def __init__(self, group: Group, planned: Iterable[PlannedTrial], finished: Iterable[TrialRecord]) -> None:
        """`planned` and `finished` are those of the group; `finished` with every attempt, in the order they ended."""
        self.group = group
        self._planned = {trial.name: trial for trial in planned}
        self._numbers = {name: number for number, name in enumerate(self._planned, start=1)}
        self._attempts: dict[str, list[TrialRecord]] = {}
        for trial in finished:
            self.add(trial)

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

    def to_repeat(self, block: int) -> list[tuple[PlannedTrial, CheckResult]]:
        """The trials of a block that something outside spoiled, as many as may be measured again, each once."""
        in_block = self._of(block)
        again = sum(len(self._attempts.get(trial.name, ())) > 1 for trial in in_block)
        found = [
            (trial, cause)
            for trial in in_block
            if len(attempts := self._attempts.get(trial.name, [])) == 1 and (cause := spoiled(attempts[0])) is not None
        ]
        return found[: max(0, allowed(len(in_block)) - again)]

    def block_s(self) -> float:
        """Seconds that a block takes, by the trials so far, or by the plan as long as there are fewer than two."""
        starts = sorted(trial.started_unix_ns / 1e9 for trials in self._attempts.values() for trial in trials)
        steps = [after - before for before, after in pairwise(starts)]
        told = [step for step in steps if step <= SESSION_GAP_S]
        return sum(told) / len(told) * len(self.group.conditions) if told else self.group.block_s

    def left_s(self) -> float:
        """Seconds that the trials not measured yet will take."""
        each_s = self.block_s() / max(1, len(self.group.conditions))
        return each_s * sum(name not in self._attempts for name in self._planned)

    def _of(self, block: int) -> list[PlannedTrial]:
        return [trial for trial in self._planned.values() if trial.block == block]
