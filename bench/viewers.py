"""What viewers of a run's page cost what is measured: the generator's CPU a request and its P99, none against ten.

    scripts/bench viewers [--seconds 200] [--rate 20000] [--viewers 10]

One run under a fixed rate; beside it a server of pages, and in turns (in a random order within each pair of turns) no
viewer and ten that read its stream. CPU a request: the engine's own threads' time by the intervals, and by /proc.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import httpx

from loadstone.judge.statistics.signed_rank import typical_interval

TURN_S, SETTLES_S = 7.0, 1.5
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Drive, watch in turns, and print what differs; the turns go to bench/results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=200)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--viewers", type=int, default=10)
    parser.add_argument("--keep", action="store_true", help="write the turns to bench/results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        runs = Path(made, "runs")
        with running(runs, options.rate, options.seconds) as run, pages(runs) as (base, cookies, server):
            turns = in_turns(run, runs, base, cookies, server, options.viewers)
        (folder,) = runs.iterdir()
        measured = figures(folder, turns)
    for name in ("cpu_us", "p99_us", "command_cpus", "pages_cpus"):
        none, many = (
            [turn[name] for turn in measured if bool(turn["viewers"]) is watched] for watched in (False, True)
        )
        print(f"{name:<14} none {median(none):.4g}   {options.viewers} viewers {median(many):.4g}", end="")
        ratios = [one / other for other, one in zip(none, many, strict=True) if other > 0]
        print(f"   ratio {median(ratios):.3f}, 95 % {typical_interval(ratios)}, {len(ratios)} pairs" if ratios else "")
    if options.keep:
        path = RESULTS / f"viewers-{datetime.now(UTC):%Y-%m-%d}.jsonl"
        path.write_text("".join(json.dumps(turn) + "\n" for turn in measured))


@contextmanager
def running(runs: Path, rate: int, seconds: int) -> Iterator["subprocess.Popen[bytes]"]:
    """`loadstone redis` on a Redis of its own, at a rate; what is in its folder once it ended stays."""
    words = [
        "redis",
        "-t",
        "set",
        "--rate",
        str(rate),
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
    run: "subprocess.Popen[bytes]", runs: Path, base: str, cookies: httpx.Cookies, server: int, viewers: int
) -> list[dict[str, float]]:
    """Each turn: how many viewers, from when to when, and what the command's process and the pages' took meanwhile."""
    turns: list[dict[str, float]] = []
    order = random.Random(1)
    address = address_of(runs, base, cookies)
    time.sleep(8)  # it warms up
    while run.poll() is None:
        for count in order.sample([0, viewers], 2):
            with watching(base + address, cookies, count):
                time.sleep(SETTLES_S)
                began_s, before = time.time(), [cpu_s(run.pid), cpu_s(server)]
                time.sleep(TURN_S - SETTLES_S)
                after = [cpu_s(run.pid), cpu_s(server)]
            if run.poll() is not None:
                break
            length_s = time.time() - began_s
            command, pages_ = ((now - then) / length_s for now, then in zip(after, before, strict=True))
            turn = {"viewers": count, "from_s": began_s, "to_s": began_s + length_s}
            turns.append({**turn, "command_cpus": round(command, 4), "pages_cpus": round(pages_, 4)})
    return turns


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
def watching(address: str, cookies: httpx.Cookies, count: int) -> Iterator[None]:
    """So many viewers that read what the page would."""
    ended = threading.Event()

    def read() -> None:
        with httpx.stream("GET", address, cookies=cookies, timeout=60) as stream:
            for _ in stream.iter_raw():
                if ended.is_set():
                    return

    threads = [threading.Thread(target=read, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    yield
    ended.set()
    for thread in threads:
        thread.join(5)


def figures(folder: Path, turns: list[dict[str, float]]) -> list[dict[str, float]]:
    """Whole pairs of turns with what the engine did in them, by the intervals that lie within."""
    lines = [json.loads(line) for line in (folder / "intervals.jsonl").read_text().splitlines()]
    measured = []
    for turn in turns[: len(turns) // 2 * 2]:
        inside = [
            line
            for line in lines
            if line["phase"] == "measure"
            and turn["from_s"] <= line["start_unix_ns"] / 1e9
            and line["start_unix_ns"] / 1e9 + line["duration_s"] <= turn["to_s"]
        ]
        whole = {line["start_unix_ns"]: line for line in inside}.values()  # a line an operation
        replies = sum(line["ok"] for line in inside)
        if replies:
            cpu_us = 1e6 * sum(sum(line["cpu_s"]) for line in whole) / replies
            p99_us = median(line["response_ns"]["p99"] for line in inside) / 1e3
            measured.append({**turn, "cpu_us": round(cpu_us, 3), "p99_us": round(p99_us, 1), "replies": replies})
    return paired(measured)


def paired(turns: list[dict[str, float]]) -> list[dict[str, float]]:
    """As many turns of either kind."""
    kinds = [[turn for turn in turns if bool(turn["viewers"]) is watched] for watched in (False, True)]
    return [turn for pair in zip(*kinds, strict=False) for turn in pair]


def cpu_s(pid: int) -> float:
    """CPU time of a process so far, by /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
