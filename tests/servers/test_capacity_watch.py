"""The watch over the room of servers that are not ours, on real ones."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.real_servers import PATIENCE_S, UserRedis

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.errors import OutOfSpace
from loadstone.servers import registry
from loadstone.servers.free_space import SpaceWatch
from loadstone.servers.pool import ServerPool
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.memory import MemoryWatch, memory_use
from loadstone.servers.server import DeployContext

Start = Callable[..., UserRedis]
MIB = 1024**2


@pytest.fixture
def theirs(user_redis: Start) -> UserRedis:
    """A server with one foreign key and 4 MiB free."""
    found = user_redis()
    with found.client() as client:
        client.set("theirs", "x")
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 4 * MIB)
    return found


def watch(found: UserRedis, stop: Callable[[], None] = lambda: None) -> SpaceWatch:
    pool = ServerPool(registry.make_server, DeployContext(), lambda: None)
    servers = pool.need({"redis": {"kind": "url", "url": found.url}})
    return SpaceWatch((part.server for part in servers.values()), stop)


def fill(found: UserRedis, free: int, name: str = "theirs") -> int:
    """Take memory until no more than so many bytes are free; how many keys that took."""
    number = 0
    with found.client() as client:
        while (reported := client.info("memory"))["maxmemory"] - reported["used_memory"] > free:
            client.set(f"{name}:{number}", "x" * 10_000)
            number += 1
    return number


@pytest.mark.fault("Redis is nearly full under load", "the load stops before a key is lost", area="data")
@pytest.mark.parametrize("policy", ["noeviction", "allkeys-lru"])
def test_it_stops_the_load_before_anything_is_lost(theirs: UserRedis, policy: str) -> None:
    stopped = threading.Event()
    with theirs.client() as client:
        client.config_set("maxmemory-policy", policy)
    with watch(theirs, stopped.set) as room:
        keys = fill(theirs, 50_000)
        until_s = time.monotonic() + PATIENCE_S
        while not stopped.is_set() and time.monotonic() < until_s:
            room.rest()
        assert stopped.is_set()
        assert not room.watches
        assert room.reason is not None
        assert "bytes of its memory are free" in str(room.reason)
        assert "raise its maxmemory" in str(room.reason)
    with pytest.raises(OutOfSpace, match=r"^server redis "):
        room.require()
    with theirs.client() as client:
        assert client.dbsize() == keys + 1


def test_a_cache_that_holds_keys_of_ours_alone_may_fill(theirs: UserRedis) -> None:
    with theirs.client() as client:
        client.delete("theirs")
        client.config_set("maxmemory-policy", "allkeys-lru")
        with watch(theirs) as room:
            fill(theirs, 60_000, "loadstone")
    assert room.reason is None


def test_it_looks_no_more_often_than_it_should_and_has_no_thread(theirs: UserRedis) -> None:
    """What else runs takes time from what is measured."""
    before = set(threading.enumerate())
    with watch(theirs) as room, theirs.client() as client:
        assert set(threading.enumerate()) == before
        asked = client.info("commandstats")["cmdstat_info"]["calls"]
        for _ in range(100):
            room.rest()
        assert client.info("commandstats")["cmdstat_info"]["calls"] - asked <= 3


def test_what_was_full_before_is_no_loss(theirs: UserRedis) -> None:
    """Reading from a server that others keep full changes nothing."""
    fill(theirs, 60_000)
    with watch(theirs) as room:
        pass
    assert room.reason is None


def test_a_loss_at_the_very_end_is_observed(theirs: UserRedis) -> None:
    """The last look comes after the load, whatever was seen before."""
    with theirs.client() as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        room = watch(theirs)
        with room:
            client.config_set("maxmemory", 100_000)
            client.ping()
    assert room.reason is not None
    assert "evicted" in str(room.reason)


def test_refused_commands_are_a_loss_though_the_server_does_not_count_them(theirs: UserRedis) -> None:
    stopped = threading.Event()
    with watch(theirs, stopped.set) as room:
        room.note_refused(0)
        assert room.reason is None
        room.note_refused(7)
    assert stopped.is_set()
    assert room.reason is not None
    assert "refused 7 commands" in str(room.reason)


@pytest.mark.fault("a balancer answers `INFO` from several nodes")
def test_what_another_server_behind_the_address_counted_is_no_loss(theirs: UserRedis) -> None:
    """A proxy that chooses a node for each question: each counts from its own beginning."""
    with RedisControl(Endpoint(port=theirs.port)) as control:
        first = replace(memory_use(control), run_id="one")
        watched = MemoryWatch("redis", control, first, foreign=5)
        other = replace(first, run_id="two", evicted_keys=9000, refused=70)
        assert first.run_id == "one"
        assert [watched.lost_at(use) for use in (first, other, first, other)] == [None] * 4
        lost = watched.lost_at(replace(other, evicted_keys=9004))
        assert lost is not None
        assert "evicted 4 keys" in str(lost)


def test_a_start_is_known_by_its_run_id(theirs: UserRedis) -> None:
    with RedisControl(Endpoint(port=theirs.port)) as control, theirs.client() as client:
        assert memory_use(control).run_id == client.info("server")["run_id"]


def test_a_server_that_goes_away_is_not_out_of_room(theirs: UserRedis) -> None:
    with theirs.client() as client, watch(theirs) as room:
        client.shutdown(nosave=True)
    assert room.reason is None
    room.require()


def test_nothing_is_queried_of_servers_of_ours(context: DeployContext) -> None:
    pool = ServerPool(registry.make_server, context, lambda: None)
    servers = pool.need({"redis": {"kind": "embedded"}})
    with SpaceWatch(part.server for part in servers.values()) as room:
        assert room._watched == []
        room.note_refused(7)
    assert room.reason is None
    pool.stop()
