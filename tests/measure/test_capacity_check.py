"""Room on servers that are not ours: refused where the plan may not fit, and the run ends at the first loss."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.judge.checks.checks import BOUNDS
from loadstone.run.preflight import ask_users_parts
from loadstone.safety.errors import OutOfSpace, UserError
from loadstone.servers.redis import memory
from loadstone.servers.redis.memory import RedisMemoryUse
from loadstone.text.sentences import render_message as sentence

from .conftest import Rig, UsersRedis, check_of, experiment_text

Start = Callable[..., UsersRedis]
Open = Callable[[str], Rig]
FOREIGN = 2000
MIB = 1024**2


def filled(theirs: UsersRedis, policy: str, free: int, *, ttl_s: int | None = None, database: int = 0) -> None:
    """Keys of others, and a limit with so many bytes below it."""
    with theirs.client() as client:
        client.select(database)
        with client.pipeline(transaction=False) as pipe:
            for number in range(FOREIGN):
                pipe.set(f"theirs:{number}", "x" * 100, ex=ttl_s)
            pipe.execute()
        client.config_set("maxmemory-policy", policy)
        client.config_set("maxmemory", client.info("memory")["used_memory"] + free)


def text(theirs: UsersRedis, **sizes: Any) -> str:
    return experiment_text(f"{{kind: url, url: '{theirs.url}'}}", **sizes)


def refusal(theirs: UsersRedis, **sizes: Any) -> str:
    """Why the run is refused; empty if it is not."""
    run_plan = make_run_plan(load_experiment(text(theirs, **sizes)), blocks=1)
    try:
        ask_users_parts(run_plan)
    except UserError as error:
        return str(error)
    return ""


BIG = {"count": 1000, "payload": "10 kB"}
SMALL = {"count": 100, "payload": "100 B"}


def test_an_evicting_policy_meets_foreign_keys(users_redis: Start) -> None:
    theirs = users_redis()
    filled(theirs, "allkeys-lru", 5 * MIB)
    assert not refusal(theirs, **SMALL)
    said = refusal(theirs, **BIG)
    assert said.startswith(f"server redis (127.0.0.1:{theirs.port}): the run may store ")
    for word in (
        "policy allkeys-lru",
        f"evict keys of others ({FOREIGN:,} keys there)",
        " MB are free (maxmemory ",
        "26 MB there",  # both conditions take turns, so that their keys are there together
        "raise maxmemory",
    ):
        assert word in said, word
    with theirs.client() as client:
        assert client.dbsize() == FOREIGN
        client.config_set("maxmemory", 100 * MIB)
    assert not refusal(theirs, **BIG), "there it fits"


def test_keys_of_other_databases_are_foreign_too(users_redis: Start) -> None:
    theirs = users_redis()
    filled(theirs, "allkeys-random", 5 * MIB, database=3)
    assert f"({FOREIGN:,} keys there)" in refusal(theirs, **BIG)


def test_a_cache_that_no_one_else_uses_may_overflow(users_redis: Start) -> None:
    """It is what some experiments want to see; what an earlier run left is ours."""
    theirs = users_redis()
    with theirs.client() as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 5 * MIB)
        client.mset({f"loadstone:left:{number}": "x" for number in range(2500)})
        assert not refusal(theirs, **BIG)
        client.set("theirs", 1)
        assert "evict keys of others" in refusal(theirs, **BIG), "one is enough"


@pytest.mark.fault("the plan does not fit into memory, `maxmemory` or disk")
def test_without_eviction_the_writes_of_others_would_fail(users_redis: Start) -> None:
    theirs = users_redis()
    filled(theirs, "noeviction", 5 * MIB)
    assert "refuse the writes of others (OOM)" in refusal(theirs, **BIG)
    with theirs.client() as client:
        client.flushall()
    assert "refuse the writes of others (OOM)" in refusal(theirs, count=2000, payload="10 kB"), "with no key, too"
    assert not refusal(theirs, **SMALL)


def test_keys_that_expire_are_those_that_volatile_policies_throw_away(users_redis: Start) -> None:
    theirs = users_redis()
    filled(theirs, "volatile-lru", 5 * MIB)
    assert "refuse the writes of others" in refusal(theirs, **BIG), "none of them expires"
    with theirs.client() as client:
        client.expire("theirs:1", 1000)
    assert "evict keys of others (1 keys there expire)" in refusal(theirs, **BIG)


@pytest.mark.fault("the plan does not fit into memory, `maxmemory` or disk", "refused", area="data")
def test_the_machine_has_no_room(users_redis: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Redis without a limit takes what there is. The machine's free memory is made up, the server is real."""
    theirs = users_redis()
    assert not refusal(theirs, **BIG)

    class Little:
        available = MIB

    monkeypatch.setattr(memory.psutil, "virtual_memory", Little)
    assert "its machine has 1.0 MB of memory free" in refusal(theirs, **BIG)


