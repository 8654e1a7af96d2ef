"""Does the bound hold? A driver slowed down by known amounts, and CPU time taken away from the server.

    python -m bench.judge.gain_coverage [--rounds 10] [--seconds 0.7] [--only slowed|taken]
                                        [--out runs/calibration/gain]

The engine must be built with `--features slowed` (`scripts/calibrate gain` does it). On a real Redis each condition is
measured undisturbed and disturbed in turn, in random order. A disturbed trial gives a rate and a bound;
the undisturbed rate of the same round must lie within it. That is counted for each trial as it is (both rates carry the
machine's noise) and for the typical ratio over the rounds. Writes `gain.json` and `gain.md`.
"""

import argparse
import importlib.util
import json
import math
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
SLOWED = ROOT / "target" / "slowed" / "release" / "libloadstone_engine_py.so"
PREFIX = "loadstone:gain:"
KEYS = 1000
MORE_CPU = (0.1, 0.25, 0.5, 1.0)
"""More CPU a request for the driver, as shares of what it needs."""
TAKEN = (0.1, 0.25, 0.5)
"""Shares of the server's CPU that a busy loop wants."""
COVERED = 0.95


def slowed_engine() -> ModuleType:
    """The engine that can be slowed down, in the place of the usual one. Exits where it is not built."""
    if not SLOWED.exists():
        sys.exit("the slowed engine is not built: run `scripts/calibrate gain`")
    spec = importlib.util.spec_from_file_location("loadstone._engine", SLOWED)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["loadstone._engine"] = module
    spec.loader.exec_module(module)
    return module


ENGINE = slowed_engine()

import redis  # noqa: E402

from loadstone.drivers.driver import drive_alone  # noqa: E402
from loadstone.drivers.native import NativeDriver  # noqa: E402
from loadstone.drivers.outcome import Interval  # noqa: E402
from loadstone.experiment.plan.drive_plan import Plan  # noqa: E402
from loadstone.experiment.plan.run_plan import PlannedTrial  # noqa: E402
from loadstone.judge.checks.generator_bounds import bound_of  # noqa: E402
from loadstone.judge.statistics.signed_rank import signed_rank  # noqa: E402
from loadstone.machine.placement import Placement, place  # noqa: E402
from loadstone.measure.sampler import Sampler  # noqa: E402
from loadstone.monitors.monitor import Sample  # noqa: E402
from loadstone.monitors.watch import MonitorTargets  # noqa: E402
from loadstone.run_folder.make_trial import make_trial_record  # noqa: E402
from loadstone.run_folder.observation import Observation, ObservedDrive, PartReadings, measure_phase  # noqa: E402
from loadstone.run_folder.trial import TrialRecord  # noqa: E402
from loadstone.servers import registry  # noqa: E402 (the engine must be in its place before)
from loadstone.servers.redis.local import EmbeddedSettings, LocalRedis  # noqa: E402
from loadstone.servers.server import DeployContext  # noqa: E402


@dataclass(frozen=True)
class Load:
    """A kind of load on Redis."""

    name: str
    command: tuple[str, ...]
    users: int
    pipeline: int = 1
    bytes: int = 1000


LOADS = (
    Load("SET 1 kB, 4 users", ("SET", "{key}", "{value}"), 4),
    Load("SET 1 kB, 8 users", ("SET", "{key}", "{value}"), 8),
    Load("SET 1 kB, 32 users", ("SET", "{key}", "{value}"), 32),
    Load("JSON.SET 1 kB, 4 users", ("JSON.SET", "{key}", "$", "{document}"), 4),
    Load("JSON.SET 1 kB, 16 users", ("JSON.SET", "{key}", "$", "{document}"), 16),
    Load("GET 100 B, 16 users", ("GET", "{key}"), 16, bytes=100),
    Load("SET 100 B, 16 users, pipeline 16", ("SET", "{key}", "{value}"), 16, pipeline=16, bytes=100),
)


