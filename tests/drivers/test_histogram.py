"""Histograms of drivers: read, added, summed up and written as HdrHistogram's own library has them."""

import base64
import random
import struct
import zlib
from collections.abc import Sequence

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from tests.run_folder.synthetic import encoded, recorded, summary

from loadstone.drivers.histogram import LATENCIES, NOTHING, Histogram, added

HOUR_NS = 3_600_000_000_000
BORDERS = [value for power in range(42) for value in ((1 << power) - 1, 1 << power, (1 << power) + 1)]


def drawn(seed: int, number: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.getrandbits(rng.randrange(1, 41)) for _ in range(number)]


def buckets(histogram: HdrHistogram) -> dict[int, int]:
    counts = np.frombuffer(histogram.counts, dtype=np.uint64)
    return {int(place): int(counts[place]) for place in np.flatnonzero(counts)}


def held(histogram: Histogram) -> dict[int, int]:
    return dict(zip(histogram.places.tolist(), histogram.counts.tolist(), strict=True))


@pytest.mark.parametrize(
    "values",
    [[], [0], [1, 1, 3], BORDERS, [HOUR_NS], drawn(1, 3000), [5] * 70_000 + [7]],
    ids=["none", "zero", "few", "borders", "an hour", "drawn", "often"],
)
def test_it_holds_what_the_library_holds_and_the_library_reads_what_it_writes(values: Sequence[int]) -> None:
    library = recorded(values)
    histogram = Histogram.read(encoded(library))
    assert held(histogram) == buckets(library)
    assert histogram.total == len(values)
    again = HdrHistogram.decode(histogram.text())
    assert buckets(again) == buckets(library)
    assert again.get_total_count() == len(values)


@pytest.mark.parametrize("values", [[0, 0], BORDERS, drawn(2, 5000)], ids=["zeros", "borders", "drawn"])
def test_its_summary_is_that_of_all_values(values: Sequence[int]) -> None:
    found, expected = Histogram.read(encoded(recorded(values))).summary(), summary(values)
    ranks = ("count", "p50", "p90", "p95", "p99", "p999", "max")
    assert [getattr(found, name) for name in ranks] == [getattr(expected, name) for name in ranks]
    assert found.min <= min(values) <= max(1, found.min) * 1.001
    assert found.mean == pytest.approx(np.mean(values), rel=1e-3)
    assert Histogram.read(encoded(recorded([]))).summary() == NOTHING


@pytest.mark.parametrize("agents", [1, 2, 7, 40])
def test_those_of_any_number_of_agents_together_are_that_of_all_values(agents: int) -> None:
    values = drawn(agents, 4000)
    shares = [values[number::agents] for number in range(agents)]
    together = added(Histogram.read(encoded(recorded(share))) for share in shares)
    whole = Histogram.read(encoded(recorded(values)))
    assert held(together) == held(whole)
    assert together.summary() == whole.summary()
    in_a_tree = added([added(map(Histogram.read, map(encoded, map(recorded, shares[:2])))), *(
        Histogram.read(encoded(recorded(share))) for share in shares[2:]
    )])  # fmt: skip
    assert in_a_tree.text() == whole.text()
    assert added([]).layout == LATENCIES


def test_others_layouts_are_read_and_unlike_ones_are_not_added() -> None:
    coarse = HdrHistogram(1000, HOUR_NS, 2)
    for value in (1_000, 55_555, 10**9):
        coarse.record_value(value)
    histogram = Histogram.read(encoded(coarse))
    assert held(histogram) == buckets(coarse)
    tops = [coarse.get_highest_equivalent_value(coarse.get_value_from_index(place)) for place in buckets(coarse)]
    assert (histogram.summary().p50, histogram.summary().max) == (tops[1], tops[2])
    with pytest.raises(ValueError, match="differ in their lowest value or their digits"):
        added([histogram, Histogram.read(encoded(recorded([1])))])
    longer = HdrHistogram(1, 4 * HOUR_NS, 3)
    longer.record_value(3 * HOUR_NS)
    assert added([Histogram.read(encoded(recorded([1]))), Histogram.read(encoded(longer))]).total == 2


def test_counts_stay_whole() -> None:
    huge = HdrHistogram(1, HOUR_NS, 3)
    huge.record_value(100, 2**61)
    histogram = Histogram.read(encoded(huge))
    assert held(Histogram.read(histogram.text())) == {100: 2**61}
    with pytest.raises(ValueError, match="too large"):
        added([histogram, histogram])


def packed(data: bytes) -> str:
    counts = zlib.compress(data)
    return base64.b64encode(struct.pack(">II", 0x1C849314, len(counts)) + counts).decode()


def test_what_is_damaged_is_refused_and_breaks_nothing() -> None:
    text = encoded(recorded(drawn(3, 500)))
    data = zlib.decompress(base64.b64decode(text)[8:])
    rng = random.Random(4)
    for _ in range(1500):
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(changed))] = rng.getrandbits(8)
        cut = changed[: rng.randrange(len(changed))] if rng.random() < 0.3 else changed
        try:
            read = Histogram.read(packed(bytes(cut)))
        except ValueError as error:
            assert "a histogram cannot be read" in str(error)  # noqa: PT017 (one of many)
        else:
            assert read.total >= 0
            read.summary()
    for bad in ("", "HIST", text[:60], "!", packed(b"")):
        with pytest.raises(ValueError, match="a histogram cannot be read"):
            Histogram.read(bad)
    with pytest.raises(ValueError, match="unpacks to more than"):
        Histogram.read(packed(bytes(20_000_000)))
