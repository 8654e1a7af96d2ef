"""Rows of tables at a fixed rate: their rates follow from what they did at full speed, their time from the rates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from loadstone.experiment.plan.design.randomisation import derived_seed
from loadstone.experiment.plan.fixed_rate import rounds_at_rate, rows_alike, times_at_rate, with_rate
from loadstone.experiment.plan.labels import label_of
from loadstone.experiment.plan.rounds import TRIAL_OVERHEAD_S, Rounds
from loadstone.experiment.plan.run_plan import Block, PlannedTrial, expected_overhead_s
from loadstone.experiment.plan.trial_plans import in_slices, with_fixed_length
from loadstone.judge.full_speed import capacity_of
from loadstone.measure.goals.goal import (
    Goal,
    GoalContext,
    GoalPhase,
    LabelledBlock,
    MeasureBlocks,
    NothingMore,
    RunClock,
    RunHistory,
    Step,
)
from loadstone.text.language import _, translatable, translated

PLACE = translatable("at a fixed rate")
WHOLE_S, WARM_UP_S = 2.0, 0.5
"""Least time of a row that is measured in one stretch; its warm-up is that of its own load, but no longer than this."""
FIRST_OPENING_S = 0.2
"""What storing a row's data and opening its connections is taken to cost as long as none was measured."""
Row = tuple[PlannedTrial, float]
"""A row with its rate, and for how many seconds it is measured."""


@dataclass(frozen=True)
class FixedRateTrials:
    """Rows that may be measured next: in rounds, or one by one."""

    trials: tuple[PlannedTrial, ...]
    rounds: Rounds | None
    expected_s: float

    def block(self, seed: int) -> Block:
        """As they are measured: in an order of its own in each round."""
        if self.rounds is None:
            return Block.alone(self.trials[0])
        return Block.shuffled(self.trials, self.rounds, derived_seed(seed, self.trials[0].name))


class FixedRateGoal(Goal):
    """Rows of tables at a fixed rate that have none yet: in their share of the budget, then in all that is left."""

    turns = (GoalPhase.FIRST, GoalPhase.MORE)

    def __init__(self, asked: GoalContext) -> None:
        self._asked = asked
        self._planned = asked.run_plan.at_rate
        self._opening_s = FIRST_OPENING_S
        self._first_ends_s: float | None = None
        self._measured: tuple[FixedRateTrials, float] | None = None
        """What was measured last, and when it began."""

    def next(self, history: RunHistory, time: RunClock) -> Step:
        """The rows that are measured most quickly, of those that fit in."""
        if self._planned is None:
            return NothingMore()
        now_s, share_s = time.budget.elapsed_s(), self._asked.run_plan.at_rate_s()
        if self._measured is not None:
            rows, began_s = self._measured
            self._took(rows, now_s - began_s)
            self._measured = None
        if self._first_ends_s is None:
            self._first_ends_s = now_s + share_s
        room_s = self._first_ends_s - now_s if time.turn is GoalPhase.FIRST else share_s
        rows_that_fit = (
            one for one in self._rows(history, min(room_s, time.left_s)) if time.fits(one.expected_s, one.trials)
        )
        following = next(rows_that_fit, None) if room_s > 0 else None
        if following is None:
            return NothingMore()
        self._measured = (following, now_s)
        return MeasureBlocks((self._shown(following),), whole=translated(PLACE))

    def first_s(self, history: RunHistory) -> Sequence[float]:  # noqa: ARG002
        """Its share of the budget."""
        return [self._asked.run_plan.at_rate_s()]

    def _shown(self, rows: FixedRateTrials) -> LabelledBlock:
        block, first = rows.block(self._asked.run_plan.seed), rows.trials[0]
        labels = tuple(label_of(self._asked.experiment, trial.condition) for trial in rows.trials)
        if rows.rounds is None:
            return LabelledBlock(block, labels[0], translated(PLACE))
        name = f"{first.group} b{first.block:02d}"
        return LabelledBlock(block, _("{n} conditions", n=len(labels)), translated(PLACE), name=name, labels=labels)

    def _rows(self, history: RunHistory, room_s: float) -> list[FixedRateTrials]:
        """Rows not measured yet whose rates are known, as many as `room_s` allow, the shortest measurements first."""
        if self._planned is None:
            return []
        newest = {trial.trial: trial for trial in history.trials}
        trials = [trial for trial in self._planned.trials if trial.name not in newest]
        rates = [self._planned.fixed.of(capacity_of(trial.condition, newest.values())) for trial in trials]
        known = [(_with_fixed_rate(trial, rate), rate) for trial, rate in zip(trials, rates, strict=True) if rate]
        openings_s = [self._overhead_s(trial) for trial, _ in known]
        times = times_at_rate([rate for _, rate in known], openings_s, room_s, self._planned.most_s)
        by_block: dict[int, list[Row]] = {}
        for (trial, _rate), time_s in zip(known, times, strict=True):
            if time_s > 0:
                by_block.setdefault(trial.block, []).append((trial, time_s))
        found: list[FixedRateTrials] = []
        for rows in by_block.values():
            found += self._in_rounds(rows) if rows[0][0].in_rounds else [self._whole(*row) for row in rows]
        return sorted(found, key=lambda one: one.expected_s / len(one.trials))

    def _took(self, rows: FixedRateTrials, seconds: float) -> None:
        """Rows were measured in so many seconds."""
        if rows.rounds is not None:
            number = len(rows.trials)
            self._opening_s = max(0.0, seconds - rows.rounds.slices_s(rows.rounds.of(1), number)) / number

    def _in_rounds(self, rows: Sequence[Row]) -> Iterator[FixedRateTrials]:
        """Rows that can be up together, those with about as much time in rounds of their own."""
        for places in rows_alike([time_s for _row, time_s in rows]):
            rounds = rounds_at_rate(max(rows[place][1] for place in places))
            trials = [rows[place][0] for place in places]
            each_s = rounds.interval_of_a_slice_s
            sliced = tuple(replace(trial, plan=in_slices(trial.plan, rounds, 1, each_s)) for trial in trials)
            expected_s = rounds.slices_s(rounds.of(1), len(sliced)) + self._opening_s * len(sliced)
            yield FixedRateTrials(sliced, rounds, expected_s)

    def _whole(self, trial: PlannedTrial, time_s: float) -> FixedRateTrials:
        plan = with_fixed_length(trial.plan, round(max(WHOLE_S, time_s), 3))
        short = {"ramp_up_s": 0.0, "warm_up_s": min(WARM_UP_S, plan.phases.warm_up_s)}
        plan = plan.model_copy(update={"phases": plan.phases.model_copy(update=short)})
        expected_s = plan.phases.measure_s + expected_overhead_s(plan)
        return FixedRateTrials((replace(trial, plan=plan),), None, expected_s)

    def _overhead_s(self, trial: PlannedTrial) -> float:
        """What a row costs beside the time for which it is measured."""
        return self._opening_s if trial.in_rounds else TRIAL_OVERHEAD_S + WHOLE_S


def _with_fixed_rate(trial: PlannedTrial, rate_per_s: float) -> PlannedTrial:
    """A planned trial whose rate is known now."""
    return replace(trial, plan=with_rate(trial.plan, rate_per_s))
