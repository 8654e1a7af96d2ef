"""What a plan stores is bounded: held against a real Redis's own `used_memory`, and not far above it."""

import json
import random
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.readable import is_readable

from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.required import RequiredData, RequiredSubject
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.plan.stored_bytes import Footprint, disk_of, memory_of
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.local import EmbeddedSettings
from loadstone.servers.server import DeployContext

PREFIX = "loadstone:1a2b3c4d:b01-001:"
COUNT = 16_400
"""Just beyond a doubling of the key table."""
LETTERS = bytes(string.ascii_lowercase.encode()[number % 26] for number in range(256))
ROUGHLY = 4.0
"""So many times what it took is still an estimate, and no excuse."""


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisControl]:
    server = EmbeddedSettings(modules=("json",)).server("redis")
    server.start(DeployContext(work_root=tmp_path_factory.mktemp("work")))
    with server.control(60) as control:
        yield control
    server.stop()


def plan_of(*args: str, count: int = COUNT, payload: int = 100, users: int = 1, **changes: Any) -> Plan:
    return Plan.model_validate(
        {
            "endpoints": [{}],
            "model": {"kind": "closed", "users": users},
            "pool": {"connections": 1},
            "operations": [{"name": "store", "commands": [{"args": args}]}],
            "keys": {"prefix": PREFIX, "count": count},
            "documents": {"payload_bytes": payload, "field_bytes": max(1, payload // 10)},
            **changes,
        }
    )


def trial_of(plan: Plan, **changes: Any) -> PlannedTrial:
    return PlannedTrial("b01-001", {}, 1, 1, {"redis": {}}, plan, None, **changes)


def stored(plan: Plan) -> Footprint:
    """Of its keys alone."""
    bare = plan.model_copy(update={"operations": (read(),)})
    whole, connections = memory_of([trial_of(plan)], "redis"), memory_of([trial_of(bare)], "redis")
    return Footprint(whole.bytes - connections.bytes, whole.grows)


def read() -> Any:
    return plan_of("GET", "{key}").operations[0]


def letters(number: int) -> str:
    """Random ones; by a table, since there are tens of millions."""
    return random.randbytes(number).translate(LETTERS).decode()


def document(payload: int) -> str:
    """As the engine makes it: payload and 122 bytes."""
    made = {"id": "0" * 12, "version": 1, "field": letters(payload // 10), "body": letters(payload - payload // 10)}
    return json.dumps(made)


def grown(control: RedisControl, commands: Callable[[int], tuple[Any, ...]], count: int) -> int:
    """By how much the server's memory grew."""
    control.call("FLUSHALL", "SYNC")

    def used() -> int:
        reported = control.info("memory")
        return int(reported["used_memory"]) - int(reported.get("mem_not_counted_for_evict", 0))

    before = used()
    for start in range(0, count, 500):
        control.pipelined([commands(number) for number in range(start, min(start + 500, count))])
    return used() - before


def key(number: int) -> str:
    return f"{PREFIX}{number:012d}"


@pytest.mark.parametrize("payload", [2, 100, 1000, 20_000])
def test_values_documents_and_hashes_take_no_more_than_planned(control: RedisControl, payload: int) -> None:
    count = max(200, min(COUNT, 20_000_000 // payload))
    written: dict[tuple[str, ...], Callable[[int], tuple[Any, ...]]] = {
        ("SET", "{key}", "{value}"): lambda n: ("SET", key(n), letters(payload)),
        ("SETEX", "{key}", "1000", "{value}"): lambda n: ("SETEX", key(n), "1000", letters(payload)),
        ("JSON.SET", "{key}", "$", "{document}"): lambda n: ("JSON.SET", key(n), "$", document(payload)),
        ("HSET", "{key}", "body", "{body}", "field", "{field}", "version", "{version}"): lambda n: (
            *("HSET", key(n), "body", letters(payload), "field", letters(max(1, payload // 10)), "version", "1"),
        ),
    }
    for args, command in written.items():
        took = grown(control, command, count)
        planned = stored(plan_of(*args, count=count, payload=max(2, payload)))
        assert took <= planned.bytes <= ROUGHLY * took, args
        assert not planned.grows


def test_collections_take_no_more_than_planned(control: RedisControl) -> None:
    once = {"keys": {"prefix": PREFIX, "count": COUNT, "distribution": "exactly_once"}}
    written: dict[tuple[str, ...], Callable[[int], tuple[Any, ...]]] = {
        ("SADD", "loadstone:all", "{key}"): lambda n: ("SADD", "loadstone:all", key(n)),
        ("ZADD", "loadstone:all", "{uniform 1..999999}", "{key}"): lambda n: ("ZADD", "loadstone:all", n, key(n)),
        ("LPUSH", "{key}", "{value}"): lambda n: ("LPUSH", key(n), letters(100)),
        ("SADD", "{key}", "one"): lambda n: ("SADD", key(n), "one"),
        ("XADD", "{key}", "*", "f", "v"): lambda n: ("XADD", key(n), "*", "f", "v"),
        ("JSON.SET", "{key}", "$", '{{"a":[1,2,3],"b":{{"c":[1.5,2.5]}}}}'): lambda n: (
            *("JSON.SET", key(n), "$", '{"a":[1,2,3],"b":{"c":[1.5,2.5]}}'),
        ),
    }
    for args, command in written.items():
        took = grown(control, command, COUNT)
        planned = stored(plan_of(*args, **once))
        assert took <= planned.bytes <= ROUGHLY * took, args


def test_rows_take_no_more_than_planned(control: RedisControl) -> None:
    """What a repository of hashes writes for a post: its hash, and its id in the set of all ids."""
    columns = {"id": "{number}", "title": "{random 10 lowercase}", "content": "{random 10 lowercase}"}
    data = RequiredData(
        "posts", COUNT, columns, "redis",
        commands=("HSET loadstone:post:{id} id {id} title {title} content {content}", "SADD loadstone:post {id}"),
    )  # fmt: skip
    hashes = grown(
        control,
        lambda n: ("HSET", f"loadstone:post:{n}", "id", n, "title", letters(10), "content", letters(10)),
        COUNT,
    )
    ids = grown(control, lambda n: ("SADD", "loadstone:post", n), COUNT)
    bare = memory_of([trial_of(plan_of("GET", "{key}"))], "redis").bytes
    planned = memory_of([trial_of(plan_of("GET", "{key}"), data=(data, data))], "redis").bytes - bare
    assert hashes + ids <= planned <= ROUGHLY * (hashes + ids)


def test_what_has_no_end_is_counted_by_its_operations_or_said() -> None:
    pushed = ("RPUSH", "loadstone:list", "{value}")
    closed = plan_of(*pushed, users=10)
    assert stored(closed).grows
    counted = stored(plan_of(*pushed, model={"kind": "closed", "users": 10, "operations_per_user": 1000}))
    assert not counted.grows
    assert 10_000 * 100 < counted.bytes < 10_000 * 400
    rate = {"kind": "open", "rate_per_s": 500, "schedule": [{"rate_per_s": 1000, "duration_s": 9}]}
    phases = {"warm_up_s": 1, "measure_s": 9}
    opened = stored(plan_of(*pushed, model=rate, phases=phases))
    assert not opened.grows
    assert 10_000 * 100 < opened.bytes < 10_000 * 400
    drawn = stored(plan_of("SET", "loadstone:{seq}", "{value}"))
    assert drawn.grows
    few = stored(plan_of("SET", "loadstone:{uniform 1..10}", "{value}"))
    assert not few.grows
    assert few.bytes < 10 * 1000


def test_reading_and_removing_stores_nothing() -> None:
    for args in (("GET", "{key}"), ("json.get", "{key}"), ("DEL", "{key}"), ("LPOP", "loadstone:list")):
        assert stored(plan_of(*args)) == Footprint(0)


def test_no_more_keys_are_stored_than_operations_are_done() -> None:
    model = {"kind": "closed", "users": 10, "operations_per_user": 10}
    few = stored(plan_of("SET", "{key}", "{value}", count=1_000_000, model=model))
    assert few.bytes < 100 * 1000


def test_a_key_that_is_loaded_and_written_again_counts_once() -> None:
    plan = plan_of("SET", "{key}", "{value}")
    loaded = trial_of(plan)
    twice = PlannedTrial("b01-001", {}, 1, 1, {"redis": {}}, plan, plan)
    assert memory_of([twice], "redis") == memory_of([loaded, loaded], "redis") == memory_of([loaded], "redis")


def test_connections_count_with_what_they_carry() -> None:
    one = memory_of([trial_of(plan_of("GET", "{key}"))], "redis").bytes
    many = memory_of([trial_of(plan_of("GET", "{key}", pool={"connections": 100}))], "redis").bytes
    deep = memory_of([trial_of(plan_of("GET", "{key}", pipeline_depth=100))], "redis").bytes
    assert many == 100 * one
    assert one >= 17_531, "an idle connection, as measured"
    assert deep > one + 100 * 222


def test_other_servers_and_applications() -> None:
    plan = plan_of("SET", "{key}", "{value}")
    assert memory_of([trial_of(plan, target="other")], "redis") == Footprint(0)
    subject = {"app": RequiredSubject(urls=("http://127.0.0.1:1",))}
    assert memory_of([trial_of(plan, subjects=subject)], "redis") == Footprint(0, grows=True)


def test_rows_on_a_disk() -> None:
    data = RequiredData("posts", 1000, {"id": "{number}", "text": "{random 100 lowercase}"}, "db", table="post")
    trial = trial_of(plan_of("GET", "{key}"), data=(data,))
    bare = 1000 * 104
    assert bare < disk_of([trial, trial], "db", binary_log=False) < 4 * bare
    assert disk_of([trial], "db", binary_log=True) > disk_of([trial], "db", binary_log=False)
    assert disk_of([trial], "other", binary_log=True) == 0


def test_every_built_in_experiment_has_a_footprint() -> None:
    from loadstone.experiment.plan.design.run_design import make_run_plan
    from loadstone.experiment.spec.loading import load_experiment

    for path in filter(is_readable, sorted((Path(__file__).parents[3] / "experiments").glob("*.yaml"))):
        run_plan = make_run_plan(load_experiment(path.read_text(), label=path.name), blocks=1)
        for name in {name for trial in run_plan.trials for name in trial.servers}:
            assert memory_of(run_plan.trials, name).bytes < 4e9, (path.name, name)
