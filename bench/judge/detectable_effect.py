"""The constants of the minimum detectable effect: at c_B spreads a difference is observed 8 times in 10.

Prints the tables of `loadstone.judge.statistics.effect`: normal log ratios, and the same with
6 % of the blocks off by 3 to 12 spreads. Takes about two minutes on one core.
"""

import argparse

import numpy as np

from loadstone.experiment.plan.look_schedule import FIXED_ALPHA, LOOK_ALPHA, LOOKS
from loadstone.judge.statistics.signed_rank import Floats, signed_rank

LEVELS = (FIXED_ALPHA, LOOK_ALPHA, LOOK_ALPHA / 3, LOOK_ALPHA / 15)
POWER = 0.8
CHUNK = 2000


def log_ratios(rng: np.random.Generator, blocks: int, outliers: bool) -> Floats:
    """Blocks without a difference, in units of their spread."""
    d = rng.normal(size=(CHUNK, blocks))
    if outliers:
        hit = rng.random(d.shape) < 0.06
        d += hit * rng.choice([-1.0, 1.0], d.shape) * rng.uniform(3, 12, d.shape)
    return d


def constant(rng: np.random.Generator, blocks: int, alpha: float, outliers: bool, runs: int) -> float | None:
    """The shift that lifts the interval above zero in 80 % of the runs; None without an interval."""
    lows = []
    for _ in range(runs // CHUNK):
        low = signed_rank(log_ratios(rng, blocks, outliers), alpha).low
        if low is None:
            return None
        lows.append(low)
    return float(-np.quantile(np.concatenate(lows), 1 - POWER))


def main() -> None:
    """Print one row a level, one column a number of blocks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    for outliers in (False, True):
        print("6 % outliers" if outliers else "normal", *(f"B={blocks}" for blocks in LOOKS), sep="\t")
        for alpha in LEVELS:
            row = [constant(rng, blocks, alpha, outliers, arguments.runs) for blocks in LOOKS]
            print(f"{alpha:.5f}", *("-" if c is None else f"{c:.3f}" for c in row), sep="\t")


if __name__ == "__main__":
    main()
