"""Replay calibration of the intervals of P50, P95 and P99 of one row (`judge/statistics/unit_quantiles`).

Simulates slices or seconds: each has its own level (which may follow that of the one before), its own share of slow
requests, and now and then a stall that a part of its requests see. The truth is the quantile of very many such units;
how often an interval holds it is printed with its 95 % range, beside that of the binomial interval over single
operations. Two numbers more: how often a stall of one unit is named where one unit alone had one and P99 shows it, and
how often one is named where no unit had one. Exit status 1 if coverage falls short where no unit stalls.
"""

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from simulated import Latencies, Share, options, share_of, tops_ns

from loadstone.judge.statistics.histograms import Buckets
from loadstone.judge.statistics.unit_quantiles import UNITS_MIN, Units

HALF = 10
LAYOUT = (0, HALF)
"""1,024 buckets in each doubling."""
PLACES = np.arange((3 + 1) << HALF, (14 + 1) << HALF, 16)
"""From 8 us to 17 ms."""
TOPS_NS = tops_ns(PLACES, LAYOUT)
LATENCIES = Latencies(median_ns=50e3, body_sd=0.15, slow_factor=4.0, slow_sd=0.4, stall_ns=3e6)
OPERATIONS = 1_500
"""Of a unit: a P99 of eight units has 120 beyond it."""
QUANTILES = (0.5, 0.95, 0.99)
NUMBERS = (UNITS_MIN, 16, 32)
HELD_MIN = 0.93
STEP = 1.015
"""A bucket of the simulation is so wide."""
OF_A_STALL_NS = 400e3


@dataclass(frozen=True)
class Scenario:
    """`level_sd` and `slow_sd` as log ratios; `memory`: correlation of a unit's level with that of the one before."""

    name: str
    level_sd: float
    slow_share: float
    slow_sd: float
    stall_share: float
    """Share of units with a stall, which .5 to 15 % of their requests see."""
    memory: float


SCENARIOS = (
    Scenario("quiet", 0.015, 0.02, 0.2, 0.0, 0.0),
    Scenario("drift", 0.06, 0.02, 0.5, 0.0, 0.6),
    Scenario("stalls in 3 %", 0.03, 0.008, 0.5, 0.03, 0.0),
    Scenario("stalls in 20 %", 0.06, 0.008, 0.5, 0.2, 0.0),
    Scenario("stalls in 50 %", 0.06, 0.008, 0.5, 0.5, 0.0),
)


@dataclass(frozen=True)
class Outcome:
    """One quantile of one scenario from so many units."""

    scenario: str
    quantile: float
    units: int
    runs: int
    held: Share
    """Intervals that hold the truth."""
    binomial_held: Share
    width: float
    """The interval's upper end over its lower one, median of the runs."""
    one_named: Share | None
    """Of runs in which one unit alone stalled and the quantile is a stall's: the stall was named. None: no such run."""
    falsely_named: Share | None
    """Of runs in which no unit stalled."""


def units(scenario: Scenario, rng: np.random.Generator, number: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How requests of each unit are distributed over the buckets, and which units stalled."""
    level = rng.normal(size=(number, 1))
    for unit in range(1, number):
        level[unit] = scenario.memory * level[unit - 1] + math.sqrt(1 - scenario.memory**2) * level[unit]
    slow = scenario.slow_share * np.exp(scenario.slow_sd * rng.normal(size=(number, 1)))
    stalls = rng.random((number, 1)) < scenario.stall_share
    stalled = np.where(stalls, rng.uniform(0.005, 0.15, (number, 1)), 0.0)
    return LATENCIES.shares(TOPS_NS, scenario.level_sd * level, slow, stalled), stalls[:, 0]


def truths_ns(scenario: Scenario) -> dict[float, float]:
    """The quantiles of 20,000 units together."""
    rng = np.random.default_rng(7)
    below = np.cumsum(np.sum([units(scenario, rng, 500)[0].sum(axis=0) for _ in range(40)], axis=0))
    return {quantile: float(TOPS_NS[np.searchsorted(below / below[-1], quantile)]) for quantile in QUANTILES}


def binomial_ns(counts: NDArray[np.int64], quantile: float) -> tuple[float, float]:
    """The interval that takes single operations for independent."""
    below = np.cumsum(counts.sum(axis=0))
    ranks = binom.ppf([0.025, 0.975], below[-1], quantile)
    low, high = np.searchsorted(below, ranks + np.array([0, 1]))
    return float(TOPS_NS[low]), float(TOPS_NS[min(high, len(TOPS_NS) - 1)])


@dataclass
class _Tally:
    """Of one quantile what came of each run."""

    held: list[bool] = field(default_factory=list)
    binomial: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    one_named: list[bool] = field(default_factory=list)
    falsely: list[bool] = field(default_factory=list)


def replay(scenario: Scenario, truths: dict[float, float], number: int, runs: int, seed: int) -> Iterator[Outcome]:
    """A row of the table for each quantile."""
    rng = np.random.default_rng([seed, SCENARIOS.index(scenario), number])
    tallies = {quantile: _Tally() for quantile in QUANTILES}
    for _ in range(runs):
        shares, stalled = units(scenario, rng, number)
        counts = np.stack([rng.multinomial(OPERATIONS, row / row.sum()) for row in shares])
        together = Units([Buckets(PLACES[row > 0], row[row > 0], LAYOUT) for row in counts], [0] * number)
        for quantile, tally in tallies.items():
            found, truth = together.quantile(quantile), truths[quantile]
            low, high = found.low or 0.0, math.inf if found.high is None else found.high
            tally.held.append(low <= STEP * truth and truth <= STEP * high)
            low_b, high_b = binomial_ns(counts, quantile)
            tally.binomial.append(low_b <= STEP * truth and truth <= STEP * high_b)
            tally.widths.append(high / low)
            named = found.is_of_one_unit
            if stalled.sum() == 1 and found.figure > OF_A_STALL_NS:
                tally.one_named.append(named)
            elif not stalled.any():
                tally.falsely.append(named)
    for quantile, tally in tallies.items():
        held, binomial = share_of(np.array(tally.held)), share_of(np.array(tally.binomial))
        one, falsely = (share_of(np.array(each)) if each else None for each in (tally.one_named, tally.falsely))
        width = float(np.median(tally.widths))
        yield Outcome(scenario.name, quantile, number, runs, held, binomial, width, one, falsely)


def main() -> int:
    """Print the table (or JSON)."""
    arguments = options(__doc__, runs=400).parse_args()
    people = sys.stderr if arguments.json else sys.stdout
    print("scenario         quantile units  held %  binomial %  width  one named %  falsely %", file=people)
    outcomes = []
    for scenario in SCENARIOS:
        truths = truths_ns(scenario)
        for number in NUMBERS:
            for one in replay(scenario, truths, number, arguments.runs, arguments.seed):
                outcomes.append(one)
                shares = (one.held, one.binomial_held, one.one_named or "-", one.falsely_named or "-")
                held, binomial, named, falsely = (f"{share!s:>20}" for share in shares)
                said = f"{one.scenario:16} {one.quantile:<8} {one.units:<5} {held} {binomial} {one.width:6.2f}"
                print(f"{said} {named} {falsely}", file=people, flush=True)
    if arguments.json:
        found = {"runs": arguments.runs, "seed": arguments.seed, "outcomes": [asdict(one) for one in outcomes]}
        print(json.dumps(found, indent=1))
    return 1 if any(one.scenario == "quiet" and one.held.high < HELD_MIN for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
