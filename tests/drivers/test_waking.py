"""An application that stands still between its slices closes what was idle meanwhile: no request is lost by that."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.drivers.driver import ProcessOfDrive, RoundsOptions
from loadstone.drivers.native import NativeDriver
from loadstone.experiment.plan.drive_plan import Closed, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import HttpRequest, Operation
from loadstone.machine.ports import free_port
from loadstone.machine.process_identity import started

SERVER = """
import socket, socketserver, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

connections = set()

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        connections.add(self.connection)

    def finish(self):
        connections.discard(self.connection)
        super().finish()

    def do_GET(self):
        time.sleep(0.005)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass

def close_what_was_idle():
    before = time.monotonic()
    while True:
        time.sleep(0.002)
        now = time.monotonic()
        if now - before > 1.0:
            for one in list(connections):
                one.shutdown(socket.SHUT_RDWR)
        before = now

threading.Thread(target=close_what_was_idle, daemon=True).start()
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("ready", flush=True)
server.serve_forever()
"""
ROUNDS, USERS = 3, 8


@pytest.fixture
def applications(tmp_path: Path) -> Iterator[list[tuple[int, subprocess.Popen[str]]]]:
    """Two that close all connections when they find that they stood still for more than a second; their ports."""
    path = tmp_path / "server.py"
    path.write_text(SERVER)
    found: list[tuple[int, subprocess.Popen[str]]] = []
    try:
        for _ in range(2):
            port = free_port()
            command = [sys.executable, str(path), str(port)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0)
            found.append((port, process))
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield found
    finally:
        for _, process in found:
            process.kill()
            process.communicate()


def plan(port: int) -> Plan:
    return Plan(
        endpoints=(Endpoint(port=port),),
        protocol="http1",
        model=Closed(users=USERS),
        pool=Pool(connections=USERS),
        phases=Phases(warm_up_s=0, measure_s=1.0, drain_s=5.0),
        operations=(Operation(name="get", requests=(HttpRequest(path="/"),)),),
    )


@pytest.mark.skipif(sys.platform != "linux", reason="processes are paused on Linux only")
def test_what_closes_idle_connections_when_it_goes_on_loses_no_request(
    applications: list[tuple[int, subprocess.Popen[str]]],
) -> None:
    identities = [started(process.pid) for _, process in applications]
    options = RoundsOptions(
        slice_s=1.2,
        orders=((0, 1),) * ROUNDS,
        paused=tuple(
            (ProcessOfDrive(pid=process.pid, started_ticks=ticks),)
            for (_, process), ticks in zip(applications, identities, strict=True)
            if ticks is not None
        ),
    )
    records = NativeDriver().drive([plan(port) for port, _ in applications], lambda *_: None, options)
    for record in records:
        assert record.operations["get"].counts.ok > 0
        assert record.total.errors == {}
        assert record.connections.lost == 0
        assert record.connections.closed_by_server >= USERS * (ROUNDS - 1)
