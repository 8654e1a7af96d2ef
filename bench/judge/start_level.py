"""The level and the power of comparisons on servers that are started again for each block of rounds.

Both sides' servers have a speed of their own in each block (sd of a start), on top of the rounds' own noise: normal, or
with heavy tails and a tenth of the slices lost to neighbours. For each true difference, per cent of the runs that are
called faster, slower or equivalent at any look, as the judge decides: the typical round of each block, and signed ranks
over blocks. Beside it how often the rounds, taken as the unit, would find a difference where there is none: the same
ones, and those of blocks that last from one look at rounds to the next, with a start for each.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from loadstone.experiment.plan.look_schedule import LOOK_ALPHA, LOOKS, ROUND_LOOK_ALPHA, ROUND_LOOKS
from loadstone.experiment.plan.rounds import ROUNDS_A_START
from loadstone.judge.statistics.rounds.round_interval import round_interval
from loadstone.judge.statistics.signed_rank import Floats, signed_rank

MARGIN = float(np.log(1.05))
ROUND_SD = 0.1
EQUIVALENCE_BLOCKS = 12
AS_ROUNDS = 500
"""Runs that are judged with rounds as the unit: that takes longer."""


def noise_of_rounds(rng: np.random.Generator, shape: tuple[int, ...], heavy: bool) -> Floats:
    """ln(B / A) of rounds without a difference."""
    noise = ROUND_SD * (rng.standard_t(2, shape) / 2 if heavy else rng.normal(size=shape))
    if heavy:
        lost = rng.random((2, *shape)) < 0.1
        noise += np.log(np.where(lost[1], 0.5, 1.0)) - np.log(np.where(lost[0], 0.5, 1.0))
    return np.asarray(noise, dtype=np.float64)


def rounds(rng: np.random.Generator, runs: int, effect: float, start_sd: float, heavy: bool) -> Floats:
    """ln(B / A) by run, block and round."""
    shape = (runs, LOOKS[-1], ROUNDS_A_START)
    starts = start_sd * rng.normal(size=(2, *shape[:2]))
    return effect + (starts[1] - starts[0])[..., np.newaxis] + noise_of_rounds(rng, shape, heavy)


def typical(d: Floats) -> Floats:
    """Of each block its typical round."""
    return np.asarray(signed_rank(d, LOOK_ALPHA).estimate, dtype=np.float64)


def outcomes(blocks: Floats) -> tuple[Floats, float]:
    """Per cent faster, slower and equivalent at the first look that decides, and the mean number of blocks until it."""
    kind, took = np.zeros(len(blocks), int), np.full(len(blocks), LOOKS[-1])
    for look in LOOKS:
        found = signed_rank(blocks[:, :look], LOOK_ALPHA)
        low, high = np.asarray(found.low), np.asarray(found.high)
        inside = (low > -MARGIN) & (high < MARGIN) & (look >= EQUIVALENCE_BLOCKS)
        now = np.select([inside, low > 0, high < 0], [3, 1, 2])
        new = (kind == 0) & (now > 0)
        kind[new], took[new] = now[new], look
    shares = np.array([100 * np.mean(kind == number) for number in (1, 2, 3)])
    return shares, float(took.mean())


def false_as_rounds(d: Floats, looks: Sequence[int]) -> float:
    """Per cent of runs (by round) in which rounds, as the unit, exclude no difference at any look."""
    wrong = 0
    for run in d:
        found = (round_interval(run[:look], ROUND_LOOK_ALPHA) for look in looks)
        wrong += any(one.low is not None and one.high is not None and not one.low <= 0 <= one.high for one in found)
    return 100 * wrong / len(d)


def few_starts(rng: np.random.Generator, start_sd: float, heavy: bool) -> Floats:
    """ln(B / A) by run and round, of blocks from one look at rounds to the next."""
    starts = start_sd * rng.normal(size=(2, AS_ROUNDS, len(ROUND_LOOKS)))
    each = np.repeat(starts[1] - starts[0], np.diff((0, *ROUND_LOOKS)), axis=1)
    return each + noise_of_rounds(rng, (AS_ROUNDS, ROUND_LOOKS[-1]), heavy)


def main() -> None:
    """Print a row a noise, a spread of starts and a true difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(
        "noise",
        "start sd %",
        "true %",
        "faster",
        "slower",
        "equivalent",
        "mean blocks",
        "as rounds",
        "few starts",
        sep="\t",
    )
    for heavy in (False, True):
        for start_sd in (0.0, 0.02, 0.05):
            for true in (0.0, 0.03, 0.05, 0.1):
                rng = np.random.default_rng([arguments.seed, heavy, round(1000 * start_sd), round(1000 * true)])
                d = rounds(rng, arguments.runs, float(np.log1p(true)), start_sd, heavy)
                shares, mean = outcomes(typical(d))
                wrong = []
                if not true:
                    same = false_as_rounds(d[:AS_ROUNDS].reshape(-1, d[0].size), [ROUNDS_A_START * b for b in LOOKS])
                    few = false_as_rounds(few_starts(rng, start_sd, heavy), ROUND_LOOKS)
                    wrong = [f"{same:.1f}", f"{few:.1f}"]
                columns = [f"{100 * start_sd:g}", f"{100 * true:g}", *(f"{share:.1f}" for share in shares)]
                print("heavy" if heavy else "normal", *columns, f"{mean:.0f}", *wrong, sep="\t", flush=True)


if __name__ == "__main__":
    main()