@dataclass(frozen=True)
class Cell:
    """One load under one disturbance, over the rounds."""

    load: str
    disturbance: str
    rounds: int
    rate: float
    undisturbed: float
    bound: float
    """Typical, a share."""
    ratio: float
    """Undisturbed over disturbed, Hodges-Lehmann over the rounds, less one."""
    low: float | None
    """Lower end of its 95 % interval."""
    covered: bool
    trials_covered: int


class Bench:
    """A Redis of our own, and trials on it."""

    def __init__(self, server: LocalRedis, endpoint: Any, placement: Placement, seconds: float) -> None:
        self._server, self._endpoint, self._seconds = server, endpoint, seconds
        self._driver, self._placement = NativeDriver(), placement

    def rate(self, load: Load, slowed_ns: int = 0) -> TrialRecord:
        """One trial."""
        ENGINE.set_slowed_ns(slowed_ns)
        plan = self._plan(load)
        intervals: list[Interval] = []
        samples: list[Sample] = []
        watch = MonitorTargets(
            pids=self._server.pids, cpus=(*self._placement.server_cpus, *self._placement.generator_cpus)
        )
        with Sampler(registry.monitors(watch), samples.extend) as sampler:

            def take(interval: Interval) -> None:
                if not intervals or interval.phase != intervals[-1].phase:
                    sampler.now()
                intervals.append(interval)

            sampler.now()
            drive = drive_alone(self._driver, plan, take, sampler.rest)
        planned = PlannedTrial("b01-001", {}, 1, 1, {"redis": {"kind": "embedded"}}, plan, None)
        driven = ObservedDrive(planned.name, plan, drive, intervals, samples)
        readings = PartReadings(counters={"redis": (None, None)})
        return make_trial_record(
            planned, Observation(driven, measure_phase(drive), readings, placement=self._placement)
        )

    def _plan(self, load: Load) -> Plan:
        command = {"args": list(load.command), "expect": "any"}
        writes = "document" if "{document}" in load.command else "nothing"
        return Plan.model_validate(
            {
                "endpoints": [{}],
                "model": {"kind": "closed", "users": load.users},
                "pool": {"connections": load.users},
                "pipeline_depth": load.pipeline,
                "phases": {"warm_up_s": 0.1, "measure_s": self._seconds, "drain_s": 1.0},
                "operations": [{"name": "one", "commands": [command], "writes": writes}],
                "documents": {"payload_bytes": load.bytes},
                "keys": {
                    "prefix": f"{PREFIX}{load.command[0]}:",
                    "count": KEYS,
                    "distribution": "sequential",
                    "loaded": True,
                },
                "interval_s": max(0.1, self._seconds / 10),
                "cpus": self._placement.generator_cpus,
            }
        ).model_copy(update={"endpoints": (self._endpoint,)})

    def cpu_ns(self, load: Load) -> int:
        """What the undisturbed driver needs for a request."""
        trial = self.rate(load)
        return round(1e9 * trial.cpu_s["generator"] / (trial.goodput_per_s * trial.duration_s))


@contextmanager
def busy_loop(cpu: int, share: float) -> Iterator[None]:
    """A process that wants so much of a CPU: busy for a share of each 20 ms."""
    if not share:
        yield
        return
    program = (
        f"import os, time\nos.sched_setaffinity(0, {{{cpu}}})\nprint(flush=True)\n"
        f"while True:\n end = time.perf_counter() + {0.02 * share}\n"
        f" while time.perf_counter() < end: pass\n time.sleep({0.02 * (1 - share)})\n"
    )
    hog = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert hog.stdout is not None
        hog.stdout.readline()
        yield
    finally:
        hog.kill()
        hog.communicate()


