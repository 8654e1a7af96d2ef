"""Live comparisons in rounds of slices, where the truth is known; judged look by look as a run judges.

    python -m bench.judge.live_rounds equal  [--comparisons 300] [--disturbed-every 3]
    python -m bench.judge.live_rounds slower [--comparisons 40]  [--calm]

equal: two conditions that are the same, 8 users reading documents of one real Redis; any difference that is claimed is
false. slower: null servers that spend a service time S on each command, against one slower by 3, 5 and 10 % and one
that is equal, on a machine disturbed on purpose (`disturbance.py`), unless `--calm`. The truth of a pair is the ratio
of the CPU time that each server took for a command, by the servers' own clocks. Each comparison goes on until it is
decided, or to the last look. A line each is appended to `--out`/<part>.jsonl; those that are there are not measured
again. Prints counts with 95 % ranges (Clopper & Pearson 1934).
"""

import argparse
import json
import math
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from bench.common.disturbance import Disturbance
from loadstone.drivers.driver import RoundsOptions
from loadstone.drivers.native import NativeDriver, require_release_engine
from loadstone.drivers.null_server import NullServerProcess
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Keys, Phases, Plan, Pool, Verify
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.look_schedule import ROUND_LOOK_ALPHA, ROUND_LOOKS, rounds_of_blocks
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.experiment.plan.rounds import SETTLE_S, SLICE_S, WARM_ROUNDS
from loadstone.judge.statistics.decision import verdict_of
from loadstone.judge.statistics.rounds.round_evidence import round_evidence
from loadstone.judge.statistics.rounds.slices import PairSlices
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import DECIDED, Verdict
from loadstone.machine.placement import place
from loadstone.servers import registry
from loadstone.servers.server import DeployContext

ROOT = Path(__file__).parents[2]
SERVICE_US = 200.0
EFFECTS = (0.0, 0.03, 0.05, 0.10)
USERS = {"redis": 8, "null": 4}
PHASES = Phases(warm_up_s=0.2, measure_s=1.0, drain_s=1.0)
WITHIN_S = (30.0, 90.0)


@dataclass(frozen=True)
class Found:
    """How one comparison ended. Ratios are ln(B / A)."""

    number: int
    effect: float
    truth: float
    disturbed: bool
    kind: str
    negligible: bool
    estimate: float | None
    low: float | None
    high: float | None
    rounds: int
    wall_s: float
    """From opening the connections to the look that decided it, or the last one."""

    @property
    def claims(self) -> bool:
        """Whether it says that there is a difference, however small."""
        return self.kind in ("faster", "mixed") or self.negligible

    @property
    def wrong(self) -> bool:
        """Whether it says that the slower one is faster."""
        return self.claims and (self.estimate or 0.0) > 0 > self.truth


Columns = list[NDArray[np.float64]]


@dataclass(frozen=True)
class Sides:
    """A and B."""

    plans: Callable[[int], tuple[Plan, Plan]]
    """Of both, by a seed."""
    pids: tuple[int, int]
    """Of the server of each."""


@dataclass
class Comparison:
    """What one comparison has measured."""

    columns: Columns = field(default_factory=lambda: [np.zeros(0) for _ in range(4)])
    """Operations and seconds of A's slices, then of B's."""
    cpu_s: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def add(self, records: Sequence[DriveRecord]) -> None:
        """The slices of some more rounds."""
        more = [
            np.array(column, dtype=np.float64)
            for one in records
            for column in ([s.ok for s in one.slices], [s.end_s - s.begin_s for s in one.slices])
        ]
        self.columns = [np.concatenate(both) for both in zip(self.columns, more, strict=True)]
        for side, one in enumerate(records):
            self.cpu_s[side] += sum(s.parts["server"].cpu_s or 0.0 for s in one.slices)

    @property
    def slices(self) -> PairSlices:
        """As the judge takes them."""
        return PairSlices(*self.columns)

    def truth(self) -> float:
        """ln(B / A) by the CPU time a command."""
        a, b = (cpu_s / self.columns[2 * side].sum() for side, cpu_s in enumerate(self.cpu_s))
        return math.log(a / b)


