"""How wide is the interval of a comparison, in rounds of slices and by whole trials of .7 s, after the same wall time?

    python -m bench.judge.rounds_against_trials [--repetitions 8] [--out runs/calibration/rounds-against-trials]

Two comparisons of the study json-documents at 1 kB and 8 workers, on one embedded Redis: the document as a string
against JSON, and a tenth of it changed against all of it. A repetition takes both designs one after the other, in
random order: trials (12 blocks of both conditions in random order, each with fresh connections and .3 s of warm-up,
until the wall time T is known), then or before that rounds for the T of the last trials. Prints the half widths and
their ratio, with medians and ranges. A line each is appended to `--out`/widths.jsonl.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from loadstone.drivers.driver import RoundsOptions, drive_alone
from loadstone.drivers.native import NativeDriver, require_release_engine
from loadstone.experiment.plan.drive_plan import Closed, Documents, Keys, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.look_schedule import LOOK_ALPHA, ROUND_LOOK_ALPHA
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.experiment.plan.rounds import BETWEEN_S, SETTLE_S, SLICE_S, WARM_ROUNDS
from loadstone.experiment.plan.trial_plans import LOAD_USERS
from loadstone.judge.statistics.pair_evidence import Evidence, block_evidence
from loadstone.judge.statistics.rounds.round_evidence import round_evidence
from loadstone.judge.statistics.rounds.slices import PairSlices
from loadstone.judge.statistics.settings import Settings
from loadstone.machine.placement import place
from loadstone.servers import registry
from loadstone.servers.server import DeployContext

ROOT = Path(__file__).parents[2]
BLOCKS, TRIAL_S, WARM_UP_S = 12, 0.7, 0.3
USERS = 8
SET = Operation(
    name="set", commands=(ServerCommand(args=("JSON.SET", "{key}", "$", "{document}"), expect="ok"),), writes="document"
)
UPDATE = Operation(
    name="update",
    commands=(ServerCommand(args=("JSON.SET", "{key}", "$.field", "{field_json}"), expect="ok"),),
    writes="field",
)
STRING = Operation(
    name="set", commands=(ServerCommand(args=("SET", "{key}", "{document}"), expect="ok"),), writes="document"
)
COMPARISONS = {"string against JSON": (SET, STRING), "update against set": (SET, UPDATE)}


@dataclass(frozen=True)
class Width:
    """What one design gave. Ratios are ln(B / A)."""

    repetition: int
    comparison: str
    design: str
    estimate: float
    half_width: float
    wall_s: float


class Bench:
    """The server, and the plans on it."""

    def __init__(self) -> None:
        self._where = place()
        self._server = registry.make_server("redis", {"kind": "embedded", "modules": ["json"]})
        self._endpoint: Endpoint = self._server.start(DeployContext(cpus=self._where.server_cpus))
        self._driver = NativeDriver()

    def stop(self) -> None:
        """End the server."""
        self._server.stop()

    def trials(self, pair: tuple[Operation, Operation], dice: random.Random) -> tuple[Evidence, float]:
        """Whole trials, block by block; also the wall time."""
        self._store(pair)
        began_s, rates = time.monotonic(), ([], [])  # type: tuple[float, tuple[list[float], list[float]]]
        for block in range(BLOCKS + 1):
            for side in dice.sample((0, 1), 2):
                plan = self._plan(pair[side], side, Phases(warm_up_s=WARM_UP_S, measure_s=TRIAL_S), block)
                record = drive_alone(self._driver, plan)
                if block:
                    rates[side].append(sum(one.window_ok for one in record.operations.values()) / record.measure_s)
        return block_evidence(*rates, Settings(alpha=LOOK_ALPHA)), time.monotonic() - began_s

    def rounds(self, pair: tuple[Operation, Operation], dice: random.Random, wall_s: float) -> tuple[Evidence, float]:
        """Rounds of slices for so long."""
        self._store(pair)
        began_s = time.monotonic()
        warm_s = WARM_UP_S * len(pair)
        number = WARM_ROUNDS + max(32, int((wall_s - warm_s) / (len(pair) * (SLICE_S + BETWEEN_S))) - WARM_ROUNDS)
        orders = tuple(tuple(dice.sample((0, 1), 2)) for _ in range(number))
        plans = [self._plan(one, side, Phases(warm_up_s=WARM_UP_S, measure_s=1.0), 0) for side, one in enumerate(pair)]
        options = RoundsOptions(slice_s=SLICE_S - SETTLE_S, settle_s=SETTLE_S, orders=orders)
        records = self._driver.drive(plans, lambda _drive, _interval: None, options)
        columns = [
            np.array(column[WARM_ROUNDS:], dtype=np.float64)
            for one in records
            for column in ([s.ok for s in one.slices], [s.end_s - s.begin_s for s in one.slices])
        ]
        evidence = round_evidence(PairSlices(*columns), Settings(unit="round", alpha=ROUND_LOOK_ALPHA))
        return evidence, time.monotonic() - began_s

    def _store(self, pair: tuple[Operation, Operation]) -> None:
        """Every key of both sides once."""
        for side, operation in enumerate(pair):
            write = SET if operation is UPDATE else operation
            phases = Phases(warm_up_s=0.0, measure_s=0.001, measure_max_s=60.0)
            plan = self._plan(write, side, phases, 0, users=LOAD_USERS)
            drive_alone(self._driver, plan.model_copy(update={"keys": _keys(side, write, "exactly_once")}))

    def _plan(self, operation: Operation, side: int, phases: Phases, seed: int, users: int = USERS) -> Plan:
        return Plan(
            seed=1000 * side + seed,
            endpoints=(self._endpoint,),
            cpus=self._where.generator_cpus[:1],
            model=Closed(users=users),
            pool=Pool(connections=users),
            phases=phases,
            operations=(operation,),
            keys=_keys(side, operation, "uniform"),
            documents=Documents(payload_bytes=1000, field_bytes=100),
        )


def _keys(side: int, operation: Operation, distribution: str) -> Keys:
    kind = operation.commands[0].args[0]
    return Keys.model_validate(
        {"prefix": f"loadstone:widths:{kind}:{side}:", "count": 1000, "distribution": distribution}
    )


def repetition(bench: Bench, number: int) -> list[Width]:
    """Both designs of both comparisons."""
    dice, found = random.Random(f"widths-{number}"), []
    for name, pair in COMPARISONS.items():
        wall_s = BLOCKS_WALL_S
        for design in dice.sample(("trials", "rounds"), 2):
            if design == "trials":
                evidence, wall_s = bench.trials(pair, dice)
            else:
                evidence, wall_s = bench.rounds(pair, dice, wall_s)
            assert evidence.estimate is not None
            assert evidence.low is not None
            assert evidence.high is not None
            half = (evidence.high - evidence.low) / 2
            found.append(Width(number, name, design, evidence.estimate, half, round(wall_s, 2)))
    return found


BLOCKS_WALL_S = (BLOCKS + 1) * 2 * (TRIAL_S + WARM_UP_S)
"""Where rounds come first they last as long as the trials' phases alone will."""


