"""Replay calibration: how often the judge is wrong where the truth is known.

Simulates runs under five kinds of noise (`noise.py`) and judges them with the functions that judge
real runs. A/A: every verdict that claims a difference is false, and every interval should hold 0.
Power: one condition really is faster by 2, 5 or 10 %. Rates print with their 95 % ranges
(Clopper & Pearson 1934). Exit status 1 if a limit is missed.
"""

import itertools
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from bench.judge.noise import SCENARIOS, Noise, rates
from bench.judge.simulated import Share, options, share_of
from loadstone.experiment.plan.look_schedule import (
    BLOCKS_MIN,
    FIXED_ALPHA,
    LOOK_ALPHA,
    LOOKS,
    keeps_last,
    looks,
    looks_left,
)
from loadstone.experiment.spec.experiment import RATE_MARGIN
from loadstone.judge.statistics.decision import (
    EQUIVALENT,
    FASTER,
    MIXED,
    UNDECIDED,
    classify,
    cut_at_zero,
    holm_rejected,
)
from loadstone.judge.statistics.drift_guard import passes_drift_guard, stall_counts, total_log_ratio
from loadstone.judge.statistics.effect import robust_spread
from loadstone.judge.statistics.signed_rank import critical_rank, p_value, signed_rank, walsh_averages

Floats = NDArray[np.float64]
EFFECTS = (0.0, 0.02, 0.05, 0.10)
FIXED_BLOCKS = (8, 12, 20)
CONDITIONS = (2, 6)
RESUMED = (1, 3)
"""Runs whose budget ends after every so many blocks, and that are gone on with each time until decided."""
FALSE_MAX = 0.055
COVERAGE_MIN = 0.945
MARGIN = math.log1p(RATE_MARGIN)
CHUNK = 500


@dataclass(frozen=True)
class Design:
    """When a run is judged, and at which level for all its pairs together."""

    name: str
    looks: tuple[int, ...]
    alpha: float


@dataclass(frozen=True)
class Outcome:
    """How the runs of one scenario ended under one design and one true effect.

    With more than two conditions the last one has the effect: `faster`, `wrong`, `equivalent` and
    `undecided` then are shares of the pairs with it, while `false_verdict`, `coverage` and
    `ever_false` ask for every pair of a run at once.
    """

    scenario: str
    conditions: int
    design: str
    effect: float
    spread: float
    """Median robust spread of one block's d."""
    false_verdict: Share | None
    """Runs in which a difference is claimed that is not there, `real but negligible` included (A/A)."""
    ever_false: Share | None
    """The same if every look had been published (A/A)."""
    coverage: Share
    pair_coverage: Share
    faster: Share
    wrong: Share
    equivalent: Share
    undecided: Share
    mean_blocks: float


@dataclass(frozen=True)
class Look:
    """All pairs of all runs at one number of blocks; arrays of shape (runs, pairs), ratios ln(B / A)."""

    blocks: int
    estimate: Floats
    low: Floats
    high: Floats
    total: Floats
    stalls_a: NDArray[np.int64]
    stalls_b: NDArray[np.int64]
    p_values: dict[float, Floats]
    """For each true effect, when it is added to the pairs with the last condition."""
    spread: float


def designs(pairs: int, look_alpha: float, sequence: Sequence[int] | None) -> list[Design]:
    """Fixed numbers of blocks, the looks of the sequential design, and those of one that is resumed again and again."""
    fixed = [Design(f"fixed {blocks}", (blocks,), FIXED_ALPHA) for blocks in FIXED_BLOCKS]
    planned = tuple(sequence or looks(pairs))
    resumed = [Design(f"resumed every {step}", looks_of_life(planned, step), look_alpha) for step in RESUMED]
    return [*fixed, Design("sequential", planned, look_alpha), *resumed]


def looks_of_life(planned: Sequence[int], step: int) -> tuple[int, ...]:
    """Where a run is looked at that gets time for `step` more blocks again and again, as `measure.goals.comparison`
    does it."""
    taken: list[int] = []
    for end in range(step, planned[-1] + step, step):
        for look in looks_left(planned, taken):
            if look <= end:
                taken.append(look)
        left = looks_left(planned, taken)
        if left and end >= BLOCKS_MIN and end not in taken and not keeps_last(planned, left, end):
            taken.append(end)
    return tuple(sorted(taken))


