"""The level of a look at rounds: how often the exact signed-rank test finds a difference by chance at any look.

Signs are fair coins, as the random order within each round makes them. Sizes are those of independent rounds (T+ then
has the same distribution whatever they are distributed like), and of rounds whose spread changes by and by. Each level
is tried plain, and as the judge applies it: stretched for few rounds (`round_interval.stretch_of`), and for what memory
they seem to have. Of so few rounds that no rank is far enough out, the judge stretches their range: so the last lines
count its own intervals that leave out 0, with and without the early looks. Takes about five minutes on one core.
"""

import argparse
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc, ndtri

from loadstone.experiment.plan.look_schedule import LATER_ROUND_LOOKS, ROUND_LOOK_ALPHA, ROUND_LOOKS
from loadstone.judge.statistics.rounds.round_interval import round_interval, rounds_in_one, stretch_of
from loadstone.judge.statistics.signed_rank import distribution

Floats = NDArray[np.float64]

LEVELS = (0.0100, 0.0113, 0.0125, 0.0140, ROUND_LOOK_ALPHA, 0.0160)
CHUNK = 500
EFFECTS = (1.0, 1.5, 2.0, 3.0)
"""Differences in standard deviations of a round."""
EFFECT_RUNS = 500


def log_ratios(rng: np.random.Generator, changing: bool) -> Floats:
    """Rounds without a difference; with `changing`, of heavy tails and a spread that is another every 30 rounds."""
    shape = (CHUNK, ROUND_LOOKS[-1])
    if not changing:
        return rng.normal(size=shape)
    spread = np.exp(rng.normal(0, 0.7, (CHUNK, shape[1] // 30))).repeat(30, axis=1)
    return np.asarray(spread * rng.standard_t(1.5, shape), dtype=np.float64)


def z_values(d: Floats) -> Floats:
    """The two-sided normal quantile of each row's exact p-value."""
    rounds = d.shape[1]
    order = np.abs(d).argsort(axis=1)
    positive = np.take_along_axis(d > 0, order, axis=1)
    rank_sum = np.einsum("rn,n->r", positive, np.arange(1.0, rounds + 1))
    smaller = np.minimum(rank_sum, rounds * (rounds + 1) / 2 - rank_sum).astype(int)
    return np.asarray(-ndtri(np.minimum(distribution(rounds)[smaller], 0.5)), dtype=np.float64)


def smallest_p(d: Floats, memory: bool) -> tuple[Floats, Floats]:
    """The smallest p-value of each row over all looks: plain, and stretched (with `memory`, by tau as well)."""
    plain, stretched = np.zeros(len(d)), np.zeros(len(d))
    for rounds in ROUND_LOOKS:
        part = d[:, :rounds]
        z = z_values(part)
        taus = np.array([rounds_in_one(row) for row in part]) if memory else 1.0
        plain = np.maximum(plain, z)
        stretched = np.maximum(stretched, z / (np.sqrt(taus) * stretch_of(rounds)))
    return erfc(plain / math.sqrt(2)), erfc(stretched / math.sqrt(2))


def ended_at(d: Floats, looks: Sequence[int], alpha: float) -> int | None:
    """The look at which the judge's interval of these rounds leaves out 0; None if none does."""
    for rounds in looks:
        found = round_interval(d[:rounds], alpha)
        if found.low is not None and found.high is not None and not found.low <= 0 <= found.high:
            return rounds
    return None


def judged(rng: np.random.Generator, changing: bool, runs: int, effect: float = 0.0) -> dict[str, tuple[float, float]]:
    """Per cent of runs that are called different, and the mean number of rounds; with the early looks and without."""
    drawn = [row + effect for _ in range(-(-runs // CHUNK)) for row in log_ratios(rng, changing)]
    found = {}
    for name, looks in (("from 12", ROUND_LOOKS), ("from 32", LATER_ROUND_LOOKS)):
        ends = [ended_at(row, looks, ROUND_LOOK_ALPHA) for row in drawn]
        share = 100 * sum(end is not None for end in ends) / len(ends)
        found[name] = (share, float(np.mean([end or looks[-1] for end in ends])))
    return found


def main() -> None:
    """Print a row a level: per cent of runs with a difference at any look."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--memory-runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for changing in (False, True):
        columns = []
        for memory, runs in ((False, arguments.runs), (True, arguments.memory_runs)):
            rng = np.random.default_rng([arguments.seed, changing, memory])
            found = [smallest_p(log_ratios(rng, changing), memory) for _ in range(runs // CHUNK)]
            plain, stretched = (np.concatenate(values) for values in zip(*found, strict=True))
            columns += [stretched] if memory else [plain, stretched]
        print("changing spread" if changing else "independent", "plain", "few rounds", "as judged", sep="\t")
        for level in LEVELS:
            shares = [100 * float(np.mean(column <= level)) for column in columns]
            print(f"{level:.4f}", *(f"{share:.2f}" for share in shares), sep="\t")
        for effect in (0.0, *EFFECTS):
            runs = arguments.memory_runs if not effect else EFFECT_RUNS
            found = judged(np.random.default_rng([arguments.seed, changing, 2]), changing, runs, effect)
            text = (f"{name} {share:.2f} % in {rounds:.0f} rounds" for name, (share, rounds) in found.items())
            print(f"difference {effect:g} sd: {'; '.join(text)}")


if __name__ == "__main__":
    main()
