"""Comparisons: blocks until a look decides all pairs of a group, or the budget is spent. Effects are decided alike.

The groups take turns, each up to its next look. Ends are decided by looks and by the clock, never by a trial's
figures. A look that finds that something reaches from one slice into the next gives no verdict: its group goes on
with its next stage (`experiment.plan.run_plan.Stage`), from the beginning, if that one's first look fits into what is
left of the budget.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.look_schedule import keeps_last, looks_left
from loadstone.experiment.plan.rounds import Rounds
from loadstone.experiment.plan.run_plan import WARM_BLOCK, Stage
from loadstone.judge.compare.sides import names_shown
from loadstone.measure.goals.block_attempts import Passes, WarmRounds
from loadstone.measure.goals.goal import (
    Asked,
    Done,
    Expected,
    Goal,
    History,
    Judged,
    LookOutcome,
    Measure,
    Step,
    TimeLeft,
    Turn,
)
from loadstone.measure.goals.group_block import measure_block
from loadstone.measure.listener import Tell, Told
from loadstone.run_folder.look import Look, Reason, carried_on
from loadstone.text.language import _

_FEWEST_ROUNDS, _FEWEST_MORE_ROUNDS = 2, 8
"""Fewest rounds of a comparison's first block, where the budget has room for no more; and of a later one that the
budget cuts short: fewer would tell nothing new."""
_GLANCE_BLOCKS = 5
"""Blocks of a gate's P99 before rate and CPU have all the time: a loss of many times shows in so few, and no other is
worth that time."""
_LEAST_SHARE = 0.05
"""Share of the budget: with less left a comparison is not begun."""


class Comparison(Goal):
    """All comparisons of a run."""

    turns = (Turn.FIRST, Turn.MORE, Turn.LEFT)

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._groups: list[Passes] | None = None
        """Each in the stage that it has come to; None: not asked yet."""
        self._warm_rounds = WarmRounds()
        self._turn: Turn | None = None
        self._running: list[Passes] = []
        """Those that go on after this round."""
        self._inexact: list[Passes] = []
        """Those that are decided, and go on for a narrower interval once nothing is left to decide."""
        self._round: deque[Passes] | None = None
        """Those that have their next look in this round before them; None: it is over."""
        self._entered: Passes | None = None
        """The first of them, once it is its turn."""
        self._in_time = True
        """Whether the budget goes as far as its next look."""
        self._over = False
        """For a gate, whether it is red or invalid, so that nothing more is to be known."""
        self._losing: set[str] = set()
        """Groups of a gate whose newest look makes it likely that more blocks would show a loss."""
        self._glances = False
        """Whether this round is a glance at a few blocks of a group."""

    def next(self, history: History, time: TimeLeft) -> Step:
        """The next block of the group whose turn it is, or the look that follows its last one."""
        groups = self._follow(history)
        if self._over:
            return self._not_needed(groups, history, time)
        begins, self._turn = time.turn is not self._turn, time.turn
        if begins and time.turn is not Turn.MORE:  # then those go on that did so after their first looks
            ran_out = time.turn is Turn.LEFT
            able = [passes for passes in groups if not ran_out or _ran_out_of_time(passes, history)]
            self._running = [passes for passes in able if self._goes_on(passes, history, time)]
            self._inexact = []
        if self._round is None:
            if not self._running and time.turn is not Turn.FIRST:
                self._running, self._inexact = self._inexact, []
            if not self._running or (time.turn is Turn.FIRST and not begins):
                return Done()
            self._round, self._running = self._of_round(history)
        passes = self._round[0]
        block = self._next_block(passes, history, time)
        if block is not None:
            return block
        self._entered = None
        self._round.popleft()
        if not self._round:
            self._round = None
        return self._judged(passes, history, time)

    def _of_round(self, history: History) -> tuple[deque[Passes], list[Passes]]:
        """Those that are measured up to their next looks, and those that wait."""
        self._glances = False
        if self._asked.experiment.gate is None:
            return deque(self._running), []
        chosen = self._of_gate(history)
        return deque([chosen]), [passes for passes in self._running if passes is not chosen]

    def _of_gate(self, history: History) -> Passes:
        """Return the comparison of a gate that is measured next: first the one that decides, up to its first look; then
        a glance at each other one, and more of it where that shows a loss; then the first until it is known or can be
        known no better; then the others."""
        names = [group.name for group in self._asked.run_plan.groups]
        first, *others = sorted(self._running, key=lambda passes: names.index(passes.group.name))
        if _look(first.group, history) is None:
            return first
        for passes in others:
            if passes.complete < min(_GLANCE_BLOCKS, passes.group.looks[0]):
                self._glances = True
                return passes
        return next((passes for passes in others if passes.group.name in self._losing), first)

    def first_s(self, history: History) -> Sequence[float]:
        """Return the seconds that the first look takes, for each comparison that had none yet."""
        groups = self._follow(history)
        return [passes.seconds_to(passes.group.looks[0]) for passes in groups if _look(passes.group, history) is None]

    def expected(self, history: History, time: TimeLeft) -> Expected:
        """All blocks of those that go on; any of them may be decided before."""
        running = [passes for passes in self._follow(history) if self._goes_on(passes, history, time)]
        return Expected(0.0, sum(passes.seconds_to(passes.group.looks[-1]) for passes in running))

    def _follow(self, history: History) -> list[Passes]:
        """The groups, with all that was measured of them."""
        if self._groups is None:
            plan = self._asked.run_plan
            self._groups = [_passes(self._stage_of(group, history)) for group in plan.groups if group.pairs]
        for passes in self._groups:
            passes.follow(history.trials)
        return self._groups

    def _stage_of(self, group: Group, history: History) -> Stage:
        """The stage that a group has come to."""
        before = None
        for stage in self._asked.run_plan.stages(group.name):
            look = _look(stage.group, history)
            if look is None or look.reason != "carry-over":
                break
            before = look
        return _after(stage, before)

    def _goes_on(self, passes: Passes, history: History, time: TimeLeft) -> bool:
        """Whether a group is to be measured: ended ones are not, unless only time was missing that there is now.

        A fixed design has had its only look; and what could not be decided within the budget may be with a larger one.
        Nothing is looked at more often than its level allows for, however often the run is gone on with.
        """
        look = _look(passes.group, history)
        if look is None:
            begun = passes.group.stage == 0 or passes.begun
            return begun or time.fits(passes.seconds_to(passes.group.looks[0]))
        if not _looks_left(passes.group, history):
            return False
        if not look.stop:
            return True
        if passes.complete >= passes.group.looks[-1] or not time.fits(passes.next_s()):
            return False
        if look.reason == "out of budget":
            return True
        return history.more_time and any(verdict.kind == "not_decidable" for verdict in look.verdicts)

    # Blocks

    def _next_block(self, passes: Passes, history: History, time: TimeLeft) -> Measure | None:
        """What is measured of a group before its next look; None: there is all of it, or no time for more.

        A comparison that had no look yet is begun whatever its start is guessed to take, and gets a figure. Where a
        whole block does not fit, it has as many rounds as do.
        """
        given_up = None
        if passes is not self._entered:
            self._entered, self._in_time = passes, True
            given_up = passes.give_up_after_pause(time.unix_s())
        if not self._in_time:
            return None
        target, told = self._target(passes, history), self._before(passes, given_up, history)
        if self._warm_rounds.required(passes):
            again_s = passes.group.seconds([WARM_BLOCK]) if passes.warm else 0.0
            if time.fits(again_s + passes.seconds_to(1), passes.pending(WARM_BLOCK)):
                return self._block(passes, WARM_BLOCK, target, told)
            if not passes.warm:
                if self._begins_anyway(passes, history, time):
                    return self._block(passes, WARM_BLOCK, target, told)
                self._in_time = False
                return None
        if passes.complete >= target:
            return None
        if time.fits(passes.next_s()):
            return self._block(passes, passes.complete + 1, target, told)
        self._in_time = False
        shortened = self._fitting_rounds(passes, history, time)
        return None if shortened is None else self._block(passes, passes.complete + 1, target, told, shortened)

    def _target(self, passes: Passes, history: History) -> int:
        """The blocks at which a group is looked at next."""
        look = _looks_left(passes.group, history)[0]
        return min(_GLANCE_BLOCKS, look) if self._glances else look

    def _block(self, passes: Passes, block: int, target: int, told: Tell, shortened: Rounds | None = None) -> Measure:
        """One block of a group; a warming one counts for whether it must be measured again."""
        found = measure_block(self._asked, passes, block, target=target, shortened=shortened)
        group, add = passes.group, self._warm_rounds.add
        return replace(found, told=told, then=(lambda _, records: add(group, records)) if found.warms else None)

    def _before(self, passes: Passes, given_up: int | None, history: History) -> Tell:
        """What is told before a block: how many are decided, and which block is measured again."""

        def tell(told: Told) -> None:
            self._tell_decided(told, history)
            if given_up is not None:
                name = passes.group.name
                told.detail(
                    _(
                        "block {block} of {name} is measured again: it was interrupted for too long",
                        block=given_up,
                        name=name,
                    )
                )

        return tell

    def _begins_anyway(self, passes: Passes, history: History, time: TimeLeft) -> bool:
        """Whether a comparison that had no look yet is begun, however long its start is guessed to take."""
        group = passes.group
        if group.stage > 0 or _look(group, history) is not None:
            return False
        if group.rounds is None or group.unit == "block":
            return passes.seconds_to(1) <= time.left_s
        return time.budget.share_left() > _LEAST_SHARE

    def _fitting_rounds(self, passes: Passes, history: History, time: TimeLeft) -> Rounds | None:
        """The next block in as many rounds as fit into its share of what is left; None where it has no such rounds.

        The other comparisons that go on have a share of it, too. The first block has two rounds at least.
        """
        rounds, block = passes.group.rounds, passes.complete + 1
        own_s, left_s = passes.next_s(), time.left_s
        if rounds is None or rounds.unit == "block" or left_s <= 0:
            return None
        others = (other for other in self._groups or () if other is not passes and _waits(other.group, history))
        share = own_s / (own_s + sum(other.next_s() for other in others)) if own_s > 0 else 1.0
        conditions = len(passes.group.conditions)
        pace = own_s / rounds.block_s(block, conditions)  # what blocks took so far, of what the plan expected
        number = rounds.within(share * left_s / max(pace, 0.1), block, conditions)
        least = _FEWEST_ROUNDS if block == 1 else _FEWEST_MORE_ROUNDS
        if number < least and block > 1:
            return None
        return rounds.shortened(block, min(max(number, least), rounds.of(block)))

    # Looks

    def _judged(self, passes: Passes, history: History, time: TimeLeft) -> Judged:
        """The look at a group at what was measured of it; whether it goes on after this round."""
        group, blocks = passes.group, passes.complete
        left, earlier = _looks_left(group, history), _look(group, history)
        if not self._in_time and earlier is not None and keeps_last(group.looks, left, blocks):
            return Judged(
                time.look(
                    group.name,
                    earlier.blocks,
                    "out of budget",
                    stage=group.stage,
                    verdicts=earlier.verdicts,
                    answered=earlier.answered,
                )
            )
        budget_s = self._asked.run_plan.budget_s
        outcome = self._asked.look_at(
            group, self._asked.experiment, passes.upto(blocks), budget_s / 60 if budget_s > 0 else None
        )
        self._over = outcome.over
        (self._losing.add if outcome.losing else self._losing.discard)(group.name)
        glanced = self._in_time and blocks < group.looks[0] and not outcome.over
        reason: Reason = "go on" if glanced else _reason(outcome, in_time=self._in_time, last=blocks >= left[-1])
        inexact = reason == "decided" and self._in_time and not outcome.exact and blocks < left[-1]
        if inexact:
            reason = "go on"
        look = time.look(
            group.name,
            blocks,
            reason,
            stage=group.stage,
            verdicts=[verdict.of_look() for verdict in outcome.verdicts],
            answered=outcome.answered,
            carried=outcome.carried,
        )
        longer = self._longer(passes, look, history, time) if outcome.carried is not None else None
        following = passes if reason == "go on" else longer
        if following is not None:
            (self._inexact if inexact else self._running).append(following)
        return Judged(look, self._told(group, look, outcome, history, longer))

    @staticmethod
    def _not_needed(groups: Sequence[Passes], history: History, time: TimeLeft) -> Step:
        """Return the step that ends a comparison that is still open, in a gate that has its answer."""
        for passes in groups:
            look = _look(passes.group, history)
            if look is None or not look.stop:
                verdicts = () if look is None else look.verdicts
                group = passes.group
                return Judged(
                    time.look(group.name, passes.complete, "not needed", stage=group.stage, verdicts=verdicts)
                )
        return Done()

    def _longer(self, passes: Passes, look: Look, history: History, time: TimeLeft) -> Passes | None:
        """The group's next stage takes its place; None where there is no time for its first look."""
        stages = self._asked.run_plan.stages(passes.group.name)
        following = next((stage for stage in stages if stage.group.stage == passes.group.stage + 1), None)
        if following is None:
            return None
        longer = _passes(_after(following, look))
        groups = self._follow(history)
        groups[groups.index(passes)] = longer
        longer.follow(history.trials)
        return longer if self._goes_on(longer, history, time) else None

    # What is told of it

    def _told(self, group: Group, look: Look, outcome: LookOutcome, history: History, longer: Passes | None) -> Tell:
        names = names_shown(self._asked.experiment, group)

        def tell(told: Told) -> None:
            self._tell_decided(told, history)
            if longer is not None and outcome.carried is not None:
                told.lengthened(group.name, longer.group.rounds, outcome.carried)
                return
            verdicts, costs = outcome.verdicts[: len(names)], outcome.costs[: len(names)]
            told.look(group.name, group.replicates(look.blocks), look.reason, verdicts, names, costs)
            if look.reason == "go on" and outcome.forecast is not None:
                told.forecast(group.name, outcome.forecast)

        return tell

    def _tell_decided(self, told: Told, history: History) -> None:
        groups = self._groups or []
        looks = [_look(passes.group, history) for passes in groups]
        answered = [look for look in looks if look is not None and (look.answered or look.reason == "decided")]
        told.decided(len(answered), len(groups))


