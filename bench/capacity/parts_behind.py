"""Are the parts behind a service known? A Go and a Node service with a Redis on the same CPUs, with known demands.

    python -m bench.capacity.parts_behind [--times 5] [--seconds 10] [--cases go,node,...] [--out FILE]

Each case is a service that burns CPU by counted work for a request, and has a Redis run a counted loop (`behind/`). The
counts are set so that it is known what fills first:

node        the service's one thread: Redis takes a fifth of it
node-redis  Redis: the service takes a third of it
go          both CPUs together, of which the service takes most and Redis some
go-redis    Redis: the service takes a third of it

A run is `loadstone http URL`, as a user types it; nothing says that there is a Redis. Beside it stands what /proc says
without anything of loadstone: what the threads of both processes ran in the measured times, over the correct replies.
Held against each other: the limit by name, the cost of each part (within `COST_WITHIN`), and
what the limit can do at most by `loadstone capacity` (CPUs over the cost by /proc, in its interval or within
`COST_WITHIN`). No part may be among the other programs. A line a run is appended to `--out`.
"""

import argparse
import bisect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.capacity.process_cpu import Watch, threads
from bench.common.result_lines import add_line
from loadstone.machine.ports import free_port

HERE = Path(__file__).parent / "behind"
RESULTS = Path(__file__).parents[1] / "results"
COST_WITHIN = 0.05
USERS = 12
EVERY_S = 0.05


@dataclass(frozen=True)
class Case:
    """What the service and Redis do for a request, and what that makes the limit."""

    service: str
    steps: int
    """Of the service's loop."""
    loops: int
    """Of Redis's."""
    limit: tuple[str, ...]
    """The parts that fill first, together where they are several."""


CASES = {
    "node": Case("node", 120_000, 2_000, ("service",)),
    "node-redis": Case("node", 10_000, 40_000, ("redis",)),
    "go": Case("go", 150_000, 10_000, ("service", "redis")),
    "go-redis": Case("go", 20_000, 40_000, ("redis",)),
}


@dataclass(frozen=True)
class Running:
    """A service with its Redis."""

    port: int
    service: int
    redis: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def requests(self) -> int:
        """Those that the service answered, as it counted them itself."""
        with urllib.request.urlopen(f"{self.url}count") as told:
            return int(told.read())


class ProcWatch(Watch[dict[str, float]]):
    """Reads what both processes ran by /proc, every `EVERY_S`."""

    def __init__(self, one: Running) -> None:
        self._pids = {"service": one.service, "redis": one.redis}
        super().__init__(lambda: {part: ran_s(pid) for part, pid in self._pids.items()}, EVERY_S)

    def between(self, from_s: float, to_s: float) -> dict[str, float]:
        """Seconds that each ran in this time (since 1970), between two readings by a line."""
        ends = [{part: self._at(part, at_s) for part in self._pids} for at_s in (from_s, to_s)]
        return {part: ends[1][part] - ends[0][part] for part in self._pids}

    def _at(self, part: str, at_s: float) -> float:
        later = bisect.bisect_left([one[0] for one in self._readings], at_s)
        (a_s, a), (b_s, b) = self._readings[later - 1], self._readings[later]
        return a[part] + (b[part] - a[part]) * (at_s - a_s) / (b_s - a_s)


def ran_s(pid: int) -> float:
    """What all threads of a process ran, to the nanosecond, as the scheduler counts it."""
    return sum(ran for _, (ran, _) in threads(pid))


@contextmanager
def running(case: Case, built: Path) -> Iterator[Running]:
    """The service and its Redis, on no CPUs of their own."""
    with ExitStack() as stack:
        port, redis_port = free_port(), free_port()
        numbers = [str(number) for number in (port, redis_port, case.steps, case.loops)]
        program = [str(built)] if case.service == "go" else ["node", str(HERE / "service.js")]
        redis_words = ["redis-server", "--port", str(redis_port), "--bind", "127.0.0.1", "--save", ""]
        redis = _started(stack, redis_words)
        time.sleep(0.5)
        service = _started(stack, [*program, *numbers])
        time.sleep(0.7)
        yield Running(port, service.pid, redis.pid)


