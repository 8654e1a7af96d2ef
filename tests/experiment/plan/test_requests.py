"""Operations over HTTP, the pool of replicas, repeated arguments, and key spaces as large as a data set."""

import dataclasses
from functools import cache
from pathlib import Path

import pytest

from loadstone._engine import Engine
from loadstone.experiment import software
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.operations import HttpRequest, Operation
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.plan.substitute import FieldError
from loadstone.experiment.plan.workload_from_text import with_arguments, with_keys
from loadstone.experiment.spec.loading import load_experiment
from loadstone.safety.errors import UserError


def trials(text: str, **options: object) -> list[PlannedTrial]:
    run_plan = make_run_plan(load_experiment(text, label="app.yaml"), blocks=1, scale=1.0, **options)  # type: ignore[arg-type]
    return [trial for trial in run_plan.trials if trial.block == 1]


def one(text: str, **levels: object) -> PlannedTrial:
    return next(trial for trial in trials(text) if trial.condition.items() >= levels.items())


def test_an_operation_is_of_requests_or_of_commands(app: str) -> None:
    plan = one(app, work="write", store="mariadb").plan
    assert (plan.protocol, plan.pipeline_depth, plan.data) == ("http1", 1, None)
    (operation,) = plan.operations
    assert operation.commands == ()
    (request,) = operation.requests
    assert (request.method, request.path, request.expect.status) == ("POST", "/api/post", 201)
    assert request.headers == {"Content-Type": "application/json"}
    Engine(plan.model_dump_json())


def test_the_pool_is_that_of_each_replica(app: str) -> None:
    pools = {trial.condition["replicas"]: trial.plan for trial in trials(app) if trial.condition["users"] == 20}
    assert {replicas: plan.pool.connections for replicas, plan in pools.items()} == {1: 20, 2: 40}
    assert {plan.model.users for plan in pools.values()} == {20}  # type: ignore[union-attr]
    bounded = app.replace('pool: {connections: "${users}"}', "pool: {connections: 64, min_idle: 8, max_idle: 16}")
    pool = one(bounded, replicas=2).plan.pool
    assert (pool.connections, pool.min_idle, pool.max_idle) == (128, 16, 32)


def test_keys_may_be_as_many_as_the_rows_of_a_data_set(app: str) -> None:
    assert one(app, work="write").plan.keys.count == 1_000_000
    assert one(app, work="read").plan.keys.count == 10_000
    half = make_run_plan(load_experiment(app), blocks=1, scale=0.5)
    counts = {trial.plan.keys.count for trial in half.trials if trial.condition["work"] == "read"}
    assert counts == {5000} == {rows.rows for trial in half.trials for rows in trial.data}
    with pytest.raises(UserError, match=r"^app\.yaml:103: workload\.keys\.count_of: 'post' is no data set; .*: posts"):
        trials(app.replace("count_of: posts", "count_of: post"))


def test_a_last_argument_is_repeated(small: str) -> None:
    text = small.replace(
        "{args: 'SET {key} {value}', expect: ok}", "{args: 'LPUSH {key} {value}', repeat: '${workers}'}"
    )
    commands = {trial.condition["workers"]: trial.plan.operations[0].commands[0].args for trial in trials(text)
                if trial.condition["operation"] == "set"}  # fmt: skip
    assert commands[1] == ("LPUSH", "{key}", "{value}")
    assert commands[8] == ("LPUSH", "{key}", *["{value}"] * 8)
    for wrong in ("0", "1.5", "many"):
        with pytest.raises(
            UserError, match=rf"^app\.yaml:47: .*\.commands\.0\.repeat: '{wrong}' is not how often; write"
        ):
            trials(text.replace("'${workers}'", wrong))


def test_data_is_loaded_by_requests_too(app: str) -> None:
    text = app.replace("  stored:\n", "  load:\n    - {operation: write, when: {work: read}}\n  stored:\n").replace(
        "      when: {work: write}\n", "      when: {work: write, store: [mariadb, redis-hash, redis-json]}\n"
    )
    trial = one(text, work="read", store="redis-json")
    assert trial.load is not None
    assert (trial.load.keys.distribution, trial.load.keys.count, trial.load.protocol) == (
        "exactly_once",
        10_000,
        "http1",
    )
    assert trial.load.operations[0].requests == one(text, work="write").plan.operations[0].requests
    Engine(trial.load.model_dump_json())
    Engine(trial.plan.model_dump_json())
    with pytest.raises(
        UserError, match=r"'set' has commands, and the protocol is http1 for .*; load by an operation of"
    ):
        trials(text.replace("{operation: write, when: {work: read}}", "{operation: set, when: {work: read}}"))


