"""When the engine's thread may stay awake in its waits."""

from dataclasses import replace

import pytest

from loadstone.experiment.plan.drive_plan import SPIN_US, Closed, Open, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.machine.placement import Placement, split, with_own_cpus
from loadstone.measure import driven_plan
from loadstone.measure.driven_plan import with_spin
from loadstone.programs.ready import RunningParts

TWO, FOUR = split([(0,), (1,)]), split([(0,), (1,), (2,), (3,)])
MODELS = [Closed(users=2), Open(rate_per_s=100)]


def spin_us(model: Closed | Open, placement: Placement, threads: int = 1) -> float | None:
    get = Operation(name="get", commands=(ServerCommand(args=("GET", "{key}")),))
    pool = Pool(connections=2)
    plan = Plan(endpoints=(Endpoint(port=1),), operations=(get,), pool=pool, model=model, threads=threads)
    return with_spin(plan, placement, RunningParts({}, {})).model.spin_us


@pytest.fixture(autouse=True)
def _without_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driven_plan, "cpu_limit", lambda: None)


@pytest.mark.parametrize("model", MODELS)
def test_a_thread_stays_awake_on_a_cpu_of_its_own_alone(model: Closed | Open, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spin_us(model, TWO) == SPIN_US
    assert spin_us(model, replace(TWO, shared=True)) == 0
    assert spin_us(model, TWO, threads=2) == 0, "they take turns on one CPU"
    assert spin_us(model.model_copy(update={"spin_us": 7.0}), replace(TWO, shared=True)) == 7
    monkeypatch.setattr(driven_plan, "cpu_limit", lambda: 1.5)
    assert spin_us(model, TWO) == 0, "a quota would be used up"


@pytest.mark.parametrize("model", MODELS)
def test_a_server_on_the_generators_cpu_under_one_condition_has_all_of_them_sleep(model: Closed | Open) -> None:
    """Else the conditions would differ in how the generator waits, too."""
    assert spin_us(model, with_own_cpus(TWO, ["redis"])) == 0
    assert spin_us(model, with_own_cpus(FOUR, ["redis"])) == SPIN_US
    assert spin_us(model, with_own_cpus(TWO, [])) == SPIN_US
