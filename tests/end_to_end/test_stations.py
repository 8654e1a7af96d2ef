"""Each limit put there on purpose, live: its station has the demand that it was given, and is named."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from loadstone.drivers.null_server import NullServerProcess
from loadstone.servers.server import DeployContext
from loadstone.text.message import read_message
from loadstone.text.sentences import render_message

from .conftest import Lab, lab_in

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.alone,
    pytest.mark.skipif(sys.platform != "linux", reason="parts are observed on Linux only"),
]
EXPERIMENT = """\
format: 1
name: limits
question: Which station is full?
factors:
  case:
    levels: [narrow, far, shared, synced]
    values:
      narrow: {server: narrow, users: 16, connections: 16, payload: 10 kB}
      far: {server: far, users: 4, connections: 4, payload: 100 B}
      shared: {server: far, users: 16, connections: 2, payload: 100 B}
      synced: {server: synced, users: 8, connections: 8, payload: 60 kB}
servers:
  narrow: {kind: embedded, link: {bandwidth: 20 Mbit/s}}
  far: {kind: embedded, link: {delay: 10 ms}}
  synced: {kind: embedded, settings: {appendonly: "yes", appendfsync: always, save: ""}}
workload:
  target: "${case.server}"
  model: {kind: closed, users: "${case.users}"}
  pool: {connections: "${case.connections}"}
  phases: {warm_up_s: 300 ms, measure_s: 2 s}
  keys: {count: 100, distribution: uniform}
  documents: {payload_bytes: "${case.payload}"}
  operations:
    - {name: set, commands: [{args: "SET {key} {value}", expect: ok}]}
tables:
  - {name: all, title: All, vary: {case: [narrow, far, shared, synced]}}
design: {table_blocks: 1, at_rate: never, rounds: never}
"""
LIMITED = """\
format: 1
name: limits
question: Is the limit full?
factors:
  users: {levels: [16]}
servers:
  limited: {kind: embedded, limits: {cpu: 0.2}}
workload:
  model: {kind: closed, users: "${users}"}
  pool: {connections: 16}
  phases: {warm_up_s: 300 ms, measure_s: 2 s}
  keys: {count: 100, distribution: uniform}
  documents: {payload_bytes: 100 B}
  operations:
    - {name: set, commands: [{args: "SET {key} {value}", expect: ok}]}
tables:
  - {name: all, title: All, vary: {users: [16]}}
design: {table_blocks: 1, at_rate: never, rounds: never}
"""
LOCKED = """
import socket, sys, threading, time
lock = threading.Lock()
def serve(connection):
    while connection.recv(4096):
        with lock:
            time.sleep(0.002)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
