"""Verdicts by cost where the truth is known: servers whose requests take 0, 1, 2 and 5 % more CPU.

    scripts/bench cost-truth [--calibrate] [--minutes N] [--budget 30s] [--effects 0,2,5] [--states calm,half,both]
    scripts/bench cost-truth --independent 10
    scripts/bench cost-truth --table

The server is `engine/examples/known_cost.rs`: it takes a number of steps of work before each GET. `--calibrate` counts
the instructions of a step and of a request by callgrind, then runs the servers in turn at full load, by
redis-benchmark, and reads their CPU time and their own count of requests: so the steps for a difference are found, and
the difference in time is checked. The other runs each start two servers and type `loadstone redis URL --against URL`
for them; the order of the two, and of the effects, is random. States: `calm`; `half` with a loop on one CPU that works
for 3 s and sleeps for 3 s; `both` with one on every CPU; `beside` other work that was there anyway. `--independent`
holds `cpu=` of a run to what pidstat and the server's own count of requests say. A line each is appended to the file.
Needs valgrind, redis-tools and sysstat.
"""

import argparse
import json
import math
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np
from scipy.stats import binomtest

from bench.common.disturbance import Disturbance
from bench.common.result_lines import add_line, read_lines
from loadstone.drivers.slices import Slice
from loadstone.experiment.plan.look_schedule import ROUND_LOOK_ALPHA
from loadstone.judge.statistics.rounds.round_evidence import round_evidence
from loadstone.judge.statistics.rounds.slices import PairSlices
from loadstone.judge.statistics.settings import Settings
from loadstone.machine.ports import free_port
from loadstone.run_folder.reading import read_run

ROOT = Path(__file__).parents[2]
FILE = ROOT / "bench/results/cost-truth-2026-11-26.jsonl"
STEPS = 2000
"""Of the server that others are compared with: about as much CPU as a small command of Redis."""
EFFECTS = (0.0, 0.01, 0.02, 0.05)
MORE = 6
"""So many times these steps show how long one takes."""
FEW, MANY = 2_000, 10_000
"""Requests under callgrind."""
PIECE = 50_000
"""Requests of a server's turn at full load."""
LIMIT_S = 120
CPUS = sorted(os.sched_getaffinity(0))
APART, BESIDE = (["taskset", "-c", ",".join(map(str, cpus))] for cpus in (CPUS[:-1] or CPUS, CPUS[-1:]))
"""How servers and generators are kept apart: loadstone's own takes the last CPU."""
CALM = "calm"
SETTINGS = Settings(metric="cpu_ns", larger_is_faster=False, alpha=ROUND_LOOK_ALPHA, unit="round")
"""Of the slices alone: without what the judge adds for other runs and for neighbours."""


class KnownServer:
    """One server, from `with` to its end."""

    def __init__(self, program: Path, steps: int, under: Sequence[str] = (), *, pinned: bool = True) -> None:
        under = [*(APART if pinned else ()), *under]
        self.port = free_port()
        self._command = [*under, str(program), str(self.port), str(steps)]

    def __enter__(self) -> "KnownServer":
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + LIMIT_S
        while self._cli("PING") != "PONG":
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError(f"{self._command} does not answer")
            time.sleep(0.02)
        self._cli("SET", "key:000000000000", "xxx")
        return self

    def __exit__(self, *_: object) -> None:
        self._cli("SHUTDOWN")
        try:
            self._process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _cli(self, *words: str) -> str:
        command = ["redis-cli", "-p", str(self.port), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    @property
    def pid(self) -> int:
        """Of the server's process."""
        return self._process.pid

    @property
    def url(self) -> str:
        """As a user gives it."""
        return f"redis://127.0.0.1:{self.port}"

    @property
    def requests(self) -> int:
        """GETs so far, by its own count."""
        counted = re.search(r"cmdstat_get:calls=(\d+)", self._cli("INFO"))
        return int(counted[1]) if counted else 0

    @property
    def cpu_ns(self) -> int:
        """CPU time so far: exact while it is idle."""
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0])

    def load(self, requests: int) -> float:
        """Nanoseconds of CPU a request over so many at full load, by another generator than ours."""
        time.sleep(0.05)
        cpu_ns, before = self.cpu_ns, self.requests
        load = [*BESIDE, "redis-benchmark", "-p", str(self.port), "-t", "get", "-n", str(requests), "-c", "50", "-q"]
        subprocess.run(load, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.05)
        return (self.cpu_ns - cpu_ns) / (self.requests - before)


