"""The campaign: which trial comes next, and when a comparison ends.

The table's group first, one block of it, as far as there is time beside the first looks. Then the comparisons in
rounds, each group up to its next look, until all are decided or the budget is spent; after the first round the
other blocks of the table. Ends are decided by looks and by the clock, never by a trial's figures.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from loadstone.conduct.budget import Budget
from loadstone.conduct.display import CampaignProgress
from loadstone.conduct.passes import Passes
from loadstone.conduct.rounds import RoundsBlock
from loadstone.conduct.table_trials import TableTrials
from loadstone.drive.driver import OnInterval
from loadstone.drive.outcome import Interval
from loadstone.judge.compare.sides import pair_names
from loadstone.judge.validity.checks import forbidding
from loadstone.judge.validity.reasons import failed_checks
from loadstone.judge.verdict import Verdict
from loadstone.machine import steady_clock
from loadstone.message import Message
from loadstone.plan.design.order import round_orders
from loadstone.plan.labels import label_of
from loadstone.plan.looks import keeps_last, looks_left
from loadstone.plan.rounds import Rounds
from loadstone.plan.run_plan import WARM_BLOCK, Group, PlannedTrial, RunPlan, first_looks_s, preparation
from loadstone.record.folder import RunFolder
from loadstone.record.look import Look, LookVerdict, Reason
from loadstone.record.trial import TrialRecord
from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import identity


class TrialRunner(Protocol):
    """What runs a trial and records it; see `conductor.Conductor`."""

    def run(self, planned: PlannedTrial, on_interval: OnInterval) -> TrialRecord: ...
    def run_rounds(self, block: RoundsBlock, on_interval: OnInterval) -> list[TrialRecord]: ...


class LookOutcome(Protocol):
    """What a look brought."""

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """Of each of the group's pairs."""

    @property
    def decided(self) -> bool:
        """Whether more blocks would change no verdict."""

    @property
    def forecast(self) -> Message | None:
        """What the next look would show, by the blocks measured so far; None where that is not known."""


class LookAt(Protocol):
    """Judges a group by its blocks so far; see `analyse.comparisons.look_at`."""

    def __call__(
        self,
        group: Group,
        experiment: Experiment,
        trials: Sequence[TrialRecord],
        budget_minutes: float | None,
    ) -> LookOutcome: ...


