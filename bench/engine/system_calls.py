"""System calls a request by size of values, of loadstone and of redis-benchmark: `scripts/bench system-calls`.

    python -m bench.engine.system_calls [--sizes 100,10000] [--connections 50] [--file FILE]

`perf stat` counts what a process enters the kernel for, all its threads together. Each of them runs twice, short and
three times as long: the difference of calls by the difference of requests is what a request takes, without what opening
and ending take. Redis has one CPU and who loads it another. Needs perf, and root.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.peers.child import run_child
from bench.peers.generators import PEERS
from bench.peers.load import Case, Kind, Length, Target
from bench.peers.own import OwnDriver, plan_of
from bench.peers.servers import redis
from loadstone.machine.placement import place

EVENT = "raw_syscalls:sys_enter"
KINDS: tuple[Kind, ...] = ("SET", "GET")
SIZES = "100,1000,10000,100000,1000000"
SHORT_S = 1.0
LONGER = 3
PEER = PEERS[0]


def main() -> None:
    """Print a line a case, and write each as a line of JSON."""
    options = _options()
    if shutil.which("perf") is None or os.geteuid() != 0:
        sys.exit("system-calls: it needs perf (Debian's linux-perf), and root")
    cpus = place()
    with redis(cpus.server_cpus) as target, OwnDriver(cpus.generator_cpus) as driver, options.file.open("w") as file:
        for size in map(int, options.sizes.split(",")):
            for kind in KINDS:  # SET first: it stores what GET reads
                case = Case(kind, options.connections, value_bytes=size)
                own, rate_per_s = _of_own(driver, case, target, cpus.generator_cpus)
                peer = _of_peer(case, target, cpus.generator_cpus, rate_per_s) if PEER.path is not None else None
                row = {"load": kind, "connections": case.connections, "value_bytes": size, "loadstone": own}
                row[PEER.name] = peer
                file.write(f"{json.dumps(row)}\n")
                print(f"{case}: loadstone {own:.3f}, {PEER.name} {'not installed' if peer is None else f'{peer:.3f}'}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench system-calls", description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=SIZES, help="bytes of a value, with commas")
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--file", type=Path, default=Path("runs/system-calls.jsonl"))
    options = parser.parse_args()
    options.file.parent.mkdir(parents=True, exist_ok=True)
    return options


def _of_own(driver: OwnDriver, case: Case, target: Target, cpus: Sequence[int]) -> tuple[float, float]:
    """Calls a request, and requests a second."""
    calls: list[int] = []
    sent: list[int] = []
    rate_per_s = 0.0
    for seconds in (SHORT_S, LONGER * SHORT_S):
        with _counted(driver.pid, calls):
            driven = driver.drive(plan_of(case, target, cpus, seconds))
        sent.append(driven.record.total.sent)
        rate_per_s = driven.reading.rate_per_s
    return (calls[1] - calls[0]) / (sent[1] - sent[0]), rate_per_s


def _of_peer(case: Case, target: Target, cpus: Sequence[int], rate_per_s: float) -> float:
    calls: list[int] = []
    sent: list[int] = []
    for seconds in (SHORT_S, LONGER * SHORT_S):
        length = Length(seconds, max(2 * case.connections, int(rate_per_s * seconds)))
        with tempfile.TemporaryDirectory() as folder:
            counted = Path(folder) / "calls"
            command = PEER.command(PEER.path or "", case, target, length)
            done = run_child(["perf", "stat", "-x,", "-e", EVENT, "-o", str(counted), *command], cpus, seconds)
            calls.append(_count(counted))
        sent.append(PEER.read(done.text).requests)
    return (calls[1] - calls[0]) / (sent[1] - sent[0])


@contextmanager
def _counted(pid: int, calls: list[int]) -> Iterator[None]:
    """Adds how many calls this process makes meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "calls"
        perf = subprocess.Popen(["perf", "stat", "-x,", "-e", EVENT, "-o", str(kept), "-p", str(pid)])
        try:
            yield
        finally:
            perf.send_signal(signal.SIGINT)
            perf.wait()
        calls.append(_count(kept))


def _count(kept: Path) -> int:
    line = next(line for line in kept.read_text().splitlines() if EVENT in line)
    return int(line.split(",")[0])


if __name__ == "__main__":
    main()