def test_who_gets_the_load_speaks_its_protocol(app: str) -> None:
    expected = (
        "app.yaml:97: workload.protocol: 'app' gets the load and is a subject (work=write, store=mariadb, users=20, "
        "replicas=1, aof=no); write protocol http1, or another target"
    )
    commands = app.replace("write: {target: app, protocol: http1", "write: {target: app, protocol: resp2").replace(
        "    - name: write\n      when: {work: write}\n", "    - name: written\n      when: {users: 99}\n"
    )
    commands = commands.replace("levels: [20, 60]\n  replicas", "levels: [20, 60, 99]\n  replicas").replace(
        "when: {work: direct}\n", "when: {work: [write, direct]}\n"
    )
    commands = commands.replace("operation: write, server", "operation: set, server")
    with pytest.raises(UserError) as caught:
        trials(commands)
    assert str(caught.value) == expected


def test_a_server_takes_the_protocols_that_its_software_declares(app: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = dataclasses.replace(software.SOFTWARE["redis"], protocols=("resp3",))
    monkeypatch.setattr(software, "SOFTWARE", {**software.SOFTWARE, "redis": other})
    with pytest.raises(
        UserError, match=r"'redis\S*' gets the load and is a server .*; write protocol resp3, or another"
    ):
        trials(app)


def test_a_file_of_rows_counts_from_the_experiments_file(
    app: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = app.replace("  operations:\n", "  data: {path: rows.csv, order: uniform}\n  operations:\n").replace(
        "/api/post/{number}", "/api/post/{data.id}"
    )
    (tmp_path / "app.yaml").write_text(text)
    monkeypatch.chdir("/")
    with pytest.raises(UserError, match=r"app\.yaml:104: workload\.data\.path: there is no file 'rows\.csv'; its path"):
        make_run_plan(load_experiment(tmp_path / "app.yaml"))
    (tmp_path / "rows.csv").write_text("id\n1\n2\n")
    run_plan = make_run_plan(load_experiment(tmp_path / "app.yaml"), blocks=1)
    read = next(trial.plan for trial in run_plan.trials if trial.condition["work"] == "read")
    assert read.data is not None
    assert (read.data.path, read.data.order) == (str(tmp_path / "rows.csv"), "uniform")
    Engine(read.model_dump_json())
    assert {crash.trial.plan.data for crash in run_plan.crashes} == {None}, "commands need no rows"


PLACES = {
    "path": lambda text: {"path": f"/{text}"},
    "headers": lambda text: {"path": "/", "headers": {"X": text}},
    "body": lambda text: {"path": "/", "body": text},
    "equals": lambda text: {"path": "/", "expect": {"equals": text}},
    "contains": lambda text: {"path": "/", "expect": {"contains": text}},
}


@cache
def read_plan(text: str) -> Plan:
    """Made once: the places change it alone."""
    return one(text, work="read", store="mariadb").plan


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "text",
    [
        "{key}", "{number}", "{id}", "{document}", "{version}", "{field}", "{body}", "{field_json}", "{value}", "{seq}",
        "{uniform 1..5}", "{random 3 lowercase}", "{{x}}", "{data.id}",
        "{changed}", "{numbr}", "{", "}", "{}", '{"a": 1}',
    ],
)  # fmt: skip
def test_both_know_the_same_placeholders(app: str, tmp_path: Path, place: str, text: str) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("id\n1\n")
    plan = read_plan(app)
    written = PLACES[place](text)
    changed = {
        "operations": (Operation(name="read", requests=(HttpRequest.model_validate(written),)),),
        "data": {"path": str(rows)},
    }
    json = Plan.model_validate({**plan.model_dump(), **changed}).model_dump_json()
    try:
        with_keys(written, ())
    except FieldError:
        with pytest.raises(ValueError):
            Engine(json)
    else:
        Engine(json)


def test_a_lone_brace_in_a_body_is_explained(app: str) -> None:
    text = app.replace("body: '{{", "body: '{").replace("lowercase}\"}}'", "lowercase}\"}'")
    with pytest.raises(UserError) as caught:
        trials(text)
    assert str(caught.value).startswith("app.yaml:111: workload.operations.0.requests.0.body: '{' is no placeholder; ")
    assert str(caught.value).endswith("{random 10 lowercase}; write {{ and }} for literal braces")
    with pytest.raises(FieldError, match=r"'\{seqq\}' is no placeholder"):
        with_arguments({"args": "GET {seqq}"}, ())
