"""What viewers of a run's page cost what is measured: the generator's CPU a request and its P99, none against ten.

    scripts/bench viewers [--seconds 140] [--rate 20000] [--viewers 10] [--keep]

One run under a fixed rate, or at full load (`--rate 0`); beside it a server of pages. With a rate the generator stays
awake for its replies, so that a request costs it the time between two, whoever looks: CPU is compared at full load, P99
at a rate. In turns, in a random order within each round of them: no viewer; viewers that only hold the page's stream,
so that what is added is the server's work alone; and viewers that read it, in a process on the same CPUs. CPU a
request: the engine's own threads' time by the intervals, and by /proc.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import httpx

from loadstone.judge.statistics.signed_rank import typical_interval

TURN_S, SETTLES_S = 6.0, 1.0
KINDS = ("none", "held", "read")
"""No viewer; viewers that hold the stream and read nothing; viewers that read it."""
SHOWN = ("cpu_us", "p99_us", "p50_us", "command_cpus", "pages_cpus", "readers_cpus", "busy_cpus")
READER = """
import json, select, socket, sys
host, port, path, cookie, count, reads = json.loads(sys.argv[1])
opened = [socket.create_connection((host, port)) for _ in range(count)]
for one in opened:
    one.sendall(f"GET {path} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\nCookie: {cookie}\\r\\n\\r\\n".encode())
    assert one.recv(4096).startswith(b"HTTP/1.1 200")
print("there", flush=True)
poller = select.poll()
for one in opened:
    poller.register(one, select.POLLIN if reads else 0)
while True:
    for fd, _ in poller.poll():
        opened[[one.fileno() for one in opened].index(fd)].recv(1 << 20)
