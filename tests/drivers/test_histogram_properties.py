"""Ten thousand random histograms, held against HdrHistogram's own library: buckets, sums, ranks and quantiles."""

import math
import random
from bisect import bisect_left
from itertools import accumulate

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from tests.run_folder.synthetic import as_ours, encoded, value_at_percentile

from loadstone.drivers.histogram import (
    PER_MILLE,
    Histogram,
    added,
    decode,
    measurable,
    merge,
    quantiles_ns,
    rank_of,
)
from loadstone.judge.statistics import histogram_arrays

HOUR_NS = 3_600_000_000_000
CHUNKS, OF_A_CHUNK = 20, 500
OF_EVERY_DAY = 8
"""How many chunks `make test` has; `make prove` has the others."""
LAYOUTS = (
    (1, HOUR_NS, 3),
    (1, 10**7, 3),
    (1, 10**6, 2),
    (1, 40_000, 1),
    (1, 10**5, 1),
    (1000, 10**8, 2),
    (5, 10**6, 1),
)
"""Lowest and highest value, digits; that of the engine first."""
LIKELY = (1, 5, 14, 25, 25, 14, 16)
"""Histograms of the engine's layout have 33,000 buckets for the library to make."""
QUANTILES = (0.5, 0.55, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.12345)


def drawn(rng: random.Random, layout: tuple[int, int, int]) -> HdrHistogram:
    """A histogram of one to forty different values with up to 10^9 of each, at borders of buckets more often."""
    _, highest, _ = layout
    histogram = HdrHistogram(*layout)
    for _ in range(rng.choice((0, 1, 2, 3, 5, 40))):
        value = rng.getrandbits(rng.randint(1, highest.bit_length()))
        if rng.random() < 0.3:
            value = (1 << rng.randrange(highest.bit_length())) + rng.choice((-1, 0, 1))
        histogram.record_value(min(max(0, value), highest), rng.choice((1, 1, 2, 99, 1000, 12_345, 10**9)))
    return histogram


def buckets(histogram: HdrHistogram) -> dict[int, int]:
    counts = np.frombuffer(histogram.counts, dtype=np.uint64)
    return {int(place): int(counts[place]) for place in np.flatnonzero(counts)}


def held(histogram: Histogram) -> dict[int, int]:
    return dict(zip(histogram.places.tolist(), histogram.counts.tolist(), strict=True))


class Ranks:
    """The highest value of each rank's bucket, by the library's own functions; infinite beyond the last."""

    def __init__(self, histogram: HdrHistogram) -> None:
        found = buckets(histogram)
        self.below = list(accumulate(found.values()))
        lowest = map(histogram.get_value_from_index, found)
        self.tops = [*map(histogram.get_highest_equivalent_value, lowest), math.inf]

    def value(self, rank: int) -> float:
        return self.tops[bisect_left(self.below, rank)]


@pytest.mark.parametrize(
    "chunk",
    [*range(OF_EVERY_DAY), *(pytest.param(one, marks=pytest.mark.prove) for one in range(OF_EVERY_DAY, CHUNKS))],
)
def test_random_histograms_are_those_of_the_library(chunk: int) -> None:
    rng = random.Random(chunk)
    for number in range(OF_A_CHUNK):
        [layout] = rng.choices(LAYOUTS, LIKELY)
        text = encoded(drawn(rng, layout))
        library, ours, why = HdrHistogram.decode(text), Histogram.read(text), f"{chunk}, {number}: {layout}"
        total, ranks = library.get_total_count(), Ranks(library)
        assert held(ours) == buckets(library), why
        assert ours.total == total, why
        if not number % 10:
            assert buckets(HdrHistogram.decode(ours.text())) == held(ours), why
        failed = rng.choice((0, 0, 1, total // 100, total // 3 + 1))
        _ranks_agree(ours, ranks, total + failed, rng.choice(QUANTILES), why)
        if total:
            summary = ours.summary()
            assert summary.max == ours.longest == library.get_max_value(), why
            assert summary.min == library.get_min_value(), why
            exact = {name: ranks.value(max(1, rank_of(p, total))) for name, p in PER_MILLE.items()}
            assert {name: getattr(summary, name) for name in PER_MILLE} == exact, why


def _ranks_agree(ours: Histogram, ranks: Ranks, total: int, quantile: float, why: str) -> None:
    """Quantiles of those that failed, too, are the values of exact ranks."""
    found = quantiles_ns(ours, total, None, None, None)
    for name, per_mille in PER_MILLE.items():
        rank = -(-total * per_mille // 1000)
        value = ranks.value(rank)
        known = measurable(per_mille, total) and rank > 0 and value < math.inf
        assert getattr(found, name) == (value if known else None), f"{why}: {name} of {total}"
    values, counts = histogram_arrays.table_of([ours])
    rank = max(1, -(-total * round(quantile * 100_000) // 100_000))
    of_rows = histogram_arrays.quantiles_ns(values, counts, np.array([total - ours.total]), quantile)
    assert of_rows.tolist() == [max(1, ranks.value(rank))], f"{why}: {quantile} of {total}"


@pytest.mark.parametrize("chunk", range(5))
def test_sums_are_those_of_the_library(chunk: int) -> None:
    rng = random.Random(1000 + chunk)
    for number in range(60):
        [layout] = rng.choices(LAYOUTS[1:], LIKELY[1:])
        parts = [drawn(rng, layout) for _ in range(rng.randint(1, 4))]
        texts = [encoded(part) for part in parts]
        together = HdrHistogram(*layout)
        merged = HdrHistogram(1, HOUR_NS, 3)
        for part in parts:
            together.add(part)
            merged.add(part)
        assert held(added(map(Histogram.read, texts))) == buckets(together), f"chunk {chunk}, sum {number}, {layout}"
        assert held(merge(map(decode, texts))) == buckets(merged), f"chunk {chunk}, sum {number}, {layout}"
        if together.get_total_count():
            for percentile in (0.1, 25, 50, 99, 99.9, 100):
                value = together.get_value_at_percentile(percentile)
                assert value_at_percentile(together, percentile) == value
                assert as_ours(together).value_at_percentile(percentile) == value


def test_ranks_of_whole_thousandths_are_exact_and_others_are_rounded_up_but_for_a_millionth() -> None:
    rng = random.Random(5)
    totals = [*range(1, 3000), *(rng.randrange(1, 10**9) for _ in range(3000))]
    for per_mille in (1, 500, 550, 900, 950, 990, 999):
        exact = [rank_of(per_mille, total) for total in totals]
        assert exact == [-(-total * per_mille // 1000) for total in totals]
        assert rank_of(1000 * (per_mille / 1000), np.array(totals)).tolist() == exact
        assert rank_of(per_mille, np.array(totals, dtype=float)).tolist() == exact
        rounded_up = np.ceil(per_mille / 1000 * np.array(totals) - 1e-6)
        assert rounded_up.tolist() == exact, "as the judge counted before"
    assert rank_of(1000 / 3, np.array([3, 4, 0])).tolist() == [1, 2, 0]
    assert rank_of(999.9, 100_001) == 99_991
