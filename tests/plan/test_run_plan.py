from typing import Any

import pytest

from loadstone.plan.model import Plan
from loadstone.plan.run_plan import PlannedTrial, RunPlan, expected_s


def plan(model: dict[str, Any], phases: dict[str, Any]) -> Plan:
    return Plan.model_validate(
        {
            "endpoints": [{}],
            "model": model,
            "pool": {"connections": 1},
            "operations": [{"name": "get", "commands": [{"args": ["GET", "{key}"]}]}],
            "phases": phases,
        }
    )


CLOSED = {"kind": "closed", "users": 4}


@pytest.mark.parametrize(
    ("model", "phases", "seconds"),
    [
        (CLOSED, {"ramp_up_s": 2, "warm_up_s": 1, "measure_s": 3}, 6),
        (CLOSED, {"warm_up_s": 0, "measure_s": 3, "measure_operations": 100_000, "measure_max_s": 45}, 10),
        (CLOSED, {"warm_up_s": 0, "measure_s": 3, "measure_operations": 1000, "measure_max_s": 45}, 3),
        (CLOSED, {"warm_up_s": 0, "measure_s": 3, "measure_operations": 10**9, "measure_max_s": 45}, 45),
        (CLOSED, {"warm_up_s": 0, "measure_s": 3, "measure_operations": 10**9}, 3),
        (CLOSED | {"operations_per_user": 10_000}, {"warm_up_s": 0, "measure_s": 1, "measure_max_s": 60}, 4),
        (CLOSED | {"think_time_ms": 4}, {"warm_up_s": 0, "measure_operations": 6000, "measure_max_s": 9}, 6),
        ({"kind": "open", "rate_per_s": 50}, {"warm_up_s": 0, "measure_operations": 400, "measure_max_s": 9}, 8),
    ],
)  # fmt: skip
def test_the_length_of_a_trial_is_guessed_from_its_plan(
    model: dict[str, Any], phases: dict[str, Any], seconds: float
) -> None:
    assert expected_s(plan(model, phases)) == seconds


def test_the_length_of_a_run_is_that_of_its_trials() -> None:
    one = plan(CLOSED, {"warm_up_s": 1, "measure_s": 3, "measure_operations": 100_000, "measure_max_s": 45})
    trials = tuple(PlannedTrial(f"b01-00{i}", {}, 1, i, {}, one, None) for i in (1, 2))
    run_plan = RunPlan("a", 1, quick=False, as_published=False, conditions=({},), trials=trials)
    assert run_plan.expected_s() == 22
    assert run_plan.longest_s() == 92
