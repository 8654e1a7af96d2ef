"""A quantile over units: its interval, and the one unit that made it."""

import math

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from tests.run_folder.synthetic import as_ours

from loadstone.drivers.histogram import Histogram
from loadstone.judge.statistics.unit_quantiles import UNITS_MIN, MeasuredUnits

US, MS = 1_000, 1_000_000


def unit(*parts: tuple[int, int]) -> Histogram:
    """So many operations of such a latency (ns) each."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for latency_ns, times in parts:
        histogram.record_value(latency_ns, times)
    return as_ours(histogram)


def usual(number: int, seed: int = 1) -> list[Histogram]:
    """Units of 2,000 operations around 50 us, 2 % of them around 200 us."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        values = np.where(rng.random(2_000) < 0.02, 200 * US, 50 * US) * rng.lognormal(0, 0.1, 2_000)
        histogram = HdrHistogram(1, 3_600_000_000_000, 3)
        for value in values:
            histogram.record_value(int(value))
        found.append(as_ours(histogram))
    return found


def stalled(length_ns: int = 3 * MS) -> Histogram:
    """A unit of which 300 of 2,000 operations waited for the end of a stall."""
    return unit((50 * US, 1_700), *((round(length_ns * part / 300), 1) for part in range(1, 301)))


def units(latencies: list[Histogram], failed: int = 0) -> MeasuredUnits:
    return MeasuredUnits(latencies, [failed, *[0] * (len(latencies) - 1)])


def test_the_figure_is_that_of_all_operations_together() -> None:
    fast, slow = unit((10 * US, 990)), unit((10 * US, 970), (70 * US, 40))
    assert units([fast, slow]).quantile(0.99).figure == pytest.approx(70 * US, rel=2e-3), "and no mean of 10 and 70"
    assert units([fast, fast]).quantile(0.99).figure == pytest.approx(10 * US, rel=2e-3)


def test_what_repeats_has_a_narrow_interval_that_holds_the_figure() -> None:
    found = units(usual(16)).quantile(0.99)
    assert found.low is not None
    assert found.high is not None
    assert 100 * US < found.low <= found.figure <= found.high < 300 * US
    assert found.figure < 1.3 * found.without_one
    median = units(usual(16)).quantile(0.5)
    assert median.low is not None
    assert median.high is not None
    assert median.high < 1.05 * median.low


def test_one_stall_makes_the_p99_and_is_seen() -> None:
    found = units([*usual(7), stalled()]).quantile(0.99)
    assert found.figure > MS
    assert found.without_one < 300 * US
    assert found.share_of_one > 0.95
    assert found.is_of_one_unit
    assert found.units_of_most == 1
    assert found.low is not None
    assert found.high is not None
    assert found.low < 300 * US < MS < found.high, "its interval holds both"


def test_the_median_does_not_know_of_a_stall() -> None:
    found = units([*usual(7), stalled()]).quantile(0.5)
    assert found.high is not None
    assert found.high < 55 * US
    assert found.figure < 1.05 * found.without_one


def test_stalls_in_every_unit_are_the_conditions_own() -> None:
    found = units([stalled() for _ in range(8)]).quantile(0.99)
    assert found.low is not None
    assert found.low > MS
    assert found.figure < 1.1 * found.without_one
    assert not found.is_of_one_unit


def test_two_stalls_are_no_single_one_and_leave_it_open() -> None:
    found = units([*usual(6), stalled(), stalled()]).quantile(0.99)
    assert not found.is_of_one_unit
    assert found.units_of_most == 2
    assert found.low is not None
    assert found.high is not None
    assert found.high > 10 * found.low


def test_a_rare_stall_is_told_apart_and_the_quantile_is_of_the_other_units() -> None:
    found, stalls = units([*usual(30), stalled(), stalled()]).settled(0.99)
    assert found == units(usual(30)).quantile(0.99)
    assert (stalls.units, stalls.of, stalls.are_rare) == (2, 32, True)
    assert (stalls.low, stalls.high) == pytest.approx((0.0077, 0.208), abs=5e-4), "Clopper and Pearson"
    assert stalls.longest_ns == pytest.approx(3 * MS, rel=2e-3)
    assert [place for place, one in enumerate(stalls.held) if one] == [30, 31]


def test_one_of_eight_leaves_an_interval_over_seven() -> None:
    found, stalls = units([*usual(7), stalled()]).settled(0.99)
    assert (stalls.units, found.units) == (1, 7)
    assert found.low is not None
    assert found.high is not None
    assert found.high < 400 * US


@pytest.mark.parametrize("stalls_in", [2, 4, 8])
def test_what_many_units_hold_is_the_conditions_own(stalls_in: int) -> None:
    latencies = [*usual(8 - stalls_in), *(stalled() for _ in range(stalls_in))]
    found, stalls = units(latencies).settled(0.99)
    assert not stalls.are_rare
    assert found == units(latencies).quantile(0.99)
    assert stalls.units == (stalls_in if stalls_in < 8 else 0), "where all units stall that is their usual"


def test_a_few_late_operations_are_no_stall() -> None:
    """Nine of 300 waited for 5 ms: three per cent of the unit, and not together."""
    late = unit((50 * US, 291), (5 * MS, 9))
    few = [unit((50 * US, 290), (70 * US, 10)) for _ in range(9)]
    assert not units([*few, late]).stalls(0.99).units
    assert units([*few, unit((50 * US, 289), (5 * MS, 11))]).stalls(0.99).units == 1


def test_a_stall_that_does_not_reach_a_quantile_is_not_told_apart_from_it() -> None:
    measured = units([*usual(15), stalled()])
    assert [measured.stalls(p).units for p in (0.5, 0.9, 0.99)] == [0, 1, 1]


def test_failures_are_no_stall() -> None:
    assert not units(usual(8), failed=2_000).stalls(0.99).units


def test_too_few_units_have_no_interval() -> None:
    found = units(usual(UNITS_MIN - 1)).quantile(0.99)
    assert (found.low, found.high) == (None, None)
    assert found.figure > 100 * US


def test_too_few_operations_have_no_upper_end() -> None:
    found = units([unit((50 * US, 30)) for _ in range(8)]).quantile(0.99)
    assert found.high == math.inf, "240 operations say nothing of the slowest hundredth"


def test_failures_are_infinitely_late() -> None:
    found = units(usual(8), failed=2_000).quantile(0.99)
    assert found.figure == math.inf
    assert found.without_one < math.inf
    assert found.share_of_one > 0.9


def test_memory_between_units_widens() -> None:
    def level(number: int) -> Histogram:
        return unit((40 * US + number * US, 1_000), (60 * US, 1_000))

    rising = units([level(number) for number in range(24)]).quantile(0.4)
    mixed = [level(number) for number in np.random.default_rng(3).permutation(24)]
    shuffled = units(mixed).quantile(0.4)
    assert rising.figure == shuffled.figure
    assert rising.low is not None
    assert rising.high is not None
    assert shuffled.low is not None
    assert shuffled.high is not None
    assert rising.high - rising.low > shuffled.high - shuffled.low


def test_nothing_has_no_quantile() -> None:
    with pytest.raises(ValueError, match="without a single operation"):
        MeasuredUnits([unit(), unit()], [0, 0])
