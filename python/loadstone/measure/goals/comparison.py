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
from loadstone.judge.compare.decision_rule import OpenGroup, rule_of
from loadstone.judge.compare.sides import names_shown
from loadstone.measure.goals.block_attempts import BlockAttempts, WarmUpRounds
from loadstone.measure.goals.goal import (
    Goal,
    GoalContext,
    GoalPhase,
    LookOutcome,
    MeasureBlocks,
    NothingMore,
    RecordLook,
    RemainingTime,
    RunClock,
    RunHistory,
    Step,
)
from loadstone.measure.goals.group_block import measure_block
from loadstone.measure.listener import Notice, ProgressListener
from loadstone.run_folder.look import Look, Reason, carried_on
from loadstone.text.language import _

_FEWEST_ROUNDS, _FEWEST_MORE_ROUNDS = 2, 8
"""Fewest rounds of a comparison's first block, where the budget has room for no more; and of a later one that the
budget cuts short: fewer would tell nothing new."""
_LEAST_SHARE = 0.05
"""Share of the budget: with less left a comparison is not begun."""


class ComparisonGoal(Goal):
    """All comparisons of a run."""

    turns = (GoalPhase.FIRST, GoalPhase.MORE, GoalPhase.LEFT)

    def __init__(self, asked: GoalContext) -> None:
        self._asked = asked
        self._rule = rule_of(asked.experiment)
        self._groups: list[BlockAttempts] | None = None
        """Each in the stage that it has come to; None: not asked yet."""
        self._warm_rounds = WarmUpRounds()
        self._turn: GoalPhase | None = None
        self._running: list[BlockAttempts] = []
        """Those that go on after this round."""
        self._narrowing: list[BlockAttempts] = []
        """Those that are decided, and go on for a narrower interval once nothing is left to decide."""
        self._round: deque[BlockAttempts] | None = None
        """Those that have their next look in this round before them; None: it is over."""
        self._entered: BlockAttempts | None = None
        """The first of them, once it is its turn."""
        self._in_time = True
        """Whether the budget goes as far as its next look."""
        self._is_final = False
        """Whether a look found that nothing more is to be known."""
        self._suspected_losses: set[str] = set()
        """Groups whose newest look makes it likely that more blocks would show a loss."""
        self._glance_at: int | None = None
        """The blocks at which this round glances at its group; None: it goes up to the next looks."""

    def next(self, history: RunHistory, time: RunClock) -> Step:
        """The next block of the group whose turn it is, or the look that follows its last one."""
        groups = self._follow(history)
        if self._is_final:
            return self._not_needed(groups, history, time)
        begins, self._turn = time.turn is not self._turn, time.turn
        if begins and time.turn is not GoalPhase.MORE:  # then those go on that did so after their first looks
            ran_out = time.turn is GoalPhase.LEFT
            able = [attempts for attempts in groups if not ran_out or _ran_out_of_time(attempts, history)]
            self._running = [attempts for attempts in able if self._goes_on(attempts, history, time)]
            self._narrowing = []
        if self._round is None:
            if not self._running and time.turn is not GoalPhase.FIRST:
                self._running, self._narrowing = self._narrowing, []
            if not self._running or (time.turn is GoalPhase.FIRST and not begins):
                return NothingMore()
            self._round, self._running = self._of_round(history)
        attempts = self._round[0]
        block = self._next_block(attempts, history, time)
        if block is not None:
            return block
        self._entered = None
        self._round.popleft()
        if not self._round:
            self._round = None
        return self._judged(attempts, history, time)

    def _of_round(self, history: RunHistory) -> tuple[deque[BlockAttempts], list[BlockAttempts]]:
        """Those that are measured up to their next looks, and those that wait."""
        names = [group.name for group in self._asked.run_plan.groups]
        running = sorted(self._running, key=lambda attempts: names.index(attempts.group.name))
        turn = self._rule.turn([self._open(attempts, history) for attempts in running])
        self._glance_at = None if turn is None else turn.blocks
        if turn is None:
            return deque(self._running), []
        chosen = next(attempts for attempts in running if attempts.group.name == turn.name)
        return deque([chosen]), [attempts for attempts in self._running if attempts is not chosen]

    def _open(self, attempts: BlockAttempts, history: RunHistory) -> OpenGroup:
        """A group that goes on, as the rule sees it."""
        name = attempts.group.name
        return OpenGroup(
            name=name,
            complete=attempts.complete,
            first_look=attempts.group.looks[0],
            is_looked_at=_look(attempts.group, history) is not None,
            suspects_loss=name in self._suspected_losses,
        )

    def first_s(self, history: RunHistory) -> Sequence[float]:
        """Return the seconds that the first look takes, for each comparison that had none yet."""
        groups = self._follow(history)
        return [
            attempts.seconds_to(attempts.group.looks[0])
            for attempts in groups
            if _look(attempts.group, history) is None
        ]

    def expected(self, history: RunHistory, time: RunClock) -> RemainingTime:
        """All blocks of those that go on; any of them may be decided before."""
        running = [attempts for attempts in self._follow(history) if self._goes_on(attempts, history, time)]
        return RemainingTime(0.0, sum(attempts.seconds_to(attempts.group.looks[-1]) for attempts in running))

    def _follow(self, history: RunHistory) -> list[BlockAttempts]:
        """The groups, with all that was measured of them."""
        if self._groups is None:
            plan = self._asked.run_plan
            self._groups = [_passes(self._stage_of(group, history)) for group in plan.groups if group.pairs]
        for attempts in self._groups:
            attempts.follow(history.trials)
        return self._groups

    def _stage_of(self, group: Group, history: RunHistory) -> Stage:
        """The stage that a group has come to."""
        before = None
        for stage in self._asked.run_plan.stages(group.name):
            look = _look(stage.group, history)
            if look is None or look.reason != "carry-over":
                break
            before = look
        return _after(stage, before)

    def _goes_on(self, attempts: BlockAttempts, history: RunHistory, time: RunClock) -> bool:
        """Whether a group is to be measured: ended ones are not, unless only time was missing that there is now.

        A fixed design has had its only look; and what could not be decided within the budget may be with a larger one.
        Nothing is looked at more often than its level allows for, however often the run is gone on with.
        """
        look = _look(attempts.group, history)
        if look is None:
            begun = attempts.group.stage == 0 or attempts.begun
            return begun or time.fits(attempts.seconds_to(attempts.group.looks[0]))
        if not _looks_left(attempts.group, history):
            return False
        if not look.stop:
            return True
        if attempts.complete >= attempts.group.looks[-1] or not time.fits(attempts.next_s()):
            return False
        if look.reason == "out of budget":
            return True
        return history.more_time and any(verdict.kind == "not_decidable" for verdict in look.verdicts)

    # Blocks

    def _next_block(self, attempts: BlockAttempts, history: RunHistory, time: RunClock) -> MeasureBlocks | None:
        """What is measured of a group before its next look; None: there is all of it, or no time for more.

        A comparison that had no look yet is begun whatever its start is guessed to take, and gets a figure. Where a
        whole block does not fit, it has as many rounds as do.
        """
        given_up = None
        if attempts is not self._entered:
            self._entered, self._in_time = attempts, True
            given_up = attempts.give_up_after_pause(time.unix_s())
        if not self._in_time:
            return None
        target, told = self._target(attempts, history), self._before(attempts, given_up, history)
        if self._warm_rounds.required(attempts):
            again_s = attempts.group.seconds([WARM_BLOCK]) if attempts.warm else 0.0
            if time.fits(again_s + attempts.seconds_to(1), attempts.pending(WARM_BLOCK)):
                return self._block(attempts, WARM_BLOCK, target, told)
            if not attempts.warm:
                if self._begins_anyway(attempts, history, time):
                    return self._block(attempts, WARM_BLOCK, target, told)
                self._in_time = False
                return None
        if attempts.complete >= target:
            return None
        if time.fits(attempts.next_s()):
            return self._block(attempts, attempts.complete + 1, target, told)
        self._in_time = False
        shortened = self._fitting_rounds(attempts, history, time)
        return None if shortened is None else self._block(attempts, attempts.complete + 1, target, told, shortened)

    def _target(self, attempts: BlockAttempts, history: RunHistory) -> int:
        """The blocks at which a group is looked at next."""
        look = _looks_left(attempts.group, history)[0]
        return look if self._glance_at is None else min(self._glance_at, look)

    def _block(
        self, attempts: BlockAttempts, block: int, target: int, told: Notice, shortened: Rounds | None = None
    ) -> MeasureBlocks:
        """One block of a group; a warming one counts for whether it must be measured again."""
        found = measure_block(self._asked, attempts, block, target=target, shortened=shortened)
        group, add = attempts.group, self._warm_rounds.add
        return replace(found, notice=told, then=(lambda _, records: add(group, records)) if found.warms else None)

    def _before(self, attempts: BlockAttempts, given_up: int | None, history: RunHistory) -> Notice:
        """What is told before a block: how many are decided, and which block is measured again."""

        def tell(told: ProgressListener) -> None:
            self._tell_decided(told, history)
            if given_up is not None:
                name = attempts.group.name
                told.detail(
                    _(
                        "block {block} of {name} is measured again: it was interrupted for too long",
                        block=given_up,
                        name=name,
                    )
                )

        return tell

    def _begins_anyway(self, attempts: BlockAttempts, history: RunHistory, time: RunClock) -> bool:
        """Whether a comparison that had no look yet is begun, however long its start is guessed to take."""
        group = attempts.group
        if group.stage > 0 or _look(group, history) is not None:
            return False
        if group.rounds is None or group.unit == "block":
            return attempts.seconds_to(1) <= time.left_s
        return time.budget.share_left() > _LEAST_SHARE

    def _fitting_rounds(self, attempts: BlockAttempts, history: RunHistory, time: RunClock) -> Rounds | None:
        """The next block in as many rounds as fit into its share of what is left; None where it has no such rounds.

        The other comparisons that go on have a share of it, too. The first block has two rounds at least.
        """
        rounds, block = attempts.group.rounds, attempts.complete + 1
        own_s, left_s = attempts.next_s(), time.left_s
        if rounds is None or rounds.unit == "block" or left_s <= 0:
            return None
        others = (other for other in self._groups or () if other is not attempts and _waits(other.group, history))
        share = own_s / (own_s + sum(other.next_s() for other in others)) if own_s > 0 else 1.0
        conditions = len(attempts.group.conditions)
        pace = own_s / rounds.block_s(block, conditions)  # what blocks took so far, of what the plan expected
        number = rounds.within(share * left_s / max(pace, 0.1), block, conditions)
        least = _FEWEST_ROUNDS if block == 1 else _FEWEST_MORE_ROUNDS
        if number < least and block > 1:
            return None
        return rounds.shortened(block, min(max(number, least), rounds.of(block)))

    # Looks

    def _judged(self, attempts: BlockAttempts, history: RunHistory, time: RunClock) -> RecordLook:
        """The look at a group at what was measured of it; whether it goes on after this round."""
        group, blocks = attempts.group, attempts.complete
        left, earlier = _looks_left(group, history), _look(group, history)
        if not self._in_time and earlier is not None and keeps_last(group.looks, left, blocks):
            return RecordLook(
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
            group, self._asked.experiment, attempts.upto(blocks), budget_s / 60 if budget_s > 0 else None
        )
        self._is_final = outcome.is_final
        (self._suspected_losses.add if outcome.suspects_loss else self._suspected_losses.discard)(group.name)
        glanced = self._in_time and blocks < group.looks[0] and not outcome.is_final
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
        longer = self._longer(attempts, look, history, time) if outcome.carried is not None else None
        following = attempts if reason == "go on" else longer
        if following is not None:
            (self._narrowing if inexact else self._running).append(following)
        return RecordLook(look, self._told(group, look, outcome, history, longer))

    @staticmethod
    def _not_needed(groups: Sequence[BlockAttempts], history: RunHistory, time: RunClock) -> Step:
        """Return the step that ends a comparison that is still open, once another one gave the answer."""
        for attempts in groups:
            look = _look(attempts.group, history)
            if look is None or not look.stop:
                verdicts = () if look is None else look.verdicts
                group = attempts.group
                return RecordLook(
                    time.look(group.name, attempts.complete, "not needed", stage=group.stage, verdicts=verdicts)
                )
        return NothingMore()

    def _longer(self, attempts: BlockAttempts, look: Look, history: RunHistory, time: RunClock) -> BlockAttempts | None:
        """The group's next stage takes its place; None where there is no time for its first look."""
        stages = self._asked.run_plan.stages(attempts.group.name)
        following = next((stage for stage in stages if stage.group.stage == attempts.group.stage + 1), None)
        if following is None:
            return None
        longer = _passes(_after(following, look))
        groups = self._follow(history)
        groups[groups.index(attempts)] = longer
        longer.follow(history.trials)
        return longer if self._goes_on(longer, history, time) else None

    # What is told of it

    def _told(
        self, group: Group, look: Look, outcome: LookOutcome, history: RunHistory, longer: BlockAttempts | None
    ) -> Notice:
        names = names_shown(self._asked.experiment, group)

        def tell(told: ProgressListener) -> None:
            self._tell_decided(told, history)
            if longer is not None and outcome.carried is not None:
                told.lengthened(group.name, longer.group.rounds, outcome.carried)
                return
            verdicts, costs = outcome.verdicts[: len(names)], outcome.costs[: len(names)]
            told.look(group.name, group.replicates(look.blocks), look.reason, verdicts, names, costs)
            if look.reason == "go on" and outcome.forecast is not None:
                told.forecast(group.name, outcome.forecast)

        return tell

    def _tell_decided(self, told: ProgressListener, history: RunHistory) -> None:
        groups = self._groups or []
        looks = [_look(attempts.group, history) for attempts in groups]
        answered = [look for look in looks if look is not None and (look.answered or look.reason == "decided")]
        told.decided(len(answered), len(groups))


def _passes(stage: Stage) -> BlockAttempts:
    return BlockAttempts(stage.group, stage.trials)


def _after(stage: Stage, before: Look | None) -> Stage:
    """The stage, with what may still reach into its slices by the look that led to it."""
    return replace(stage, group=replace(stage.group, carried_before=carried_on(before)))


def _look(group: Group, history: RunHistory) -> Look | None:
    """The newest look of this stage of a group."""
    return history.look(group.name, group.stage)


def _looks_left(group: Group, history: RunHistory) -> tuple[int, ...]:
    planned = group.looks if group.sequential else group.looks[-1:]
    taken = [look.blocks for look in history.looks if (look.group, look.stage) == (group.name, group.stage)]
    return looks_left(planned, taken, group.blocks_min)


def _ran_out_of_time(attempts: BlockAttempts, history: RunHistory) -> bool:
    look = _look(attempts.group, history)
    return look is not None and look.reason == "out of budget"


def _waits(group: Group, history: RunHistory) -> bool:
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
