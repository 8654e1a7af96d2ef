"""Rows of tables at a fixed rate: their rates follow from what they did at full speed, their time from the rates."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from loadstone.judge.full_speed import capacity_of
from loadstone.plan.at_rate import with_rate
from loadstone.plan.at_rate_times import alike, rounds_at_rate, times_at_rate
from loadstone.plan.block import Block
from loadstone.plan.design.order import derived_seed
from loadstone.plan.rounds import Rounds
from loadstone.plan.run_plan import AtRatePlan, PlannedTrial, expected_overhead_s
from loadstone.plan.trial_length import TRIAL_OVERHEAD_S
from loadstone.plan.workload.trial_plans import in_slices, with_fixed_length
from loadstone.record.trial import TrialRecord

WHOLE_S, WARM_UP_S = 2.0, 0.5
"""Of a row that is measured in one stretch, at least; its warm-up is that of its own load, but no longer than this."""

FIRST_OPENING_S = 0.2
"""What storing a row's data and opening its connections is taken to cost as long as none was measured."""
Row = tuple[PlannedTrial, float]
"""A row with its rate, and for how many seconds it is measured."""


@dataclass(frozen=True)
class AtRateBlock:
    """Rows that are measured next: in rounds, or one by one."""

    trials: tuple[PlannedTrial, ...]
    rounds: Rounds | None
    expected_s: float

    def in_rounds(self, seed: int) -> Block:
        """As the conductor takes it, in an order of its own in each round."""
        if self.rounds is None:
            raise ValueError("these rows are not measured in rounds")
        chance, places = random.Random(derived_seed(seed, self.trials[0].name)), range(len(self.trials))
        orders = tuple(tuple(chance.sample(places, len(places))) for _ in range(self.rounds.of(1)))
        return Block(self.trials, orders, self.rounds)


class FixedRates:
    """What is left to be measured at a fixed rate. For how long depends on what rows before them took."""

    def __init__(self, planned: AtRatePlan | None) -> None:
        """`planned`: all that is to be measured; None: nothing."""
        self._planned = planned
        self._opening_s = FIRST_OPENING_S

    def blocks(self, records: Mapping[str, TrialRecord], room_s: float) -> list[AtRateBlock]:
        """Rows not measured yet whose rates are known, as many as `room_s` allow, the shortest measurements first.

        `records`: of each trial of the run the newest, judged: what is done, and what rows did at full speed.
        """
        if self._planned is None:
            return []
        trials = [trial for trial in self._planned.trials if trial.name not in records]
        rates = [self._planned.fixed.of(capacity_of(trial.condition, records.values())) for trial in trials]
        known = [(with_fixed_rate(trial, rate), rate) for trial, rate in zip(trials, rates, strict=True) if rate]
        openings_s = [self._overhead_s(trial) for trial, _ in known]
        times = times_at_rate([rate for _, rate in known], openings_s, room_s, self._planned.most_s)
        by_block: dict[int, list[Row]] = {}
        for (trial, _), time_s in zip(known, times, strict=True):
            if time_s > 0:
                by_block.setdefault(trial.block, []).append((trial, time_s))
        blocks: list[AtRateBlock] = []
        for rows in by_block.values():
            blocks += self._in_rounds(rows) if rows[0][0].in_rounds else [self._whole(*row) for row in rows]
        return sorted(blocks, key=lambda block: block.expected_s / len(block.trials))

    def took(self, block: AtRateBlock, seconds: float) -> None:
        """A block was measured in so many seconds."""
        if block.rounds is not None:
            rows = len(block.trials)
            self._opening_s = max(0.0, seconds - block.rounds.slices_s(block.rounds.of(1), rows)) / rows

    def _in_rounds(self, rows: Sequence[Row]) -> Iterator[AtRateBlock]:
        """Rows that can be up together, those with about as much time in rounds of their own."""
        for places in alike([time_s for _, time_s in rows]):
            rounds = rounds_at_rate(max(rows[place][1] for place in places))
            trials = [rows[place][0] for place in places]
            sliced = tuple(replace(one, plan=in_slices(one.plan, rounds, 1)) for one in trials)
            expected_s = rounds.slices_s(rounds.of(1), len(sliced)) + self._opening_s * len(sliced)
            yield AtRateBlock(sliced, rounds, expected_s)

    def _whole(self, trial: PlannedTrial, time_s: float) -> AtRateBlock:
        plan = with_fixed_length(trial.plan, round(max(WHOLE_S, time_s), 3))
        short = {"ramp_up_s": 0.0, "warm_up_s": min(WARM_UP_S, plan.phases.warm_up_s)}
        plan = plan.model_copy(update={"phases": plan.phases.model_copy(update=short)})
        expected_s = plan.phases.measure_s + expected_overhead_s(plan)
        return AtRateBlock((replace(trial, plan=plan),), None, expected_s)

    def _overhead_s(self, trial: PlannedTrial) -> float:
        """What a row costs beside the time for which it is measured."""
        return self._opening_s if trial.in_rounds else TRIAL_OVERHEAD_S + WHOLE_S


def with_fixed_rate(trial: PlannedTrial, rate_per_s: float) -> PlannedTrial:
    """A planned trial whose rate is known now."""
    return replace(trial, plan=with_rate(trial.plan, rate_per_s))
