"""False alarms of the carry-over check, and its power at a loss that was put there.

Simulated slices (`slices.py`) in blocks that end at the looks; with a loss, every slice is slower by so much where it
follows the other condition. Exit status 1 if of all runs without a loss more than 2 % raise an alarm (1 % should).
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from bench.judge.simulated import Share, options, share_of
from bench.judge.slices import NOISES, SliceNoise, simulated, with_carry_over
from loadstone.experiment.plan.look_schedule import ROUND_LOOKS
from loadstone.judge.statistics.rounds.carry_over import CARRY_ALPHA, CarryOver, carry_over

LOSSES = (0.0, 0.03, 0.05, 0.10)
ROUNDS = (72, 360)
FALSE_MAX = 0.02


@dataclass(frozen=True)
class Alarms:
    """Of runs with one noise, loss and number of rounds."""

    noise: str
    rounds: int
    loss: float
    alarms: Share
    shift: float
    """Median of the shifts that it reports: smaller than the loss, of which the running median takes a part."""


def checked(noise: SliceNoise, loss: float, rounds: int, rng: np.random.Generator) -> CarryOver:
    """One run of so many rounds."""
    run = with_carry_over(simulated(noise, rng, 1, rounds), loss)
    first = run.b_first[0].astype(int)
    labels = np.stack([first, 1 - first], axis=-1)
    figures = np.take_along_axis(np.log(run.rates[0]), labels, axis=-1)
    cuts = [look for look in ROUND_LOOKS if look < rounds]
    blocks = [[part.ravel().tolist() for part in np.split(values, cuts)] for values in (labels, figures)]
    found = carry_over(*blocks, seed=int(rng.integers(2**31)))
    assert found is not None
    return found


def measured(runs: int, seed: int) -> Iterator[Alarms]:
    """Every noise, number of rounds and loss."""
    for number, noise in enumerate(NOISES):
        for rounds in ROUNDS:
            for loss in LOSSES:
                rng = np.random.default_rng([seed, number, rounds])
                found = [checked(noise, loss, rounds, rng) for _ in range(runs)]
                alarms = share_of(np.array([one.warn for one in found]))
                yield Alarms(noise.name, rounds, loss, alarms, float(np.median([one.largest for one in found])))


def main() -> int:
    """Print a row each, or all as JSON."""
    arguments = options(__doc__, runs=200).parse_args()
    people = sys.stderr if arguments.json else sys.stdout
    print(f"{'noise':10}{'rounds':>7}{'loss':>6} {'alarm %':>20} {'shift %':>8}", file=people)
    found = []
    for one in measured(arguments.runs, arguments.seed):
        found.append(one)
        row = f"{one.noise:10}{one.rounds:7}{one.loss:6.0%} {one.alarms!s:>20} {100 * one.shift:8.1f}"
        print(row, file=people, flush=True)
    false = float(np.mean([one.alarms.share for one in found if one.loss == 0]))
    if arguments.json:
        print(json.dumps({"runs": arguments.runs, "seed": arguments.seed, "rows": [asdict(one) for one in found]}))
    print(f"without a loss: alarms in {100 * false:.2f} % (should be {100 * CARRY_ALPHA:g}, limit 2)", file=people)
    return 1 if false > FALSE_MAX else 0


if __name__ == "__main__":
    sys.exit(main())
