"""A primary that real Sentinels watch: found, loaded, lost, and found again."""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
from tests.real_servers import UserRedis, wait_until

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Keys, Phases, Plan, Pool, Timeouts
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.machine.ports import free_port
from loadstone.measure.driven_plan import with_reads
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers.redis import packages
from loadstone.servers.redis.sentinel import UsersPrimary, ask
from loadstone.servers.redis.url import parse_sentinel_url, parse_url
from loadstone.servers.redis.users_server import UrlSettings
from loadstone.servers.server import DeployContext, ManyEndpoints
from tests import rogues

PASSWORD, SENTINEL_PASSWORD = "only-for-this-test", "another-one"
NAME = "main"
PREFIX = "loadstone:sentinel:"


@dataclass
class Theirs:
    """A primary with a replica, and a Sentinel that watches them."""

    servers: list[UserRedis]
    sentinels: list[UserRedis]

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{one.port}" for one in self.sentinels)
        return f"redis+sentinel://:{PASSWORD}@{hosts}/{NAME}"

    def client(self, number: int) -> redis.Redis:
        return self.servers[number].client(password=PASSWORD)

    def can_fail_over(self) -> bool:
        """Whether the Sentinel knows the replica, and has heard from it."""
        found = self.sentinels[0].client().execute_command("SENTINEL REPLICAS", NAME)
        return [one["flags"] for one in found] == ["slave"] and found[0]["master-link-status"] == "ok"


@pytest.fixture
def watcher() -> Iterator[Callable[[Path], UserRedis]]:
    """Starts a Sentinel that watches nothing yet."""
    with contextlib.ExitStack() as stack:

        def start(folder: Path) -> UserRedis:
            port = free_port()
            config = folder / f"sentinel-{port}.conf"  # it writes there what it learns
            config.write_text(f'port {port}\nbind 127.0.0.1\ndir "{folder}"\n')
            command = [str(packages.need_server()), str(config), "--sentinel"]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.kill)
            found = UserRedis(process.pid, port, folder)
            wait_until(lambda: answers(found))
            return found

        yield start


def answers(server: UserRedis) -> bool:
    with contextlib.suppress(redis.ConnectionError):
        return bool(server.client().ping())
    return False


@pytest.fixture
def theirs(user_redis: Callable[..., UserRedis], watcher: Callable[[Path], UserRedis], tmp_path: Path) -> Theirs:
    options = ("--requirepass", PASSWORD, "--masterauth", PASSWORD, "--repl-diskless-sync-delay", "0")
    primary = user_redis(*options)
    replica = user_redis(*options, "--replicaof", f"127.0.0.1 {primary.port}")
    sentinel = watcher(tmp_path)
    client = sentinel.client()
    client.execute_command("SENTINEL MONITOR", NAME, "127.0.0.1", primary.port, 1)
    for setting, value in (("auth-pass", PASSWORD), ("down-after-milliseconds", 500), ("failover-timeout", 3000)):
        client.execute_command("SENTINEL SET", NAME, setting, value)
    found = Theirs([primary, replica], [sentinel])
    wait_until(found.can_fail_over)
    wait_until(lambda: found.client(0).info("replication")["connected_slaves"] == 1)
    return found


def server_of(url: str) -> UsersPrimary:
    server = UrlSettings(url=url).server("redis")
    assert isinstance(server, UsersPrimary)
    return server


def drive(server: UsersPrimary, measure_s: float, threads: int = 1) -> DriveRecord:
    commands = (
        ServerCommand(args=("SET", "{key}", "{value}"), expect="ok"),
        ServerCommand(args=("GET", "{key}"), expect="value"),
    )
    plan = Plan(
        endpoints=server.endpoints,
        model=Closed(users=4),
        pool=Pool(connections=4),
        threads=threads,
        phases=Phases(warm_up_s=0, measure_s=measure_s, drain_s=20),
        operations=(Operation(name="work", commands=commands),),
        keys=Keys(prefix=PREFIX, count=100),
        timeouts=Timeouts(gone_s=60),
    )
    return drive_alone(NativeDriver(), plan)