def _passes(stage: Stage) -> Passes:
    return Passes(stage.group, stage.trials)


def _after(stage: Stage, before: Look | None) -> Stage:
    """The stage, with what may still reach into its slices by the look that led to it."""
    return replace(stage, group=replace(stage.group, carried_before=carried_on(before)))


def _look(group: Group, history: History) -> Look | None:
    """The newest look of this stage of a group."""
    return history.look(group.name, group.stage)


def _looks_left(group: Group, history: History) -> tuple[int, ...]:
    planned = group.looks if group.sequential else group.looks[-1:]
    taken = [look.blocks for look in history.looks if (look.group, look.stage) == (group.name, group.stage)]
    return looks_left(planned, taken, group.blocks_min)


def _ran_out_of_time(passes: Passes, history: History) -> bool:
    look = _look(passes.group, history)
    return look is not None and look.reason == "out of budget"


def _waits(group: Group, history: History) -> bool:
    """Whether a comparison is to be measured further, if there is time."""
    look = _look(group, history)
    return bool(_looks_left(group, history)) and (look is None or not look.stop)


def _reason(outcome: LookOutcome, *, in_time: bool, last: bool) -> Reason:
    """Why a group ends at a look, or that it goes on. What is INVALID with too few blocks may go on with more time."""
    if outcome.carried is not None:
        return "carry-over"
    invalid = any(verdict.kind == "invalid" for verdict in outcome.verdicts)
    if outcome.decided and (in_time or not invalid):
        return "decided"
    if last:
        return "last look"
    return "go on" if in_time else "out of budget"