def signs_of(conditions: int) -> Floats:
    """For each pair (A, B): how ln(B / A) moves when the last condition gets faster."""
    last = conditions - 1
    return np.array([(b == last) - (a == last) for a, b in itertools.combinations(range(conditions), 2)], dtype=float)


def look_at(goodput: Floats, blocks: int, alpha: float) -> Look | None:
    """Judge the first `blocks` blocks of every run, every pair, at `alpha` for all pairs together."""
    conditions = goodput.shape[-1]
    signs = signs_of(conditions)
    if critical_rank(blocks, alpha / len(signs)) is None:
        return None
    pairs = itertools.combinations(range(conditions), 2)
    columns = [
        _pair(goodput[:, :blocks, a], goodput[:, :blocks, b], alpha / len(signs), sign)
        for (a, b), sign in zip(pairs, signs, strict=True)
    ]
    stacked = {name: np.stack([column[name] for column in columns], axis=1) for name in columns[0]}
    return Look(
        blocks=blocks,
        estimate=stacked["estimate"],
        low=stacked["low"],
        high=stacked["high"],
        total=stacked["total"],
        stalls_a=stacked["stalls_a"].astype(np.int64),
        stalls_b=stacked["stalls_b"].astype(np.int64),
        p_values={effect: stacked[str(effect)] for effect in EFFECTS},
        spread=float(np.median(stacked["spread"])),
    )


def _pair(a: Floats, b: Floats, alpha: float, sign: float) -> dict[str, Floats]:
    """One pair of all runs, in pieces that fit the processor's cache."""
    pieces = [_piece(a[at : at + CHUNK], b[at : at + CHUNK], alpha, sign) for at in range(0, len(a), CHUNK)]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _piece(a: Floats, b: Floats, alpha: float, sign: float) -> dict[str, Floats]:
    d = np.log(b / a)
    found = signed_rank(d, alpha)
    assert found.low is not None
    assert found.high is not None
    stalls_a, stalls_b = stall_counts(d, found.estimate, larger_is_faster=True)
    walsh = walsh_averages(d) if sign else None
    p_values = {
        str(effect): found.p_value if walsh is None else p_value(walsh, d.shape[-1], -sign * math.log1p(effect))
        for effect in EFFECTS
    }
    return {
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "total": total_log_ratio(a, b),
        "stalls_a": stalls_a.astype(float),
        "stalls_b": stalls_b.astype(float),
        "spread": robust_spread(d),
        **p_values,
    }


