"""What is planned here is what the engine takes: the same words, limits and placeholders on both sides."""

from functools import cache

import pytest
from tests.experiments import find_experiment
from tests.readable import names

from loadstone._engine import Engine
from loadstone.experiment.plan.design.conditions import all_conditions
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.experiment.plan.substitute import FieldError
from loadstone.experiment.plan.workload_from_text import with_arguments
from loadstone.experiment.spec.levels import identity


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("mode", ["full", "quick", "as_published"])
def test_the_engine_takes_every_plan_of_the_built_in_experiments(name: str, mode: str) -> None:
    experiment = find_experiment(name)
    if mode == "as_published" and experiment.as_published is None:
        pytest.skip("it repeats no published study")
    every = {factor: one.levels for factor, one in experiment.factors.items()}  # those that are off by default, too
    run_plan = make_run_plan(experiment, only=every, quick=mode == "quick", as_published=mode == "as_published")
    planned = [*run_plan.conditions, *(crash.trial.condition for crash in run_plan.crashes)]
    assert mode != "full" or set(map(identity, planned)) == {one.identity for one in all_conditions(experiment)}
    for trial in (*run_plan.trials, *(crash.trial for crash in run_plan.crashes)):
        Engine(trial.plan.model_dump_json())
        if trial.load is not None:
            Engine(trial.load.model_dump_json())


@cache
def plan_of_one_set() -> Plan:
    """Made once: the placeholders change it alone."""
    only = {"operation": ("set",), "workers": (1,)}
    return make_run_plan(find_experiment("json-documents"), only=only, blocks=1).trials[0].plan


@pytest.mark.parametrize(
    "argument",
    [
        "{key}", "{document}", "{id}", "{version}", "{field}", "{body}", "{field_json}", "{value}", "{seq}",
        "{uniform -5..5}", "{random 3 lowercase}", "{{", "}}", "x{key}y",
        "{documnt}", "{}", "{", "}", "{uniform 5}", "{random 3 uppercase}", "{ key}",
    ],
)  # fmt: skip
def test_both_know_the_same_placeholders(argument: str) -> None:
    operation = Operation(name="set", commands=(ServerCommand(args=("ECHO", argument)),), writes="document")
    text = plan_of_one_set().model_copy(update={"operations": (operation,)}).model_dump_json()
    try:
        with_arguments({"args": ["ECHO", argument]}, ())
    except FieldError:
        with pytest.raises(ValueError):
            Engine(text)
    else:
        Engine(text)