@dataclass
class Campaign:
    """All trials of a run, as many as it needs."""

    conductor: TrialRunner
    folder: RunFolder
    experiment: Experiment
    run_plan: RunPlan
    progress: CampaignProgress
    look_at: LookAt
    clock: Callable[[], float] = time.monotonic
    unix_s: Callable[[], float] = steady_clock.unix_s
    began_s: float | None = None
    """When the command began, by `clock`; None: now."""
    _looks: dict[str, Look] = field(init=False, default_factory=dict)
    """The newest look of each group."""
    _taken: dict[str, list[int]] = field(init=False, default_factory=dict)
    """At how many blocks each group was looked at, by all sessions of the run."""

    def __post_init__(self) -> None:
        earlier = self.folder.earlier_trials
        ending_s = self.run_plan.ending_s()
        self._budget = Budget(self.run_plan.budget_s, earlier, self.clock, began_s=self.began_s, ending_s=ending_s)
        self._prepared: set[str] = set()
        """What was started, warmed up and written for the trials so far, see `RunPlan.preparation`."""
        for look in self.folder.earlier_looks:
            self._note_look(look)
        self._tables = [TableTrials(*self._of(group)) for group in self.run_plan.groups if not group.pairs]
        self._comparisons = [Passes(*self._of(group)) for group in self.run_plan.groups if group.pairs]

    def run(self) -> None:
        """Measure what is not measured yet.

        Raises:
            LoadstoneError: the run cannot go on; what was finished is kept, and no group is ended by it.
        """
        self.progress.start()
        try:
            for table in self._tables:
                self._begin_table(table)
            running = [passes for passes in self._comparisons if self._goes_on(passes)]
            if running:
                running = self._round(running)
            for table in self._tables:
                self._finish_table(table)
            while running:
                running = self._round(running)
        finally:
            self.progress.stop()

    def _of(self, group: Group) -> tuple[Group, list[PlannedTrial], list[TrialRecord]]:
        """A group, its planned trials, and every attempt at them that was finished before."""
        planned = [trial for trial in self.run_plan.trials if trial.group == group.name]
        names = {trial.name for trial in planned}
        return group, planned, [trial for trial in self.folder.earlier_trials if trial.trial in names]

    # The table

    def _begin_table(self, table: TableTrials) -> None:
        """The first block of a table, as far as there is time for it; a table of one block is done with it."""
        if self._table_ended(table):
            return
        if not self._measure_first_block(table, first_looks_s(self._first_looks(), self._budget.left_s())):
            return
        if len(table.blocks) == 1:
            self._add_look(table.group, table.complete, [], stop=True, reason="last look")

    def _finish_table(self, table: TableTrials) -> None:
        """The other blocks, as far as the budget goes. Every comparison had its first look before."""
        if self._table_ended(table):
            return
        whole = self._measure_first_block(table, 0.0) and self._measure_other_blocks(table)
        reason: Reason = "last look" if whole else "out of budget"
        self._add_look(table.group, table.complete, [], stop=True, reason=reason)

    def _measure_first_block(self, table: TableTrials, kept_s: float) -> bool:
        """Trial by trial as long as `kept_s` are left after it; whether the block is whole."""
        for planned in table.pending(table.blocks[0]):
            if not self._fits(table.trial_s() + kept_s, [planned]):
                return False
            self._table_trial(table, planned)
        return True

    def _measure_other_blocks(self, table: TableTrials) -> bool:
        """Block by block as long as there is time for a whole one; whether all are measured."""
        for block in table.blocks[1:]:
            pending = table.pending(block)
            if pending and not self._fits(table.block_s(), pending):
                return False
            for planned in pending:
                self._table_trial(table, planned)
        return True

    def _first_looks(self) -> list[float]:
        """Seconds up to the first look of each comparison that had none."""
        return [
            passes.seconds_to(passes.group.looks[0])
            for passes in self._comparisons
            if passes.group.name not in self._looks
        ]

    def _table_ended(self, table: TableTrials) -> bool:
        """Whether nothing more is to be measured of it: what a budget ended goes on where there is time for it now."""
        look = self._looks.get(table.group.name)
        if look is None or not look.stop:
            return False
        first = table.pending(table.blocks[0])
        return look.reason != "out of budget" or not self._fits(table.trial_s() if first else table.block_s())

    def _table_trial(self, table: TableTrials, planned: PlannedTrial) -> None:
        record = self._trial(planned, f"trial {table.number(planned)} of {table.planned}")
        table.add(record)
        self.progress.finished(record.verdict, _reasons(record))

    # The comparisons

    def _round(self, running: list[Passes]) -> list[Passes]:
        """Each of them up to its next look; those that go on."""
        self._report_decided()
        return [passes for passes in running if self._to_next_look(passes)]

    def _goes_on(self, passes: Passes) -> bool:
        """Whether a group is to be measured: ended ones are not, unless only time was missing that there is now.

        A fixed design has had its only look; and what could not be decided within the budget may be with a larger one.
        Nothing is looked at more often than its level allows for, however often the run is gone on with.
        """
        look = self._looks.get(passes.group.name)
        if look is None:
            return True
        if not self._looks_left(passes.group):
            return False
        if not look.stop:
            return True
        if passes.complete >= passes.group.looks[-1] or not self._fits(passes.next_s()):
            return False
        if look.reason == "out of budget":
            return True
        return self.folder.more_time and any(one.kind == "not_decidable" for one in look.verdicts)

    def _to_next_look(self, passes: Passes) -> bool:
        """Measure a group up to its next look, or as far as the budget goes, and look; whether it goes on."""
        group = passes.group
        left = self._looks_left(group)
        in_time = self._measure_blocks(passes, left[0])
        blocks = passes.complete
        earlier = self._looks.get(group.name)
        if not in_time and earlier is not None and keeps_last(group.looks, left, blocks):
            self._add_look(group, earlier.blocks, earlier.verdicts, stop=True, reason="out of budget")
            return False
        outcome = self.look_at(
            group,
            self.experiment,
            passes.upto(blocks),
            self.run_plan.budget_s / 60 if self.run_plan.budget_s > 0 else None,
        )
        reason = _reason(outcome, in_time=in_time, last=blocks >= left[-1])
        verdicts = [one.of_look() for one in outcome.verdicts]
        self._add_look(group, blocks, verdicts, stop=reason != "go on", reason=reason)
        self._report_decided()
        names = pair_names(self.experiment, group.name, group.pairs)
        self.progress.look(group.name, group.replicates(blocks), reason, outcome.verdicts, names)
        if reason == "go on" and outcome.forecast is not None:
            self.progress.forecast(group.name, outcome.forecast)
        return reason == "go on"

    def _looks_left(self, group: Group) -> tuple[int, ...]:
        planned = group.looks if group.sequential else group.looks[-1:]
        return looks_left(planned, self._taken.get(group.name, ()), group.blocks_min)

    def _measure_blocks(self, passes: Passes, target: int) -> bool:
        """Measure blocks until there are `target`; False if the budget ends before."""
        given_up = passes.give_up_after_pause(self.unix_s())
        if given_up is not None:
            self.progress.detail(
                f"block {given_up} of {passes.group.name} is measured again: it was interrupted for too long"
            )
        if not passes.warm:
            if not self._fits(passes.seconds_to(1), passes.pending(WARM_BLOCK)):
                return False
            self._measure_block(passes, WARM_BLOCK, target)
        while passes.complete < target:
            if not self._fits(passes.next_s()):
                return False
            self._measure_block(passes, passes.complete + 1, target)
        return True

    def _measure_block(self, passes: Passes, block: int, target: int) -> None:
        """What is left of one block."""
        name = passes.group.name
        if passes.group.rounds is not None:
            place = _place_of_rounds(passes.group.rounds, name, block)
            records = self._rounds(passes, passes.group.rounds, block, place)
        else:
            place = f"{name}: warm-up block" if block == WARM_BLOCK else f"{name}: block {block}, look at {target}"
            records = (self._trial(planned, place) for planned in passes.pending(block))
        for record in records:
            passes.add(record)
            if block != WARM_BLOCK:
                self.progress.finished(record.verdict, _reasons(record), in_block=True)
        self.progress.block(place)

    def _rounds(self, passes: Passes, rounds: Rounds, block: int, place: str) -> Iterable[TrialRecord]:
        """A block of rounds, whole: what an interruption left of it does not count."""
        trials, group = passes.begin_whole(block), passes.group
        self.progress.left(*self._left())
        self.progress.trial(f"{group.name} b{block:02d}", group.name, place)
        for planned in trials:
            self._prepared |= preparation(planned).keys()
        places = {identity(planned.condition): number for number, planned in enumerate(trials)}
        orders = round_orders(group, self.run_plan.seed, block, rounds.of(block))
        numbered = tuple(tuple(places[identity(condition)] for condition in order) for order in orders)
        return self.conductor.run_rounds(RoundsBlock(trials, numbered, rounds), self._show)

    # Both

    def _trial(self, planned: PlannedTrial, place: str) -> TrialRecord:
        self.progress.left(*self._left())
        self.progress.trial(planned.name, label_of(self.experiment, planned.condition), place)
        self._prepared |= preparation(planned).keys()
        return self.conductor.run(planned, self._show)

    def _show(self, interval: Interval) -> None:
        done = sum(operation.ok for operation in interval.operations.values())
        p99_ns = max((operation.response_ns.p99 for operation in interval.operations.values()), default=0)
        if interval.duration_s > 0:
            self.progress.live(done / interval.duration_s, p99_ns or None, interval.phase)

    def _fits(self, seconds: float, planned: Sequence[PlannedTrial] = ()) -> bool:
        """Whether there is time for trials of so many seconds, with what must start for `planned`."""
        needed = {name: cost_s for trial in planned for name, cost_s in preparation(trial).items()}
        starts_s = sum(cost_s for name, cost_s in needed.items() if name not in self._prepared)
        return seconds + starts_s <= self._budget.left_s()

    def _left(self) -> tuple[float, bool]:
        """Seconds that the run still takes, and whether it may well take less."""
        tables_s = sum(table.left_s() for table in self._tables)
        running = [passes for passes in self._comparisons if self._goes_on(passes)]
        most_s = tables_s + sum(passes.seconds_to(passes.group.looks[-1]) for passes in running)
        return min(most_s, max(tables_s, self._budget.left_s())), bool(running)

    def _report_decided(self) -> None:
        ended = [look for passes in self._comparisons if (look := self._looks.get(passes.group.name)) and look.stop]
        decided = sum(look.reason == "decided" for look in ended)
        self.progress.decided(decided, len(self._comparisons))

    def _add_look(
        self, group: Group, blocks: int, verdicts: Sequence[LookVerdict], *, stop: bool, reason: Reason
    ) -> None:
        look = Look(
            group=group.name,
            blocks=blocks,
            unix_s=round(self.unix_s(), 3),
            elapsed_s=round(self._budget.elapsed_s(), 3),
            verdicts=list(verdicts),
            stop=stop,
            reason=reason,
        )
        self.folder.add_look(look)
        self._note_look(look)

    def _note_look(self, look: Look) -> None:
        self._looks[look.group] = look
        self._taken.setdefault(look.group, []).append(look.blocks)


def _place_of_rounds(rounds: Rounds, name: str, block: int) -> str:
    if block == WARM_BLOCK:
        return f"{name}: warm-up rounds"
    return f"{name}: rounds {rounds.upto(block - 1) + 1} to {rounds.upto(block)}"


def _reason(outcome: LookOutcome, *, in_time: bool, last: bool) -> Reason:
    """Why a group ends at a look, or that it goes on. What is INVALID with too few blocks may go on with more time."""
    invalid = any(one.kind == "invalid" for one in outcome.verdicts)
    if outcome.decided and (in_time or not invalid):
        return "decided"
    if last:
        return "last look"
    return "go on" if in_time else "out of budget"


def _reasons(record: TrialRecord) -> list[Message]:
    """Why the trial is not valid: what forbids its figures first."""
    first = forbidding(record)
    failed = (*first, *(one for one in failed_checks(record) if one not in first))
    return [check.reason for check in failed if check.reason is not None]
