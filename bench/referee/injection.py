"""What loadstone itself adds to a latency, put there on purpose: does the printed bound hold it?

In the process of a run, a thread takes .5, 1, 3 and 10 per cent of the *server's* CPU in bursts of 1.5 ms, as
loadstone's own Python once did; it pins itself there again and again. In turns with that the same run without it.
Printed for each: P99, what may be loadstone's own, the share that the record has, and whether the P99 without the
stand-in lies above the figure less the bound. Needs redis-server.

Use: scripts/bench injection [--rounds 3] [--rate 20000] [--json FILE]
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from table import redis_server

SHARES = (0.005, 0.01, 0.03, 0.1)
BURST_S = 0.0015
CHILD = "--in-a-run"


@contextlib.contextmanager
def stand_in(share: float, cpu: int) -> Iterator[None]:
    """A thread of this process that takes so much of a CPU; none with 0."""
    over = threading.Event()

    def burn() -> None:
        while not over.is_set():
            os.sched_setaffinity(0, {cpu})
            end_s = time.thread_time() + BURST_S
            while time.thread_time() < end_s:
                pass
            time.sleep(BURST_S * (1 / share - 1))

    thread = threading.Thread(target=burn)
    if share:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if share:
            thread.join()


def run(port: int, rate: int, seconds: float, share: float) -> tuple[dict[str, Any], float]:
    """The row of a run with a stand-in in its process, and the share that its record has."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["redis", f"redis://127.0.0.1:{port}", "-t", "get", "--rate", str(rate), "--duration", f"{seconds:g}"]
        words += ["--json", "--quiet", "--out", folder]
        command = [sys.executable, __file__, CHILD, str(share), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.stdout:
            raise SystemExit(done.stderr)
        row = json.loads(done.stdout)["tables"][0]["rows"][0]
        lines = [json.loads(line) for file in Path(folder).rglob("trials.jsonl") for line in file.open()]
    shares = [line["facts"].get("lab_share") or 0.0 for line in lines if "facts" in line]
    return row, sum(shares) / max(1, len(shares))


def child() -> None:
    """The command, in a process that has a stand-in."""
    from loadstone.cli.main import main as loadstone

    share, sys.argv = float(sys.argv[2]), ["loadstone", *sys.argv[3:]]
    with stand_in(share, min(os.sched_getaffinity(0))):
        loadstone()


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cpu, rows = min(os.sched_getaffinity(0)), []
    with tempfile.TemporaryDirectory() as folder, redis_server(Path(folder), cpu) as port:
        print("stand-in  recorded   P99 (own at most)   without it   held", flush=True)
        for share in SHARES:
            for _ in range(arguments.rounds):
                clean, _none = run(port, arguments.rate, arguments.seconds, 0.0)
                found, recorded = run(port, arguments.rate, arguments.seconds, share)
                figure, least = found["response_ns"]["p99"], found["least_ns"]["p99"]
                true_ns = clean["response_ns"]["p99"]
                row = {
                    "share": share,
                    "recorded": recorded,
                    "p99_ns": figure,
                    "least_ns": least,
                    "clean_p99_ns": true_ns,
                    "held": least <= true_ns,
                }
                rows.append(row)
                own_us = max(0, figure - least) / 1e3
                print(f"{share:8.1%} {recorded:9.2%} {figure / 1e3:8.0f} us ({own_us:.0f})", end="")
                print(f" {true_ns / 1e3:8.0f} us   {row['held']}", flush=True)
    if arguments.json:
        arguments.json.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return 0 if all(row["held"] for row in rows) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        child()
    sys.exit(main())
