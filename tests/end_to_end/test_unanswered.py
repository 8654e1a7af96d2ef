"""Runs in which nothing was ever answered correctly: status 3, and the first line says what became of it."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.calling import called
from tests.end_to_end.conftest import Lab
from tests.real_servers import UserRedis

WAITS = "BLPOP {key} 0"
NONE_CORRECT = "No operation got a correct reply: "
FIRST = 1
"""The request that is tried before a service is loaded."""


@pytest.fixture
def silent_service() -> Iterator[str]:
    """A service that answers its first request and then none, as one whose pool is exhausted."""
    ended = Event()
    answered: list[str] = []

    class Service(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answered.append(self.path)
            if len(answered) > FIRST:
                ended.wait()
                return
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/items"
        ended.set()
        server.shutdown()


@pytest.mark.fault(
    "nothing is ever answered correctly: every operation times out, or gets an error",
    "status 3, and the first line says what became of the operations",
    area="load",
)
@pytest.mark.parametrize("form", [(), ("--quiet",), ("--json",)])
def test_a_redis_that_never_answers(user_redis: Callable[..., UserRedis], tmp_path: Path, form: tuple[str]) -> None:
    load = ("--command", WAITS, "--timeout", "400ms", "-c", "4", "--duration", "1s", "--repeat", "1")
    done = called("redis", user_redis().url, *load, *form, "--no-keep", "--share-machine", folder=tmp_path)
    assert done.returncode == 3, done.stderr
    said = json.loads(done.stdout)["headline"]["text"] if form == ("--json",) else done.stdout
    assert NONE_CORRECT in said
    assert "timeout" in said


def test_a_service_that_never_answers(silent_service: str, tmp_path: Path) -> None:
    load = ("--part", "none", "--timeout", "400ms", "-c", "4", "--duration", "1s", "--repeat", "1")
    done = called("http", silent_service, *load, "--no-keep", "--share-machine", folder=tmp_path)
    assert done.returncode == 3, done.stderr
    assert NONE_CORRECT in done.stdout


def test_an_experiment_whose_operations_never_end(lab: Lab) -> None:
    path = lab.folder / "waits.yaml"
    path.write_text(
        """\
format: 1
name: waits
question: Does anything answer?
factors: {connections: {levels: [1, 2]}}
tables: [{name: all, title: Everything, vary: {connections: [1, 2]}}]
servers: {redis: {kind: embedded}}
workload:
  model: {kind: closed, users: 4}
  pool: {connections: "${connections}"}
  timeouts: {request_ms: 400 ms}
  phases: {warm_up_s: 100 ms, measure_s: 1 s, drain_s: 1 s}
  keys: {count: 10}
  operations: [{name: wait, commands: [{args: "BLPOP {key} 0"}]}]
design: {table_blocks: 1, at_rate: never, rounds: never}
"""
    )
    done = lab.loadstone("run", path, "--share-machine")
    assert done.status == 3, done.err
    assert NONE_CORRECT in done.out
