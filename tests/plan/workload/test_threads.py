"""`workload.threads: auto`: what the CPUs allow, and what the load needs."""

from pathlib import Path
from typing import Any

import pytest

from loadstone.errors import UserError
from loadstone.plan.design.run_design import make_run_plan
from loadstone.plan.drive_plan import Plan
from loadstone.plan.workload.trial_plans import threads_for
from loadstone.spec.load_settings import load_experiment
from loadstone.spec.overrides import override

SMALL = Path(__file__).parents[2] / "examples" / "experiment" / "small.yaml"
OPERATION = {"name": "set", "commands": [{"args": ["SET", "{key}", "{value}"]}]}
REQUEST = {"name": "get", "requests": [{"path": "/"}]}


def plan(model: dict[str, Any], connections: int = 64, **changes: Any) -> Plan:
    return Plan.model_validate(
        {"endpoints": [{"port": 1}], "model": model, "pool": {"connections": connections}, "operations": [OPERATION]}
        | changes
    )


@pytest.mark.parametrize(("cpus", "threads"), [(1, 1), (2, 1), (3, 1), (4, 2), (8, 4), (16, 8)])
def test_half_of_the_cpus_for_load_on_a_server(cpus: int, threads: int) -> None:
    assert threads_for(plan({"kind": "closed", "users": 64}), cpus) == threads


@pytest.mark.parametrize(("cpus", "threads"), [(1, 1), (2, 1), (4, 1), (8, 2), (16, 4)])
def test_a_quarter_of_the_cpus_for_load_on_an_application(cpus: int, threads: int) -> None:
    http = plan({"kind": "closed", "users": 64}, protocol="http1", operations=[REQUEST])
    assert threads_for(http, cpus) == threads


@pytest.mark.parametrize(
    ("model", "connections", "threads"),
    [
        ({"kind": "closed", "users": 3}, 64, 3),
        ({"kind": "closed", "users": 1}, 64, 1),
        ({"kind": "closed", "users": 64}, 16, 1),  # a shared pool is not divided
        ({"kind": "closed", "users": 64, "think_time_ms": 1000}, 64, 1),
        ({"kind": "open", "rate_per_s": 5000}, 64, 1),
        ({"kind": "open", "rate_per_s": 120_000}, 64, 3),
        ({"kind": "open", "rate_per_s": 120_000}, 2, 2),
    ],
)
def test_no_more_threads_than_the_load_needs(model: dict[str, Any], connections: int, threads: int) -> None:
    assert threads_for(plan(model, connections), 32) == threads


def test_auto_is_what_an_experiment_has_and_a_number_is_kept() -> None:
    experiment = load_experiment(SMALL)
    on_eight = make_run_plan(experiment, cpus=tuple(range(1, 8)), cpu_count=8)
    assert {(t.condition["workers"], t.plan.threads, t.plan.cpus) for t in on_eight.trials} == {
        (1, 1, (7,)),
        (8, 4, (4, 5, 6, 7)),
    }
    assert {trial.plan.threads for trial in make_run_plan(experiment, cpus=(1,), cpu_count=2).trials} == {1}
    fixed = make_run_plan(override(experiment, sets=["workload.threads=2"]), cpus=(1,), cpu_count=2)
    assert {(trial.plan.threads, trial.plan.cpus) for trial in fixed.trials} == {(2, (1,))}
    with pytest.raises(UserError, match=r"workload\.threads: 'many' is not a whole number"):
        make_run_plan(override(experiment, sets=["workload.threads=many"]))
