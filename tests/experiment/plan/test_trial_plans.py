"""The plan of a condition, and where its mistakes are found in the user's file."""

from pathlib import Path
from typing import Any

import pytest
from tests.experiments import with_overrides

from loadstone.experiment.plan.design.conditions import all_conditions
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.drive_plan import Closed, Open, Plan
from loadstone.experiment.plan.substitute import PlanMode
from loadstone.experiment.plan.trial_plans import WorkloadPlanner, threads_for, with_fixed_length
from loadstone.experiment.spec.loading import load_experiment
from loadstone.safety.errors import UserError

SMALL = Path(__file__).parents[2] / "examples" / "experiment" / "small.yaml"
OPERATION = {"name": "set", "commands": [{"args": ["SET", "{key}", "{value}"]}]}
REQUEST = {"name": "get", "requests": [{"path": "/"}]}


def plans(text: str, mode: PlanMode = PlanMode()) -> list[tuple[Plan, Plan | None]]:
    experiment = load_experiment(text, label="small.yaml")
    planner = WorkloadPlanner(experiment, mode, cpus=(1,))
    made = []
    for one in all_conditions(experiment):
        plan = planner.plan(one.condition, prefix="loadstone:x:")
        made.append((plan, planner.load(one.condition, plan)))
    return made


def test_the_levels_stand_in_the_plan(small: str) -> None:
    plan = plans(small)[6][0]
    assert plan.model == Closed(users=8)
    assert (plan.pool.connections, plan.pool.min_idle, plan.pool.max_idle) == (8, 8, 8)
    assert (plan.documents.payload_bytes, plan.documents.field_bytes) == (1000, 100)
    assert plan.phases.measure_s == 2
    assert plan.keys.prefix == "loadstone:x:"
    assert plan.cpus == (1,)
    assert [operation.name for operation in plan.operations] == ["set"]
    assert plan.operations[0].commands[0].args == ("SET", "{key}", "{value}")


def test_what_is_read_is_loaded_by_the_operation_for_the_same_condition(small: str) -> None:
    made = plans(small)
    assert [load is not None for _, load in made] == [False, False, True, True, False, False, False]
    plan, load = made[3]
    assert load is not None
    assert [operation.name for operation in plan.operations] == ["get"]
    assert [operation.name for operation in load.operations] == ["set"]
    assert (load.keys.distribution, load.keys.loaded, load.keys.count) == ("exactly_once", False, plan.keys.count)
    assert load.keys.prefix == plan.keys.prefix
    assert load.documents == plan.documents
    assert (load.phases.warm_up_s, load.phases.ramp_up_s, load.phases.measure_operations) == (0, 0, None)
    assert Plan.model_validate(load.model_dump()) == load


def test_an_operation_of_no_weight_is_only_for_the_load(small: str) -> None:
    text = small.replace("    - name: set\n      when: {operation: set}\n", "    - name: put\n      weight: 0\n")
    text = text.replace("when: {operation: get}\n      commands", "commands").replace(
        "operation: set\n      when", "operation: put\n      when"
    )
    plan, load = plans(text)[3]
    assert [operation.name for operation in plan.operations] == ["get"]
    assert load is not None
    assert [(operation.name, operation.weight) for operation in load.operations] == [("put", 1.0)]


def test_the_field_is_a_share_of_the_payload(small: str) -> None:
    for share, payload, field in (
        ("10 %", "10 B", 1),
        ("10 %", "5 B", 1),
        ("25 %", "100 kB", 25_000),
        ("0.5", "3 B", 2),
    ):
        text = small.replace("levels: [100 B, 1 kB]\n    default: 1 kB", f"levels: [100 B, {payload}]")
        text = text.replace("payload: [100 B, 1 kB]", f"payload: [100 B, {payload}]").replace("10 %", share)
        text = text.replace("        levels: [100 B, 1 kB]\n", f"        levels: [100 B, {payload}]\n")
        documents = plans(text)[1][0].documents
        assert documents.field_bytes == field
    without = plans(small.replace("    field_share: 10 %\n", ""))[0][0]
    assert without.documents.field_bytes == 10
    exact = plans(small.replace("field_share: 10 %", "field_bytes: 7 B"))[0][0]
    assert exact.documents.field_bytes == 7


def test_a_pool_keeps_no_more_idle_connections_than_it_has(small: str) -> None:
    plan = plans(small.replace("connections: 8", "connections: 4"))[6][0]
    assert (plan.pool.connections, plan.pool.min_idle, plan.pool.max_idle) == (4, 4, 4)