def built() -> Path:
    """The server's program, built in release mode."""
    build = ["cargo", "build", "--release", "--locked", "-p", "loadstone-engine", "--example", "known_cost"]
    subprocess.run([*build, "--quiet"], cwd=ROOT, check=True)
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "examples" / "known_cost"


def machine() -> dict[str, object]:
    """What kind of machine this is; nothing by which it could be told from others of the kind."""
    models = re.findall(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    kernel = ".".join(platform.release().split("-")[0].split(".")[:2])
    return {"cpu": models[0] if models else platform.machine(), "cpus": os.cpu_count(), "kernel": kernel}


def instructions(program: Path, steps: int) -> float:
    """User instructions a GET, by callgrind."""
    return (_instructions(program, steps, MANY) - _instructions(program, steps, FEW)) / (MANY - FEW)


def _instructions(program: Path, steps: int, requests: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        with KnownServer(program, steps, ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}"]) as one:
            load = ["redis-benchmark", "-p", str(one.port), "-t", "get", "-n", str(requests), "-c", "1", "-q"]
            subprocess.run(load, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        counted = re.search(r"^totals: (\d+)", out.read_text(), re.MULTILINE)
        return int(counted[1]) if counted else 0


def calibrate(program: Path, seconds: float) -> Iterator[dict[str, Any]]:
    """The instructions, the steps of each effect, and the effect in CPU time at full load."""
    base, double = instructions(program, STEPS), instructions(program, 2 * STEPS)
    with KnownServer(program, STEPS) as one, KnownServer(program, MORE * STEPS) as other:
        pairs = [(one.load(PIECE), other.load(PIECE)) for _ in range(6)]
    request_ns, more_ns = (median(side) for side in zip(*pairs, strict=True))
    step_ns = (more_ns - request_ns) / ((MORE - 1) * STEPS)
    steps = {effect: STEPS + round(effect * request_ns / step_ns) for effect in EFFECTS}
    yield {
        "kind": "calibration",
        "instructions_a_request": round(base, 1),
        "instructions_a_step": round((double - base) / STEPS, 4),
        "request_ns": round(request_ns, 1),
        "step_ns": round(step_ns, 4),
        "steps": {f"{effect:g}": number for effect, number in steps.items()},
    }
    with ExitStack() as stack:
        servers = {effect: stack.enter_context(KnownServer(program, number)) for effect, number in steps.items()}
        again = stack.enter_context(KnownServer(program, STEPS))
        costs: dict[object, list[float]] = {effect: [] for effect in (*servers, "again")}
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            turns: list[tuple[object, KnownServer]] = [*servers.items(), ("again", again)]
            random.shuffle(turns)
            for name, server in turns:
                costs[name].append(server.load(PIECE // 2))
    for name, values in costs.items():
        if name != 0.0:
            logs = [math.log(value / base) for value, base in zip(values, costs[0.0], strict=True)]
            yield {
                "kind": "full load",
                "effect": 0.0 if name == "again" else name,
                "measured": round(median(logs), 5),
                "se": round(stdev(logs) / math.sqrt(len(logs)), 5),
                "turns": len(logs),
            }


@contextmanager
def state_of(name: str) -> Iterator[None]:
    """The machine as it is to be: calm, or disturbed."""
    loops = {CALM: (), "beside": (), "half": (0,), "both": tuple(sorted(os.sched_getaffinity(0)))}[name]
    if not loops:
        yield
        return
    with Disturbance(loops, compiler=False):
        yield


@dataclass(frozen=True)
class Case:
    """What is measured, and how."""

    program: Path
    budget: str
    out: Path
    steps: dict[float, int]
    pinned: bool


def measure(case: Case, effect: float, state: str, dice: random.Random) -> dict[str, Any]:
    """One run of two servers of which B takes more, by `effect`."""
    steps = [STEPS, case.steps[effect]]
    swapped = dice.random() < 0.5
    with ExitStack() as stack:
        stack.enter_context(state_of(state))
        first, second = (
            stack.enter_context(KnownServer(case.program, steps[of], pinned=case.pinned))
            for of in (swapped, not swapped)
        )
        out = Path(tempfile.mkdtemp(prefix="run-", dir=case.out))
        command = [sys.executable, "-m", "loadstone.cli.main", "redis", first.url, "--against", second.url, "-t", "get"]
        command += ["--budget", case.budget, "--share-machine", "--out", str(out), "-q"]
        began_s = time.monotonic()
        status = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        seconds = time.monotonic() - began_s
    found = sorted(out.glob("*/analysis.json"))
    if not found:
        return {"kind": "failed", "effect": effect, "state": state, "status": status.returncode}
    sign = -1.0 if swapped else 1.0
    line = {"kind": "run", "effect": effect, "state": state, "pinned": case.pinned, "seconds": round(seconds, 1)}
    return line | _judged(json.loads(found[0].read_text()), first.url, sign) | _slices(found[0].parent, first.url, sign)


def _judged(analysis: dict[str, Any], url: str, sign: float) -> dict[str, Any]:
    """The verdicts of a run as printed, B against A: ln of the ratio, and its interval."""
    compared = analysis["families"][0]["comparisons"][0]
    one = next(iter(compared.get("costs") or []), None)
    taken = [check["measured"] for trial in analysis["trials"] for check in trial["checks"] if check["name"] == "taken"]
    line: dict[str, Any] = {"rounds": compared["primary"]["blocks"], "rate_kind": compared["primary"]["kind"]}
    line["taken"] = round(max(taken, default=0.0), 1)  # the most, in per cent of a CPU, that others may have taken
    if one is None or one["low"] is None:  # too few rounds
        return line | {"cost_kind": None if one is None else one["kind"], "cost": None}
    turned = sign * (1.0 if one["a"]["name"] in url else -1.0)
    ends = sorted(turned * one[end] for end in ("low", "high"))
    ratio = [round(value, 5) for value in (turned * one["estimate"], *ends)]
    return line | {"cost_kind": one["kind"], "negligible": one["negligible"], "cost": ratio, "rounds": one["blocks"]}


def _slices(folder: Path, url: str, sign: float) -> dict[str, Any]:
    """Of all slices, without the judge: mean and standard deviation of ln(B / A), by whole turns and by windows."""
    rounds: dict[tuple[int, int], dict[bool, Slice]] = {}
    for trial in read_run(folder).trials:
        if trial.block and trial.facts.drive is not None and trial.group != "table":
            is_first = str(trial.condition["target"]) in url
            for one in trial.facts.drive.slices:
                rounds.setdefault((trial.block, one.round), {})[is_first] = one
    both = [pair for pair in rounds.values() if len(pair) == 2 and all(one.ok for one in pair.values())]
    logs = {
        by: sign * np.array([math.log(_cost_ns(pair[False], by) / _cost_ns(pair[True], by)) for pair in both])
        for by in ("turn", "window")
    }
    typical = median(_cost_ns(one, "turn") for pair in both for one in pair.values())
    base = sign > 0  # whether A came first
    switches = [median(_switches(pair[side]) for pair in both) for side in (base, not base)]
    spreads = {f"{by}_{name}": round(float(value), 5) for by, a in logs.items() for name, value in _of(a)}
    sides = ([pair[side] for pair in both] for side in (base, not base))
    columns = [([_cost_ns(one, "turn") for one in side], [1.0] * len(side)) for side in sides]
    alone = round_evidence(PairSlices(*map(np.array, chain(*columns))), SETTINGS)
    found = None if alone.low is None else [round(value or 0.0, 5) for value in (alone.estimate, alone.low, alone.high)]
    line = {"slices": found, "request_ns": round(typical, 1), "all_rounds": len(both), "switches": switches}
    return line | {"waited": median(_waited(one) for pair in both for one in pair.values())} | spreads


def _switches(one: Slice) -> float:
    """How often a request the server's thread was given a CPU."""
    return round((next(iter(one.parts.values())).main_runs or 0) / one.ok, 4)


def _waited(one: Slice) -> float:
    """The share of the window in which it was ready to run and had none."""
    return round((next(iter(one.parts.values())).main_wait_s or 0.0) / (one.end_s - one.begin_s), 4)


def _of(values: np.ndarray[Any, Any]) -> Iterable[tuple[str, float]]:
    return (("mean", values.mean()), ("median", float(np.median(values))), ("sd", values.std(ddof=1)))


def _cost_ns(one: Slice, by: str) -> float:
    part = next(iter(one.parts.values()))
    if by == "turn" and one.turn_ok and part.turn_cpu_s is not None:
        return 1e9 * part.turn_cpu_s / one.turn_ok
    return 1e9 * (part.cpu_s or 0.0) / one.ok


def independent(case: Case) -> dict[str, Any]:
    """`cpu=` of one row against pidstat's CPU time of the server over its own count of requests."""
    with KnownServer(case.program, STEPS) as server:
        out = Path(tempfile.mkdtemp(prefix="row-", dir=case.out))
        pidstat = subprocess.Popen(
            ["pidstat", "-u", "-H", "-h", "-p", str(server.pid), "1"],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"LC_ALL": "C"},
        )
        began_ns, before, began_s = server.cpu_ns, server.requests, time.monotonic()
        command = [
            sys.executable,
            "-m",
            "loadstone.cli.main",
            "redis",
            server.url,
            "-t",
            "get",
            "-q",
            "--duration",
            "4s",
        ]
        command += ["--at-rate", "never", "--share-machine", "--out", str(out)]
        printed = subprocess.run(command, check=False, capture_output=True, text=True).stdout
        wall_s = time.monotonic() - began_s
        spent_ns, requests = server.cpu_ns - began_ns, server.requests - before
        pidstat.terminate()
        rows = [line.split() for line in pidstat.communicate()[0].splitlines() if str(server.pid) in line]
    shares = [float(row[7]) for row in rows]
    ours = re.search(r"cpu=([\d.]+)", printed)
    return {
        "kind": "independent",
        "cpu_us": float(ours[1]) if ours else None,
        "pidstat_us": round(1e6 * sum(shares) / 100 / requests, 4),
        "kernel_us": round(spent_ns / 1e3 / requests, 4),
        "requests": requests,
        "seconds": round(wall_s, 1),
    }


def table(lines: Sequence[dict[str, Any]]) -> str:
    """What the verdicts by cost said, by effect and state."""
    truths = {0.0: 0.0} | {effect: math.log1p(effect) for effect in EFFECTS}
    head = (
        f"{'apart':<5} {'B - A':>6} {'state':<6} {'runs':>4} {'found':>6} {'wrong':>6} {'held':>6} {'half width':>11}"
    )
    spreads = f"{'sd, turn':>9} {'window':>7} {'spread of runs':>15} {'seconds':>8}"
    rows = [f"{head} {'slices: found, held, half':>26} {spreads}"]
    every = [line for line in lines if line["kind"] == "run"]
    runs = [line for line in every if line["cost"] is not None]
    for kind in sorted({_kind(one) for one in runs}):
        pinned, effect, state = kind
        total = sum(_kind(one) == kind for one in every)
        of = [one for one in runs if _kind(one) == kind]
        truth = truths[effect]
        found = sum(one["cost"][1] > 0 for one in of)
        wrong = sum(one["cost"][2] < 0 or (effect == 0 and one["cost"][1] > 0) for one in of)
        held = sum(one["cost"][1] <= truth <= one["cost"][2] for one in of)
        half = 100 * median((one["cost"][2] - one["cost"][1]) / 2 for one in of)
        between = 100 * stdev(one["turn_median"] for one in of) if len(of) > 1 else math.nan
        slices = [one["slices"] for one in of if one["slices"] is not None]
        alone = (
            f"{sum(low > 0 for _, low, _ in slices):12} {sum(low <= truth <= high for _, low, high in slices):5} "
            f"{100 * median((high - low) / 2 for _, low, high in slices):6.2f}%"
        )
        sds = [100 * median(one[f"{by}_sd"] for one in of) for by in ("turn", "window")]
        rows.append(
            f"{'yes' if pinned else 'no':<5} {effect:6.0%} {state:<6} {total:4} {found:6} {wrong:6} "
            f"{held:3}/{len(of):<3}{half:10.2f}% {alone} {sds[0]:8.2f}% {sds[1]:6.2f}% {between:14.2f}% "
            f"{median(one['seconds'] for one in of):8.1f}"
        )
    held = sum(one["cost"][1] <= truths[one["effect"]] <= one["cost"][2] for one in runs)
    if runs:
        ends = binomtest(held, len(runs)).proportion_ci(method="exact")
        rows.append(f"held in all: {held} of {len(runs)} [{100 * ends.low:.0f}, {100 * ends.high:.0f}] %")
    if ratios := [one["cpu_us"] / one["pidstat_us"] for one in lines if one["kind"] == "independent" and one["cpu_us"]]:
        rows.append(f"cpu= over pidstat: {mean(ratios):.3f} [{min(ratios):.3f}, {max(ratios):.3f}], {len(ratios)} runs")
    return "\n".join(rows)


def _kind(line: dict[str, Any]) -> tuple[bool, float, str]:
    return line["pinned"], line["effect"], line["state"]


def main() -> None:
    """Measure what is asked for, append it to the file, and print the table of all that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calibrate", type=float, nargs="?", const=60.0, metavar="SECONDS")
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--budget", default="30s")
    parser.add_argument("--effects", default="0,2,5", help="per cent")
    parser.add_argument("--states", default="calm,half,both")
    parser.add_argument("--independent", type=int, default=0, metavar="RUNS")
    parser.add_argument("--table", action="store_true", help="only print what is there")
    parser.add_argument("--anywhere", action="store_true", help="servers may run on the generator's CPU")
    parser.add_argument("--file", type=Path, default=FILE)
    parser.add_argument("--out", type=Path, help="keep the runs' folders there")
    parser.add_argument("--program", type=Path, help="the server, built before")
    options = parser.parse_args()
    for program in ("valgrind", "redis-benchmark", "pidstat"):
        if shutil.which(program) is None:
            sys.exit(f"cost-truth: {program} is missing: apt-get install valgrind redis-tools sysstat")
    lines = read_lines(options.file)

    def note(line: dict[str, Any]) -> None:
        lines.append({"date": datetime.now(UTC).date().isoformat(), **machine(), **line})
        add_line(options.file, lines[-1])
        print(json.dumps(line), flush=True)

    if not options.table:
        program = options.program or built()
        with tempfile.TemporaryDirectory() as folder:
            out = options.out or Path(folder)
            out.mkdir(parents=True, exist_ok=True)
            if options.calibrate:
                for line in calibrate(program, options.calibrate):
                    note(line)
            found = next((line for line in reversed(lines) if line["kind"] == "calibration"), None)
            if found is None:
                sys.exit("cost-truth: measure with --calibrate first")
            steps = {float(name): number for name, number in found["steps"].items()}
            case = Case(program, options.budget, out, steps, not options.anywhere)
            for _ in range(options.independent):
                note(independent(case))
            end = time.monotonic() + 60 * options.minutes
            dice = random.Random()
            kinds = [(float(e) / 100, s) for e in options.effects.split(",") for s in options.states.split(",")]
            while time.monotonic() < end:
                dice.shuffle(kinds)
                for effect, state in kinds:
                    if time.monotonic() < end:
                        note(measure(case, effect, state, dice))
    print(table(lines))


if __name__ == "__main__":
    main()
