"""Tables of whole trials: which trial of which block there is time for."""

from collections.abc import Callable, Sequence
from typing import Protocol

from loadstone.conduct.tables.table_trials import TableTrials
from loadstone.plan.run_plan import PlannedTrial
from loadstone.record.look import Look, Reason


class TrialSteps(Protocol):
    """What is done with a table, and what is known of it; see `campaign.Campaign`."""

    def measure_trial(self, table: TableTrials, planned: PlannedTrial) -> None:
        """One trial of it."""

    def fits(self, seconds: float, planned: Sequence[PlannedTrial] = ()) -> bool:
        """Whether there is time for trials of so many seconds, with what must start for `planned`."""

    def end(self, table: TableTrials, reason: Reason) -> None:
        """Nothing more is measured of it."""

    def look(self, table: TableTrials) -> Look | None:
        """How it ended, if it did."""


class TrialTables:
    """The tables of whole trials, of all that there are."""

    def __init__(self, tables: Sequence[TableTrials], steps: TrialSteps) -> None:
        self._tables = tables
        self._steps = steps

    def first_trials_s(self) -> float:
        """Seconds that what is left of the first blocks takes."""
        return sum(table.trial_s() * len(table.pending(table.blocks[0])) for table in self._tables)

    def left_s(self) -> float:
        """Seconds that the trials not measured yet will take."""
        return sum(table.left_s() for table in self._tables)

    def begin(self, kept_s: Callable[[], float]) -> None:
        """The first block of each, as far as there is time for it beside `kept_s`, which is found anew for each.

        A table of one block is done with it.
        """
        for table in self._tables:
            if not self._ended(table) and self._first_block(table, kept_s()) and len(table.blocks) == 1:
                self._steps.end(table, "last look")

    def finish(self) -> None:
        """The other blocks, as far as the budget goes. Every comparison had its first look before."""
        for table in self._tables:
            if not self._ended(table):
                whole = self._first_block(table, 0.0) and self._other_blocks(table)
                self._steps.end(table, "last look" if whole else "out of budget")

    def _first_block(self, table: TableTrials, kept_s: float) -> bool:
        """Trial by trial as long as `kept_s` are left after it; whether the block is whole."""
        for planned in table.pending(table.blocks[0]):
            if not self._steps.fits(table.trial_s() + kept_s, [planned]):
                return False
            self._steps.measure_trial(table, planned)
        return True

    def _other_blocks(self, table: TableTrials) -> bool:
        """Block by block as long as there is time for a whole one; whether all are measured."""
        for block in table.blocks[1:]:
            pending = table.pending(block)
            if pending and not self._steps.fits(table.block_s(), pending):
                return False
            for planned in pending:
                self._steps.measure_trial(table, planned)
        return True

    def _ended(self, table: TableTrials) -> bool:
        """Whether nothing more is to be measured of it: what a budget ended goes on where there is time for it now."""
        look = self._steps.look(table)
        if look is None or not look.stop:
            return False
        first = table.pending(table.blocks[0])
        return look.reason != "out of budget" or not self._steps.fits(table.trial_s() if first else table.block_s())
