"""The campaign: which trial comes next, and when a comparison ends.

The table's group first, one block of it, as far as there is time beside the first looks. Then the comparisons in
rounds, each group up to its next look, until all are decided or the budget is spent; after the first round rows of
tables at a fixed rate, and the other blocks of the table. Ends are decided by looks and by the clock, never by a
trial's figures. A look that finds that something reaches from one slice into the next gives no verdict: its group goes
on with its next stage (`plan.run_plan.Stage`), from the beginning, if that one's first look fits into what is left of
the budget.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from loadstone.conduct.display import CampaignProgress
from loadstone.conduct.shown_interval import show_interval
from loadstone.conduct.tables.table_decks import TableDecks
from loadstone.conduct.tables.table_trials import TableTrials
from loadstone.conduct.tables.trial_tables import TrialTables
from loadstone.drive.driver import OnInterval
from loadstone.drive.outcome import Interval
from loadstone.figures import slice_text
from loadstone.goals.budget import Budget
from loadstone.goals.equal_rate import at_equal_rate
from loadstone.goals.fixed_rate import AtRateBlock, FixedRates
from loadstone.goals.passes import Passes
from loadstone.goals.warm_rounds import WarmRounds
from loadstone.judge.compare.sides import names_shown
from loadstone.judge.validity.checks import forbidding
from loadstone.judge.validity.reasons import failed_checks
from loadstone.judge.verdict import Verdict
from loadstone.machine import steady_clock
from loadstone.message import Message
from loadstone.plan.block import Block
from loadstone.plan.design.order import round_orders
from loadstone.plan.labels import label_of
from loadstone.plan.looks import keeps_last, looks_left
from loadstone.plan.rounds import Rounds
from loadstone.plan.run_plan import (
    WARM_BLOCK,
    Group,
    PlannedTrial,
    RunPlan,
    Stage,
    first_looks_s,
    in_tables,
    preparation,
)
from loadstone.plan.workload.trial_plans import in_slices
from loadstone.record.folder import RunFolder
from loadstone.record.look import Look, LookVerdict, Reason, carried_on
from loadstone.record.trial import TrialRecord
from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import identity

FEWEST_ROUNDS, FEWEST_MORE_ROUNDS = 2, 8
"""Of a comparison's first block, where the budget has room for no more; and of a later one that the budget cuts short:
fewer would tell nothing new."""
LEAST_SHARE = 0.05
"""Of the budget: with less left a comparison is not begun."""


class TrialRunner(Protocol):
    """What measures a block and records its trials; see `conductor.Conductor`."""

    def run(self, block: Block, on_interval: OnInterval) -> list[TrialRecord]: ...


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

    @property
    def carried(self) -> Message | None:
        """What reached from one slice into the next, where that leaves no verdict; None where nothing did."""


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
    _looks: dict[tuple[str, int], Look] = field(init=False, default_factory=dict)
    """The newest look of each stage of each group."""
    _taken: dict[tuple[str, int], list[int]] = field(init=False, default_factory=dict)
    """At how many blocks each of them was looked at, by all sessions of the run."""

    def __post_init__(self) -> None:
        earlier = self.folder.earlier_trials
        ending_s = self.run_plan.ending_s()
        self._budget = Budget(self.run_plan.budget_s, earlier, self.clock, began_s=self.began_s, ending_s=ending_s)
        self._warm_rounds = WarmRounds()
        self._prepared: set[str] = set()
        """What was started, warmed up and written for the trials so far, see `RunPlan.preparation`."""
        for look in self.folder.earlier_looks:
            self._note_look(look)
        newest = [self._newest_stage(group) for group in self.run_plan.groups]
        tables = [stage for stage in newest if in_tables(stage.group.name)]
        decks = [Passes(*self._of(stage)) for stage in tables if stage.group.rounds is not None]
        self._decks = TableDecks(decks, self)
        whole = [TableTrials(*self._of(stage)) for stage in tables if stage.group.rounds is None]
        self._tables = TrialTables(whole, self)
        self._comparisons = [Passes(*self._of(stage)) for stage in newest if stage.group.pairs]
        self._fixed_rates = FixedRates(self.run_plan.at_rate)
        self._newest = {trial.trial: trial for trial in earlier}
        """Of each trial the record that counts."""

    def run(self) -> None:
        """Measure what is not measured yet.

        Raises:
            LoadstoneError: the run cannot go on; what was finished is kept, and no group is ended by it.
        """
        self.progress.start()
        try:
            self._decks.begin(self._first_looks_s(), self._tables.first_trials_s())
            self._tables.begin(self._first_looks_s)
            running = [passes for passes in self._comparisons if self._goes_on(passes)]
            if running:
                running = self._round(running)
            self._measure_at_rates(whole_budget=False)
            self._decks.finish()
            self._tables.finish()
            while running:
                running = self._round(running)
            self._measure_at_rates(whole_budget=True)
        finally:
            self.progress.stop()

    def use_time_left(self) -> None:
        """Go on with the comparisons that ran out of time, where what came after them left some of its own.

        Raises:
            LoadstoneError: as `run`.
        """
        self._budget.keep(self.run_plan.report_s())
        self._prepared.clear()  # others may have taken the places of what was started
        running = [passes for passes in self._comparisons if self._ran_out_of_time(passes) and self._goes_on(passes)]
        if not running:
            return
        self.progress.start()
        try:
            while running:
                running = self._round(running)
        finally:
            self.progress.stop()

    def _ran_out_of_time(self, passes: Passes) -> bool:
        look = self._look(passes.group)
        return look is not None and look.reason == "out of budget"

    def _newest_stage(self, group: Group) -> Stage:
        """The stage that a group has come to."""
        before = None
        for stage in self.run_plan.stages(group.name):
            look = self._look(stage.group)
            if look is None or look.reason != "carry-over":
                break
            before = look
        return replace(stage, group=replace(stage.group, carried_before=carried_on(before)))

    def _of(self, stage: Stage) -> tuple[Group, Sequence[PlannedTrial], list[TrialRecord]]:
        """A group, its planned trials, and every attempt at them that was finished before."""
        names = {trial.name for trial in stage.trials}
        return stage.group, stage.trials, [trial for trial in self.folder.earlier_trials if trial.trial in names]

    # Tables

    def measure(self, deck: Passes, block: int, rounds: Rounds | None) -> None:
        """See `table_decks.DeckSteps`."""
        self._measure_block(deck, block, deck.group.looks[-1], rounds)

    def measure_trial(self, table: TableTrials, planned: PlannedTrial) -> None:
        """See `trial_tables.TrialSteps`."""
        record = self._trial(planned, f"trial {table.number(planned)} of {table.planned}")
        table.add(record)
        self._newest[record.trial] = record
        self.progress.finished(record.verdict, _reasons(record))

    def left_s(self) -> float:
        """See `table_decks.DeckSteps`."""
        return self._budget.left_s()

    def fits(self, seconds: float, planned: Sequence[PlannedTrial] = ()) -> bool:
        """Whether there is time for trials of so many seconds, with what must start for `planned`."""
        needed = {name: cost_s for trial in planned for name, cost_s in preparation(trial).items()}
        starts_s = sum(cost_s for name, cost_s in needed.items() if name not in self._prepared)
        return seconds + starts_s <= self._budget.left_s()

    def end(self, table: Passes | TableTrials, reason: Reason) -> None:
        """Nothing more is measured of it."""
        self._add_look(table.group, table.complete, [], stop=True, reason=reason)

    def look(self, table: Passes | TableTrials) -> Look | None:
        """How it ended, if it did."""
        return self._look(table.group)

    def _first_looks_s(self) -> float:
        """What is kept for the first look of each comparison that had none, and for fixed rates then."""
        looks_s = [
            passes.seconds_to(passes.group.looks[0]) for passes in self._comparisons if self._look(passes.group) is None
        ]
        return first_looks_s([*looks_s, self.run_plan.at_rate_s()], self._budget.left_s())

    # At a fixed rate

    def _measure_at_rates(self, *, whole_budget: bool) -> None:
        """Rows of tables at a fixed rate that have none yet, in their share of the budget or in all that is left."""
        share_s = self.run_plan.at_rate_s()
        ends_s = self.clock() + share_s
        while (room_s := share_s if whole_budget else ends_s - self.clock()) > 0:
            blocks = self._fixed_rates.blocks(self._newest, min(room_s, self._budget.left_s()))
            fitting = next((one for one in blocks if self.fits(one.expected_s, one.trials)), None)
            if fitting is None:
                return
            began_s = self.clock()
            self._measure_at_rate(fitting)
            self._fixed_rates.took(fitting, self.clock() - began_s)

    def _measure_at_rate(self, block: AtRateBlock) -> None:
        rates = "at a fixed rate"
        if block.rounds is None:
            records: Iterable[TrialRecord] = (self._trial(planned, rates) for planned in block.trials)
        else:
            self._announce(block.trials, f"{len(block.trials)} conditions", rates)
            show = partial(self._show_of, block.trials)
            records = self.conductor.run(block.in_rounds(self.run_plan.seed), show)
        for record in records:
            self._newest[record.trial] = record
            self.progress.finished(record.verdict, _reasons(record), in_block=True)
        self.progress.block(rates)

    # The comparisons

    def _round(self, running: list[Passes]) -> list[Passes]:
        """Each of them up to its next look; those that go on."""
        self._report_decided()
        return [following for passes in running if (following := self._to_next_look(passes)) is not None]

    def _goes_on(self, passes: Passes) -> bool:
        """Whether a group is to be measured: ended ones are not, unless only time was missing that there is now.

        A fixed design has had its only look; and what could not be decided within the budget may be with a larger one.
        Nothing is looked at more often than its level allows for, however often the run is gone on with.
        """
        look = self._look(passes.group)
        if look is None:
            begun = passes.group.stage == 0 or passes.begun
            return begun or self.fits(passes.seconds_to(passes.group.looks[0]))
        if not self._looks_left(passes.group):
            return False
        if not look.stop:
            return True
        if passes.complete >= passes.group.looks[-1] or not self.fits(passes.next_s()):
            return False
        if look.reason == "out of budget":
            return True
        return self.folder.more_time and any(one.kind == "not_decidable" for one in look.verdicts)

    def _to_next_look(self, passes: Passes) -> Passes | None:
        """Measure a group up to its next look, or as far as the budget goes, and look; what it goes on with."""
        group = passes.group
        left = self._looks_left(group)
        in_time = self._measure_blocks(passes, left[0])
        blocks = passes.complete
        earlier = self._look(group)
        if not in_time and earlier is not None and keeps_last(group.looks, left, blocks):
            self._add_look(group, earlier.blocks, earlier.verdicts, stop=True, reason="out of budget")
            return None
        outcome = self.look_at(
            group,
            self.experiment,
            passes.upto(blocks),
            self.run_plan.budget_s / 60 if self.run_plan.budget_s > 0 else None,
        )
        reason = _reason(outcome, in_time=in_time, last=blocks >= left[-1])
        verdicts = [one.of_look() for one in outcome.verdicts]
        stop = reason != "go on"
        self._add_look(group, blocks, verdicts, stop=stop, reason=reason, carried=outcome.carried)
        self._report_decided()
        if outcome.carried is not None and (longer := self._lengthened(passes)) is not None:
            self.progress.lengthened(group.name, longer.group.rounds, outcome.carried)
            return longer
        names = names_shown(self.experiment, group)
        self.progress.look(group.name, group.replicates(blocks), reason, outcome.verdicts[: len(names)], names)
        if reason == "go on" and outcome.forecast is not None:
            self.progress.forecast(group.name, outcome.forecast)
        return None if stop else passes

    def _lengthened(self, passes: Passes) -> Passes | None:
        """The group's next stage takes its place; None where there is no time for its first look."""
        longer = Passes(*self._of(self._newest_stage(passes.group)))
        self._comparisons[self._comparisons.index(passes)] = longer
        return longer if self._goes_on(longer) else None

    def _looks_left(self, group: Group) -> tuple[int, ...]:
        planned = group.looks if group.sequential else group.looks[-1:]
        return looks_left(planned, self._taken.get((group.name, group.stage), ()), group.blocks_min)

    def _measure_blocks(self, passes: Passes, target: int) -> bool:
        """Measure blocks until there are `target`; False if the budget ends before.

        A comparison that had no look yet is begun whatever its start is guessed to take, and gets a figure. Where a
        whole block does not fit, it has as many rounds as do.
        """
        given_up = passes.give_up_after_pause(self.unix_s())
        if given_up is not None:
            self.progress.detail(
                f"block {given_up} of {passes.group.name} is measured again: it was interrupted for too long"
            )
        first = self._begins_anyway(passes)
        while self._warm_rounds.required(passes):
            again_s = passes.group.seconds([WARM_BLOCK]) if passes.warm else 0.0
            if not self.fits(again_s + passes.seconds_to(1), passes.pending(WARM_BLOCK)):
                if passes.warm:
                    break
                if not first:
                    return False
            self._measure_block(passes, WARM_BLOCK, target)
            self._warm_rounds.add(passes.group, passes.upto(WARM_BLOCK))
        while passes.complete < target:
            if self.fits(passes.next_s()):
                self._measure_block(passes, passes.complete + 1, target)
                continue
            shortened = self._fitting_rounds(passes)
            if shortened is not None:
                self._measure_block(passes, passes.complete + 1, target, shortened)
            return False
        return True

    def _begins_anyway(self, passes: Passes) -> bool:
        """Whether a comparison that had no look yet is begun, however long its start is guessed to take."""
        group = passes.group
        if group.stage > 0 or self._look(group) is not None:
            return False
        if group.rounds is None or group.unit == "block":
            return passes.seconds_to(1) <= self._budget.left_s()
        return self._budget.share_left() > LEAST_SHARE

    def _fitting_rounds(self, passes: Passes) -> Rounds | None:
        """The next block in as many rounds as fit into its share of what is left; None where it has no such rounds.

        The other comparisons that go on have a share of it, too. The first block has two rounds at least.
        """
        rounds, block = passes.group.rounds, passes.complete + 1
        own_s, left_s = passes.next_s(), self._budget.left_s()
        if rounds is None or rounds.unit == "block" or left_s <= 0:
            return None
        others = (one for one in self._comparisons if one is not passes and self._waits(one))
        share = own_s / (own_s + sum(one.next_s() for one in others)) if own_s > 0 else 1.0
        conditions = len(passes.group.conditions)
        pace = own_s / rounds.block_s(block, conditions)  # what blocks took so far, of what the plan expected
        number = rounds.within(share * left_s / max(pace, 0.1), block, conditions)
        least = FEWEST_ROUNDS if block == 1 else FEWEST_MORE_ROUNDS
        if number < least and block > 1:
            return None
        return rounds.shortened(block, min(max(number, least), rounds.of(block)))

    def _waits(self, passes: Passes) -> bool:
        """Whether a comparison is to be measured further, if there is time."""
        look = self._look(passes.group)
        return bool(self._looks_left(passes.group)) and (look is None or not look.stop)

    def _measure_block(self, passes: Passes, block: int, target: int, shortened: Rounds | None = None) -> None:
        """What is left of one block; in the group's rounds or in these."""
        name, rounds = passes.group.name, shortened or passes.group.rounds
        if rounds is not None:
            place = _place_of_rounds(passes.group, rounds, block)
            records = self._rounds(passes, rounds, block, place)
        else:
            place = f"{name}: warm-up block" if block == WARM_BLOCK else f"{name}: block {block}, look at {target}"
            pending = at_equal_rate(passes.group, passes.pending(block), passes.upto(WARM_BLOCK))
            records = (self._trial(planned, place) for planned in pending)
        for record in records:
            passes.add(record)
            self._newest[record.trial] = record
            if block != WARM_BLOCK:
                self.progress.finished(record.verdict, _reasons(record), in_block=True)
        self.progress.block(place)

    def _rounds(self, passes: Passes, rounds: Rounds, block: int, place: str) -> Iterable[TrialRecord]:
        """A block of rounds, whole: what an interruption left of it does not count."""
        group = passes.group
        trials = at_equal_rate(group, passes.begin_whole(block), passes.upto(WARM_BLOCK))
        if rounds != group.rounds:
            trials = tuple(replace(one, plan=in_slices(one.plan, rounds, block, one.plan.interval_s)) for one in trials)
        self._announce(trials, group.name, place)
        places = {identity(planned.condition): number for number, planned in enumerate(trials)}
        orders = round_orders(group, self.run_plan.seed, block, rounds.of(block))
        numbered = tuple(tuple(places[identity(condition)] for condition in order) for order in orders)
        of_all = partial(self._show_of, trials)
        of_table = partial(self._show_round, group.name, rounds.of(block), trials)
        show = of_table if in_tables(group.name) else of_all
        return self.conductor.run(Block(trials, numbered, rounds), show)

    # All of them

    def _announce(self, trials: Sequence[PlannedTrial], label: str, place: str) -> None:
        """Trials that are measured in rounds begin."""
        self.progress.left(*self._left())
        self.progress.trial(f"{trials[0].group} b{trials[0].block:02d}", label, place)
        for planned in trials:
            self._prepared |= preparation(planned).keys()

    def _trial(self, planned: PlannedTrial, place: str) -> TrialRecord:
        self.progress.left(*self._left())
        self.progress.trial(planned.name, label_of(self.experiment, planned.condition), place)
        self._prepared |= preparation(planned).keys()
        return self.conductor.run(Block.alone(planned), self._show)[0]

    def _show(self, _: int, interval: Interval) -> None:
        show_interval(self.progress, interval)

    def _show_of(self, trials: Sequence[PlannedTrial], place: int, interval: Interval) -> None:
        show_interval(self.progress, interval, label_of(self.experiment, trials[place].condition))

    def _show_round(
        self, name: str, rounds: int, trials: Sequence[PlannedTrial], place: int, interval: Interval
    ) -> None:
        if interval.last_round is not None:
            self.progress.place(f"{name}: round {interval.last_round + 1} of {rounds}")
        self._show_of(trials, place, interval)

    def _left(self) -> tuple[float, bool]:
        """Seconds that the run still takes, and whether it may well take less."""
        tables_s = self._tables.left_s() + self._decks.left_s()
        running = [passes for passes in self._comparisons if self._goes_on(passes)]
        most_s = tables_s + sum(passes.seconds_to(passes.group.looks[-1]) for passes in running)
        return min(most_s, max(tables_s, self._budget.left_s())), bool(running)

    def _report_decided(self) -> None:
        ended = [look for passes in self._comparisons if (look := self._look(passes.group)) and look.stop]
        decided = sum(look.reason == "decided" for look in ended)
        self.progress.decided(decided, len(self._comparisons))

    def _add_look(
        self,
        group: Group,
        blocks: int,
        verdicts: Sequence[LookVerdict],
        *,
        stop: bool,
        reason: Reason,
        carried: Message | None = None,
    ) -> None:
        look = Look(
            group=group.name,
            stage=group.stage,
            blocks=blocks,
            unix_s=round(self.unix_s(), 3),
            elapsed_s=round(self._budget.elapsed_s(), 3),
            verdicts=list(verdicts),
            stop=stop,
            reason=reason,
            carried=carried,
        )
        self.folder.add_look(look)
        self._note_look(look)

    def _note_look(self, look: Look) -> None:
        self._looks[look.group, look.stage] = look
        self._taken.setdefault((look.group, look.stage), []).append(look.blocks)

    def _look(self, group: Group) -> Look | None:
        """The newest look of this stage of a group."""
        return self._looks.get((group.name, group.stage))


def _place_of_rounds(group: Group, rounds: Rounds, block: int) -> str:
    slices = f", slices of {slice_text(rounds.slice_s)}" if group.stage else ""
    if block == WARM_BLOCK:
        return f"{group.name}: warm-up rounds{slices}"
    return f"{group.name}: rounds {rounds.upto(block - 1) + 1} to {rounds.upto(block)}{slices}"


def _reason(outcome: LookOutcome, *, in_time: bool, last: bool) -> Reason:
    """Why a group ends at a look, or that it goes on. What is INVALID with too few blocks may go on with more time."""
    if outcome.carried is not None:
        return "carry-over"
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
