"""Replay calibration of rounds: how often the judge is wrong where the truth is known.

Without files, simulated slices under several kinds of noise (`slices.py`). With files, recorded slices of two equal
servers: JSON lines with round, position, condition, ok, seconds (and block). Each comparison takes as many rounds in a
row as the last look needs, from a random place, and draws again which side of each round is A: what a fresh random
order might have given. All are judged look by look by the functions that judge real runs, as they are and with B
faster by 3, 5 and 10 %. Rates print with their 95 % ranges (Clopper & Pearson 1934). Exit status 1 if a limit is
missed.
"""

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.judge.simulated import Share, options, share_of
from bench.judge.slices import NOISES, ROUND_S, SLICE_S, WANDERS, SliceNoise, Slices, recorded, simulated
from loadstone.experiment.plan.look_schedule import ROUND_LOOK_ALPHA, ROUND_LOOKS
from loadstone.experiment.spec.experiment import RATE_MARGIN
from loadstone.judge.statistics.decision import verdict_of
from loadstone.judge.statistics.pair_evidence import Evidence
from loadstone.judge.statistics.rounds.round_evidence import lost_alike, round_evidence
from loadstone.judge.statistics.rounds.row_rate import row_rate
from loadstone.judge.statistics.rounds.slices import PairSlices
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import DECIDED, Verdict

Floats = NDArray[np.float64]

EFFECTS = (0.0, 0.03, 0.05, 0.10)
WALL_S = (30.0, 90.0)
FALSE_MAX = 0.055
COVERAGE_MIN = 0.945
ROW_COVERAGE_MIN, STALLS_COVERAGE_MIN = 0.93, 0.80
WRONG_MAX = 0.005
ROUNDS = ROUND_LOOKS[-1]
ROW_SLICES = ((8, 13), (12, 9), (16, 7), (32, 4), (72, 2), (160, 2))
"""Slices of a row, and of how many rounds of two it has one: in a table of many rows they lie seconds apart."""
AT_ONCE = 50
"""Runs simulated together."""


@dataclass(frozen=True)
class Ending:
    """How one comparison ended: at the first look that decides, else at the last."""

    verdict: Verdict
    rounds: int


@dataclass(frozen=True)
class Outcome:
    """How all comparisons of one kind of noise and one true effect ended; shares of the comparisons."""

    noise: str
    effect: float
    false_verdict: Share | None
    """A difference is claimed that is not there, `real but negligible` included (A/A)."""
    coverage: Share
    """The last interval holds the true ratio."""
    faster: Share
    """B, which is the faster one unless there is no effect."""
    equivalent: Share
    mixed: Share
    undecided: Share
    wrong: Share | None
    """A is called faster, B is."""
    decided_by_s: dict[str, float]
    """Decided within so many seconds of wall time."""
    median_s: float


def endings(rates: Floats, margin: float = RATE_MARGIN) -> list[Ending]:
    """One comparison, rates (rounds, 2) of A and B that are alike, judged under each of `EFFECTS`.

    A true factor moves estimate, interval and total by its logarithm, and nothing else.
    """
    settings = Settings(unit="round", alpha=ROUND_LOOK_ALPHA, margin=margin)
    done, seconds = rates * SLICE_S, np.full(len(rates), SLICE_S)
    found: dict[float, Ending] = {}
    for rounds in ROUND_LOOKS:
        part = PairSlices(done[:rounds, 0], seconds[:rounds], done[:rounds, 1], seconds[:rounds])
        evidence = round_evidence(part, settings)
        for effect in EFFECTS:
            if effect not in found or found[effect].verdict.kind not in DECIDED:
                found[effect] = Ending(verdict_of(_moved(evidence, effect, settings), settings), rounds)
        if all(ending.verdict.kind in DECIDED for ending in found.values()):
            break
    return [found[effect] for effect in EFFECTS]


def _moved(evidence: Evidence, effect: float, settings: Settings) -> Evidence:
    estimate, low, high, total = evidence.estimate, evidence.low, evidence.high, evidence.total
    assert estimate is not None
    assert low is not None
    assert high is not None
    assert total is not None
    by = math.log1p(effect)
    alike = lost_alike(evidence.stalls_a, evidence.stalls_b)
    guard = alike and abs(total + by) <= settings.log_margin
    return replace(evidence, estimate=estimate + by, low=low + by, high=high + by, total=total + by, guard=guard)


