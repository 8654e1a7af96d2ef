"""Label swaps on merged histograms, against a slow and plain version of the same."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from loadstone.judge.statistics.histogram_arrays import LatencyBlocks
from loadstone.judge.statistics.permutation import ALL_SWAPS_BLOCKS, SwapTest, quantile_interval

EDGES = np.exp(np.arange(0, 7, 0.005)) * 1e4


def histograms(rng: np.random.Generator, blocks: int, operations: int = 2000, shift: float = 0.0) -> NDArray[np.int64]:
    levels = rng.normal(shift, 0.05, size=blocks)
    rows = [np.exp(rng.normal(level, 0.3, operations)) * 4e5 for level in levels]
    return np.stack([np.bincount(np.searchsorted(EDGES, row), minlength=len(EDGES)) for row in rows])


def run(seed: int, blocks: int, shift: float = 0.0, failed: tuple[int, int] = (0, 0)) -> LatencyBlocks:
    rng = np.random.default_rng(seed)
    a, b = histograms(rng, blocks), histograms(rng, blocks, shift=shift)
    return LatencyBlocks(EDGES, a, b, np.full(blocks, failed[0]), np.full(blocks, failed[1]))


def plain_p_value(latencies: LatencyBlocks, quantile: float, theta: float) -> float:
    """All swaps, every latency written out."""

    def samples(counts: NDArray[np.int64], failed: NDArray[np.int64], scale: float) -> list[list[float]]:
        return [
            [float(v) for v in np.repeat(EDGES * scale, row)] + [math.inf] * int(f)
            for row, f in zip(counts, failed, strict=True)
        ]

    a = samples(latencies.counts_a, latencies.failed_a, 1.0)
    b = samples(latencies.counts_b, latencies.failed_b, math.exp(-theta))

    def merged(pick: list[list[float]]) -> float:
        flat = sorted(itertools.chain.from_iterable(pick))
        return flat[math.ceil(quantile * len(flat) - 1e-6) - 1]

    def ratio(swap: tuple[int, ...]) -> float:
        one = merged([b[i] if s else a[i] for i, s in enumerate(swap)])
        other = merged([a[i] if s else b[i] for i, s in enumerate(swap)])
        return 0.0 if one == other else abs(math.log(other) - math.log(one))

    ratios = [ratio(swap) for swap in itertools.product((0, 1), repeat=latencies.blocks)]
    return sum(value >= ratios[0] - 1e-9 for value in ratios) / len(ratios)


@pytest.mark.parametrize("theta", [0.0, 0.11, -0.07])
@pytest.mark.parametrize(("quantile", "failed"), [(0.95, (0, 0)), (0.99, (3, 0)), (0.95, (80, 120))])
def test_p_is_that_of_the_plain_version(quantile: float, failed: tuple[int, int], theta: float) -> None:
    latencies = run(1, 5, shift=0.1, failed=failed)
    assert SwapTest(latencies, quantile).p_value(theta) == plain_p_value(latencies, quantile, theta)


@pytest.mark.parametrize("blocks", [8, 20])
def test_the_interval_holds_what_is_not_rejected(blocks: int) -> None:
    latencies = run(2, blocks, shift=0.2)
    found = quantile_interval(latencies, 0.99, 0.05)
    assert found.estimate is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.estimate < found.high
    test = SwapTest(latencies, 0.99)
    assert test.p_value(found.low + 0.02) > 0.05
    assert test.p_value(found.low - 0.02) <= 0.05
    assert test.p_value(found.high - 0.02) > 0.05
    assert test.p_value(found.high + 0.02) <= 0.05
    assert found.low > 0
    assert found.p_value <= 0.05


def test_exchanging_a_and_b_mirrors_the_interval() -> None:
    there = run(3, 10, shift=0.1)
    back = LatencyBlocks(EDGES, there.counts_b, there.counts_a, there.failed_b, there.failed_a)
    one, other = quantile_interval(there, 0.95, 0.05), quantile_interval(back, 0.95, 0.05)
    assert one.estimate == pytest.approx(-(other.estimate or 0))
    assert one.low == pytest.approx(-(other.high or 0), abs=0.006)
    assert one.p_value == other.p_value


def test_scaling_b_moves_the_interval_by_as_much() -> None:
    rng = np.random.default_rng(4)
    a, b = histograms(rng, 16), histograms(rng, 16)
    none = np.zeros(16, dtype=np.int64)
    moved = np.roll(b, 40, axis=1)
    here = quantile_interval(LatencyBlocks(EDGES, a, b, none, none), 0.95, 0.05)
    there = quantile_interval(LatencyBlocks(EDGES, a, moved, none, none), 0.95, 0.05)
    assert here.low is not None
    assert there.low == pytest.approx(here.low + 40 * 0.005, abs=0.006)


def test_a_seed_gives_the_same_answer_and_few_blocks_need_none() -> None:
    many = run(5, ALL_SWAPS_BLOCKS + 4)
    assert quantile_interval(many, 0.99, 0.05, seed=1) == quantile_interval(many, 0.99, 0.05, seed=1)
    assert SwapTest(many, 0.99, seed=1).p_value(0.03) != SwapTest(many, 0.99, seed=2).p_value(0.03)
    few = run(5, ALL_SWAPS_BLOCKS)
    assert quantile_interval(few, 0.99, 0.05, seed=1) == quantile_interval(few, 0.99, 0.05, seed=2)


def test_too_few_blocks_have_no_interval() -> None:
    found = quantile_interval(run(6, 5), 0.99, 0.05)
    assert found.estimate is not None
    assert found.low is None
    assert found.high is None
    assert found.p_value >= 2 / 2**5


def test_quantiles_among_the_failures() -> None:
    both = quantile_interval(run(7, 8, failed=(400, 400)), 0.99, 0.05)
    assert both == (None, None, None, 1.0)
    only_b = quantile_interval(run(7, 8, failed=(0, 400)), 0.99, 0.05)
    assert only_b.estimate == math.inf
    assert only_b.low == math.inf
    assert only_b.p_value <= 0.05
    rare = run(7, 8)
    rare.failed_b[2] = 400
    one_block = quantile_interval(rare, 0.99, 0.05)
    assert one_block.estimate == math.inf
    assert (one_block.low, one_block.high) == (-math.inf, math.inf)


def test_a_condition_without_operations_is_refused() -> None:
    none = np.zeros(3, dtype=np.int64)
    empty = np.zeros((3, len(EDGES)), dtype=np.int64)
    with pytest.raises(ValueError, match="without a single operation"):
        quantile_interval(LatencyBlocks(EDGES, empty, empty, none, none), 0.99, 0.05)


def test_without_a_difference_it_rarely_sees_one() -> None:
    observed = sum(SwapTest(run(100 + number, 9), 0.99).p_value(0.0) <= 0.05 for number in range(200))
    assert observed <= binom.isf(1e-5, 200, 0.05)
