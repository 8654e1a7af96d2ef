"""Parts that a trial does not need stand still, and serve again when they are needed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.real_servers import PLAN, REDIS, is_gone, wait_until

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.required import RequiredSubject
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.machine import process_table
from loadstone.machine.processes import guarded_process
from loadstone.machine.processes.idle import Holdable
from loadstone.programs.deployments import Deployments
from loadstone.servers import registry
from loadstone.servers.redis.local import EmbeddedSettings
from loadstone.servers.server import DeployContext

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
BUSY = """
import http.server, os, subprocess, sys, threading

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

def burn():
    while True:
        sum(range(1000))

threading.Thread(target=burn, daemon=True).start()
helper = [sys.executable, "-c", "while True: sum(range(1000))"]
subprocess.Popen(helper, start_new_session=True)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
"""An application that is never quiet, with a helper in a session of its own that is not either."""
MANIFEST = f"""
name: busy
run:
  command: {sys.executable} busy.py {{port}}
  ready: /
environment:
  STORE: ${{redis.address}}
"""
OTHER_REDIS: dict[str, object] = {"kind": "embedded", "settings": {"hz": 100}}


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RequiredSubject:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "busy"
    folder.mkdir()
    (folder / "busy.py").write_text(BUSY)
    (folder / "subject.yaml").write_text(MANIFEST)
    return RequiredSubject(manifest=str(folder))


@pytest.fixture
def run(context: DeployContext) -> Iterator[Deployments]:
    with Deployments(registry.make_server, context) as run:
        yield run


def trial(redis: dict[str, object] = REDIS, subject: RequiredSubject | None = None) -> PlannedTrial:
    return PlannedTrial(
        name="t",
        condition={},
        block=1,
        order=1,
        servers={"redis": redis},
        plan=PLAN,
        load=None,
        subjects={} if subject is None else {"app": subject},
    )


def stands_still(*pids: int) -> bool:
    """Whether none of these processes, nor what they started, takes any CPU for a while."""
    before = process_table.tree_cpu_ns(pids)
    time.sleep(0.3)
    return process_table.tree_cpu_ns(pids) == before


def answers(endpoint: Endpoint) -> bool:
    with socket.create_connection((endpoint.host, endpoint.port), timeout=60) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return connection.recv(64).startswith(b"HTTP/1.0 200")


def test_what_a_trial_does_not_need_stands_still_and_serves_again(run: Deployments, busy: RequiredSubject) -> None:
    first = run.need(trial(subject=busy))
    server, app = first.servers["redis"], first.subjects["app"]
    assert first.parked == {}
    (pid,) = app.subject.pids.values()
    assert len(process_table.tree([pid])) == 2, "it started its helper"
    assert not stands_still(pid)

    second = run.need(trial(OTHER_REDIS))
    assert second.parked == {"app": (pid,), "redis": tuple(server.pids.values())}
    assert stands_still(pid, *server.pids.values())
    assert app.subject.alive(), "it is up all the same"
    assert second.servers["redis"].control.count("DBSIZE") == 0

    third = run.need(trial(subject=busy))
    assert third.subjects["app"] is app, "it was not started again"
    assert third.servers["redis"] is server
    assert answers(app.endpoints[0])
    assert server.control.count("DBSIZE") == 0
    assert not stands_still(pid)
    assert stands_still(*second.servers["redis"].pids.values())


@pytest.mark.parametrize("held_before", [True, False])
def test_a_part_whose_guard_does_not_obey_is_started_again(
    run: Deployments, monkeypatch: pytest.MonkeyPatch, held_before: bool
) -> None:
    server = run.need(trial()).servers["redis"]
    (old,) = server.pids.values()
    if held_before:
        run.need(trial(OTHER_REDIS))
    monkeypatch.setattr(guarded_process, "TELL_S", 3.0)
    guard = psutil.Process(old).ppid()
    os.kill(guard, signal.SIGSTOP)
    if not held_before:
        run.need(trial(OTHER_REDIS))

    again = run.need(trial()).servers["redis"]
    assert again.server.pids != {"redis": old}
    assert again.control.count("DBSIZE") == 0, "it serves"
    assert is_gone(old)
    assert is_gone(guard)


