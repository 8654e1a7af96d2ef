"""What the benches of simulated runs have in common: their options, and shares of the runs with their ranges."""

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest


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


def options(words: str | None, runs: int) -> argparse.ArgumentParser:
    """How many runs, by which seed, and whether the outcome is printed as JSON. `words`: the bench's own docstring."""
    parser = argparse.ArgumentParser(description=words, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    return parser