def outcomes(
    noise: str, runs: Iterable[Floats], round_s: float = ROUND_S, margin: float = RATE_MARGIN
) -> list[Outcome]:
    """Judge every run and count, an outcome an effect."""
    by_effect = zip(*(endings(rates, margin) for rates in runs), strict=True)
    return [_outcome(noise, effect, ended, round_s) for effect, ended in zip(EFFECTS, by_effect, strict=True)]


def _outcome(noise: str, effect: float, ended: Sequence[Ending], round_s: float) -> Outcome:
    truth = math.log1p(effect)
    verdicts = [ending.verdict for ending in ended]
    walls_s = np.array([ending.rounds * round_s for ending in ended])
    decided = np.array([one.kind in DECIDED for one in verdicts])
    claimed = _share(one.kind in {"faster", "mixed"} or one.negligible for one in verdicts)
    return Outcome(
        noise=noise,
        effect=effect,
        false_verdict=None if effect else claimed,
        coverage=_share(
            one.low is not None and one.high is not None and one.low <= truth <= one.high for one in verdicts
        ),
        faster=_share(one.kind == "faster" and one.winner == "b" for one in verdicts),
        equivalent=_share(one.kind == "equivalent" for one in verdicts),
        mixed=_share(one.kind == "mixed" for one in verdicts),
        undecided=_share(one.kind not in DECIDED for one in verdicts),
        wrong=_share(one.kind == "faster" and one.winner == "a" for one in verdicts) if effect else None,
        decided_by_s={f"{wall_s:g}": float(np.mean(decided & (walls_s <= wall_s))) for wall_s in WALL_S},
        median_s=float(np.median(walls_s)),
    )


def _share(hits: Iterable[bool]) -> Share:
    return share_of(np.array(list(hits)))


def simulated_runs(noise: SliceNoise, seed: Sequence[int], runs: int, rounds: int = ROUNDS) -> Iterator[Floats]:
    """Rates (rounds, 2) of one run after the other."""
    rng = np.random.default_rng(seed)
    for start in range(0, runs, AT_ONCE):
        yield from simulated(noise, rng, min(AT_ONCE, runs - start), rounds).rates


def replayed_runs(slices: Slices, seed: Sequence[int], runs: int) -> Iterator[Floats]:
    """Rates of as many comparisons out of one recording: from a random round on, the sides drawn again.

    Raises ValueError if it is shorter than one comparison.
    """
    rates = slices.rates[0]
    if len(rates) < ROUNDS:
        raise ValueError(f"{len(rates)} recorded rounds: a comparison needs {ROUNDS}")
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        start = rng.integers(0, len(rates) - ROUNDS + 1)
        window = rates[start : start + ROUNDS]
        yield np.where(rng.random((ROUNDS, 1)) < 0.5, window, window[:, ::-1])


def row_coverage(noise: SliceNoise, seed: Sequence[int], runs: int, slices: int, every: int = 1) -> Share:
    """How often the interval of one row's own goodput holds the mean of its run's time: a slice `every` rounds."""
    seconds, dice, held = np.full(slices, SLICE_S), np.random.default_rng([*seed, 3]), []
    for rates in simulated_runs(noise, [*seed, 2], runs, slices * every):
        places = np.arange(slices) * every + dice.integers(every, size=slices)
        one, truth = row_rate(rates[places, 0] * SLICE_S, seconds), float(rates[:, 0].mean())
        held.append(one.low is not None and one.high is not None and one.low <= truth <= one.high)
    return _share(held)


def missed(found: Outcome) -> list[str]:
    """The limits that an outcome misses. What wanders more than was ever recorded has none."""
    where = f"{found.noise} {found.effect:+.0%}"
    misses = []
    if found.noise == WANDERS.name:
        return []
    if found.false_verdict is not None and found.false_verdict.share > FALSE_MAX:
        misses.append(f"{where}: false verdicts {found.false_verdict} > {100 * FALSE_MAX} %")
    if found.coverage.share < COVERAGE_MIN:
        misses.append(f"{where}: coverage {found.coverage} < {100 * COVERAGE_MIN} %")
    if found.wrong is not None and found.wrong.share > WRONG_MAX:
        misses.append(f"{where}: wrong direction {found.wrong} > {100 * WRONG_MAX} %")
    return misses


