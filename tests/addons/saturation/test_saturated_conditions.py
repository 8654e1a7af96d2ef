"""Which conditions are saturated, and their plans at so many users."""

from typing import Any

import pytest
from tests.experiment.plan.test_rounds import group
from tests.experiments import find_experiment

from loadstone.addons.saturation.levels import SLICE_MAX_S, plan_sweeps, step_trial, think_s, with_arrivals, with_users
from loadstone.addons.saturation.recorded_steps import settings_in
from loadstone.addons.saturation.spec import SaturationStep
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.drive_plan import Closed, Open
from loadstone.experiment.plan.look_schedule import LATER_ROUND_LOOKS
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.run_folder.plan_summary import summarise_plan

EXPERIMENT = """\
format: 1
name: small
question: Where does it saturate?
factors:
  operation: {levels: [get, set]}
tables:
  - {name: all, title: All, vary: {operation: [get, set]}}
servers:
  redis: {kind: embedded}
workload:
  model: MODEL
  pool: {connections: CONNECTIONS}
  operations:
    - {name: set, when: {operation: set}, commands: [{args: "SET {key} {value}"}]}
    - {name: get, when: {operation: get}, commands: [{args: "GET {key}"}]}
  load: [{operation: set, when: {operation: get}}]
"""
LEVELS = (1, 2, 3, 4, 6, 8, 11, 16)


def planned(more: str, model: str = "{kind: closed, users: 4}", connections: int = 4, **options: Any) -> RunPlan:
    text = EXPERIMENT.replace("MODEL", model).replace("CONNECTIONS", str(connections))
    return make_run_plan(load_experiment(text + more), seed=7, **options)


def test_saturate_takes_the_place_of_the_rows() -> None:
    plan = planned("load: saturate\n")
    assert (plan.trials, plan.groups, plan.at_rate) == ((), (), None)
    assert plan.search is not None
    assert [one.condition["operation"] for one in plan.search.trials] == ["get", "set"]
    assert plan.every_trial == plan.search.trials
    assert plan.expected_s() > 60
    assert summarise_plan(plan) == summarise_plan(planned("load: saturate\n"))


def test_a_group_stands_beside_the_rows() -> None:
    plan = planned("saturation: {vary: {operation: [set]}}\n")
    assert plan.search is not None
    assert [one.condition["operation"] for one in plan.search.trials] == ["set"]
    assert plan.trials
    assert plan.search_s() <= 0.6 * plan.budget_s
    assert plan.ending_s() > plan.search_s()


def test_only_and_quick_leave_conditions_out() -> None:
    assert planned("saturation: {vary: {operation: [set]}, quick: false}\n", quick=True).search is None
    only = planned("load: saturate\n", only={"operation": ("set",)}).search
    assert only is not None
    assert len(only.trials) == 1


@pytest.mark.parametrize(("connections", "expected"), [(4, 64), (8, 128), (2, 2)])
def test_a_pool_for_all_users_grows_and_a_smaller_one_stays(connections: int, expected: int) -> None:
    saturation = planned("load: saturate\n", connections=connections).search
    assert saturation is not None
    plan = with_users(saturation.trials[0].plan, 64)
    assert isinstance(plan.model, Closed)
    assert (plan.model.users, plan.pool.connections) == (64, expected)


def test_users_think_as_the_workload_has_it() -> None:
    model = "{kind: closed, users: 4, think_time_ms: 20, think_time: exponential}"
    saturation = planned("load: saturate\n", model).search
    assert saturation is not None
    plan = with_users(saturation.trials[0].plan, 2)
    assert isinstance(plan.model, Closed)
    assert (plan.model.think_time, think_s(plan)) == ("exponential", 0.02)
    open_ = with_arrivals(plan, 500.0, users=32)
    assert isinstance(open_.model, Open)
    assert (open_.model.arrivals, open_.pool.connections) == ("poisson", 32)


def test_each_level_has_keys_of_its_own() -> None:
    saturation = planned("load: saturate\n").search
    assert saturation is not None
    template = saturation.trials[0]
    prefixes = set()
    for users in LEVELS:
        step = SaturationStep(phase="sweep", users=users)
        trial = step_trial(
            template, with_users(template.plan, users), step, name=f"u{users}", block=1, order=1, seed=users
        )
        assert trial.load is not None
        assert trial.plan.keys.prefix == trial.load.keys.prefix
        prefixes.add(trial.plan.keys.prefix)
    assert len(prefixes) == len(LEVELS)


def test_levels_take_turns_in_rounds() -> None:
    saturation = planned("load: saturate\n").search
    assert saturation is not None
    found = plan_sweeps(saturation.trials[0], settings_in(saturation), LEVELS, unloaded_s=30e-6, slowest_s=160e-6)
    assert found.rounds is not None
    assert found.rounds.slice_s == 0.1
    assert found.rounds_a_sweep * found.rounds.measured_s >= 0.3
    assert found.rounds.of(1) == found.sweeps_a_block * found.rounds_a_sweep
    assert settings_in(saturation).sweeps % found.sweeps_a_block == 0


@pytest.mark.parametrize(
    ("more", "slowest_s", "why"),
    [
        ("load: {rounds: never}\n", 1e-4, "whole_trials.as_written"),
        ("load: saturate\n", 1.5 * SLICE_MAX_S / 20, "whole_trials.slow"),
    ],
)
def test_what_cannot_be_sliced_is_measured_by_whole_trials(more: str, slowest_s: float, why: str) -> None:
    saturation = planned(more).search
    assert saturation is not None
    found = plan_sweeps(saturation.trials[0], settings_in(saturation), LEVELS, unloaded_s=1e-4, slowest_s=slowest_s)
    assert found.rounds is None
    assert found.why_whole is not None
    assert found.why_whole.kind == why
    assert found.trial_s >= 2.0


def test_slow_responses_make_long_slices() -> None:
    saturation = planned("load: saturate\n").search
    assert saturation is not None
    found = plan_sweeps(saturation.trials[0], settings_in(saturation), LEVELS, unloaded_s=0.01, slowest_s=0.04)
    assert found.rounds is not None
    assert found.rounds.slice_s == pytest.approx(0.8)
    assert found.rounds.settle_s == pytest.approx(0.12)


def test_too_many_connections_are_not_open_at_once() -> None:
    saturation = planned("load: saturate\n").search
    assert saturation is not None
    found = plan_sweeps(saturation.trials[0], settings_in(saturation), (1, 2048, 4096), unloaded_s=1e-4, slowest_s=1e-2)
    assert found.why_whole is not None
    assert found.why_whole.kind == "whole_trials.connections"


def test_comparisons_beside_a_search_are_looked_at_as_others() -> None:
    spring = group(make_run_plan(find_experiment("local-vs-cloud")), "redis-and-processes")
    assert spring.rounds is not None
    assert spring.replicates(1) == LATER_ROUND_LOOKS[0]
