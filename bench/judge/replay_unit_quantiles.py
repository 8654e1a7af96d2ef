"""Replay calibration of the intervals of P50, P95 and P99 of one row (`judge/statistics/unit_quantiles`).

Simulates slices or seconds in five kinds of noise: each has its own level (which may follow that of the one before),
its own share of slow requests, and now and then a stall that a part of its requests see. And it simulates queues (M/M/1
and M/D/1), whose state is carried on from unit to unit. How often what is claimed is true is printed with its 95 %
range:

* held: the interval contains the truth. Where stalls are told apart, or none was seen, the claim is about the units
  without a stall, and the truth is the quantile of very many such units; else it is that of all units.
* share: the interval of the share of units that hold a stall contains that share.
* of all: the interval over all units contains the quantile of all units, which is what was claimed before stalls were
  told apart.
* binomial: the same of the interval over single operations.

Two numbers more: how often a stall is told apart where one unit alone had one and the quantile shows it, and how often
one is seen where no unit had one. Exit status 1 if 'held' or 'share' falls short of 93 % anywhere.
"""

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from bench.judge.simulated import Latencies, Share, options, share_of, tops_ns
from loadstone.drivers.histogram import LATENCIES as ENGINES
from loadstone.drivers.histogram import Histogram
from loadstone.judge.statistics.unit_quantiles import UNITS_MIN, MeasuredUnits

PLACES = np.arange((3 + 1) << ENGINES.half_bits, (14 + 1) << ENGINES.half_bits, 16)
"""From 8 us to 17 ms."""
TOPS_NS = tops_ns(PLACES, ENGINES)
LATENCIES = Latencies(median_ns=50e3, body_sd=0.15, slow_factor=4.0, slow_sd=0.4, stall_ns=3e6)
OPERATIONS = 1_500
"""Of a unit: a P99 of eight units has 120 beyond it."""
QUANTILES = (0.5, 0.95, 0.99)
NUMBERS = (UNITS_MIN, 16, 24, 32, 60)
POPULATION, AT_ONCE = 20_000, 500
"""Units behind a truth, and how many of them are simulated at once."""
SERVICE_NS = 50e3
"""Of a queue, on average."""
WARMING = 20_000
"""Requests before a queue's first unit."""
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


@dataclass(frozen=True)
class Queue:
    """A server with one queue, at a load `rho`; Poisson arrivals."""

    name: str
    rho: float
    constant: bool
    """Whether each service takes as long as any other (M/D/1), or an exponential time (M/M/1)."""


SCENARIOS: tuple[Scenario | Queue, ...] = (
    Scenario("quiet", 0.015, 0.02, 0.2, 0.0, 0.0),
    Scenario("drift", 0.06, 0.02, 0.5, 0.0, 0.6),
    Scenario("stalls in 3 %", 0.03, 0.008, 0.5, 0.03, 0.0),
    Scenario("stalls in 20 %", 0.06, 0.008, 0.5, 0.2, 0.0),
    Scenario("stalls in 50 %", 0.06, 0.008, 0.5, 0.5, 0.0),
    Queue("M/M/1 at .5", 0.5, constant=False),
    Queue("M/M/1 at .8", 0.8, constant=False),
    Queue("M/D/1 at .8", 0.8, constant=True),
)


@dataclass(frozen=True)
class Outcome:
    """One quantile of one scenario from so many units."""

    scenario: str
    quantile: float
    units: int
    runs: int
    held: Share
    """Intervals that contain the truth of what they claim."""
    share_held: Share
    """Intervals of the share of units with a stall that contain it."""
    told_apart: Share
    """Runs whose figure is that of the units without a stall, since some held one."""
    of_all_held: Share
    """Intervals over all units that contain the quantile of all units."""
    binomial_held: Share
    width: float
    """The interval's upper end over its lower one, median of the runs."""
    one_named: Share | None
    """Of runs in which one unit alone stalled and the quantile of all is a stall's: stalls were told apart. None: no
    such run."""
    falsely_named: Share | None
    """Of runs in which no unit stalled: one was seen."""


