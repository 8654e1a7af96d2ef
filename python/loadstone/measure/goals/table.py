"""Tables: the rows that no comparison needs, in decks that take turns in rounds, or in trials one by one.

The first block of each comes first, as far as there is time beside the first looks of comparisons; the other blocks
come after those looks.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import mean, median

from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.labels import label_of
from loadstone.experiment.plan.run_plan import Block, PlannedTrial, in_tables
from loadstone.measure.goals.block_attempts import BlockAttempts
from loadstone.measure.goals.goal import (
    Goal,
    GoalContext,
    GoalPhase,
    LabelledBlock,
    MeasureBlocks,
    NothingMore,
    RecordLook,
    RemainingTime,
    RunClock,
    RunHistory,
    Step,
)
from loadstone.measure.goals.group_block import measure_block
from loadstone.run_folder.trial import SESSION_GAP_S, TrialRecord
from loadstone.text.language import _


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
        """Return how many trials there are, repeats not counted."""
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
        pauses = [max(0.0, b.started_unix_ns / 1e9 - a.ended_unix_s) for a, b in pairwise(trials)]
        reported = [pause for pause in pauses if pause <= SESSION_GAP_S]
        if not reported:
            return self.group.block_s
        pause_s = median(reported) if self.complete else min(median(reported), self.group.overhead_s)
        own_s = mean(trial.ended_unix_s - trial.started_unix_ns / 1e9 for trial in trials)
        return (own_s + pause_s) * len(self.group.conditions)

    def trial_s(self) -> float:
        """Seconds that one of its trials takes."""
        return self.block_s() / max(1, len(self.group.conditions))

    def left_s(self) -> float:
        """Seconds that the trials not measured yet will take."""
        return self.trial_s() * sum(name not in self._attempts for name in self._planned)

    def _of(self, block: int) -> list[PlannedTrial]:
        return [trial for trial in self._planned.values() if trial.block == block]


_FEWEST_ROUNDS = 2
"""With fewer rounds the first block of a deck waits until the comparisons had their first looks."""
_Part = BlockAttempts | TableTrials
"""A deck, or a table of whole trials."""


class TableGoal(Goal):
    """The rows of all tables."""

    turns = (GoalPhase.FIRST, GoalPhase.MORE)

    def __init__(self, asked: GoalContext) -> None:
        self._asked = asked
        groups = [group for group in asked.run_plan.groups if in_tables(group.name)]
        planned = {
            group.name: [trial for trial in asked.run_plan.trials if trial.group == group.name] for group in groups
        }
        self._decks = [BlockAttempts(group, planned[group.name]) for group in groups if group.rounds is not None]
        self._tables = [TableTrials(group, planned[group.name]) for group in groups if group.rounds is None]
        self._turn: GoalPhase | None = None
        self._waiting: list[_Part] = []
        """Those that are not through in this turn."""
        self._entered: _Part | None = None
        """The first of them, once it is its turn."""
        self._kept_s = 0.0
        """What is not for it: seconds that were kept for the comparisons when its turn came."""

    def next(self, history: RunHistory, time: RunClock) -> Step:
        """What is measured next of the first part that is not through, and then the others."""
        self._follow(history)
        if time.turn is not self._turn:
            self._turn, self._waiting, self._entered = time.turn, [*self._decks, *self._tables], None
            self._kept_s = time.kept_s()
        while self._waiting:
            part = self._waiting[0]
            step = self._of_part(part, history, time)
            if isinstance(step, MeasureBlocks):
                return step
            self._waiting.pop(0)
            if step is not None:
                return step
        return NothingMore()

    def expected(self, history: RunHistory, time: RunClock) -> RemainingTime:
        """What is not measured yet."""
        self._follow(history)
        decks = [deck for deck in self._decks if not self._ended(deck, history, time)]
        left_s = sum(deck.seconds_to(deck.group.looks[-1]) for deck in decks)
        left_s += sum(table.left_s() for table in self._tables)
        return RemainingTime(left_s, left_s)

    def _follow(self, history: RunHistory) -> None:
        parts: list[_Part] = [*self._decks, *self._tables]
        for part in parts:
            part.follow(history.trials)

    def _of_part(self, part: _Part, history: RunHistory, time: RunClock) -> MeasureBlocks | RecordLook | None:
        """What comes next of it in this turn; None: nothing."""
        if part is not self._entered:
            if self._ended(part, history, time):
                return None
            self._entered = part
            if isinstance(part, TableTrials) and time.turn is GoalPhase.FIRST:
                self._kept_s = time.kept_s()
        if isinstance(part, BlockAttempts):
            return self._begin_deck(part, time) if time.turn is GoalPhase.FIRST else self._finish_deck(part, time)
        return self._begin_table(part, time) if time.turn is GoalPhase.FIRST else self._finish_table(part, time)

    # Decks

    def _begin_deck(self, deck: BlockAttempts, time: RunClock) -> MeasureBlocks | RecordLook | None:
        """The first block, in as many rounds as there is time for beside the other decks and tables."""
        decks = [one for one in self._waiting if isinstance(one, BlockAttempts)]
        others_s = sum(table.trial_s() * len(table.pending(table.blocks[0])) for table in self._tables)
        needed_s = sum(one.seconds_to(1) for one in decks) + others_s
        share = deck.seconds_to(1) / needed_s if needed_s > 0 else 1.0
        first = self._first_of_deck(deck, share * (time.left_s - self._kept_s))
        return first or (RecordLook(time.look(deck.group.name, deck.complete, "last look")) if _whole(deck) else None)

    def _finish_deck(self, deck: BlockAttempts, time: RunClock) -> MeasureBlocks | RecordLook:
        """The blocks that are left, as far as the budget goes."""
        if (first := self._first_of_deck(deck, time.left_s)) is not None:
            return first
        if deck.complete and not _whole(deck) and time.fits(deck.next_s()):
            return self._block(deck, deck.complete + 1)
        return RecordLook(time.look(deck.group.name, deck.complete, "last look" if _whole(deck) else "out of budget"))

    def _first_of_deck(self, deck: BlockAttempts, room_s: float) -> MeasureBlocks | None:
        """The first block in as many of its rounds as there is room for, so that every row has some."""
        planned = deck.group.rounds
        if deck.complete or planned is None:
            return None
        slower = deck.seconds_to(1) / deck.group.seconds([1])
        fitting = planned.within(room_s / slower, 1, len(deck.group.conditions))
        if fitting < min(_FEWEST_ROUNDS, planned.of(1)):
            return None
        return self._block(deck, 1, fitting)

    def _block(self, deck: BlockAttempts, block: int, rounds: int | None = None) -> MeasureBlocks:
        planned = deck.group.rounds
        shortened = None if rounds is None or planned is None else planned.shortened(block, rounds)
        return measure_block(self._asked, deck, block, target=deck.group.looks[-1], shortened=shortened)

    # Tables of whole trials

    def _begin_table(self, table: TableTrials, time: RunClock) -> MeasureBlocks | RecordLook | None:
        """The first block, trial by trial as long as there is time beside what is kept; of one block it is all."""
        if first := table.pending(table.blocks[0])[:1]:
            return self._trials(table, first) if time.fits(table.trial_s() + self._kept_s, first) else None
        return RecordLook(time.look(table.group.name, table.complete, "last look")) if len(table.blocks) == 1 else None

    def _finish_table(self, table: TableTrials, time: RunClock) -> MeasureBlocks | RecordLook:
        """What is left: of the first block trial by trial, then block by block as long as there is time for a whole."""
        following, needed_s = table.pending(table.blocks[0])[:1], table.trial_s()
        if not following:
            following, needed_s = next(filter(None, map(table.pending, table.blocks[1:])), []), table.block_s()
        if following and time.fits(needed_s, following):
            return self._trials(table, following)
        return RecordLook(time.look(table.group.name, table.complete, "out of budget" if following else "last look"))

    def _trials(self, table: TableTrials, planned: Sequence[PlannedTrial]) -> MeasureBlocks:
        return MeasureBlocks(
            tuple(
                LabelledBlock(
                    Block.alone(one),
                    label_of(self._asked.experiment, one.condition),
                    _("trial {number} of {planned}", number=table.number(one), planned=table.planned),
                )
                for one in planned
            )
        )

    def _ended(self, part: _Part, history: RunHistory, time: RunClock) -> bool:
        """Whether nothing more is to be measured of it: what a budget ended goes on where there is time for it now."""
        look = history.look(part.group.name)
        if look is None or not look.stop:
            return False
        if look.reason != "out of budget":
            return True
        if isinstance(part, BlockAttempts):
            return _whole(part) or not time.fits(part.next_s())
        return not time.fits(part.trial_s() if part.pending(part.blocks[0]) else part.block_s())


def _whole(deck: BlockAttempts) -> bool:
    return deck.complete == deck.group.looks[-1]