def compare(sides: Sides, number: int) -> tuple[Verdict, Comparison, float]:
    """One comparison until it is decided, and the seconds that it took."""
    dice, driver = random.Random(f"order-{number}"), NativeDriver()
    settings = Settings(unit="round", alpha=ROUND_LOOK_ALPHA, trial_s=SLICE_S)
    began_s = time.monotonic()
    _drive(driver, sides, 1000 * number, dice, WARM_ROUNDS)
    found = Comparison()
    for look, rounds in zip(ROUND_LOOKS, rounds_of_blocks(), strict=True):
        found.add(_drive(driver, sides, 1000 * number + look, dice, rounds))
        verdict = verdict_of(round_evidence(found.slices, settings), settings)
        if verdict.kind in DECIDED:
            break
    return verdict, found, time.monotonic() - began_s


def _drive(driver: NativeDriver, sides: Sides, seed: int, dice: random.Random, rounds: int) -> list[DriveRecord]:
    orders = tuple(tuple(dice.sample((0, 1), 2)) for _ in range(rounds))
    parts = tuple({"server": (pid,)} for pid in sides.pids)
    options = RoundsOptions(slice_s=SLICE_S - SETTLE_S, settle_s=SETTLE_S, orders=orders, parts=parts)
    records = driver.drive(sides.plans(seed), lambda _drive, _interval: None, options)
    for one in records:
        if one.stopped or len(one.slices) != rounds:
            sys.exit(f"a drive ended early: {one.stopped}")
    return records


@contextmanager
def equal_conditions() -> Iterator[Sides]:
    """Two conditions on one Redis, each with keys of its own."""
    where = place()
    server = registry.make_server("redis", {"kind": "embedded"})
    endpoint = server.start(DeployContext(cpus=where.server_cpus))
    document = ServerCommand(args=("SET", "{key}", "{document}"), expect="ok")
    try:
        write = Operation(name="set", commands=(document,), writes="document")
        pid = next(iter(server.pids.values()))
        yield Sides(
            lambda seed: (_plan(endpoint, write, seed, 0, "redis"), _plan(endpoint, write, seed + 1, 1, "redis")),
            (pid, pid),
        )
    finally:
        server.stop()


@contextmanager
def slower_server(effect: float) -> Iterator[Sides]:
    """A null server, and one that is slower by a share."""
    where = place()
    servers = [NullServerProcess({"busy_us": SERVICE_US * (1 + more)}) for more in (0.0, effect)]
    read = Operation(name="get", commands=(ServerCommand(args=("GET", "{key}")),))
    try:
        a, b = (one.start(DeployContext(cpus=where.server_cpus)) for one in servers)
        first, second = (next(iter(one.pids.values())) for one in servers)
        yield Sides(
            lambda seed: (_plan(a, read, seed, 0, "null"), _plan(b, read, seed + 1, 1, "null")), (first, second)
        )
    finally:
        for one in servers:
            one.stop()


def _plan(endpoint: Endpoint, operation: Operation, seed: int, side: int, kind: str) -> Plan:
    users = USERS[kind]
    return Plan(
        seed=seed,
        endpoints=(endpoint,),
        cpus=place().generator_cpus[:1],
        model=Closed(users=users),
        pool=Pool(connections=users),
        phases=PHASES,
        operations=(operation,),
        keys=Keys(prefix=f"loadstone:live:{side}:", count=1000),
        verify=Verify(count_mismatch=False, read_back_max=0),
    )


def measure(part: str, number: int, effect: float, disturbed: bool) -> Found:
    """One comparison, alone or disturbed."""
    with ExitStack() as held:
        sides = held.enter_context(equal_conditions() if part == "equal" else slower_server(effect))
        if disturbed:
            held.enter_context(Disturbance((*place().server_cpus, *place().generator_cpus)))
        verdict, found, wall_s = compare(sides, number)
    return Found(
        number=number,
        effect=effect,
        truth=found.truth() if effect else 0.0,
        disturbed=disturbed,
        kind=verdict.kind,
        negligible=verdict.negligible,
        estimate=verdict.estimate,
        low=verdict.low,
        high=verdict.high,
        rounds=found.slices.rounds,
        wall_s=round(wall_s, 2),
    )


