"""Replay calibration of latencies in rounds at one rate: quantiles by groups of rounds, means round by round.

Without files, simulated latencies: the machine's slow noise moves both slices of a round (`slices.py`), each slice has
noise of its own, a share of slow requests, and now and then a stall that some of its requests meet. With files,
recorded latencies of two equal servers (`record_latency_rounds.py`): each comparison takes as many rounds in a row as
the last look needs, from a random place, and draws again which side of each group of rounds is A. All are judged look
by look at the level of real runs, as they are and with B slower by 5, 10 and 20 %. Rates print with their 95 % ranges
(Clopper & Pearson 1934). Exit status 1 if a limit is missed.
"""

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from simulated import Latencies, Share, options, share_of, tops_ns
from slices import NOISES, RATE_PER_S, ROUND_S, SliceNoise, simulated

from loadstone.experiment.plan.look_schedule import ROUND_LOOK_ALPHA, ROUND_LOOKS
from loadstone.experiment.plan.rounds import sequential_rounds
from loadstone.judge.statistics.histogram_arrays import Buckets
from loadstone.judge.statistics.permutation import SWAPS, SWAPS_BEYOND, SwapTest
from loadstone.judge.statistics.rounds.latency_groups import (
    MEDIAN,
    RoundGroup,
    latencies_of_groups,
    round_quantile_evidence,
    strict_level,
)
from loadstone.judge.statistics.rounds.round_interval import round_interval
from loadstone.judge.statistics.rounds.slices import PairSlices
from loadstone.judge.statistics.settings import Settings

Counts = NDArray[np.int64]

EFFECTS = (0.0, 0.05, 0.10, 0.20)
METRICS = (0.5, 0.99, None)
"""Quantiles; None: the mean."""
LAYOUT = (0, 8)
"""256 buckets for each doubling: a fourth of what the engine has."""
FIRST_PLACE, LAST_PLACE = 9 << 8, 21 << 8
"""From 65 us to .27 s."""
OPERATIONS = 425
"""Of a slice: 5,000 a second."""
LATENCIES = Latencies(median_ns=150e3, body_sd=0.25, slow_factor=4.0, slow_sd=0.5, stall_ns=3e7)
SLOW_SHARE = 0.02
STALLED_SLICES = {"calm": 0.005, "noisy": 0.05, "heavy": 0.10, "follows": 0.03}
FALSE_MAX, WRONG_MAX = 0.055, 0.005
ROUNDS = ROUND_LOOKS[-1]
SETTINGS = Settings(unit="round", alpha=ROUND_LOOK_ALPHA, larger_is_faster=False)


@dataclass(frozen=True)
class Run:
    """Latencies of A and B in the same groups of rounds; sums and counts of each round for the mean."""

    a: list[RoundGroup]
    b: list[RoundGroup]
    sums_a: NDArray[np.float64]
    sums_b: NDArray[np.float64]
    counts_a: NDArray[np.float64]
    counts_b: NDArray[np.float64]


@dataclass(frozen=True)
class Claim:
    """What was claimed of one run at the first look that claims anything: 1 B is slower, -1 faster, 0 neither."""

    side: int
    rounds: int


@dataclass(frozen=True)
class Outcome:
    """Shares of the runs. `false`: a difference is claimed that is not there."""

    noise: str
    metric: str
    runs: int
    false: Share
    found: dict[str, Share]
    wrong: Share
    median_s: dict[str, float]
    """Wall time until the claim, of the runs that have one."""


def group_spans() -> list[tuple[int, int]]:
    """First and last round of each group, as a run's blocks have them."""
    rounds, spans, first = sequential_rounds(0.1, settle_s=0.015), list[tuple[int, int]](), 0
    for block, number in enumerate(rounds.blocks, start=1):
        together = math.ceil(rounds.latency_interval_s(block) / rounds.measured_s)
        spans += [(first + at, first + min(at + together, number) - 1) for at in range(0, number, together)]
        first += number
    return spans


SPANS = group_spans()
PLACES = np.arange(FIRST_PLACE, LAST_PLACE, dtype=np.int64)
TOPS_NS = tops_ns(PLACES, LAYOUT)


def slice_counts(levels: NDArray[np.float64], stalled_share: float, rng: np.random.Generator) -> Counts:
    """Histograms of slices whose typical latency is exp(level) times as long: a row a slice."""
    shape = (len(levels), 1)
    slow = SLOW_SHARE * np.exp(0.5 * rng.normal(size=shape))
    stalled = np.where(rng.random(shape) < stalled_share, rng.uniform(0.02, 0.3, shape), 0.0)
    share = LATENCIES.shares(TOPS_NS, levels[:, np.newaxis], slow, stalled)
    return rng.multinomial(OPERATIONS, share / share.sum(axis=1, keepdims=True))


