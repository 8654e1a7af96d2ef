"""Replay calibration of p95, p99 and p99.9: merged histograms, labels swapped within blocks.

Simulates the latencies of A/A runs: each trial has its own level, its own share of slow requests,
and now and then a stall that a few per cent of its requests see. Every interval should hold 0, that
is, its test should not reject it. Power is for B truly slower by 10 and 20 %. Rates print with their
95 % ranges. Exit status 1 if a rate misses its limit by more than its range.
"""

import itertools
import json
import math
import sys
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from bench.judge.simulated import Latencies, Share, options, share_of
from loadstone.experiment.plan.look_schedule import FIXED_ALPHA, LOOK_ALPHA, LOOKS
from loadstone.judge.statistics.histogram_arrays import LatencyBlocks
from loadstone.judge.statistics.permutation import SwapTest

EDGES_NS = np.exp(np.arange(math.log(5e4), math.log(2e9), 0.0025))
"""Buckets of .25 %, from 50 us to 2 s."""
QUANTILES = (0.95, 0.99, 0.999)
OPERATIONS = 30_000
LATENCIES = Latencies(median_ns=400e3, body_sd=0.25, slow_factor=5.0, slow_sd=0.5, stall_ns=5e8)
EFFECTS = (0.0, 0.10, 0.20)
DESIGNS = (("fixed 12", (12,)), ("fixed 20", (20,)), ("sequential", LOOKS))
FALSE_MAX = 0.055
TITLES = ("false %", "+10 % seen", "+20 % seen", "wrong way %")


@dataclass(frozen=True)
class Latency:
    """`trial_sd` of a trial's level and `slow_sd` of its share of slow requests, as log ratios."""

    name: str
    trial_sd: float
    slow_share: float
    slow_sd: float
    stall_share: float
    """Share of trials with a stall."""


SCENARIOS = (
    Latency("quiet", 0.015, 0.02, 0.2, 0.0),
    Latency("mixed", 0.03, 0.02, 0.5, 0.03),
    Latency("stalls", 0.06, 0.02, 0.5, 0.20),
)


@dataclass(frozen=True)
class Outcome:
    """Shares of the runs, each with its 95 % range."""

    scenario: str
    quantile: float
    design: str
    runs: int
    false: Share
    """Intervals that miss the truth: one minus the coverage."""
    seen_10: Share
    seen_20: Share
    wrong: Share
    """Direction wrong at +10 or +20 %."""


def trials(latency: Latency, rng: np.random.Generator, blocks: int) -> NDArray[np.int64]:
    """Histograms of `blocks` trials: a row a trial, a column a bucket."""
    level = latency.trial_sd * rng.normal(size=(blocks, 1))
    slow = latency.slow_share * np.exp(latency.slow_sd * rng.normal(size=(blocks, 1)))
    stalled = np.where(rng.random((blocks, 1)) < latency.stall_share, rng.uniform(0.005, 0.05, (blocks, 1)), 0.0)
    share = LATENCIES.shares(EDGES_NS, level, slow, stalled)
    return np.stack([rng.multinomial(OPERATIONS, row / row.sum()) for row in share])


def blocks_of(latency: Latency, rng: np.random.Generator, blocks: int) -> LatencyBlocks:
    """One A/A run."""
    none = np.zeros(blocks, dtype=np.int64)
    return LatencyBlocks(EDGES_NS, trials(latency, rng, blocks), trials(latency, rng, blocks), none, none)


def first(run: LatencyBlocks, blocks: int) -> LatencyBlocks:
    """The first blocks of a run."""
    return LatencyBlocks(
        run.values_ns, run.counts_a[:blocks], run.counts_b[:blocks], run.failed_a[:blocks], run.failed_b[:blocks]
    )


def observed(run: LatencyBlocks, quantile: float, looks: tuple[int, ...], truth: float, seed: int) -> int:
    """Claim of one run when B's latencies are exp(truth) times as long: 1 longer, -1 shorter, 0 none at any look."""
    alpha = LOOK_ALPHA if len(looks) > 1 else FIXED_ALPHA
    for blocks in looks:
        test = SwapTest(first(run, blocks), quantile, seed=seed)
        if test.p_value(-truth) <= alpha and test.estimate is not None:
            return 1 if test.estimate + truth > 0 else -1
    return 0


def replay(latency: Latency, quantile: float, design: str, looks: tuple[int, ...], runs: int, seed: int) -> Outcome:
    """One row of the table."""
    rng = np.random.default_rng([seed, SCENARIOS.index(latency)])
    claims = np.array(
        [
            [observed(run, quantile, looks, math.log1p(effect), seed + number) for effect in EFFECTS]
            for number, run in ((number, blocks_of(latency, rng, looks[-1])) for number in range(runs))
        ]
    )
    rates = [share_of(claims[:, 0] != 0), *(share_of(column == 1) for column in claims.T[1:])]
    wrong = share_of((claims[:, 1:] == -1).any(axis=1))
    return Outcome(latency.name, quantile, design, runs, rates[0], rates[1], rates[2], wrong)


def main() -> int:
    """Print the table (or JSON)."""
    arguments = options(__doc__, runs=400).parse_args()
    people = sys.stderr if arguments.json else sys.stdout
    print("scenario  quantile design    ", *(f"{title:>20}" for title in TITLES), file=people)
    outcomes = []
    for latency, quantile in itertools.product(SCENARIOS, QUANTILES):
        for design, looks in DESIGNS:
            found = replay(latency, quantile, design, looks, arguments.runs, arguments.seed)
            outcomes.append(found)
            shares = f"{found.false!s:>20} {found.seen_10!s:>20} {found.seen_20!s:>20} {found.wrong!s:>20}"
            print(f"{found.scenario:9} {found.quantile:<8} {found.design:10} {shares}", file=people, flush=True)
    if arguments.json:
        print(
            json.dumps(
                {"runs": arguments.runs, "seed": arguments.seed, "outcomes": [asdict(found) for found in outcomes]}
            )
        )
    return 1 if any(found.false.low > FALSE_MAX for found in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