def refusal(url: str) -> str:
    with pytest.raises(UserError) as refused:
        UrlSettings(url=url).server("redis").start(DeployContext())
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_the_primary_is_found_and_a_failover_is_followed(theirs: Theirs, context: DeployContext) -> None:
    server = server_of(theirs.url)
    assert isinstance(server, ManyEndpoints)
    assert server.start(context).port == theirs.servers[0].port
    assert server.pids == {"redis": theirs.servers[0].pid}
    primary, standby, sentinel = server.endpoints
    assert (primary.port, primary.password, primary.in_service) == (theirs.servers[0].port, PASSWORD, True)
    assert (standby.port, standby.password, standby.standby) == (theirs.servers[1].port, PASSWORD, True)
    assert (sentinel.sentinel_of, sentinel.password) == (NAME, None)
    with server.control() as control:
        records: list[DriveRecord] = []
        thread = threading.Thread(target=lambda: records.append(drive(server, measure_s=6, threads=2)))
        thread.start()
        wait_until(lambda: theirs.client(0).info("commandstats").get("cmdstat_set", {}).get("calls", 0) > 500)
        killed_s = time.monotonic()
        os.kill(theirs.servers[0].pid, signal.SIGKILL)
        wait_until(lambda: theirs.client(1).info("replication")["role"] == "master")
        took_over_s = time.monotonic() - killed_s
        thread.join()
        (record,) = records
        assert set(record.total.errors) <= {"connection_reset", "connection_closed"}
        assert sum(record.total.errors.values()) <= 4 + 8, "of 4 users, and of connections not yet noticed as lost"
        (gap,) = record.failovers
        assert gap.answered_s is not None
        assert 0.4 < gap.answered_s - gap.lost_s < took_over_s + 2
        assert gap.primary == 1
        assert record.endpoints[1].ok > 0
        assert control.remove_numbered(PREFIX, 100) > 0, "at the new primary"
    assert theirs.client(1).keys("*") == []
    assert not server.alive()
    assert server.restart().port == theirs.servers[1].port
    assert server.alive()
    assert server.pids == {"redis": theirs.servers[1].pid}