listening = socket.create_server(("127.0.0.1", 0), backlog=64)
print(listening.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
"""
"""A thread a connection, and one lock that each request holds for 2 ms, asleep."""
SYNCED = LOCKED.replace("time.sleep(0.002)", "os.pwrite(file, bytes(1_000_000), 0); os.fsync(file)").replace(
    "import socket", "import os, tempfile; kept = tempfile.TemporaryFile(); file = kept.fileno()\nimport socket"
)
"""The same with an fsync under the lock: a disk in front of which threads wait."""
PATIENT = """
import asyncio
lock = None
async def serve(reader, writer):
    while await reader.read(4096):
        async with lock:
            await asyncio.sleep(0.005)
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
async def main():
    global lock
    lock = asyncio.Lock()
    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()
asyncio.run(main())
"""
"""The same in one thread, whose lock nobody sees from outside."""
Row = dict[str, Any]


def rows(lab: Lab, *words: str | os.PathLike[str]) -> dict[str, Row]:
    done = lab.loadstone(*words, "--out", lab.folder / "runs")
    assert done.status in (0, 3), done.err
    (analysis,) = (lab.folder / "runs").glob("*/analysis.json")
    return {row["label"]: row for row in json.loads(analysis.read_text())["tables"][0]["rows"]}


def stations(row: Row) -> dict[str, dict[str, Any]]:
    return {f"{station['part']} {station['kind']}": station for station in row["stations"]}


def named(row: Row) -> str:
    """What the row says limited it; the test ends here where that were other programs."""
    said = render_message(read_message(row["bottleneck"]["message"]))
    if said.startswith("not the measured system") or "other programs" in said:
        pytest.skip(f"of another machine: {said}")
    return said


@pytest.fixture(scope="module")
def limits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    with lab_in(tmp_path_factory.mktemp("limits")) as lab:
        return rows(lab, "run", _written(lab, EXPERIMENT))


def _written(lab: Lab, experiment: str) -> Any:
    path = lab.folder / "limits.yaml"
    path.write_text(experiment)
    return path


def test_a_narrow_line(limits: dict[str, Row]) -> None:
    """10 kB pass 20 Mbit/s in 4 ms, whoever waits in front of it."""
    row = limits["narrow"]
    assert stations(row)["narrow line"]["demand_ns"] == pytest.approx(4e6, rel=0.1)
    assert stations(row)["narrow line"]["busy"] > 0.9
    assert named(row).startswith("network-bound: the line to narrow ")


def test_a_long_line(limits: dict[str, Row]) -> None:
    row = limits["far"]
    assert stations(row)["far delay"]["demand_ns"] == pytest.approx(10e6, rel=0.3)
    assert stations(row)["far delay"]["servers"] is None
    assert re.match(r"network-bound: the line to far adds (9\.|1)", named(row))


def test_a_pool_of_two(limits: dict[str, Row]) -> None:
    """16 users take turns with two connections, each of which is held for a round trip of 10 ms."""
    pool = stations(limits["shared"])["generator pool"]
    assert pool["servers"] == 2
    assert pool["busy"] > 0.9
    assert 10e6 < pool["demand_ns"] < 20e6
    assert pool["queue_ns"] > 4 * pool["demand_ns"]
    assert named(limits["shared"]).startswith("pool-bound: 8")


def test_a_disk(limits: dict[str, Row]) -> None:
    """Each write waits for an fsync: its thread runs and waits by turns, and this is no matter of round trips."""
    found = stations(limits["synced"])
    assert found["synced disk"]["thread"]
    assert found["synced cpu"]["thread"]
    disk, cpu = (found[f"synced {kind}"]["busy"] for kind in ("disk", "cpu"))
    assert disk > 0.1 * (disk + cpu), "of the time in which the thread did not wait for a CPU that others had"
    assert "the disk (fsync)" in named(limits["synced"])


def test_a_cpu_limit(lab: Lab) -> None:
    (row,) = rows(lab, "run", _written(lab, LIMITED)).values()
    assert stations(row)["limited cpu"]["servers"] == 0.2
    assert named(row).startswith("server-bound: main thread of limited ")


@contextmanager
def served_by(program: str) -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as served:
        try:
            assert served.stdout is not None
            yield int(served.stdout.readline())
        finally:
            served.kill()


def test_a_lock(lab: Lab) -> None:
    with served_by(LOCKED) as port:
        url = f"http://127.0.0.1:{port}/"
        load = ("-c", "8", "--duration", "4", "--repeat", "2", "--at-rate", "never", "--part", "none")
        (row,) = rows(lab, "http", url, *load).values()
    lock = stations(row)["service lock"]
    assert lock["busy"] > 0.4
    assert 0.8e6 < lock["demand_ns"] <= 1.001e9 / row["goodput_per_s"]
    assert lock["queue_ns"] > 2 * lock["demand_ns"]
    assert named(row).startswith("lock-bound: threads of service wait for a lock")


@pytest.mark.prove
def test_a_disk_of_many_threads(lab: Lab) -> None:
    with served_by(SYNCED) as port:
        url = f"http://127.0.0.1:{port}/"
        (row,) = rows(lab, "http", url, "-c", "8", "--duration", "8", "--repeat", "2", "--at-rate", "never").values()
    assert stations(row)["service disk"]["busy"] > 0.05
    assert not stations(row)["service disk"]["thread"]
    assert named(row).startswith(("disk-bound: threads of service wait for the disk", "lock-bound: threads of service"))


@pytest.mark.prove
def test_a_lock_that_cannot_be_seen_is_no_round_trip(lab: Lab) -> None:
    with served_by(PATIENT) as port:
        url = f"http://127.0.0.1:{port}/"
        (row,) = rows(lab, "http", url, "-c", "8", "--duration", "4", "--repeat", "2", "--at-rate", "never").values()
    assert "service lock" not in stations(row)
    assert named(row).startswith("subject-bound: service held each request for ")


@pytest.mark.prove
def test_the_generator(lab: Lab) -> None:
    """One thread of it against a server that answers at once."""
    server = NullServerProcess({"protocol": "http1", "body_bytes": 20})
    try:
        where = server.start(DeployContext())
        url = f"http://{where.host}:{where.port}/"
        words = ("http", url, "-c", "64", "--threads", "1", "--duration", "4", "--repeat", "2", "--at-rate", "never")
        (row,) = rows(lab, *words).values()
    finally:
        server.stop()
    assert stations(row)["generator generator"]["demand_ns"] > 1_000
    assert row["bottleneck"]["evidence"]["generator"] > 0.4, "of what others left"
    assert "generator" in named(row)