def _started(stack: ExitStack, words: list[str]) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def measured(name: str, case: Case, built: Path, seconds: int) -> dict[str, Any]:
    """One run held against /proc."""
    with tempfile.TemporaryDirectory(prefix="parts-behind-") as folder, running(case, built) as one:
        before = one.requests()
        words = ("http", one.url, "-c", str(USERS), "-d", f"{seconds}s", "--json", "--out", folder)
        with ProcWatch(one) as watch:
            done = _loadstone(*words)
        answered = one.requests() - before
        analysis = json.loads(done.stdout)
        (run,) = Path(folder).glob("*/plan.json")
        capacity = json.loads(_loadstone("capacity", str(run.parent), "--json").stdout)
        trials = [json.loads(line) for line in (run.parent / "trials.jsonl").read_text().splitlines()]
    measured = [trial for trial in trials if "trial" in trial and trial["duration_s"] > 0]
    ran = [watch.between(*_window(trial)) for trial in measured]
    replies = sum(trial["goodput_per_s"] * trial["duration_s"] for trial in measured)
    proc_us = {part: 1e6 * sum(one[part] for one in ran) / replies for part in ("service", "redis")}
    line = held(case, proc_us, analysis, capacity, measured, done.stderr)
    return {"case": name, "seconds": seconds, "answered": answered, "measured": round(replies), **line}


def _window(trial: dict[str, Any]) -> tuple[float, float]:
    """When a trial was measured, in seconds since 1970."""
    begin_s, end_s = trial["phases"]["measure"]
    began_s = trial["started_unix_ns"] / 1e9
    return began_s + begin_s, began_s + end_s


def _loadstone(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "loadstone", *words], capture_output=True, text=True, check=False)


def held(
    case: Case,
    proc_us: dict[str, float],
    analysis: dict[str, Any],
    capacity: dict[str, Any],
    trials: list[dict[str, Any]],
    remarks: str,
) -> dict[str, Any]:
    """What loadstone says beside what /proc says, and whether it holds."""
    (row,) = analysis["tables"][0]["rows"]
    cost_us = {part: cost["ns"] / 1e3 for part, cost in row["costs"].items()}
    (found,) = capacity["capacities"]
    limit = found["limits"][0]
    parts = [part.strip() for part in re.split(r"[+,]", limit["name"])]
    cpus = 1 if len(case.limit) == 1 else len(os.sched_getaffinity(0))
    named = {one["name"]: one for one in found["parts"]}
    generator_us = named["generator"]["cost"]["ns"] / 1e3 if "generator" in parts and len(parts) > 1 else 0.0
    by_proc_per_s = cpus * 1e6 / (sum(proc_us[part] for part in case.limit) + generator_us)
    low, high = _interval(named, [*case.limit, *(["generator"] if generator_us else [])], cpus)
    others = {
        name
        for trial in trials
        for name in trial.get("facts", {}).get("seen", {}).get("others", {})
        if name.startswith("program: ") and re.search("redis|node|service", name)
    }
    off = {part: round(cost_us.get(part, 0.0) / proc_us[part] - 1, 4) for part in proc_us}
    reach = 1 + COST_WITHIN
    right = {
        "found": "redis" in cost_us and "counted as the part redis" in remarks,
        "limit": {*parts} - {"generator"} == {*case.limit},
        "costs": all(abs(one) <= COST_WITHIN for one in off.values()),
        "capacity": low / reach <= by_proc_per_s <= high * reach,
        "no_other_programs": not others,
    }
    return {
        "proc_us": {part: round(us, 2) for part, us in proc_us.items()},
        "cost_us": {part: round(us, 2) for part, us in cost_us.items()},
        "off": off,
        "limit": limit["name"],
        "busy": round(limit["busy_share"], 3),
        "bottleneck": (row.get("bottleneck") or {}).get("message", {}).get("kind"),
        "most_per_s": [round(low), round(limit["most_per_s"]), round(high)],
        "by_proc_per_s": round(by_proc_per_s),
        "others": sorted(others),
        **{f"{name}_ok": value for name, value in right.items()},
        "ok": all(right.values()),
    }


def _interval(parts: dict[str, Any], limit: Sequence[str], cpus: int) -> tuple[float, float]:
    """What the limit can do by the ends of the costs' intervals."""
    costs = [parts[name]["cost"] for name in limit]
    low_ns = sum(cost.get("low_ns") or cost["ns"] for cost in costs)
    high_ns = sum(cost.get("high_ns") or cost["ns"] for cost in costs)
    return 1e9 * cpus / high_ns, 1e9 * cpus / low_ns


def main() -> None:
    """Measure, print a line a run, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10, help="of load in each run")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--out", type=Path, default=RESULTS / f"parts-behind-{datetime.now(UTC):%Y-%m-%d}.jsonl")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="parts-behind-go-") as folder:
        built = Path(folder) / "service"
        go = shutil.which("go") or sys.exit("go: not installed")
        subprocess.run([go, "build", "-o", str(built), str(HERE / "service.go")], check=True)
        done = []
        for _ in range(options.times):
            for name in options.cases.split(","):
                line = measured(name, CASES[name], built, options.seconds)
                add_line(options.out, line)
                print(json.dumps(line), flush=True)
                done.append(line)
    print(f"{sum(line['ok'] for line in done)} of {len(done)}")


if __name__ == "__main__":
    main()
