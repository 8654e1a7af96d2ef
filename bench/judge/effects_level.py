"""Level and power of the effects of a factorial of 3 x 2 in rounds, by simulation.

    python -m bench.judge.effects_level

The machine's speed wanders for all conditions alike; each has noise of its own, alike or three times as large in one of
them, with slices that a neighbour ate. Judged at the looks of rounds, Holm over three main effects and two
interactions. Of each scenario per cent of the runs, with 95 % ranges: in which any effect that is none is claimed (at
most 5 %), and how often each one is. A run's noise follows from seed, scenario and its number alone: with `--jobs` runs
are shared out over processes, and the figures are the same.
"""

import argparse
import multiprocessing
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.judge.simulated import share_of
from loadstone.experiment.plan.look_schedule import ROUND_LOOK_ALPHA, ROUND_LOOKS
from loadstone.judge.statistics.decision import verdicts_of_pairs
from loadstone.judge.statistics.rounds.round_evidence import round_evidence
from loadstone.judge.statistics.rounds.slices import ContrastSlices
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.signed_rank import Floats

EFFECTS = ("own CPUs", "remote", "two processes", "own x two", "remote x two")
# Conditions (redis, processes): (0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1).
WEIGHTS = np.array(
    [
        [-1 / 2, -1 / 2, 1 / 2, 1 / 2, 0, 0],
        [-1 / 2, -1 / 2, 0, 0, 1 / 2, 1 / 2],
        [-1 / 3, 1 / 3, -1 / 3, 1 / 3, -1 / 3, 1 / 3],
        [1, -1, -1, 1, 0, 0],
        [1, -1, 0, 0, -1, 1],
    ]
)
SETTINGS = Settings(unit="round", alpha=ROUND_LOOK_ALPHA, pairs=len(WEIGHTS), conditions=6)
NOISE, LOST, LOST_SHARE = 0.08, 0.03, 0.4
"""Standard deviation of a slice, the share of slices that a neighbour eats from, and what is left of them at least."""


class Scenario(NamedTuple):
    """What is true, as ln of each condition's speed, and whether one condition is three times as noisy."""

    name: str
    truth: tuple[float, ...]
    noisy: bool

    @property
    def effects(self) -> Floats:
        """ln of the true effects; 0 where there is none."""
        return np.round(WEIGHTS @ np.array(self.truth), 9)


TRUTHS = {
    "nothing": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    "two processes +10 %": (0.0, 0.1, 0.0, 0.1, 0.0, 0.1),
    "+10 % with remote": (0.0, 0.0, 0.0, 0.0, 0.0, 0.1),
}
SCENARIOS = [Scenario(name, truth, noisy) for name, truth in TRUTHS.items() for noisy in (False, True)]


def simulated(scenario: Scenario, rng: np.random.Generator) -> Floats:
    """Operations of all rounds of a run, a row a condition; each slice lasts 1 s."""
    rounds = ROUND_LOOKS[-1]
    machine = np.cumsum(rng.normal(0, 0.05, rounds))
    noise = rng.normal(0, NOISE, (6, rounds))
    noise[5] *= 3 if scenario.noisy else 1
    eaten = np.where(rng.random((6, rounds)) < LOST, np.log(rng.uniform(LOST_SHARE, 1, (6, rounds))), 0)
    return np.asarray(2000 * np.exp(np.array(scenario.truth)[:, None] + machine + noise + eaten), dtype=np.float64)


def claimed(done: Floats) -> list[bool]:
    """Whether each effect is called one, at the first look that decides all of them or at the last."""
    kinds: list[str] = []
    for look in ROUND_LOOKS:
        slices = (ContrastSlices(done[:, :look], np.ones((6, look)), weights) for weights in WEIGHTS)
        found = {number: (round_evidence(one, SETTINGS), SETTINGS) for number, one in enumerate(slices)}
        kinds = [verdict.kind for verdict in verdicts_of_pairs(found).values()]
        if "undecided" not in kinds:
            break
    return [kind in ("faster", "mixed") for kind in kinds]


def run(number: int, seed: int, place: int) -> list[bool]:
    """One run of a scenario, by its number alone."""
    return claimed(simulated(SCENARIOS[place], np.random.default_rng([seed, place, number])))


def line(name: str, noise: str, cells: Sequence[str]) -> str:
    """A line of the table."""
    return f"{name:20} {noise:9} {' '.join(f'{cell:>20}' for cell in cells)}".rstrip()


def described(scenario: Scenario, found: NDArray[np.bool_]) -> str:
    """How often any effect that is none is claimed, and how often each one is; true ones have a star."""
    none = scenario.effects == 0
    each = [f"{share_of(found[:, at])}{' ' if none[at] else '*'}" for at in range(len(EFFECTS))]
    noise = "one noisy" if scenario.noisy else "alike"
    return line(scenario.name, noise, [f"{share_of(found[:, none].any(axis=1))} ", *each])


def main() -> None:
    """Print a line a scenario."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the runs")
    given = parser.parse_args()
    print(f"{given.runs:,} runs a scenario, seed {given.seed}; per cent with 95 % ranges; * is a true effect")
    print(line("what is true", "noise", ["any that is none ", *(f"{name} " for name in EFFECTS)]), flush=True)
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        for place, scenario in enumerate(SCENARIOS):
            one = partial(run, seed=given.seed, place=place)
            found = np.array(pool.map(one, range(given.runs), chunksize=10))
            print(described(scenario, found), flush=True)


if __name__ == "__main__":
    main()