HEADER = (
    f"{'noise':10}{'true':>6} {'false verdict %':>20} {'coverage %':>20} {'faster %':>20} {'equiv. %':>9}"
    f" {'mixed %':>8} {'undec. %':>9} {'wrong %':>20} {'by 30 s %':>10} {'by 90 s %':>10} {'median s':>9}"
)


def line(found: Outcome) -> str:
    """One row of the table for people."""
    false, wrong = str(found.false_verdict or ""), str(found.wrong or "")
    by_s = " ".join(f"{100 * share:10.1f}" for share in found.decided_by_s.values())
    return (
        f"{found.noise:10}{found.effect:+6.0%} {false:>20} {found.coverage!s:>20} {found.faster!s:>20} "
        f"{100 * found.equivalent.share:9.1f} {100 * found.mixed.share:8.1f} {100 * found.undecided.share:9.1f} "
        f"{wrong:>20} {by_s} {found.median_s:9.1f}"
    )


def replay(
    files: Sequence[Path], seed: int, runs: int, round_s: float = ROUND_S, margin: float = RATE_MARGIN
) -> Iterator[Outcome]:
    """All effects under all kinds of noise, or from each recording."""
    for file in files:
        slices, _ = recorded(file.read_text().splitlines())
        yield from outcomes(file.stem, replayed_runs(slices, [seed], runs), round_s, margin)
    if not files:
        for number, noise in enumerate((*NOISES, WANDERS)):
            yield from outcomes(noise.name, simulated_runs(noise, [seed, number], runs), margin=margin)


def rows(seed: int, runs: int) -> Iterator[tuple[str, int, Share]]:
    """Coverage of a row's own interval, for each noise whose mean exists, at some numbers of rounds.

    Where little but rare stalls moves a slice (follows), few slices often hold none of them.
    """
    for number, noise in enumerate(noise for noise in NOISES if noise.heavy_freedom is None):
        for slices, every in ROW_SLICES:
            yield noise.name, slices, row_coverage(noise, [seed, 100 + number], runs, slices, every)


def main() -> int:
    """Print the table (or JSON) and what was missed."""
    parser = options(__doc__, runs=2000)
    parser.add_argument("files", nargs="*", type=Path, help="recorded slices of two equal servers")
    parser.add_argument("--round-s", type=float, default=ROUND_S, help="wall time of a round of the recordings")
    parser.add_argument("--margin", type=float, default=RATE_MARGIN, help="a smaller difference is of no matter")
    arguments = parser.parse_args()
    people = sys.stderr if arguments.json else sys.stdout
    print(HEADER, file=people)
    found = []
    for outcome in replay(arguments.files, arguments.seed, arguments.runs, arguments.round_s, arguments.margin):
        found.append(outcome)
        print(line(outcome), file=people, flush=True)
    covered = [] if arguments.files else list(rows(arguments.seed, arguments.runs))
    for noise, rounds, share in covered:
        print(f"{noise:10} interval of a row's own rate, {rounds:3} slices: holds it in {share} %", file=people)
    misses = [miss for outcome in found for miss in missed(outcome)]
    least = {"follows": STALLS_COVERAGE_MIN}
    misses += [
        f"{noise}, {rounds} slices: {share}"
        for noise, rounds, share in covered
        if share.share < least.get(noise, ROW_COVERAGE_MIN)
    ]
    if arguments.json:
        own = [{"noise": noise, "rounds": rounds, "coverage": asdict(share)} for noise, rounds, share in covered]
        body = {"runs": arguments.runs, "seed": arguments.seed, "missed": misses, "rows": own}
        print(json.dumps(body | {"outcomes": [asdict(outcome) for outcome in found]}))
    else:
        without = "" if arguments.files else f" ({WANDERS.name} has none)"
        print(*(misses or [f"every limit is kept{without}"]), sep="\n")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
