"""The parts behind a service: found by its connections, on real sockets and processes, and named once."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.listening_process import ConnectedServer, UnixServers, connected_servers
from loadstone.measure.processes import read_by_driver, watch_of
from loadstone.monitors.host.others import InterferenceMonitor
from loadstone.programs import parts_behind as module
from loadstone.programs.parts_behind import PartsBehind, kind_of
from loadstone.programs.ready import PartBehind, RunningParts, RunningSubject
from loadstone.programs.subjects.url import UrlSubject

from ..fakes import FakeSubject
from ..real_servers import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own files are read")

SERVER = """
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
ours = [socket.create_connection(("127.0.0.1", int(port))) for port in sys.argv[2:]]
for _ in range(int(sys.argv[1])):
    if not os.fork():
        break
else:
    print(listener.getsockname()[1], flush=True)
if sys.stdin.readline() == "close\\n":
    for one in ours:
        one.close()
    print("closed", flush=True)
    sys.stdin.readline()
time.sleep(60)
"""
"""A process that listens, with children that share its socket, and with connections to ports."""


class Started:
    """Such a process."""

    def __init__(self, stack: ExitStack, *connected: int, children: int = 0, program: str = sys.executable) -> None:
        words = [program, "-c", SERVER, str(children), *map(str, connected)]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        stack.callback(self._end)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.pid = self.process.pid

    def close_connections(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("close\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def _end(self) -> None:
        os.killpg(self.pid, 9)
        self.process.communicate()


class Service(FakeSubject):
    """An application with a process."""

    def __init__(self, pid: int) -> None:
        super().__init__("service")
        self.pids = {"service": pid}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[ExitStack]:
    """What the tests start is as if a user had started it."""
    monkeypatch.setattr(module, "_started_here", lambda: {os.getpid()})
    with ExitStack() as stack:
        yield stack


def subjects(pid: int) -> dict[str, RunningSubject]:
    service = Service(pid)
    return {"service": RunningSubject(service, (Endpoint(),), dict(service.pids), 0.0)}


def test_a_server_is_found_by_the_connection_that_the_service_made(started: ExitStack) -> None:
    database = Started(started)
    service = Started(started, database.port)
    told: list[str] = []
    behind = PartsBehind(progress=told.append)
    (found,) = behind.of({}, subjects(service.pid)).values()
    assert found.pid == database.pid
    assert found.name.startswith("python")
    assert told == [
        f"{found.name} (process {database.pid}) answers the service's connections to 127.0.0.1:{database.port}: "
        f"counted as the part {found.name}; --part none leaves it out"
    ]
    assert behind.of({}, subjects(database.pid)) == {}, "connections that came in lead to no server"
    assert len(told) == 1


def test_it_stays_a_part_without_connections_and_until_it_ends(started: ExitStack) -> None:
    with ExitStack() as of_database:
        database = Started(of_database)
        service = Started(started, database.port)
        behind = PartsBehind()
        found = behind.of({}, subjects(service.pid))
        service.close_connections()
        assert connected_servers([service.pid]) == []
        assert behind.of({}, subjects(service.pid), at_once=True) == found != {}
        assert behind.of({}, subjects(Started(started).pid)) == found, "another start of the service has it, too"
    wait_until(lambda: behind.of({}, subjects(service.pid)) == {})


def test_connections_are_looked_at_now_and_then(started: ExitStack) -> None:
    database = Started(started)
    service = Started(started, database.port)
    behind = PartsBehind()
    behind._looked_s[frozenset([service.pid])] = time.monotonic()
    assert behind.of({}, subjects(service.pid)) == {}
    assert behind.of({}, subjects(service.pid), at_once=True) != {}
    assert [behind.not_seen_at_work(name) for name in ("service", "service")] == [True, False]
    assert not PartsBehind(finds=False).not_seen_at_work("service")


def test_what_stands_behind_a_part_is_found_and_named_apart(started: ExitStack) -> None:
    database = Started(started)
    proxy = Started(started, database.port)
    service = Started(started, proxy.port)
    found = PartsBehind().of({}, subjects(service.pid))
    assert {part.pid for part in found.values()} == {proxy.pid, database.pid}
    first, second = found
    assert second == f"{first}_{database.port}"


def test_workers_of_one_socket_are_their_parents(started: ExitStack) -> None:
    database = Started(started, children=2)
    service = Started(started, database.port, children=1)
    (found,) = PartsBehind().of({}, subjects(service.pid)).values()
    assert found.pid == database.pid
    app = UrlSubject("app", [f"http://127.0.0.1:{service.port}"])
    module_url = sys.modules[UrlSubject.__module__]
    assert module_url._process_at(app._endpoints[0]) == service.pid
    ready = RunningParts({}, subjects(service.pid), behind={found.name: found})
    watch = watch_of(ready, ())
    assert watch.complete
    assert watch.pids == {"service": service.pid, found.name: database.pid}
    assert {part: len(some) for part, some in watch.workers.items()} == {"service": 1, found.name: 2}
    assert watch.trees == {"service", found.name}
    assert {part: len(pids) for part, pids in read_by_driver(ready).items()} == {"service": 2, found.name: 3}


def test_nothing_is_found_where_the_user_says_so_or_where_it_is_ours(started: ExitStack) -> None:
    database = Started(started)
    service = Started(started, database.port)
    assert PartsBehind(finds=False).of({}, subjects(service.pid)) == {}
    named = PartBehind("db", database.pid)
    assert PartsBehind([named]).of({}, subjects(service.pid)) == {"db": named}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        of_us = Started(started, listener.getsockname()[1])
        assert PartsBehind().of({}, subjects(of_us.pid)) == {}, "this process is no part of what it measures"


def test_what_is_hidden_is_said_once(started: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Started(started)
    service = Started(started, database.port)
    hidden = [one._replace(pid=None) for one in connected_servers([service.pid])]
    monkeypatch.setattr(module, "connected_servers", lambda *_: hidden)
    monkeypatch.setattr(module, "is_another_users", lambda *_: True)
    told: list[str] = []
    behind = PartsBehind(progress=told.append)
    unseen = subjects(service.pid)
    unseen["service"].subject.pids = {}  # type: ignore[misc]
    for _ in range(2):
        assert behind.of({}, subjects(service.pid)) == {}
        assert behind.of({}, unseen) == {}
    address = f"127.0.0.1:{database.port}"
    assert [line.split(": ")[0] for line in told] == [
        f"the service's connections to {address} are answered by another user's process, which may not be looked at",
        "service",
    ]
    assert "--part service=PID" in told[1]
    assert behind.of({}, {}) == {}


@pytest.mark.parametrize(("after", "counts"), [(0, True), (2, True), (3, False)])
def test_connections_that_follow_the_requests_are_the_services(
    started: ExitStack, monkeypatch: pytest.MonkeyPatch, after: int, counts: bool
) -> None:
    database, service = Started(started), Started(started)
    address = f"127.0.0.1:{database.port}"
    closed = iter([(8, 1), (after, 1)])

    def told_closed(pids: set[int], since_s: float) -> list[ConnectedServer]:
        assert service.pid in pids
        assert since_s >= 0.2
        often, seldom = next(closed)
        of_database = ConnectedServer(address, str(database.port), database.pid, closed=often)
        return [of_database, ConnectedServer("127.0.0.1:1", "1", os.getppid(), closed=seldom)]

    monkeypatch.setattr(module, "closed_connections", told_closed)
    told: list[str] = []
    behind = PartsBehind(progress=told.append)
    found = behind.of({}, subjects(service.pid), at_once=True, asked_from_s=time.monotonic() - 0.2)
    assert [part.pid for part in found.values()] == [database.pid] * counts
    (line,) = told
    if counts:
        assert f"(process {database.pid}) was connected to 8 times at {address} while the service was sent req" in line
    else:
        assert f"{address} for its requests cannot be told" in line
        assert f"--part NAME={database.pid}" in line
    assert behind.of({}, subjects(service.pid), at_once=True) == found


@pytest.mark.parametrize(("seen", "after", "counts"), [(3, 0, True), (2, 0, False), (9, 3, False)])
def test_unix_connections_that_follow_the_requests_are_the_services(
    started: ExitStack, monkeypatch: pytest.MonkeyPatch, seen: int, after: int, counts: bool
) -> None:
    database, service = Started(started), Started(started)
    looks = iter([seen, after])
    monkeypatch.setattr(module, "closed_connections", lambda *_: [])

    def looked(*_: object) -> UnixServers:
        return UnixServers([], [ConnectedServer("/run/a.sock", "a", database.pid, closed=next(looks))])

    monkeypatch.setattr(module, "unix_servers", looked)
    told: list[str] = []
    behind = PartsBehind(progress=told.append)
    assert behind.of({}, subjects(service.pid), at_once=True) == {}
    found = behind.of({}, subjects(service.pid), at_once=True, asked_from_s=time.monotonic() - 0.1)
    assert [part.pid for part in found.values()] == [database.pid] * counts
    said = [f"(process {database.pid}) was connected to at /run/a.sock while", "/run/a.sock for its requests cannot be"]
    assert [text in line for line, text in zip(told, [said[not counts]], strict=False)] == [True] * (seen > 2)


def test_what_has_ended_is_no_part(started: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    service = Started(started)
    gone = ConnectedServer("127.0.0.1:1", "1", ended.pid)
    monkeypatch.setattr(module, "connected_servers", lambda *_: [gone])
    assert PartsBehind().of({}, subjects(service.pid)) == {}


def test_a_part_is_not_among_the_other_programs(started: ExitStack) -> None:
    database = Started(started)
    service = Started(started, database.port)
    found = PartsBehind().of({}, subjects(service.pid))
    watch = watch_of(RunningParts({}, subjects(service.pid), behind=found), (0,))
    (monitor,) = InterferenceMonitor.watching(watch)
    assert isinstance(monitor, InterferenceMonitor)
    assert {database.pid, service.pid} <= monitor._uncounted | monitor._owners.keys()
    assert not {database.pid, service.pid} & monitor._known.keys()


def test_the_kind_follows_from_the_program() -> None:
    assert kind_of(None) == kind_of(os.getpid()) == "watched program"