def codes_of(look: Look, effect: float, alpha: float, signs: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The verdict of every pair, and whether it claims that the difference is real.

    A true factor moves every log ratio by its logarithm: intervals and totals move with it, stalls stay.
    """
    moved = signs * math.log1p(effect)
    total = look.total + moved
    rejected = holm_rejected(look.p_values[effect], alpha)
    low, high, real = cut_at_zero(look.estimate + moved, look.low + moved, look.high + moved, rejected)
    guard = passes_drift_guard(total, look.stalls_a, look.stalls_b, look.blocks, MARGIN)
    return classify(low, high, total, guard, real, MARGIN), real


def outcome(noise: Noise, design: Design, taken: list[Look], effect: float, signs: Floats) -> Outcome:
    """Stop each run at the first look where no pair is undecided, else at the last, and count."""
    judged = [codes_of(look, effect, design.alpha, signs) for look in taken]
    decided = np.stack([(codes != UNDECIDED).all(axis=1) for codes, _ in judged])
    stop = np.where(decided.any(axis=0), decided.argmax(axis=0), len(taken) - 1)
    rows = np.arange(len(stop))

    codes = np.stack([codes for codes, _ in judged])[stop, rows]
    real = np.stack([real for _, real in judged])[stop, rows]
    estimate = np.stack([look.estimate for look in taken])[stop, rows] + signs * math.log1p(effect)
    covered = np.stack([(look.low <= 0) & (look.high >= 0) for look in taken])[stop, rows]
    with_effect = signs != 0
    claims = (codes == FASTER) | (codes == MIXED)
    right_way = np.sign(estimate) == np.sign(signs)
    a_a = effect == 0
    ever = np.stack([real.any(axis=1) for _, real in judged]).any(axis=0)
    return Outcome(
        scenario=noise.name,
        conditions=2 if len(signs) == 1 else CONDITIONS[1],
        design=design.name,
        effect=effect,
        spread=taken[-1].spread,
        false_verdict=share_of(np.asarray(real.any(axis=1))) if a_a else None,
        ever_false=share_of(np.asarray(ever)) if a_a else None,
        coverage=share_of(np.asarray(covered.all(axis=1))),
        pair_coverage=share_of(np.asarray(covered)),
        faster=share_of(np.asarray((codes == FASTER) & (right_way | a_a))[:, with_effect]),
        wrong=share_of(np.asarray(claims & ~right_way & (not a_a))[:, with_effect]),
        equivalent=share_of(np.asarray(codes == EQUIVALENT)[:, with_effect]),
        undecided=share_of(np.asarray(codes == UNDECIDED)[:, with_effect]),
        mean_blocks=float(np.mean([taken[at].blocks for at in stop])),
    )


def replay(
    runs: int,
    seed: int,
    conditions: Sequence[int] = CONDITIONS,
    look_alpha: float = LOOK_ALPHA,
    sequence: Sequence[int] | None = None,
    scenarios: Sequence[Noise] = SCENARIOS,
) -> Iterator[Outcome]:
    """All designs under all scenarios; `look_alpha` and `sequence` replace the judge's own, to see what breaks."""
    for number, noise in enumerate(scenarios):
        for count in conditions:
            rng = np.random.default_rng([seed, number, count])
            goodput = rates(noise, rng, runs, max(*LOOKS, *(sequence or ())), count)
            signs = signs_of(count)
            for design in designs(len(signs), look_alpha, sequence):
                taken = [look for blocks in design.looks if (look := look_at(goodput, blocks, design.alpha))]
                if taken:
                    yield from (outcome(noise, design, taken, effect, signs) for effect in EFFECTS)


def impossible() -> list[str]:
    """Designs that the table leaves out: at so many pairs so few blocks give no interval."""
    lines = []
    for count in CONDITIONS:
        pairs = math.comb(count, 2)
        for design in designs(pairs, LOOK_ALPHA, None):
            if critical_rank(design.looks[-1], design.alpha / pairs) is None:
                lines.append(f"K={count} {design.name}: no interval at {design.alpha} / {pairs}, so no verdict")
    return lines


def missed(found: Outcome) -> list[str]:
    """The limits that an outcome misses."""
    where = f"{found.scenario} K={found.conditions} {found.design} {found.effect:+.0%}"
    misses = []
    if found.false_verdict is not None and found.false_verdict.share > FALSE_MAX:
        misses.append(f"{where}: false verdicts {found.false_verdict} > {100 * FALSE_MAX} %")
    if found.coverage.share < COVERAGE_MIN:
        misses.append(f"{where}: coverage {found.coverage} < {100 * COVERAGE_MIN} %")
    return misses


HEADER = (
    f"{'scenario':10}{'K':>2} {'design':15}{'true':>6} {'spread':>6} {'false verdict %':>20} {'coverage %':>20} "
    f"{'faster %':>20} {'wrong %':>20} {'equiv. %':>9} {'undec. %':>9} {'blocks':>7} {'false at any look %':>20}"
)


def line(found: Outcome) -> str:
    """One row of the table for people."""
    false, ever = str(found.false_verdict or ""), str(found.ever_false or "")
    return (
        f"{found.scenario:10}{found.conditions:2} {found.design:15}{found.effect:+6.0%} {100 * found.spread:6.1f} "
        f"{false:>20} {found.coverage!s:>20} {found.faster!s:>20} {found.wrong!s:>20} "
        f"{100 * found.equivalent.share:9.1f} {100 * found.undecided.share:9.1f} {found.mean_blocks:7.1f} {ever:>20}"
    )


def main() -> int:
    """Print the table (or JSON) and what was missed."""
    arguments = options(__doc__, runs=10_000).parse_args()
    people = sys.stderr if arguments.json else sys.stdout
    print(HEADER, file=people)
    outcomes = []
    for found in replay(arguments.runs, arguments.seed):
        outcomes.append(found)
        print(line(found), file=people, flush=True)
    misses = [miss for found in outcomes for miss in missed(found)]
    if arguments.json:
        rows = [asdict(found) for found in outcomes]
        print(json.dumps({"runs": arguments.runs, "seed": arguments.seed, "missed": misses, "outcomes": rows}))
    else:
        print(*impossible(), sep="\n")
        print(*(misses or ["every limit is kept: false verdicts <= 5.5 %, coverage >= 94.5 %"]), sep="\n")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
