"""A trial on a store with counters of its own that is no Redis: the checks of both apply, those of a Redis do not."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

ResultOf = Callable[..., Any]
ONLY_REDIS = ("slow_log", "log_level", "monitor_clients", "huge_pages", "overcommit", "background", "server_cpu")


def on_memcached(line: dict[str, Any]) -> None:
    """The same server with the same counters, and another kind."""
    line["facts"]["kinds"]["redis"] = "memcached"
    for side in ("before", "after"):
        server = line["facts"]["servers"]["redis"][side]
        server |= {"settings": {}, "monitor_clients": None, "slow_log_entries": None, "latency_events": {}}


def test_what_only_a_redis_has_is_not_listed(result_of: ResultOf) -> None:
    assert {name: result_of(name, on_memcached) for name in ONLY_REDIS} == dict.fromkeys(ONLY_REDIS)


def test_what_it_counts_is_held_against_what_was_sent(result_of: ResultOf, injectors: ModuleType) -> None:
    for name in ("server_counter", "evicted_keys", "payload", "key_count", "restarted"):
        assert result_of(name, on_memcached).verdict == "valid", name
    evicted = injectors.setting("facts.servers.redis.after.counters.evicted_keys", 2.0)
    assert result_of("evicted_keys", on_memcached, evicted).verdict == "invalid"
    another = injectors.setting("facts.servers.redis.after.run_id", "b" * 40)
    assert result_of("restarted", on_memcached, another).verdict == "invalid"


def test_commands_that_its_servers_do_not_count_are_not_missed(result_of: ResultOf) -> None:
    def with_nothing(line: dict[str, Any]) -> None:
        line["facts"]["plan"]["protocol"] = "memcached"
        line["facts"]["plan"]["operations"].append({"name": "nothing", "commands": [{"args": ["mn"]}]})
        line["facts"]["drive"]["commands"]["MN"] = {"sent": 50, "replied": 50}

    found = result_of("server_counter", on_memcached, with_nothing)
    assert found.verdict == "valid", found