def cells(bench: Bench, kind: str, rounds: int, dice: random.Random) -> list[Cell]:
    """Every load, undisturbed and under each disturbance of a kind."""
    levels = MORE_CPU if kind == "slowed" else TAKEN
    cpu = place().server_cpus[0]
    needs = {load.name: bench.cpu_ns(load) for load in LOADS}
    found: dict[tuple[str, float], list[tuple[TrialRecord, TrialRecord]]] = {}
    for number in range(rounds):
        for load in dice.sample(LOADS, len(LOADS)):
            taken: dict[float, TrialRecord] = {}
            for level in dice.sample([0.0, *levels], 1 + len(levels)):
                with busy_loop(cpu, level if kind == "taken" else 0.0):
                    taken[level] = bench.rate(load, round(level * needs[load.name]) if kind == "slowed" else 0)
            for level in levels:
                found.setdefault((load.name, level), []).append((taken[0.0], taken[level]))
        print(f"{kind}: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return [_cell(name, kind, level, pairs) for (name, level), pairs in sorted(found.items())]


def _cell(name: str, kind: str, level: float, pairs: Sequence[tuple[TrialRecord, TrialRecord]]) -> Cell:
    import numpy as np

    ratios = [free.goodput_per_s / held.goodput_per_s for free, held in pairs]
    bounds = [bound.total if (bound := bound_of(held)) is not None else 0.0 for _, held in pairs]
    # What the bound of the disturbed trial says more than that of the undisturbed one's own rate.
    found = signed_rank(np.log(ratios), 0.05)
    ratio, bound = math.expm1(float(found.estimate)), median(bounds)
    words = f"{level:.0%} more CPU a request" if kind == "slowed" else f"a busy loop that wants {level:.0%}"
    return Cell(
        load=name,
        disturbance=words,
        rounds=len(pairs),
        rate=median(held.goodput_per_s for _, held in pairs),
        undisturbed=median(free.goodput_per_s for free, _ in pairs),
        bound=bound,
        ratio=ratio,
        low=None if found.low is None else math.expm1(float(found.low)),
        covered=ratio <= bound or (found.low is not None and math.expm1(float(found.low)) <= bound),
        trials_covered=sum(ratio <= 1 + bound for ratio, bound in zip(ratios, bounds, strict=True)),
    )


def page(found: Sequence[Cell], date: str) -> str:
    """The section of the calibration page."""
    rows = [
        f"| {cell.load} | {cell.disturbance} | {cell.rate:,.0f} | {cell.undisturbed:,.0f} | "
        f"{100 * cell.bound:+.0f} % | {100 * cell.ratio:+.1f} % | "
        f"{'yes' if cell.covered else 'NO'} | {cell.trials_covered} of {cell.rounds} |"
        for cell in found
    ]
    head = (
        "| load | disturbance | rate | undisturbed | bound | really lost | within | single trials |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    covered, trials = sum(cell.covered for cell in found), sum(cell.trials_covered for cell in found)
    total = sum(cell.rounds for cell in found)
    return (
        f"{date}: the undisturbed rate lies within the bound in {covered} of {len(found)} cells, and in {trials} of "
        f"{total} single trials ({100 * trials / total:.0f} %; both of its rates carry the machine's noise).\n\n"
        + head
        + "\n".join(rows)
    )


def main() -> int:
    """Measure, print and write the section; 1 if the bound holds in fewer cells than it must."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("slowed", "taken"))
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "calibration" / "gain")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    placement, dice = place(), random.Random(options.seed)
    server = EmbeddedSettings(modules=("json",)).server("redis")
    endpoint = server.start(DeployContext(cpus=placement.server_cpus))
    try:
        bench = Bench(server, endpoint, placement, options.seconds)
        with redis.Redis(host=endpoint.host, port=endpoint.port, password=endpoint.password) as client:
            client.mset({f"{PREFIX}GET:{number:012d}": "x" * 100 for number in range(KEYS)})
        kinds = [options.only] if options.only else ["slowed", "taken"]
        found = [cell for kind in kinds for cell in cells(bench, kind, options.rounds, dice)]
    finally:
        server.stop()
    date = datetime.now(UTC).date().isoformat()
    text = page(found, date)
    (options.out / "gain.json").write_text(json.dumps([asdict(cell) for cell in found], indent=1) + "\n")
    (options.out / "gain.md").write_text(text + "\n")
    print(text)
    return 0 if sum(cell.covered for cell in found) >= COVERED * len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