"""
RESULTS = Path(__file__).parents[1] / "results"


def main() -> None:
    """Drive, watch in turns, and print what differs; the turns go to bench/results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=140)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--viewers", type=int, default=10)
    parser.add_argument("--keep", action="store_true", help="add the turns to bench/results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        runs = Path(made, "runs")
        with running(runs, options.rate, options.seconds) as run, pages(runs) as (base, cookies, server):
            turns = in_turns(run, runs, base, cookies, server, options)
        (folder,) = runs.iterdir()
        measured = figures(folder, turns)
    for name in SHOWN:
        of_kind = {kind: [turn[name] for turn in measured if turn["kind"] == kind] for kind in KINDS}
        print(f"{name:<13}", *(f"{kind} {median(values):<9.4g}" for kind, values in of_kind.items()), end=" ")
        for kind in KINDS[1:]:
            ratios = [one / other for other, one in zip(of_kind["none"], of_kind[kind], strict=True) if other > 0]
            if ratios:
                print(f"  {kind}/none {median(ratios):.4g}, 95 % {typical_interval(ratios)}", end="")
        print()
    print(f"{len(measured) // len(KINDS)} rounds")
    if options.keep:
        with (RESULTS / f"viewers-{datetime.now(UTC):%Y-%m-%d}.jsonl").open("a") as file:
            file.writelines(json.dumps(turn) + "\n" for turn in measured)


@contextmanager
def running(runs: Path, rate: int, seconds: int) -> Iterator["subprocess.Popen[bytes]"]:
    """`loadstone redis` on a Redis of its own, at a rate; what is in its folder once it ended stays."""
    words = [
        "redis",
        "-t",
        "set",
        *(["--rate", str(rate)] if rate else []),
        "-c",
        "50",
        "--share-machine",
        "--duration",
        f"{seconds}s",
        "--out",
        str(runs),
    ]
    process = subprocess.Popen([sys.executable, "-m", "loadstone", *words], stdout=subprocess.DEVNULL)
    try:
        yield process
        process.wait(120)
    finally:
        process.kill()


@contextmanager
def pages(runs: Path) -> Iterator[tuple[str, httpx.Cookies, int]]:
    """`loadstone serve`; its address, what opens it, and its process."""
    runs.mkdir(exist_ok=True)
    words = [sys.executable, "-m", "loadstone", "serve", "--port", "0", "--runs", str(runs)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if (found := re.search(rb"(http://\S+?)/\?\S+", line)) is not None:
                break
        with httpx.Client(follow_redirects=True) as client:
            client.get(found[0].decode())
            yield found[1].decode(), client.cookies, process.pid
    finally:
        process.terminate()
        process.wait()


def in_turns(
    run: "subprocess.Popen[bytes]",
    runs: Path,
    base: str,
    cookies: httpx.Cookies,
    server: int,
    options: argparse.Namespace,
) -> list[dict[str, Any]]:
    """Each turn: who looks, from when to when, and the CPUs that the processes and the machine took meanwhile."""
    turns: list[dict[str, Any]] = []
    order = random.Random(1)
    address = address_of(runs, base, cookies)
    time.sleep(8)  # it warms up
    while run.poll() is None:
        for kind in order.sample(KINDS, len(KINDS)):
            with watching(base + address, cookies, options.viewers, kind) as reader:
                time.sleep(SETTLES_S)
                began_s, before = time.time(), taken(run.pid, server, reader)
                time.sleep(TURN_S - SETTLES_S)
                after = taken(run.pid, server, reader)
            if run.poll() is not None:
                break
            length_s = time.time() - began_s
            cpus = {name: round((after[name] - before[name]) / length_s, 4) for name in after}
            turns.append(
                {
                    "kind": kind,
                    "viewers": options.viewers,
                    "from_s": began_s,
                    "to_s": began_s + length_s,
                    "rate": options.rate,
                    **cpus,
                }
            )
    return turns


def taken(command: int, server: int, reader: int | None) -> dict[str, float]:
    """CPU seconds so far."""
    return {
        "command_cpus": cpu_s(command),
        "pages_cpus": threads_s(server),
        "readers_cpus": 0.0 if reader is None else threads_s(reader),
        "busy_cpus": busy_s(),
    }


def address_of(runs: Path, base: str, cookies: httpx.Cookies) -> str:
    """Where the run's stream is, once there is one."""
    with httpx.Client(cookies=cookies) as client:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            for folder in runs.iterdir():
                if client.get(f"{base}/runs/{folder.name}").status_code == 200:
                    return f"/runs/{folder.name}/stream"
            time.sleep(0.5)
    raise SystemExit("the run has no page after 30 s")


@contextmanager
def watching(address: str, cookies: httpx.Cookies, count: int, kind: str) -> Iterator[int | None]:
    """So many viewers of a stream, in a process of their own."""
    if kind == "none":
        yield None
        return
    at, cookie = urlsplit(address), "; ".join(f"{name}={value}" for name, value in cookies.items())
    asked = json.dumps([at.hostname, at.port, at.path, cookie, count, kind == "read"])
    process = subprocess.Popen([sys.executable, "-S", "-E", "-c", READER, asked], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        yield process.pid
    finally:
        process.kill()
        process.wait()


def figures(folder: Path, turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Whole rounds of turns with what the engine did in them, by the intervals that lie within."""
    lines = [json.loads(line) for line in (folder / "intervals.jsonl").read_text().splitlines()]
    measured: list[dict[str, Any]] = []
    for first in range(0, len(turns) - len(KINDS) + 1, len(KINDS)):
        round_ = [{**turn, **figures_of(lines, turn)} for turn in turns[first : first + len(KINDS)]]
        measured += round_ if all(turn["replies"] for turn in round_) else []
    return measured


def figures_of(lines: list[dict[str, Any]], turn: dict[str, Any]) -> dict[str, float]:
    """What the engine did in a turn."""
    inside = [
        line
        for line in lines
        if line["phase"] == "measure"
        and turn["from_s"] <= line["start_unix_ns"] / 1e9
        and line["start_unix_ns"] / 1e9 + line["duration_s"] <= turn["to_s"]
    ]
    whole = {line["start_unix_ns"]: line for line in inside}.values()  # a line an operation
    replies = sum(line["ok"] for line in inside)
    if not replies:
        return {"replies": 0}
    times = {name: median(line["response_ns"][name] for line in inside) / 1e3 for name in ("p50", "p99")}
    return {
        "cpu_us": round(1e6 * sum(sum(line["cpu_s"]) for line in whole) / replies, 3),
        **{f"{name}_us": round(value, 1) for name, value in times.items()},
        "replies": replies,
    }


def cpu_s(pid: int) -> float:
    """CPU time of a process so far, by /proc: in hundredths of a second, with threads that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def threads_s(pid: int) -> float:
    """The same of the threads that are there, in nanoseconds: what pages take is less than a hundredth of a second."""
    taken_ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            taken_ns += int((task / "schedstat").read_text().split()[0])
    return taken_ns / 1e9


def busy_s() -> float:
    """CPU time that all of the machine took so far, by /proc."""
    fields = [int(one) for one in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
