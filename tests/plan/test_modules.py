"""A server needs its modules only where a condition that is measured uses them."""

from typing import Any

import pytest

from loadstone.plan.design.run_design import make_run_plan
from loadstone.plan.run_plan import RunPlan
from loadstone.spec.load_settings import load_experiment

EXPERIMENT = """\
format: 1
name: kinds
question: Which?
factors:
  storage: {levels: [json, string]}
tables: [{name: all, title: All, vary: {storage: [json, string]}}]
servers:
  redis: {kind: embedded, modules: [json]}
workload:
  model: {kind: closed, users: 1}
  pool: {connections: 1}
  operations:
    - {name: set, when: {storage: json}, commands: [{args: "JSON.SET {key} $ {document}"}], writes: document}
    - {name: set, when: {storage: string}, commands: [{args: "SET {key} {value}"}]}
"""


def modules(run_plan: RunPlan) -> list[Any]:
    return list(
        {repr(trial.servers["redis"]["modules"]): trial.servers["redis"]["modules"] for trial in run_plan.trials}
    )


def plan(text: str = EXPERIMENT, **only: str) -> RunPlan:
    return make_run_plan(load_experiment(text), only={name: (level,) for name, level in only.items()})


def test_without_json_commands_no_module_is_needed() -> None:
    assert modules(plan(storage="string")) == ["[]"]
    assert modules(plan(storage="json")) == ["['json']"]


def test_all_conditions_of_a_run_share_a_server() -> None:
    assert modules(plan()) == ["['json']"]


@pytest.mark.parametrize(
    "change",
    [
        ('args: "SET {key} {value}"', """args: ["EVAL", "redis.call('JSON.SET', KEYS[1], '$', '1')", "1", "{key}"]"""),
        ('"SET {key} {value}"}]', '"SET {key} {value}"}], read_back: {args: "JSON.GET {key}", expect: field}'),
    ],
)
def test_a_module_may_be_used_in_other_places(change: tuple[str, str]) -> None:
    assert change[0] in EXPERIMENT
    assert modules(plan(EXPERIMENT.replace(*change), storage="string")) == ["['json']"]
