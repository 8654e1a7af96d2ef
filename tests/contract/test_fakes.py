"""The fakes of the tests keep the promises of the seams that they stand for, as `test_server_providers.py` has them."""

from collections.abc import Iterator

import pytest

from loadstone.machine.processes.endings import HasExitStatus
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers.redis.monitor import snapshot
from loadstone.servers.server import DeployContext

from ..fake_redis import FakeControl, FakeServer


@pytest.fixture
def server() -> Iterator[FakeServer]:
    server = FakeServer("store")
    server.start(DeployContext())
    yield server
    server.stop()


@pytest.fixture
def control(server: FakeServer) -> Iterator[FakeControl]:
    with server.control() as control:
        yield control


def test_a_started_server_serves_and_says_what_it_is(server: FakeServer, control: FakeControl) -> None:
    control.ping()
    assert server.alive()
    assert server.facts.version
    assert server.settings_read_back["maxmemory-policy"] == "noeviction"
    assert server.pids == {"store": server.facts.process_id}
    assert isinstance(server, HasExitStatus)


@pytest.mark.parametrize("ours", [True, False])
def test_only_what_is_ours_is_stopped(*, ours: bool) -> None:
    server = FakeServer("store", ours=ours)
    server.start(DeployContext())
    server.stop()
    server.stop()
    assert server.alive() is not ours


def test_it_may_be_started_again_and_a_restart_is_another_start(server: FakeServer, control: FakeControl) -> None:
    first, pids = control.info()["run_id"], dict(server.pids)
    server.stop()
    server.start(DeployContext())
    again = control.info()["run_id"]
    server.restart()
    assert len({first, again, control.info()["run_id"]}) == 3
    assert server.pids != pids


def test_what_died_is_not_alive_and_says_nothing(server: FakeServer, control: FakeControl) -> None:
    server.end("it was killed by signal 9 (SIGKILL)", oom=True)
    assert not server.alive()
    assert server.pids == {}
    assert (server.oom_kills(), server.how_it_ended()) == (1, "it was killed by signal 9 (SIGKILL)")
    with pytest.raises(ServerGone):
        control.ping()
    server.restart()
    control.ping()


def test_one_of_the_users_that_is_gone_is_not_brought_back() -> None:
    server = FakeServer("store", ours=False)
    server.start(DeployContext())
    server.end()
    with pytest.raises(ServerGone):
        server.restart()


def test_settings_come_under_the_names_that_they_are_requested_by(control: FakeControl) -> None:
    assert control.settings(["appendonly", "no-such-setting"]) == {"appendonly": "no"}


def test_what_is_stored_is_counted(control: FakeControl) -> None:
    for command in (("SADD", "loadstone:a", 1, 2), ("SET", "loadstone:n", 7), ("RPUSH", "loadstone:'l", "x")):
        control.call(*command)
    assert control.keys() == 3
    counts = {"scard loadstone:a": 2, "GET loadstone:n": 7, "GET loadstone:none": 0, "DBSIZE": 3}
    counts |= {'LLEN "loadstone:\'l"': 1, "EXISTS loadstone:a loadstone:n": 2}
    for text, number in counts.items():
        assert control.count(text) == number
    assert control.present(["loadstone:a", "loadstone:b"]) == [True, False]


@pytest.mark.parametrize("text", ["FLUSHALL", "GET 'loadstone", "GET loadstone:text", "SCARD loadstone:text", "SCARD"])
def test_what_is_no_count_is_refused(control: FakeControl, text: str) -> None:
    control.call("SET", "loadstone:text", "x")
    with pytest.raises(UserError, match=r"^count '") as refused:
        control.count(text)
    assert "\n" not in str(refused.value)


def test_keys_of_ours_are_removed_and_no_others(control: FakeControl) -> None:
    for key in ("loadstone:a:000000000001", "loadstone:a:000000000007", "loadstone:b", "theirs"):
        control.call("SET", key, "x")
    assert control.remove_numbered("loadstone:a:", 2) == 1
    assert control.remove_beginning("loadstone:") == 2
    assert control.keys() == 1


def test_a_snapshot_has_what_a_real_one_has(control: FakeControl) -> None:
    control.call("SET", "loadstone:a", "x")
    found = snapshot(control)
    assert found.run_id
    assert found.commands["set"].calls == 1
    assert found.settings == {"loglevel": "notice"}
    assert (found.figures["keys"], found.monitor_clients, found.slow_log_entries) == (1.0, 0, 0)
