"""Comparisons whose slices are lengthened by themselves: how often they are wrong where the conditions are equal.

Simulated slices (`slices.py`) of two conditions that are equal in trials without end. What a condition leaves behind
takes so large a share of the next slice of 100 ms, a quarter of it of 400 ms, and so on; of whole trials nothing.
`both`: each slows the other; `one`: A slows B alone, so that slices of 100 ms by themselves say that A is faster. Every
look is that of a run: the check on what carries over first, then the verdict. Beside it what would have been said
without the check. Exit status 1 if more than 5.5 % of the comparisons without a loss, or with one on both sides, are
wrong.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from bench.judge.simulated import Share, options, share_of
from bench.judge.slices import NOISES, ROUND_S, SLICE_S, Floats, SliceNoise, Slices, simulated
from loadstone.experiment.plan.look_schedule import LOOK_ALPHA, LOOKS, ROUND_LOOK_ALPHA, ROUND_LOOKS
from loadstone.experiment.plan.rounds import LONGER_TIMES, LONGEST_SLICE_S, Rounds
from loadstone.experiment.spec.experiment import RATE_MARGIN
from loadstone.judge.statistics.decision import doubted, verdict_of, verdict_of_blocks
from loadstone.judge.statistics.rounds.carry_over import CARRY_ALPHA, carry_over, may_be_carried, weighted_bias
from loadstone.judge.statistics.rounds.round_evidence import round_evidence
from loadstone.judge.statistics.rounds.slices import PairSlices
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import DECIDED, Verdict

Strikes = Literal["none", "both", "one"]
CASES: tuple[tuple[Strikes, float], ...] = (
    ("none", 0.0), ("both", 0.10), ("both", 0.30), ("one", 0.05), ("one", 0.10), ("one", 0.20), ("one", 0.30)
)  # fmt: skip
NOISE_KINDS = NOISES[:2]
FALSE_MAX = 0.055
IN_ROUNDS = Settings(unit="round", alpha=ROUND_LOOK_ALPHA, margin=RATE_MARGIN)
IN_BLOCKS = Settings(alpha=LOOK_ALPHA, margin=RATE_MARGIN)
TRIAL_S = 3.6
BLOCK_SD = 0.07
"""Of ln(B / A) of whole trials of 3 s, see `experiment.plan.rounds.expected_spread`."""
A, B = 0, 1


@dataclass(frozen=True)
class Ended:
    """How one comparison ended, and in which stage: 0 for slices of 100 ms, 3 for whole trials."""

    verdict: Verdict
    stage: int
    wall_s: float


@dataclass(frozen=True)
class Outcome:
    """All comparisons of one noise and one loss."""

    noise: str
    strikes: Strikes
    loss: float
    false: Share
    false_unchecked: Share
    """By slices of 100 ms, without the check."""
    lengthened: Share
    undecided: Share
    median_s: float


def carrying(slices: Slices, strikes: Strikes, loss: float) -> Slices:
    """The same with what a condition left behind: slices after the other condition's are slower."""
    first = slices.b_first[0].astype(int)
    labels = np.stack([first, 1 - first], axis=-1).ravel()
    follows = np.concatenate([[False], labels[1:] != labels[:-1]])
    struck = follows & ((labels == B) if strikes == "one" else (strikes == "both"))
    rates = slices.rates.copy()
    rounds, conditions = np.nonzero(struck.reshape(-1, 2))
    rates[0, rounds, labels.reshape(-1, 2)[rounds, conditions]] *= 1 - loss
    return Slices(rates, slices.b_first)


def in_time(run: Slices, rounds: int) -> tuple[list[list[int]], list[list[float]]]:
    """The slices of so many rounds as the checks take them: conditions and ln of the rates, block by block."""
    first = run.b_first[0, :rounds].astype(int)
    labels = np.stack([first, 1 - first], axis=-1)
    figures = np.take_along_axis(np.log(run.rates[0, :rounds]), labels, axis=-1)
    cuts = [look for look in ROUND_LOOKS if look < rounds]
    conditions = [part.ravel().tolist() for part in np.split(labels, cuts)]
    return conditions, [part.ravel().tolist() for part in np.split(figures, cuts)]


def looked(run: Slices, rounds: int, before: float) -> Verdict | float:
    """A look at so many rounds, or what carries over. The order is that of `judge.compare.carried`.

    `before`: what may still reach into slices of this length, by what shorter ones showed.
    """
    conditions, figures = in_time(run, rounds)
    found = carry_over(conditions, figures, checks=len(ROUND_LOOKS))
    if found is not None and found.warn:
        return found.largest
    verdict = judged(run.rates[0], rounds)
    low, high, estimate = verdict.low, verdict.high, verdict.estimate
    if verdict.kind not in {"faster", "mixed"} or low is None or high is None or estimate is None:
        return verdict
    bias = weighted_bias(conditions, [figures], {A: -1.0, B: 1.0}, claim=estimate)
    if bias is not None and bias.p_value < CARRY_ALPHA:
        return bias.log_ratio
    explained = max(low, -high) < before or may_be_carried(bias, low, high, 2)
    return doubted(verdict, IN_ROUNDS) if explained else verdict