def planned(options: argparse.Namespace) -> list[tuple[int, float, bool]]:
    """Number, effect and whether disturbed, of every comparison; the effects take turns."""
    if options.part == "equal":
        every = options.disturbed_every
        return [(n, 0.0, bool(every) and n % every == 0) for n in range(1, options.comparisons + 1)]
    return [(n, effect, not options.calm) for n in range(1, options.comparisons + 1) for effect in EFFECTS]


def share(hits: int, total: int) -> str:
    """`14 of 15 [68, 100] %`."""
    if not total:
        return "0 of 0"
    interval = binomtest(hits, total).proportion_ci(method="exact")
    return f"{hits} of {total} [{100 * interval.low:.1f}, {100 * interval.high:.1f}] %"


def summary(found: Sequence[Found]) -> dict[str, str]:
    """Of comparisons of one kind."""
    walls = sorted(one.wall_s for one in found)
    claimed = [one for one in found if one.claims]
    by = {f"decided as different within {s:.0f} s": sum(one.wall_s <= s for one in claimed) for s in WITHIN_S}
    equal = [one for one in found if one.kind == "equivalent" and one.wall_s <= WITHIN_S[-1]]
    held = [one for one in found if one.low is not None and one.low <= one.truth <= (one.high or 0.0)]
    return {
        "a difference is claimed": share(len(claimed), len(found)),
        **{name: share(hits, len(found)) for name, hits in by.items()},
        f"equivalent within {WITHIN_S[-1]:.0f} s": share(len(equal), len(found)),
        "wrong direction": share(sum(one.wrong for one in found), len(found)),
        "the interval holds the truth": share(len(held), len(found)),
        "seconds, median [range]": f"{median(walls):.0f} [{walls[0]:.0f}, {walls[-1]:.0f}]",
    }


def page(found: Sequence[Found]) -> str:
    """A list for each kind of comparison."""
    kinds: dict[tuple[float, bool], list[Found]] = {}
    for one in found:
        kinds.setdefault((one.effect, one.disturbed), []).append(one)
    parts = []
    for (effect, disturbed), ones in sorted(kinds.items()):
        name = f"slower by {effect:.0%}" if effect else "equal"
        lines = [f"- {label}: {text}" for label, text in summary(ones).items()]
        parts.append("\n".join([f"{name}, {'disturbed' if disturbed else 'calm'}:", "", *lines]))
    return "\n\n".join(parts)


def main() -> int:
    """Measure what is missing; print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("equal", "slower"))
    parser.add_argument("--comparisons", type=int, default=0, help="300 of equal ones, 40 of each slower server")
    parser.add_argument("--disturbed-every", type=int, default=3, help="equal: each n-th is disturbed; 0: none")
    parser.add_argument("--calm", action="store_true", help="slower: not disturbed")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no comparison after so many")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "calibration" / "live-rounds")
    options = parser.parse_args()
    options.comparisons = options.comparisons or {"equal": 300, "slower": 40}[options.part]
    require_release_engine()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / f"{options.part}{'-calm' if options.calm else ''}.jsonl"
    found = [Found(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []
    done = {(one.number, one.effect) for one in found}
    missing = [one for one in planned(options) if one[:2] not in done]
    print(f"live rounds: {len(missing)} comparisons to do, about {len(missing) * 20 / 60:.0f} minutes", flush=True)
    until_s = time.monotonic() + 60 * options.minutes
    with file.open("a") as lines:
        for count, one in enumerate(missing, start=1):
            if time.monotonic() > until_s:
                break
            found.append(measure(options.part, *one))
            lines.write(json.dumps(asdict(found[-1])) + "\n")
            lines.flush()
            if sys.stderr.isatty():
                print(f"\r{count} of {len(missing)} ", end="", file=sys.stderr, flush=True)
    print(page(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