def test_quick_replaces_phases(small: str) -> None:
    plan = plans(small, PlanMode(quick=True))[0][0]
    assert (plan.phases.measure_s, plan.phases.warm_up_s) == (0.1, 1.0)


def test_as_published_replaces_model_and_phases(small: str) -> None:
    plan = plans(small, PlanMode(as_published=True))[6][0]
    assert plan.model == Closed(users=8, operations_per_user=10)
    assert (plan.phases.measure_s, plan.phases.warm_up_s, plan.phases.measure_max_s) == (0.001, 0, 60)
    both = plans(small, PlanMode(quick=True, as_published=True))[6][0]
    assert both.phases == plan.phases


def test_a_fixed_length_takes_the_place_of_every_count(small: str) -> None:
    plan = plans(small, PlanMode(as_published=True))[6][0]
    fixed = with_fixed_length(plan, 3.0)
    assert (fixed.phases.measure_s, fixed.phases.measure_operations, fixed.phases.measure_max_s) == (3, None, None)
    assert fixed.model == Closed(users=8)
    assert fixed.interval_s == 0.3
    assert (fixed.phases.warm_up_s, fixed.phases.drain_s) == (plan.phases.warm_up_s, plan.phases.drain_s)


def test_some_conditions_may_have_a_model_of_their_own(small: str) -> None:
    models = "  models:\n    - when: {workers: 8}\n      model: {kind: open, rate_per_s: %s}\n  pool:\n"
    found = plans(small.replace("  pool:\n", models % "'${workers}'", 1))
    assert {type(plan.model) for plan, _ in found} == {Closed, Open}
    assert next(plan.model for plan, _ in found if isinstance(plan.model, Open)) == Open(rate_per_s=8)
    with pytest.raises(UserError, match=r"workload\.models\.0\.model\.rate_per_s: '0' must be greater than 0"):
        plans(small.replace("  pool:\n", models % "0", 1))
    second = "    - when: {workers: 8}\n      model: {kind: open, rate_per_s: 2}\n  pool:"
    twice = (models % "1").replace("  pool:", second)
    with pytest.raises(UserError, match=r"workload\.models\.1\.when: .* has two models; narrow one `when`"):
        plans(small.replace("  pool:\n", twice, 1))
    with pytest.raises(UserError, match=r"workload\.models\.0\.when\.workers: "):
        plans(small.replace("  pool:\n", (models % "1").replace("{workers: 8}", "{workers: 9}"), 1))