def simulated_runs(noise: SliceNoise, seed: Sequence[int], runs: int) -> Iterator[Run]:
    """Runs of two equal servers, one after the other."""
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        speeds = np.log(simulated(replace(noise, stall_share=0.0), rng, 1, ROUNDS).rates[0] / RATE_PER_S)
        a, b = (slice_counts(-speeds[:, side], STALLED_SLICES[noise.name], rng) for side in (0, 1))
        whole = float(OPERATIONS)
        yield Run(_groups(a), _groups(b), a @ TOPS_NS, b @ TOPS_NS, np.full(ROUNDS, whole), np.full(ROUNDS, whole))


def _groups(counts: Counts) -> list[RoundGroup]:
    found = []
    for first, last in SPANS:
        summed = counts[first : last + 1].sum(axis=0)
        held = np.flatnonzero(summed)
        found.append(RoundGroup(first, last, Buckets(PLACES[held], summed[held], LAYOUT)))
    return found


def recorded_run(file: Path) -> Run:
    """All rounds of a recording. Raises ValueError if it is shorter than one comparison."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    groups = [[_recorded_group(line, name) for line in lines if "span" in line] for name in ("a", "b")]
    slices = [line for line in lines if "round" in line]
    if len(slices) < ROUNDS:
        raise ValueError(f"{len(slices)} recorded rounds: a comparison needs {ROUNDS}")
    sums = (np.array([line[key] for line in slices], dtype=float) for key in ("sum_a", "sum_b", "ended_a", "ended_b"))
    return Run(*groups, *sums)


def _recorded_group(line: dict[str, list[int]], name: str) -> RoundGroup:
    places, counts = np.array(line[f"{name}_places"]), np.array(line[f"{name}_counts"])
    return RoundGroup(line["span"][0], line["span"][1], Buckets(places, counts, (line["layout"][0], line["layout"][1])))


def replayed_runs(whole: Run, seed: Sequence[int], runs: int) -> Iterator[Run]:
    """As many comparisons out of one recording: from a random group on, the sides of each group drawn again."""
    rng = np.random.default_rng(seed)
    last_start = max(number for number, one in enumerate(whole.a) if whole.a[-1].last - one.first + 1 >= ROUNDS)
    for _ in range(runs):
        start = int(rng.integers(0, last_start + 1))
        first = whole.a[start].first
        sides: tuple[list[RoundGroup], list[RoundGroup]] = ([], [])
        swapped = np.zeros(ROUNDS, dtype=bool)
        for one, other in zip(whole.a[start:], whole.b[start:], strict=True):
            begin, end = one.first - first, one.last - first
            if end >= ROUNDS:
                break
            swap = bool(rng.random() < 0.5)
            swapped[begin : end + 1] = swap
            for side, group in zip(sides, (other, one) if swap else (one, other), strict=True):
                side.append(replace(group, first=begin, last=end))
        part = slice(first, first + ROUNDS)
        sums = [np.where(swapped, two[part], own[part]) for own, two in (
            (whole.sums_a, whole.sums_b), (whole.sums_b, whole.sums_a),
            (whole.counts_a, whole.counts_b), (whole.counts_b, whole.counts_a),
        )]  # fmt: skip
        yield Run(*sides, *sums)


def claims(run: Run, quantile: float | None, seed: int) -> list[Claim]:
    """What is claimed of a run under each of `EFFECTS`."""
    found: dict[float, Claim] = {}
    for rounds in ROUND_LOOKS:
        open_effects = [effect for effect in EFFECTS if effect not in found]
        if quantile is None:
            sides = _sides_of_mean(run, rounds, open_effects)
        elif quantile <= MEDIAN:
            sides = _sides_of_typical(run, rounds, quantile, open_effects)
        else:
            sides = _sides(run, rounds, quantile, open_effects, seed)
        found |= {effect: Claim(side, rounds) for effect, side in sides.items() if side}
    return [found.get(effect, Claim(0, ROUNDS)) for effect in EFFECTS]


def _sides(run: Run, rounds: int, quantile: float, effects: Sequence[float], seed: int) -> dict[float, int]:
    a, b = ([group for group in side if group.last < rounds] for side in (run.a, run.b))
    level = strict_level(rounds, SETTINGS)
    test = SwapTest(latencies_of_groups(a, b), quantile, max(SWAPS, math.ceil(SWAPS_BEYOND / level)), seed)
    sides = {}
    for effect in effects:
        by = math.log1p(effect)
        real = test.estimate is not None and test.least_p <= level and test.p_value(-by) <= level
        sides[effect] = int(math.copysign(1, (test.estimate or 0.0) + by)) if real else 0
    return sides


def _sides_of_typical(run: Run, rounds: int, quantile: float, effects: Sequence[float]) -> dict[float, int]:
    a, b = ([group for group in side if group.last < rounds] for side in (run.a, run.b))
    found = round_quantile_evidence(a, b, quantile, SETTINGS)
    return _sides_of(found.low, found.high, effects)


def _sides_of_mean(run: Run, rounds: int, effects: Sequence[float]) -> dict[float, int]:
    means = PairSlices(run.sums_a[:rounds], run.counts_a[:rounds], run.sums_b[:rounds], run.counts_b[:rounds])
    found = round_interval(means.log_ratios, SETTINGS.interval_alpha)
    return _sides_of(found.low, found.high, effects)


def _sides_of(low: float | None, high: float | None, effects: Sequence[float]) -> dict[float, int]:
    """A true factor moves both ends by its logarithm, and nothing else."""
    if low is None or high is None:
        return dict.fromkeys(effects, 0)
    moved = {effect: (low + math.log1p(effect), high + math.log1p(effect)) for effect in effects}
    return {effect: 1 if least > 0 else -1 if most < 0 else 0 for effect, (least, most) in moved.items()}


def outcome(noise: str, quantile: float | None, runs: Iterable[Run], seed: int) -> Outcome:
    """Judge every run and count."""
    each = [claims(run, quantile, seed + number) for number, run in enumerate(runs)]
    by_effect = {effect: [one[number] for one in each] for number, effect in enumerate(EFFECTS)}
    real = [effect for effect in EFFECTS if effect]
    wrong = np.array([any(claim.side < 0 for claim in one[1:]) for one in each])
    return Outcome(
        noise=noise,
        metric="mean" if quantile is None else f"P{100 * quantile:g}",
        runs=len(each),
        false=share_of(np.array([claim.side != 0 for claim in by_effect[0.0]])),
        found={f"{effect:+.0%}": share_of(np.array([one.side > 0 for one in by_effect[effect]])) for effect in real},
        wrong=share_of(wrong),
        median_s={f"{effect:+.0%}": _median_s(by_effect[effect]) for effect in real},
    )


def _median_s(found: Sequence[Claim]) -> float:
    rounds = [claim.rounds for claim in found if claim.side]
    return float(np.median(rounds)) * ROUND_S if rounds else math.nan


def replay(files: Sequence[Path], seed: int, runs: int) -> Iterator[Outcome]:
    """All metrics under all kinds of noise, or from each recording."""
    for file in files:
        whole = recorded_run(file)
        for quantile in METRICS:
            yield outcome(file.stem, quantile, replayed_runs(whole, [seed], runs), seed)
    for number, noise in enumerate([] if files else NOISES):
        for quantile in METRICS:
            yield outcome(noise.name, quantile, simulated_runs(noise, [seed, number], runs), seed)


HEADER = f"{'noise':10} {'metric':7} {'false %':>20} " + " ".join(
    f"{f'{effect:+.0%} found %':>20} {'median s':>9}" for effect in EFFECTS if effect
) + f" {'wrong way %':>20}"  # fmt: skip


def line(found: Outcome) -> str:
    """One row of the table for people."""
    shares = " ".join(f"{share!s:>20} {found.median_s[name]:9.1f}" for name, share in found.found.items())
    return f"{found.noise:10} {found.metric:7} {found.false!s:>20} {shares} {found.wrong!s:>20}"


def main() -> int:
    """Print the table (or JSON) and what was missed."""
    parser = options(__doc__, runs=400)
    parser.add_argument("files", nargs="*", type=Path, help="recorded latencies of two equal servers")
    arguments = parser.parse_args()
    people = sys.stderr if arguments.json else sys.stdout
    print(HEADER, file=people)
    found = []
    for one in replay(arguments.files, arguments.seed, arguments.runs):
        found.append(one)
        print(line(one), file=people, flush=True)
    misses = [f"{one.noise} {one.metric}: false {one.false}" for one in found if one.false.low > FALSE_MAX]
    misses += [f"{one.noise} {one.metric}: wrong way {one.wrong}" for one in found if one.wrong.low > WRONG_MAX]
    if arguments.json:
        print(json.dumps({"runs": arguments.runs, "seed": arguments.seed, "outcomes": [asdict(one) for one in found]}))
    else:
        print(*(misses or ["every limit is kept"]), sep="\n")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
