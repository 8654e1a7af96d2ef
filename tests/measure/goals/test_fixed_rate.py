"""Rows at a fixed rate: which are next, at which rate, and when in a run."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import ModuleType

from loadstone.experiment.plan.drive_plan import Open
from loadstone.experiment.plan.fixed_rate import RATE_NOT_KNOWN_PER_S, FixedRate, with_rate
from loadstone.experiment.plan.run_plan import AtRatePlan, Block, PlannedTrial
from loadstone.measure.goals.fixed_rate import FixedRateGoal as FixedRateGoal
from loadstone.measure.goals.goal import GoalContext, GoalPhase, MeasureBlocks, RunClock, RunHistory, TimeBudget
from loadstone.run_folder.trial import CheckResult, TrialRecord

from .scripted_loop import Bench, ScriptedJudge, compared, no_histogram, table

SLOW, FAST = {"operation": "set"}, {"operation": "get"}
ROOM_S = 30.0


def planned(synthetic: ModuleType, *conditions: dict[str, str], in_rounds: bool = True) -> AtRatePlan:
    plan = with_rate(synthetic.make_plan(), RATE_NOT_KNOWN_PER_S)
    return AtRatePlan(
        FixedRate(),
        tuple(
            PlannedTrial(
                f"at-rate-b01-{order:03d}", dict(condition), 1, order, {}, plan, None, "at-rate", in_rounds=in_rounds
            )
            for order, condition in enumerate(conditions, start=1)
        ),
    )


def at_full_speed(synthetic: ModuleType, condition: dict[str, str], rate_per_s: float) -> TrialRecord:
    made: TrialRecord = synthetic.make_trial()
    return made.model_copy(
        update={"trial": f"b01-{condition['operation']}", "condition": condition, "goodput_per_s": rate_per_s,
                "checks": [], "block": 1}
    )  # fmt: skip


@dataclass
class Rows:
    """The goal of these rows, with `room_s` left by a clock that stands still."""

    synthetic: ModuleType
    planned: AtRatePlan | None
    records: tuple[TrialRecord, ...] = ()
    room_s: float = ROOM_S
    now_s: float = 0.0

    def __post_init__(self) -> None:
        run_plan = replace(self.synthetic.make_run_plan(), at_rate=self.planned, budget_s=0.0, seed=7)
        self.goal = FixedRateGoal(
            GoalContext(self.synthetic.make_experiment(), run_plan, ScriptedJudge(), no_histogram)
        )
        self.history = RunHistory(list(self.records))
        budget = TimeBudget(self.room_s, clock=lambda: self.now_s)
        self.time = RunClock(budget, lambda: self.now_s, GoalPhase.MORE)

    def next(self) -> Block | None:
        step = self.goal.next(self.history, self.time)
        return step.blocks[0].block if isinstance(step, MeasureBlocks) else None

    def all(self) -> list[Block]:
        """What is measured until there is nothing more."""
        found = []
        while (block := self.next()) is not None:
            found.append(block)
            for one in block.trials:
                done = at_full_speed(self.synthetic, {"operation": str(one.condition["operation"])}, 1.0)
                self.history.trials.append(done.model_copy(update={"trial": one.name, "group": "at-rate"}))
        return found


def rates(blocks: Iterable[Block]) -> dict[str, float]:
    models = {str(one.condition["operation"]): one.plan.model for block in blocks for one in block.trials}
    return {name: model.rate_per_s for name, model in models.items() if isinstance(model, Open)}


def test_each_row_has_half_of_its_own_capacity(synthetic: ModuleType) -> None:
    records = (at_full_speed(synthetic, SLOW, 200), at_full_speed(synthetic, FAST, 50_000))
    blocks = Rows(synthetic, planned(synthetic, SLOW, FAST), records, 6.0).all()
    assert rates(blocks) == {"set": 100, "get": 25_000}
    assert [len(block.trials) for block in blocks] == [1, 1], "their slices are not equally long"
    assert blocks[0].trials[0].condition == FAST, "the short ones first"


def test_rows_alike_take_turns_in_a_new_order_each_round(synthetic: ModuleType) -> None:
    records = (at_full_speed(synthetic, SLOW, 40_000), at_full_speed(synthetic, FAST, 50_000))
    (block,) = Rows(synthetic, planned(synthetic, SLOW, FAST), records).all()
    (again,) = Rows(synthetic, planned(synthetic, SLOW, FAST), records).all()
    assert block.orders == again.orders
    assert all(sorted(order) == [0, 1] for order in block.orders)
    assert len(set(block.orders)) == 2
    assert block.rounds is not None
    assert len(block.orders) == block.rounds.of(1)
    assert block.trials[0].plan.phases.warm_up_s == block.rounds.warm_up_s


def test_a_row_without_a_trial_that_counts_is_left_out(synthetic: ModuleType) -> None:
    refused = CheckResult(name="replies", verdict="invalid", measured=1, limit=0, unit="")
    broken = at_full_speed(synthetic, SLOW, 200).model_copy(update={"checks": [refused]})
    rows = planned(synthetic, SLOW, FAST)
    assert Rows(synthetic, rows, (broken,)).all() == []
    assert rates(Rows(synthetic, rows, (broken, at_full_speed(synthetic, FAST, 1000))).all()) == {"get": 500}


def test_what_was_measured_is_not_measured_again(synthetic: ModuleType) -> None:
    records = (at_full_speed(synthetic, SLOW, 200), at_full_speed(synthetic, FAST, 1000))
    done = at_full_speed(synthetic, SLOW, 100).model_copy(update={"trial": "at-rate-b01-001", "group": "at-rate"})
    assert rates(Rows(synthetic, planned(synthetic, SLOW, FAST), (*records, done)).all()) == {"get": 500}
    assert Rows(synthetic, None, records).all() == []


def test_where_openings_take_long_there_is_time_for_fewer_rows(synthetic: ModuleType) -> None:
    records = (at_full_speed(synthetic, SLOW, 2000), at_full_speed(synthetic, FAST, 2000))
    rows = Rows(synthetic, planned(synthetic, SLOW, FAST), records, 8.0)
    before = rows.next()
    assert before is not None
    rows.now_s, rows.room_s = 14.0, 8.0
    rows.time.budget.budget_s += rows.now_s
    after = rows.next()
    assert after is not None
    assert (len(before.trials), len(after.trials)) == (2, 1)


def test_rows_that_cannot_take_turns_are_whole_trials(synthetic: ModuleType) -> None:
    records = (at_full_speed(synthetic, SLOW, 200), at_full_speed(synthetic, FAST, 50_000))
    blocks = Rows(synthetic, planned(synthetic, SLOW, FAST, in_rounds=False), records).all()
    assert rates(blocks) == {"set": 100, "get": 25_000}
    assert [block.rounds for block in blocks] == [None, None]
    assert all(block.trials[0].plan.phases.measure_s >= 2.0 for block in blocks)


def test_fixed_rates_come_after_the_first_looks_and_before_further_ones(bench: Bench) -> None:
    one, other = compared(), table(blocks=2, conditions=1)
    rows = planned(bench.synthetic, *[dict(condition) for condition in other.conditions], in_rounds=False)
    absolute = replace(rows, fixed=FixedRate(1000, None))
    bench.run(replace(bench.plan(other, one), at_rate=absolute))
    place = bench.ran.index("at-rate-b01-001")
    assert bench.ran[place - 1] == "storage-b08-002", "the first look is after block 8"
    assert bench.ran[place + 1] == "b02-001"
    assert bench.ran.count("at-rate-b01-001") == 1
    bench.run(replace(bench.plan(other, one), at_rate=absolute))
    assert "at-rate-b01-001" not in bench.ran, "gone on with, it is there"