@dataclass(frozen=True)
class Truth:
    """Of very many units, in ns."""

    of_all: float
    without_stalls: float
    stalled: float
    """Share of units that hold a stall by the rule."""


def units(scenario: Scenario, rng: np.random.Generator, number: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How requests of each unit are distributed over the buckets, and which units stalled."""
    level = rng.normal(size=(number, 1))
    for unit in range(1, number):
        level[unit] = scenario.memory * level[unit - 1] + math.sqrt(1 - scenario.memory**2) * level[unit]
    slow = scenario.slow_share * np.exp(scenario.slow_sd * rng.normal(size=(number, 1)))
    stalls = rng.random((number, 1)) < scenario.stall_share
    stalled = np.where(stalls, rng.uniform(0.005, 0.15, (number, 1)), 0.0)
    return LATENCIES.shares(TOPS_NS, scenario.level_sd * level, slow, stalled), stalls[:, 0]


def queued(queue: Queue, rng: np.random.Generator, number: int) -> NDArray[np.int64]:
    """Requests of each unit in each bucket: one queue in one stretch of time, cut into units of equal length."""
    length_ns = OPERATIONS * SERVICE_NS / queue.rho
    requests = WARMING + round(number * OPERATIONS * 1.05) + 500
    between = rng.exponential(SERVICE_NS / queue.rho, requests)
    service = np.full(requests, SERVICE_NS) if queue.constant else rng.exponential(SERVICE_NS, requests)
    walk = np.concatenate([[0.0], np.cumsum(service[:-1] - between[1:])])
    response = walk - np.minimum.accumulate(walk) + service  # Lindley 1952
    unit = ((np.cumsum(between) - between[: WARMING + 1].sum()) // length_ns).astype(np.int64)
    within = (unit >= 0) & (unit < number)
    place = np.minimum(np.searchsorted(TOPS_NS, response[within]), len(TOPS_NS) - 1)
    flat = np.bincount(unit[within] * len(TOPS_NS) + place, minlength=number * len(TOPS_NS))
    return np.asarray(flat.reshape(number, len(TOPS_NS)), dtype=np.int64)


def counted(
    scenario: Scenario | Queue, rng: np.random.Generator, number: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Requests of each unit in each bucket, and which units stalled."""
    if isinstance(scenario, Queue):
        return queued(scenario, rng, number), np.zeros(number, dtype=np.bool_)
    shares, stalled = units(scenario, rng, number)
    return rng.multinomial(OPERATIONS, shares / shares.sum(axis=1, keepdims=True)), stalled


def together(counts: NDArray[np.int64]) -> MeasuredUnits:
    """The units, as a row's analysis has them."""
    return MeasuredUnits([Histogram(ENGINES, PLACES[row > 0], row[row > 0]) for row in counts], [0] * len(counts))


def truths(scenario: Scenario | Queue) -> dict[float, Truth]:
    """The quantiles of 20,000 units, and the share of them that hold a stall by the rule of `MeasuredUnits.stalls`."""
    rng = np.random.default_rng(7)
    counts = np.concatenate([counted(scenario, rng, AT_ONCE)[0] for _ in range(POPULATION // AT_ONCE)])
    population, found = together(counts), {}
    for quantile in QUANTILES:
        stalls = population.stalls(quantile)
        of_all, without = (_quantile_ns(each, quantile) for each in (counts, counts[~np.array(stalls.held)]))
        found[quantile] = Truth(of_all, without, stalls.units / stalls.of)
    return found


def _quantile_ns(counts: NDArray[np.int64], quantile: float) -> float:
    below = np.cumsum(counts.sum(axis=0))
    return float(TOPS_NS[np.searchsorted(below / below[-1], quantile)])


def binomial_ns(counts: NDArray[np.int64], quantile: float) -> tuple[float, float]:
    """The interval that takes single operations for independent."""
    below = np.cumsum(counts.sum(axis=0))
    ranks = binom.ppf([0.025, 0.975], below[-1], quantile)
    low, high = np.searchsorted(below, ranks + np.array([0, 1]))
    return float(TOPS_NS[low]), float(TOPS_NS[min(high, len(TOPS_NS) - 1)])


def holds(low: float | None, high: float | None, truth: float) -> bool:
    """Whether the interval contains the truth, to the width of a bucket."""
    return (low or 0.0) <= STEP * truth and truth <= STEP * (math.inf if high is None else high)


@dataclass
class _Tally:
    """Of one quantile what came of each run."""

    held: list[bool] = field(default_factory=list)
    share: list[bool] = field(default_factory=list)
    apart: list[bool] = field(default_factory=list)
    of_all: list[bool] = field(default_factory=list)
    binomial: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    one_named: list[bool] = field(default_factory=list)
    falsely: list[bool] = field(default_factory=list)

    def add(self, counts: NDArray[np.int64], stalled: NDArray[np.bool_], quantile: float, truth: Truth) -> None:
        """One run."""
        measured = together(counts)
        (found, stalls), of_all = measured.settled(quantile), measured.quantile(quantile)
        claimed = truth.without_stalls if stalls.are_rare or not stalls.units else truth.of_all
        self.held.append(holds(found.low, found.high, claimed))
        self.share.append(stalls.low <= truth.stalled <= stalls.high)
        self.apart.append(stalls.are_rare)
        self.of_all.append(holds(of_all.low, of_all.high, truth.of_all))
        self.binomial.append(holds(*binomial_ns(counts, quantile), truth.of_all))
        self.widths.append((found.high or math.inf) / (found.low or 1.0))
        if stalled.sum() == 1 and of_all.figure > OF_A_STALL_NS:
            self.one_named.append(stalls.are_rare)
        elif not stalled.any():
            self.falsely.append(stalls.units > 0)


def replay(
    scenario: Scenario | Queue, number: int, truth: dict[float, Truth], runs: int, seed: int
) -> Iterator[Outcome]:
    """A row of the table for each quantile."""
    rng = np.random.default_rng([seed, SCENARIOS.index(scenario), number])
    tallies = {quantile: _Tally() for quantile in QUANTILES}
    for _ in range(runs):
        counts, stalled = counted(scenario, rng, number)
        for quantile, tally in tallies.items():
            tally.add(counts, stalled, quantile, truth[quantile])
    for quantile, tally in tallies.items():
        held, share, apart, of_all, binomial = (
            share_of(np.array(each)) for each in (tally.held, tally.share, tally.apart, tally.of_all, tally.binomial)
        )
        one, falsely = (share_of(np.array(each)) if each else None for each in (tally.one_named, tally.falsely))
        width = float(np.median(tally.widths))
        yield Outcome(scenario.name, quantile, number, runs, held, share, apart, of_all, binomial, width, one, falsely)


def main() -> int:
    """Print the table (or JSON)."""
    arguments = options(__doc__, runs=400).parse_args()
    people = sys.stderr if arguments.json else sys.stdout
    print(
        "scenario         quantile units  held %  share %  told apart %  of all %  binomial %  width  one named %  "
        "falsely %",
        file=people,
    )
    outcomes = []
    for scenario in SCENARIOS:
        truth = truths(scenario)
        for number in NUMBERS:
            for one in replay(scenario, number, truth, arguments.runs, arguments.seed):
                outcomes.append(one)
                shares = (one.held, one.share_held, one.told_apart, one.of_all_held, one.binomial_held)
                said = " ".join(f"{share!s:>20}" for share in shares)
                named = " ".join(f"{share or '-'!s:>20}" for share in (one.one_named, one.falsely_named))
                head = f"{one.scenario:16} {one.quantile:<8} {one.units:<5}"
                print(f"{head} {said} {one.width:6.2f} {named}", file=people, flush=True)
    if arguments.json:
        found = {"runs": arguments.runs, "seed": arguments.seed, "outcomes": [asdict(one) for one in outcomes]}
        print(json.dumps(found, indent=1))
    return 1 if any(min(one.held.high, one.share_held.high) < HELD_MIN for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