def test_an_open_model_is_planned_as_well(small: str) -> None:
    text = small.replace("    kind: closed\n    users: ${workers}", "    kind: open\n    rate_per_s: ${workers}")
    text = text.replace("levels: [1, 8]", "levels: [60/min, 8]").replace("workers: [1, 8]", "workers: [60/min, 8]")
    assert plans(text)[0][0].model == Open(rate_per_s=1)
    assert plans(text)[6][0].model == Open(rate_per_s=8)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "    connections: 8\n",
            "    connections: abc\n",
            "35: workload.pool.connections: 'abc' is not a whole number; write for example 8",
        ),
        (
            "    connections: 8\n",
            "    connections: 0\n",
            "35: workload.pool.connections: '0' must be greater than 0",
        ),
        (
            "    connections: 8\n",
            "    conections: 8\n",
            "35: workload.pool.conections: unknown key; did you mean 'connections'? "
            "known here: connections, min_idle, max_idle, order",
        ),
        (
            "    connections: 8\n",
            "",
            "34: workload.pool.connections: is missing; write it",
        ),
        (
            "    connections: 8\n",
            "    connections: ${payload}\n",
            "35: workload.pool.connections: '100 B' is not a whole number; write for example 8 (from ${payload})",
        ),
        (
            "    measure_s: 2 s\n",
            "    measure_s: 2 secs.\n",
            "39: workload.phases.measure_s: '2 secs.' is not a time; write for example `250 ms`, `5 s`, `2 min`",
        ),
        (
            "    measure_s: 2 s\n",
            "    measure_s: ${payload}\n",
            "39: workload.phases.measure_s: '100 B' is not a time; "
            "write for example `250 ms`, `5 s`, `2 min` (from ${payload})",
        ),
        (
            "    kind: closed\n",
            "    kind: close\n",
            "31: workload.model: the kind 'close' is not known; did you mean 'closed'? "
            "write one of: kind: closed, kind: open",
        ),
        (
            "    kind: closed\n",
            "",
            "31: workload.model: has no kind; write one of: kind: closed, kind: open",
        ),
        (
            "    kind: closed\n",
            "    kind: closed\n    think: 1\n",
            "33: workload.model.think: unknown key; did you mean 'think_time'? known here: kind, users, "
            "think_time_ms, think_time, ramp_up, operations_per_user, operations_more, spin_us",
        ),
        (
            "    field_share: 10 %\n",
            "    field_share: 100 %\n",
            "42: workload.documents.field_share: '1' is no share between 0 and 100 %; write for example 10 %",
        ),
        (
            "    field_share: 10 %\n",
            "    field_share: 10 %\n    field_bytes: 1\n",
            "42: workload.documents.field_share: the field's size is given twice; remove field_share or field_bytes",
        ),
        (
            "    field_share: 10 %\n",
            "    field_bytes: 100\n",
            "40: workload.documents: field_bytes 100 must be smaller than payload_bytes 100",
        ),
        (
            "  documents:\n",
            "  keys: {prefix: 'users:'}\n  documents:\n",
            "40: workload.keys.prefix: is set by loadstone, which touches only keys of its own; leave it out",
        ),
        (
            "expect: ok",
            "expect: okay",
            "47: workload.operations.0.commands.0.expect: 'okay' is not known; did you mean 'ok'? "
            "write 'any', 'ok', 'integer', 'document', 'hash', 'field', 'field_array', 'value', "
            "'item', 'positive' or 'row'",
        ),
        (
            "SET {key} {value}",
            "SET {key} {valeu}",
            "47: workload.operations.0.commands.0.args: '{valeu}' is no placeholder; placeholders are: {key}, "
            "{key2}, {keys:10}, {document}, {id}, {version}, {field}, {body}, {field_json}, {changed}, {value}, {seq}, "
            "{message}, {data.FIELD}, {uniform 1..100}, {random 10 lowercase}; write {{ for a literal brace",
        ),
        (
            "      when: {operation: get}\n      commands",
            "      when: {operation: get, workers: 8}\n      commands",
            "43: workload.operations: there is no operation for operation=get, payload=100 B, workers=1, "
            "idle=few; add one whose `when` allows it",
        ),
        (
            "    - name: get\n      when: {operation: get}\n",
            "    - name: set\n",
            "48: workload.operations.1.name: 'set' is used twice for operation=set, payload=100 B, workers=1, "
            "idle=few; rename one or narrow its `when`",
        ),
        (
            "    - operation: set\n",
            "    - operation: set\n    - operation: get\n",
            "54: workload.load.1: operation=get, payload=100 B, workers=1, idle=few is loaded twice; narrow one `when`",
        ),
        (
            "      when: {operation: get}\npublished",
            "      when: {workers: 1}\npublished",
            "53: workload.load.0.operation: 'set' means 0 operations for operation=get, payload=100 B, "
            "workers=1, idle=few; it must mean one",
        ),
    ],
)
def test_a_mistake_is_found_at_its_line(small: str, old: str, new: str, expected: str) -> None:
    assert small.count(old) == 1, f"{old!r} stands {small.count(old)} times in the example"
    with pytest.raises(UserError) as caught:
        plans(small.replace(old, new))
    assert str(caught.value) == f"small.yaml:{expected}"


def test_a_mistake_in_what_a_mode_replaces_is_found_there(small: str) -> None:
    text = small.replace("{measure_s: 100 ms}", "{measure_s: 100 B}")
    assert plans(text)
    with pytest.raises(UserError, match=r"^small\.yaml:72: quick\.phases\.measure_s: '100 B' is not a time;"):
        plans(text, PlanMode(quick=True))
    text = small.replace("{operations_per_user: 10}", "{operations_per_user: few}")
    with pytest.raises(
        UserError, match=r"^small\.yaml:75: as_published\.model\.operations_per_user: 'few' is not a whole number;"
    ):
        plans(text, PlanMode(as_published=True))


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
    fixed = make_run_plan(with_overrides(experiment, sets=["workload.threads=2"]), cpus=(1,), cpu_count=2)
    assert {(trial.plan.threads, trial.plan.cpus) for trial in fixed.trials} == {(2, (1,))}
    with pytest.raises(UserError, match=r"workload\.threads: 'many' is not a whole number"):
        make_run_plan(with_overrides(experiment, sets=["workload.threads=many"]))
