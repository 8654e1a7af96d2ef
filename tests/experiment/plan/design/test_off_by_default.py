"""Levels that are measured only where `--only` names them."""

import pytest
from tests.experiments import with_overrides

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.preview import preview_plan
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.loading import load_experiment
from loadstone.experiment.spec.overrides import parse_only
from loadstone.report.terminal.announcement import description


@pytest.fixture
def experiment(compared: str) -> Experiment:
    """With `workers` 1, and 8 that is off by default."""
    return load_experiment(compared.replace("    levels: [1, 8]\n", "    levels: [1, 8]\n    off_by_default: [8]\n", 1))


def workers(run_plan: RunPlan) -> set[object]:
    return {trial.condition["workers"] for trial in run_plan.trials}


def test_it_is_left_out_with_all_its_comparisons(experiment: Experiment) -> None:
    run_plan = make_run_plan(experiment)
    assert workers(run_plan) == {1}
    assert [group.name for group in run_plan.groups] == ["table", "kinds"]


@pytest.mark.parametrize("text", ["workers=8", "workers=1,8"])
def test_only_turns_it_on(experiment: Experiment, text: str) -> None:
    only = parse_only(experiment, [text])
    assert workers(make_run_plan(experiment, only=only)) == set(only["workers"])


def test_to_choose_among_other_factors_turns_nothing_on(experiment: Experiment) -> None:
    only = parse_only(experiment, ["operation=set"])
    assert workers(make_run_plan(experiment, only=only)) == {1}


def test_turned_on_the_plan_is_as_if_it_had_never_been_off(experiment: Experiment, compared: str) -> None:
    on = make_run_plan(experiment, only=parse_only(experiment, ["workers=1,8"]))
    assert on == make_run_plan(load_experiment(compared))
    assert on == make_run_plan(with_overrides(experiment, sets=["factors.workers.off_by_default=[]"]))


def test_show_says_what_is_off_and_how_to_turn_it_on(experiment: Experiment) -> None:
    lines = description(preview_plan(make_run_plan(experiment), experiment), experiment).splitlines()
    at = lines.index("  workers    1*")
    assert lines[at + 1] == "             off by default: 8; to measure every level: --only workers=1,8"
    assert "  by-users: By users: 2 of 4 rows (workers 2 x idle 2, operation set)" in lines
    assert "  not in this run: users" in lines