def test_a_failover_on_demand_ends_the_writes_to_the_old_primary(theirs: Theirs, context: DeployContext) -> None:
    server = server_of(theirs.url)
    server.start(context)
    records: list[DriveRecord] = []
    thread = threading.Thread(target=lambda: records.append(drive(server, measure_s=6)))
    thread.start()
    wait_until(lambda: theirs.client(0).info("commandstats").get("cmdstat_set", {}).get("calls", 0) > 100)
    sentinel = theirs.sentinels[0].client()
    sentinel.execute_command("SENTINEL FAILOVER", NAME)
    port = theirs.servers[1].port
    wait_until(lambda: str(sentinel.execute_command(b"SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)[1]) == str(port))
    theirs.client(0).execute_command("REPLICAOF", "127.0.0.1", port)  # as Sentinel does later
    thread.join()
    (record,) = records
    assert set(record.total.errors) <= {"connection_reset", "connection_closed", "server_readonly"}
    assert record.failovers
    assert record.failovers[-1].answered_s is not None
    assert record.endpoints[1].ok > 0


def test_the_replica_is_read_before_and_after_a_failover(theirs: Theirs, context: DeployContext) -> None:
    server = server_of(f"{theirs.url}?read_from=replica")
    server.start(context)
    primary, replica, sentinel = server.endpoints
    assert (primary.writes_only, replica.replica_of, replica.standby, sentinel.in_service) == (True, 0, True, False)
    assert set(server.pids) == {"redis", "redis-replica-1"}
    records: list[DriveRecord] = []

    def calls(number: int, command: str) -> int:
        return int(theirs.client(number).info("commandstats").get(f"cmdstat_{command}", {}).get("calls", 0))

    with server.control() as control:
        plan = Plan(
            endpoints=server.endpoints,
            model=Closed(users=4),
            pool=Pool(connections=8),
            phases=Phases(warm_up_s=0, measure_s=5, drain_s=20),
            operations=(
                Operation(name="set", commands=(ServerCommand(args=("SET", "{key}", "{value}"), expect="ok"),)),
                Operation(name="get", commands=(ServerCommand(args=("GET", "{key}"), expect="value"),)),
            ),
            keys=Keys(prefix=PREFIX, count=100),
            timeouts=Timeouts(gone_s=60),
        )
        thread = threading.Thread(
            target=lambda: records.append(drive_alone(NativeDriver(), with_reads(plan, [control])))
        )
        thread.start()
        wait_until(lambda: calls(0, "set") > 200)
        assert calls(0, "get") == 0, "reads go to the replica alone"
        os.kill(theirs.servers[0].pid, signal.SIGKILL)
        thread.join()
        (record,) = records
        assert set(record.total.errors) <= {"connection_reset", "connection_closed"}
        assert sum(record.total.errors.values()) <= 4, "what was on its way"
        (gap,) = record.failovers
        assert (gap.answered_s is not None, gap.primary) == (True, 1)
        assert record.endpoints[1].ok == record.endpoints[1].sent > 0
        assert control.remove_numbered(PREFIX, 100) > 0
    with pytest.raises(ServerGone, match=r"replicas that can be read from: 1 when the run began, 0 by now"):
        server.restart()


def test_what_is_wrong_is_one_line(theirs: Theirs, user_redis: Callable[..., UserRedis]) -> None:
    port = theirs.sentinels[0].port
    assert f"Sentinel 127.0.0.1:{port}: it watches no 'other'; it knows {NAME}" in refusal(
        theirs.url.replace(f"/{NAME}", "/other")
    )
    plain = user_redis()
    said = refusal(f"redis+sentinel://127.0.0.1:{plain.port},127.0.0.1:1/{NAME}")
    assert f"{NAME} of 127.0.0.1:{plain.port},127.0.0.1:1: no Sentinel answers as one (127.0.0.1:{plain.port}: " in said
    assert "a Sentinel usually listens on port 26379" in said
    assert "it requires a password" in refusal(theirs.url.replace(f":{PASSWORD}@", ""))
    assert server_of(theirs.url.replace("127.0.0.1:", "127.0.0.1:1,127.0.0.1:")).start(DeployContext()).port


def test_sentinels_have_a_login_of_their_own(
    theirs: Theirs, context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs.sentinels[0].client().execute_command("ACL SETUSER", "default", "resetpass", f">{SENTINEL_PASSWORD}")
    said = refusal(theirs.url)
    assert "?sentinel_password_env=VARIABLE" in said
    monkeypatch.setenv("OF_SENTINEL", SENTINEL_PASSWORD)
    server = server_of(f"{theirs.url}?sentinel_password_env=OF_SENTINEL")
    assert server.start(context).port == theirs.servers[0].port
    assert server.endpoints[-1].password == SENTINEL_PASSWORD
    assert drive(server, measure_s=0.2).total.errors == {}


def test_a_server_that_was_not_there_is_not_connected_to(
    theirs: Theirs, user_redis: Callable[..., UserRedis], context: DeployContext
) -> None:
    server = server_of(theirs.url)
    server.start(context)
    stranger = user_redis()
    sentinel = theirs.sentinels[0].client()
    sentinel.execute_command("SENTINEL REMOVE", NAME)
    sentinel.execute_command("SENTINEL MONITOR", NAME, "127.0.0.1", stranger.port, 1)
    assert not server.alive()
    with pytest.raises(ServerGone, match=f"the primary is 127.0.0.1:{stranger.port}, which was not there when the run"):
        server.restart()


def test_the_url_names_primary_and_sentinels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_SENTINEL", SENTINEL_PASSWORD)
    url = "rediss+sentinel://me:pw1@h1,[::1]:26380/main/2?sentinel_password_env=OF_SENTINEL&sentinel_user=you&verify=no"
    watched = parse_sentinel_url(url)
    assert [one.label for one in watched.sentinels] == ["h1:26379", "::1:26380"]
    (first, _) = watched.sentinels
    assert (first.username, first.password, first.database, first.sentinel_of) == ("you", SENTINEL_PASSWORD, 0, "main")
    assert (watched.login.username, watched.login.password, watched.login.database) == ("me", "pw1", 2)
    for one in (first, watched.login):
        assert one.tls is not None
        assert not one.tls.verify
    place = watched.place("redis")
    assert (place.address, place.login) == ("rediss+sentinel://h1:26379,[::1]:26380/main/2", True)
    assert parse_sentinel_url(place.address).place("redis").address == place.address


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis+sentinel://h:26379", "names no primary, or no Sentinel; write redis+sentinel://HOST:26379/NAME"),
        ("redis+sentinel:///main", "names no primary, or no Sentinel"),
        ("redis+sentinel://h/ma in", "names no primary, or no Sentinel"),
        ("redis+sentinel://h:x/main", "write redis+sentinel://HOST:26379/NAME"),
        ("redis+sentinel://h/main/x", "database 'x' is not a number; write .../main/0"),
        ("redis+sentinel://h/main?verify=no", "'verify' is for TLS only; write rediss+sentinel://"),
        ("redis+sentinel://h/main?sentinel_password=x", "unknown option 'sentinel_password'; did you mean"),
        ("redis+sentinel://h/main?sentinel_password_env=NO_SUCH", "the environment has no variable 'NO_SUCH'"),
    ],
)
def test_a_url_that_is_none_is_refused(url: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_sentinel_url(url)
    assert said in str(refused.value)
    with pytest.raises(UserError, match="names Sentinels, and an address of the server itself is needed"):
        parse_url(url)


def test_no_address_is_taken_that_means_something_else_here(scripted: Callable[..., object]) -> None:
    listening = scripted(b"*2\r\n$15\r\n169.254.169.254\r\n$2\r\n80\r\n")
    with pytest.raises(
        UserError, match=r"it announces a server of 'main' at 169\.254\.169\.254:80, an address of one link alone"
    ):
        ask(parse_sentinel_url(f"redis+sentinel://127.0.0.1:{listening.port}/main"))  # type: ignore[attr-defined]


def naming(host: str, replicas: int = 0) -> rogues.Speak:
    """A Sentinel that names a primary of its choice, and so many replicas."""
    fields = (b"ip", host.encode(), b"port", b"1", b"flags", b"slave", b"master-link-status", b"ok")
    replica = rogues.array(*map(rogues.bulk, fields))
    named = rogues.array(rogues.bulk(host), rogues.bulk("1"))
    many = b"*%d\r\n" % replicas + replica * replicas

    def answer(words: list[bytes], _: threading.Event) -> bytes:
        if words[0] != b"SENTINEL":
            return b"+OK\r\n"
        return named if words[1] == b"GET-MASTER-ADDR-BY-NAME" else many

    return rogues.redis(answer)


def test_more_replicas_than_a_primary_has_are_refused() -> None:
    with rogues.rogue(naming("127.0.0.1", 30_000)) as port:
        watched = parse_sentinel_url(f"redis+sentinel://127.0.0.1:{port}/{NAME}")
        with pytest.raises(UserError, match=r"it announces 30,000 replicas; at most 1,000 are loaded"):
            ask(watched)


@pytest.mark.fault(
    "a Sentinel or node names a host outside `?hosts=`", "it gets no password; the run does not begin", area="replies"
)
def test_a_primary_at_a_host_that_the_url_does_not_allow_gets_no_password() -> None:
    got: list[bytes] = []

    def thief(connection: socket.socket, _: threading.Event) -> None:
        got.append(connection.recv(65536))

    with rogues.rogue(thief) as elsewhere:
        speak = naming("127.0.0.9")

        def named(connection: socket.socket, ended: threading.Event) -> None:
            speak(connection, ended)

        with rogues.rogue(named) as port:
            url = f"redis+sentinel://:{PASSWORD}@127.0.0.1:{port}/{NAME}?hosts=127.0.0.1,127.0.1.0/24"
            server = UrlSettings(url=url).server("theirs")
            with pytest.raises(UserError, match=r"127\.0\.0\.9:1, which is none of hosts.*nothing was sent"):
                server.start(DeployContext())
    assert elsewhere
    assert got == []
