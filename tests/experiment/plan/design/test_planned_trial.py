"""What of the generator a run studies: drivers and pools that differ between rows or sides."""

from typing import Any

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.run_plan import PlannedTrial, RunPlan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.run.prepare import requested_experiment, requested_plan
from loadstone.run.request import RunRequest


def quick(name: str, **options: Any) -> RunPlan:
    chosen = RunRequest(name, quick=True, seed=1, **options)
    return requested_plan(requested_experiment(chosen), chosen)


def of(run_plan: RunPlan, **levels: str | int) -> PlannedTrial:
    return next(one for one in run_plan.trials if levels.items() <= one.condition.items())


def test_libraries_beside_the_engine_with_pools_of_several_sizes() -> None:
    run_plan = quick("client-libraries")
    for client in ("native", "go-redis", "ioredis"):
        assert of(run_plan, client=client, pool=8, load="full").studied == ("driver", "pool")


def test_one_driver_alone_is_no_comparison_of_drivers() -> None:
    experiment = requested_experiment(RunRequest("client-libraries"))
    run_plan = make_run_plan(experiment, quick=True, only={"client": ("native",)})
    assert "driver" not in {name for one in run_plan.trials for name in one.studied}


def test_what_loads_an_application_is_a_mere_means_beside_what_loads_a_server() -> None:
    run_plan = quick("jedis-vs-lettuce")
    assert of(run_plan, library="none").studied == ()
    assert of(run_plan, library="lettuce").studied == ("driver", "pool")


def test_an_ordinary_experiment_studies_no_driver(small: str) -> None:
    assert "driver" not in {name for one in make_run_plan(load_experiment(small)).trials for name in one.studied}