@pytest.mark.fault("a server refuses `CONFIG`", "`INFO` decides", area="data")
def test_a_server_that_refuses_config_tells_by_info(users_redis: Start) -> None:
    theirs = users_redis()
    filled(theirs, "allkeys-lfu", 5 * MIB)
    with theirs.client() as client:
        client.acl_setuser("default", enabled=True, nopass=True, commands=["-config"])
    assert "policy allkeys-lfu" in refusal(theirs, **BIG)


@pytest.mark.fault("malformed replies on a control connection")
@pytest.mark.parametrize(
    "info",
    [
        {},
        {"used_memory": "much", "maxmemory": [], "db0": "keys", "db1": {"keys": "-3", "expires": None}},
        {"maxmemory": "9" * 30, "total_system_memory": -1, "errorstat_OOM": 7},
        {"maxmemory": float("inf"), "evicted_keys": float("nan")},
        {"maxmemory": 10**4000, "total_system_memory": 10**4299},
    ],
)
def test_nonsense_of_a_server_is_no_room_and_no_crash(info: dict[str, Any]) -> None:
    use = RedisMemoryUse.of(info)
    assert (use.used_bytes, use.evicted_keys, use.refused, use.keys) == (0, 0, 0, 0)
    assert use.free_bytes >= 0
    assert use.reserve_bytes >= 0
    assert use.limit_bytes < 2**63


@pytest.mark.parametrize(
    ("policy", "operation"), [("allkeys-lru", "get"), ("allkeys-lru", "set"), ("noeviction", "get")]
)
def test_the_run_ends_at_the_first_loss_and_keeps_the_trial_as_invalid(
    users_redis: Start, rig: Open, policy: str, operation: str
) -> None:
    """Nothing was queried beforehand: as where others fill the server meanwhile."""
    theirs = users_redis()
    filled(theirs, policy, 2 * MIB)
    run = rig(text(theirs, measure="5 s", **BIG))
    with pytest.raises(OutOfSpace) as ended:
        run.trial(operation=operation)
    assert f"server redis (127.0.0.1:{theirs.port}): " in str(ended.value)
    assert f"policy {policy}" in str(ended.value)
    assert ended.value.exit_status == 3
    (record,) = run.recorded()
    assert record.verdict == "invalid"
    assert any(str(ended.value) in json.dumps(sentence(check.reason)) for check in record.checks)
    assert record.duration_s < 5, "it was not driven to its end"
    with theirs.client() as client:
        assert not list(client.scan_iter("loadstone:*"))


def test_a_server_of_ours_may_overflow(rig: Open) -> None:
    """It is judged: the trial is invalid, and the run goes on."""
    settings = "{kind: embedded, settings: {maxmemory: 6mb, maxmemory-policy: allkeys-lru}}"
    run = rig(experiment_text(settings, measure="5 s", **BIG))  # 1,000 writes fill it: there is time for 10,000
    record = run.trial(operation="set")
    assert record.verdict == "invalid"
    assert next(check for check in record.checks if check.name == "evicted_keys").verdict == "invalid"


def test_a_server_with_room_is_loaded_to_the_end(users_redis: Start, rig: Open) -> None:
    theirs = users_redis()
    filled(theirs, "allkeys-lru", 20 * MIB)
    record = rig(text(theirs, measure="600 ms", **SMALL)).trial(operation="set")
    of_the_machine = BOUNDS | {"little"}  # a busy one takes time from the generator and from the server
    assert [check for check in record.checks if check.verdict == "invalid" and check.name not in of_the_machine] == []
    assert {check_of(record, name).verdict for name in ("finished", "evicted_keys")} == {"valid"}
    with theirs.client() as client:
        assert client.dbsize() == FOREIGN


ROWS = """\
data:
  rows:
    rows: 60_000
    columns: {id: "{number}", text: "{random 200 lowercase}"}
    into: [{server: redis, commands: ["SET loadstone:row:{id} {text}"]}]
"""


@pytest.mark.fault("your server fills while rows are written")
@pytest.mark.parametrize("policy", ["allkeys-lru", "noeviction"])
def test_rows_that_find_no_room_end_the_run(
    users_redis: Start, rig: Open, policy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    theirs = users_redis()
    filled(theirs, policy, 2 * MIB)
    run = rig(text(theirs, **SMALL) + ROWS)
    with pytest.raises(OutOfSpace, match=r"evicted|refused|OOM|are free"):
        run.trial()
    (record,) = run.recorded()
    assert record.verdict == "invalid"
    run.servers.stop()
    with theirs.client() as client:
        assert not list(client.scan_iter("loadstone:*"))
