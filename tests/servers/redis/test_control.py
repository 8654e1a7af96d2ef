"""Someone else's Redis is sacred."""

from collections.abc import Callable

import pytest
from tests.real_servers import UserRedis

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers.redis.control import RedisControl


def test_the_keys_of_a_plan_are_removed_without_a_look_at_others(user_redis: Callable[..., UserRedis]) -> None:
    theirs = user_redis()
    with theirs.client() as client, RedisControl(Endpoint(port=theirs.port)) as control:
        client.mset({f"loadstone:run:{n:012d}": n for n in range(2500)})
        client.mset({"loadstone:run:": 1, "theirs": 1})
        assert control.remove_numbered("loadstone:run:", 2400) == 2400
        assert client.dbsize() == 102
        assert control.remove_numbered("loadstone:run:", 5000) == 100
        assert not {"scan", "keys", "flushall", "flushdb"} & set(control.commandstats())
        assert sorted(client.keys("*")) == ["loadstone:run:", "theirs"]


@pytest.mark.parametrize("prefix", ["", "*", "load", "loadstone", "LOADSTONE:", " loadstone:"])
def test_another_prefix_is_refused(prefix: str, user_redis: Callable[..., UserRedis]) -> None:
    theirs = user_redis()
    with theirs.client() as client, RedisControl(Endpoint(port=theirs.port)) as control:
        client.set("theirs", 1)
        with pytest.raises(UserError, match="loadstone:"):
            control.remove_numbered(prefix, 1)
        assert client.dbsize() == 1


def test_settings_are_read_those_unknown_left_out(user_redis: Callable[..., UserRedis]) -> None:
    with RedisControl(Endpoint(port=user_redis("--hz", "7").port)) as control:
        assert control.config_get(["hz", "no-such-setting"]) == {"hz": "7"}


def test_settings_that_may_not_be_read_are_left_out(user_redis: Callable[..., UserRedis]) -> None:
    theirs = user_redis(*["--user", "lab", "on", ">secret", "~loadstone:*", "+@all", "-@dangerous"])
    with RedisControl(Endpoint(port=theirs.port, username="lab", password="secret")) as control:
        assert control.config_get(["hz"]) == {}


def test_a_server_that_is_not_there_is_gone() -> None:
    with (
        RedisControl(Endpoint(port=1)) as control,
        pytest.raises(ServerGone, match=r"server 127\.0\.0\.1:1: Connection refused"),
    ):
        control.ping()


def test_connecting_sends_nothing_that_counts(user_redis: Callable[..., UserRedis]) -> None:
    theirs = user_redis()
    with RedisControl(Endpoint(port=theirs.port)) as control:
        control.ping()
        assert control.commandstats() == {"ping": 1}
        assert control.commandstats() == {"ping": 1, "info": 1}