def test_a_server_that_the_trial_shares_goes_on(run: Deployments, busy: RequiredSubject) -> None:
    first = run.need(trial(subject=busy))
    second = run.need(trial())
    (pid,) = first.subjects["app"].subject.pids.values()
    assert second.servers["redis"] is first.servers["redis"]
    assert second.parked == {"app": (pid,)}
    assert stands_still(pid)
    assert second.servers["redis"].control.count("DBSIZE") == 0


def test_what_died_while_it_stood_still_is_started_again(run: Deployments, busy: RequiredSubject) -> None:
    first = run.need(trial(subject=busy))
    run.need(trial(OTHER_REDIS))
    (pid,) = first.subjects["app"].subject.pids.values()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not first.subjects["app"].subject.alive())
    again = run.need(trial(subject=busy))
    assert answers(again.subjects["app"].endpoints[0])
    assert again.subjects["app"].subject.pids != {"app": pid}


def test_all_ends_with_the_run_held_or_not(run: Deployments, busy: RequiredSubject) -> None:
    first = run.need(trial(subject=busy))
    run.need(trial(OTHER_REDIS))
    everything = process_table.tree(
        [*first.subjects["app"].subject.pids.values(), *first.servers["redis"].pids.values()]
    )
    assert len(everything) == 3
    run.stop()
    wait_until(lambda: all(is_gone(pid) for pid in everything))


def test_a_held_server_keeps_what_it_has_when_it_is_ended(context: DeployContext) -> None:
    """It gets its signal to end, and so writes its file: a server that were killed would not."""
    server = EmbeddedSettings(settings={"save": "3600 1"}).server("redis")
    try:
        server.start(context)
        with server.control() as control:
            control.call("SET", "key", "value")
        server.hold()
        server.restart()
        with server.control() as control:
            assert control.count("DBSIZE") == 1
    finally:
        server.stop()


def test_clusters_and_replicas_are_not_held() -> None:
    for settings in ({"kind": "cluster"}, {"kind": "replicated"}, {"kind": "url", "url": "redis://127.0.0.1:9"}):
        assert not isinstance(registry.make_server("redis", settings), Holdable), settings
    assert isinstance(registry.make_server("redis", REDIS), Holdable)
    assert isinstance(registry.make_server("tables", {"kind": "mariadb"}), Holdable)


PROGRAM = """
import json, signal, sys, time
from pathlib import Path
from loadstone.servers import registry
from loadstone.servers.server import DeployContext

signal.signal(signal.SIGINT, signal.default_int_handler)
server = registry.make_server("redis", {"kind": "embedded"})
server.start(DeployContext(work_root=Path(sys.argv[1])))
server.hold()
print(json.dumps([server._process.guard_pid, server.pids["redis"], str(server._process.workspace.path)]), flush=True)
try:
    time.sleep(600)
finally:
    server.stop()
"""


@pytest.mark.fault("loadstone gets SIGKILL, also in a build")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("victim", ["loadstone", "guard"])
def test_whatever_kills_whom_nothing_that_is_held_remains(tmp_path: Path, victim: str, number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path)], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        guard, held, folder = json.loads(program.stdout.readline())
        try:
            assert psutil.Process(held).status() == psutil.STATUS_STOPPED
            if victim == "guard" and number == signal.SIGINT:
                return  # Ctrl-C at a terminal does not reach it
            os.kill(guard if victim == "guard" else program.pid, number)
            wait_until(lambda: is_gone(held) and is_gone(guard))
        finally:
            program.kill()
    wait_until(lambda: is_gone(held) and is_gone(guard))
    if victim == "loadstone" or number != signal.SIGKILL:
        wait_until(lambda: not Path(folder).exists())
