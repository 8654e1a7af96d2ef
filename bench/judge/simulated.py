"""What the benches of simulated runs share: options, latencies, buckets, and shares of the runs with their ranges."""

import argparse
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, norm

from loadstone.drivers.histogram import BucketLayout


@dataclass(frozen=True)
class Share:
    """A share of the runs with its 95 % range."""

    share: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.share:5.1f} [{100 * self.low:4.1f}, {100 * self.high:5.1f}]"


def share_of(hits: NDArray[np.bool_]) -> Share:
    """Share and range (Clopper & Pearson 1934). Pairs of one run are not independent: their range counts runs."""
    runs, mean = len(hits), float(hits.mean())
    interval = binomtest(round(mean * runs), runs).proportion_ci(method="exact")
    return Share(mean, float(interval.low), float(interval.high))


@dataclass(frozen=True)
class Latencies:
    """Of most requests by their median, of slow ones a factor beyond, and of those that wait for the end of a stall.

    `body_sd` and `slow_sd` are those of the logarithms.
    """

    median_ns: float
    body_sd: float
    slow_factor: float
    slow_sd: float
    stall_ns: float

    def shares(
        self,
        edges_ns: NDArray[np.float64],
        level: NDArray[np.float64],
        slow: NDArray[np.float64],
        stalled: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """A row a trial: how its requests are distributed over the buckets.

        A trial's `level` is a log ratio; `slow` and `stalled` are the shares of its requests. All are columns.
        """
        x = np.log(edges_ns / self.median_ns) - level
        below = (1 - slow - stalled) * norm.cdf(x / self.body_sd)
        below += slow * norm.cdf((x - math.log(self.slow_factor)) / self.slow_sd)
        below += stalled * np.clip(edges_ns / self.stall_ns, 0, 1)
        return np.diff(below, axis=1, prepend=0.0).clip(0)


def tops_ns(places: NDArray[np.int64], layout: BucketLayout) -> NDArray[np.float64]:
    """The largest value that falls into each of these buckets."""
    return layout.highest_in(places).astype(np.float64)


def options(words: str | None, runs: int) -> argparse.ArgumentParser:
    """How many runs, by which seed, and whether the outcome is printed as JSON. `words`: the bench's own docstring."""
    parser = argparse.ArgumentParser(description=words, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    return parser