def summary(found: Sequence[Width]) -> str:
    """A line a comparison: half widths of both designs and their ratio."""
    lines = []
    for name in COMPARISONS:
        by = {(one.repetition, one.design): one for one in found if one.comparison == name}
        numbers = sorted({number for number, _ in by})
        ratios = [by[number, "rounds"].half_width / by[number, "trials"].half_width for number in numbers]
        parts = [f"{name}: ratio {_spread(ratios, 2)}"]
        for design in ("trials", "rounds"):
            ones = [by[number, design] for number in numbers]
            widths = _spread([100 * one.half_width for one in ones], 1)
            walls = _spread([one.wall_s for one in ones], 0)
            estimates = _spread([100 * one.estimate for one in ones], 0)
            parts.append(f"{design} +- {widths} % in {walls} s, ln ratio {estimates} %")
        lines.append("; ".join(parts))
    return "\n".join(lines)


def _spread(values: Sequence[float], digits: int) -> str:
    return f"{median(values):.{digits}f} [{min(values):.{digits}f}, {max(values):.{digits}f}]"


def main() -> int:
    """Measure what is missing; print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=8)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "calibration" / "rounds-against-trials")
    options = parser.parse_args()
    require_release_engine()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "widths.jsonl"
    found = [Width(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []
    missing = [n for n in range(1, options.repetitions + 1) if n not in {one.repetition for one in found}]
    print(f"{len(missing)} repetitions to do, about {len(missing) * 2:.0f} minutes", flush=True)
    bench = Bench()
    try:
        with file.open("a") as lines:
            for number in missing:
                new = repetition(bench, number)
                lines.writelines(json.dumps(asdict(one)) + "\n" for one in new)
                lines.flush()
                found += new
    finally:
        bench.stop()
    print(summary(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
