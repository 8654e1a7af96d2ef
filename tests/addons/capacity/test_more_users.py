"""Full servers: a place that no level of a study fills is measured with more users, for this question alone."""

from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import pytest
from tests.changed_facts import with_facts, with_model
from tests.measure.goals.scripted_loop import ScriptedJudge, no_histogram

from loadstone.addons.capacity.full_server_goal import TRIALS_MOST, USERS_MOST, FullServerGoal
from loadstone.experiment.plan.drive_plan import Closed
from loadstone.experiment.plan.run_plan import FULL_SERVERS, Block, PlannedTrial
from loadstone.measure.goals.goal import GoalContext, GoalPhase, MeasureBlocks, RunClock, RunHistory, TimeBudget
from loadstone.run_folder.trial import TrialRecord

ROOM_S = 60.0


@dataclass
class Study:
    """A table of two operations and these numbers of users on one Redis, and what it did so far."""

    synthetic: ModuleType
    users: tuple[int, ...] = (1, 4)
    busy: float = 0.6
    """Of its thread, at every number of users of the table."""
    changes: dict[str, Any] | None = None
    """Of each planned trial."""
    room_s: float = ROOM_S
    model: str = "${users}"

    def __post_init__(self) -> None:
        self.planned = tuple(self._planned(operation, users) for operation in ("set", "get") for users in self.users)
        run_plan = replace(self.synthetic.make_run_plan(), trials=self.planned, seed=7)
        experiment = self.synthetic.make_experiment()
        model = {"kind": "closed", "users": self.model}
        workload = experiment.workload.model_copy(update={"model": model, "models": ()})
        experiment = experiment.model_copy(update={"workload": workload})
        self.goal = FullServerGoal(GoalContext(experiment, run_plan, ScriptedJudge(), no_histogram))
        self.history = RunHistory([self.done(one, self.busy) for one in self.planned])
        self.time = RunClock(TimeBudget(self.room_s, clock=lambda: 0.0), lambda: 0.0, GoalPhase.AFTER)

    def _planned(self, operation: str, users: int) -> PlannedTrial:
        plan = self.synthetic.make_plan()
        pool = plan.pool.model_copy(update={"connections": users})
        plan = plan.model_copy(update={"model": Closed(users=users), "pool": pool})
        condition = {"operation": operation, "users": users}
        name = f"b01-{operation}-{users}"
        made = PlannedTrial(name, condition, 1, 1, {}, plan, None, "table", in_rounds=True)
        return replace(made, **(self.changes or {}))

    def done(self, planned: PlannedTrial, busy: float, waited: float = 0.0, generator: float = 0.5) -> TrialRecord:
        """What came of it: the Redis was so busy, and waited for its CPU for so much of the time."""
        made: TrialRecord = self.synthetic.make_trial()
        assert isinstance(planned.plan.model, Closed)
        made = with_model(made, {"kind": "closed", "users": planned.plan.model.users})
        parts = {"redis": {"mean_share": busy, "main_thread_share": busy, "wait_share": waited}}
        made = with_facts(made, kinds={"redis": "redis", "generator": "driver"}, parts=parts)
        drive = made.facts.drive
        assert drive is not None
        threads = [one.model_copy(update={"cpu_s": generator * one.wall_s, "calls": None}) for one in drive.threads]
        facts = made.facts.model_copy(update={"drive": drive.model_copy(update={"threads": threads})})
        named = {"trial": planned.name, "group": planned.group, "condition": planned.condition, "block": planned.block}
        return made.model_copy(update={**named, "facts": facts, "checks": [], "cpu_s": {"redis": busy}})

    def next(self) -> Block | None:
        step = self.goal.next(self.history, self.time)
        return step.blocks[0].block if isinstance(step, MeasureBlocks) else None


def users_of(block: Block | None) -> list[tuple[str, int]]:
    assert block is not None
    models = [(str(one.condition["operation"]), one.plan.model) for one in block.trials]
    return [(operation, model.users) for operation, model in models if isinstance(model, Closed)]


def test_every_place_that_is_not_full_gets_more_users_in_the_same_rounds(synthetic: ModuleType) -> None:
    block = Study(synthetic).next()
    assert users_of(block) == [("set", 16), ("get", 16)]
    assert block is not None
    assert {one.group for one in block.trials} == {FULL_SERVERS}
    assert block.rounds is not None
    assert all(sorted(order) == [0, 1] for order in block.orders)
    assert all(one.plan.pool.connections >= 16 for one in block.trials)


def test_it_goes_on_until_the_server_is_full(synthetic: ModuleType) -> None:
    study = Study(synthetic)
    first = study.next()
    assert first is not None
    study.history.trials += [study.done(first.trials[0], 0.99), study.done(first.trials[1], 0.8)]
    second = study.next()
    assert users_of(second) == [("get", 32)]
    assert second is not None
    study.history.trials.append(study.done(second.trials[0], 0.98))
    assert study.next() is None


def test_a_server_that_nothing_fills_ends_it_within_its_number_of_trials(synthetic: ModuleType) -> None:
    study, measured = Study(synthetic), 0
    while (block := study.next()) is not None:
        measured += len(block.trials)
        assert max(users for _, users in users_of(block)) <= USERS_MOST
        study.history.trials += [study.done(one, 0.6) for one in block.trials]
    assert 0 < measured <= TRIALS_MOST


def test_a_table_with_a_full_server_needs_no_more(synthetic: ModuleType) -> None:
    assert Study(synthetic, busy=0.98).next() is None


@pytest.mark.parametrize(("waited", "generator"), [(0.3, 0.5), (0.0, 0.98)])
def test_others_that_have_its_cpu_and_a_full_generator_end_it(
    synthetic: ModuleType, waited: float, generator: float
) -> None:
    study = Study(synthetic)
    study.history = RunHistory([study.done(one, 0.6, waited, generator) for one in study.planned])
    assert study.next() is None


@pytest.mark.parametrize("changes", [{"driver": "jedis"}, {"studied": ("driver",)}, {"in_rounds": False}])
def test_where_the_generator_is_not_ours_or_is_studied_there_are_no_more_users(
    synthetic: ModuleType, changes: dict[str, Any]
) -> None:
    assert Study(synthetic, changes=changes).next() is None


def test_a_redis_of_the_users_gets_no_more_connections_than_by_the_study_itself(synthetic: ModuleType) -> None:
    theirs = {"servers": {"redis": {"kind": "external", "url": "redis://db.example"}}}
    study, seen = Study(synthetic, users=(1, 4, 16), changes=theirs), []
    while (block := study.next()) is not None:
        assert sum(one.plan.pool.connections for one in block.trials) <= 2 * (1 + 4 + 16)
        seen += users_of(block)
        study.history.trials += [study.done(one, 0.6) for one in block.trials]
    assert seen == [("set", 32), ("get", 32)]
    assert Study(synthetic, changes=theirs).next() is None


def test_a_study_whose_users_are_fixed_keeps_them(synthetic: ModuleType) -> None:
    assert Study(synthetic, model="8").next() is None


def test_it_takes_no_more_time_than_is_left(synthetic: ModuleType) -> None:
    assert Study(synthetic, room_s=0.5).next() is None
    assert users_of(Study(synthetic, room_s=1.5).next()) == [("set", 16)]


def test_a_resumed_run_measures_nothing_again(synthetic: ModuleType) -> None:
    study = Study(synthetic)
    first = study.next()
    assert first is not None
    resumed = Study(synthetic)
    resumed.history = RunHistory([*study.history.trials, *(study.done(one, 0.99) for one in first.trials)])
    assert resumed.next() is None