def judged(rates: Floats, rounds: int) -> Verdict:
    """A look at so many rounds (rounds, 2)."""
    done, seconds = rates[:rounds] * SLICE_S, np.full(rounds, SLICE_S)
    part = PairSlices(done[:, A], seconds, done[:, B], seconds)
    return verdict_of(round_evidence(part, IN_ROUNDS), IN_ROUNDS)


def unchecked(run: Slices) -> Verdict:
    """By slices as they are, whatever carries over."""
    for rounds in ROUND_LOOKS:
        found = judged(run.rates[0], rounds)
        if found.kind in DECIDED:
            break
    return found


def ended(run: Slices, noise: SliceNoise, strikes: Strikes, loss: float, rng: np.random.Generator) -> Ended:
    """One comparison through its stages; `run` are the slices of the first."""
    wall_s, before, rounds_of_stage, stage = 0.0, 0.0, Rounds(ROUND_LOOKS), 0
    while True:
        for rounds in ROUND_LOOKS:
            found = looked(run, rounds, before)
            if isinstance(found, float):
                before = abs(found) / LONGER_TIMES
                break
            if found.kind in DECIDED or rounds == ROUND_LOOKS[-1]:
                return Ended(found, stage, wall_s + rounds * _round_s(rounds_of_stage))
        wall_s, stage = wall_s + rounds * _round_s(rounds_of_stage), stage + 1
        longer = rounds_of_stage.longer()
        if longer is None:
            return _by_trials(stage, wall_s, rng)
        rounds_of_stage = longer
        run = carrying(simulated(noise, rng, 1, ROUND_LOOKS[-1]), strikes, loss / LONGER_TIMES**stage)


def _round_s(rounds: Rounds) -> float:
    return rounds.slice_s * ROUND_S / SLICE_S


def _by_trials(stage: int, wall_s: float, rng: np.random.Generator) -> Ended:
    """Whole trials, in which nothing carries over."""
    figures = np.exp(rng.normal(0, BLOCK_SD, LOOKS[-1]))
    for blocks in LOOKS:
        found = verdict_of_blocks([1.0] * blocks, figures[:blocks].tolist(), IN_BLOCKS)
        if found.kind in DECIDED:
            break
    return Ended(found, stage, wall_s + 2 * blocks * TRIAL_S)


def is_false(verdict: Verdict) -> bool:
    """A difference is claimed that is not there."""
    return verdict.kind in {"faster", "mixed"}


def measured(runs: int, seed: int) -> Iterator[Outcome]:
    """Every noise and loss."""
    for number, noise in enumerate(NOISE_KINDS):
        for case, (strikes, loss) in enumerate(CASES):
            rng = np.random.default_rng([seed, number, case])
            slices = [carrying(simulated(noise, rng, 1, ROUND_LOOKS[-1]), strikes, loss) for _ in range(runs)]
            found = [ended(run, noise, strikes, loss, rng) for run in slices]
            yield Outcome(
                noise=noise.name,
                strikes=strikes,
                loss=loss,
                false=share_of(np.array([is_false(one.verdict) for one in found])),
                false_unchecked=share_of(np.array([is_false(unchecked(run)) for run in slices])),
                lengthened=share_of(np.array([one.stage > 0 for one in found])),
                undecided=share_of(np.array([one.verdict.kind not in DECIDED for one in found])),
                median_s=float(np.median([one.wall_s for one in found])),
            )


def main() -> int:
    """Print a row each, or all as JSON."""
    arguments = options(__doc__, runs=200).parse_args()
    people = sys.stderr if arguments.json else sys.stdout
    print(f"slices get {LONGER_TIMES} times as long, up to {LONGEST_SLICE_S:g} s, then whole trials", file=people)
    columns = f"{'false %':>20} {'without the check %':>20} {'lengthened %':>20} {'undecided %':>20} {'median s':>9}"
    print(f"{'noise':8}{'strikes':>8}{'loss':>6} {columns}", file=people)
    found = []
    for one in measured(arguments.runs, arguments.seed):
        found.append(one)
        shares = " ".join(f"{share!s:>20}" for share in (one.false, one.false_unchecked, one.lengthened, one.undecided))
        print(f"{one.noise:8}{one.strikes:>8}{one.loss:6.0%} {shares} {one.median_s:9.0f}", file=people, flush=True)
    if arguments.json:
        print(json.dumps({"runs": arguments.runs, "seed": arguments.seed, "rows": [asdict(one) for one in found]}))
    bound = [one.false.share for one in found if one.strikes != "one"]
    return 1 if float(np.mean(bound)) > FALSE_MAX else 0


if __name__ == "__main__":
    sys.exit(main())
