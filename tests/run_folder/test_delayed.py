"""What our own threads may have made late, as a share of the operations and in the quantiles."""

import pytest
from hdrh.histogram import HdrHistogram
from tests.run_folder.synthetic import as_ours

from loadstone.drivers.histogram import quantiles_ns
from loadstone.run_folder.delayed import delayed_share
from loadstone.run_folder.facts import PartCpu, TrialFacts


def facts(lab_share: float | None, **parts: PartCpu) -> TrialFacts:
    kinds = {name: "link" if name == "line" else "redis" for name in parts}
    return TrialFacts(lab_share=lab_share, parts=parts, kinds=kinds)


def part(busy: float, waited: float | None = None) -> PartCpu:
    return PartCpu(mean_share=busy, main_thread_share=busy, wait_share=waited)


@pytest.mark.parametrize(
    ("found", "share"),
    [
        (facts(None, redis=part(0.5, 0.01)), 0.0),
        (facts(0.0, redis=part(0.5, 0.01)), 0.0),
        (facts(0.03, redis=part(0.5, 0.1)), 0.06),  # what queues behind it is late as well
        (facts(0.03, redis=part(0.5, 0.01)), 0.02),  # its thread waited for no more than that
        (facts(0.03, redis=part(0.5)), 0.06),  # nobody knows for how long it waited
        (facts(0.03, redis=part(0.5, 0.01), app=part(0.8, 0.01)), 0.15),  # of two it may have been either
        (facts(0.03, generator=part(0.99), loadstone=part(0.9), line=part(0.9)), 0.03),
        (facts(0.2, redis=part(1.0, 1.0)), 1.0),
    ],
)
def test_the_share_that_may_be_late(found: TrialFacts, share: float) -> None:
    assert delayed_share(found) == pytest.approx(share)


def test_a_quantile_is_at_least_that_of_so_many_ranks_lower() -> None:
    library = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in range(1, 100_001):
        library.record_value(value * 1000)
    histogram = as_ours(library)
    whole = quantiles_ns(histogram, 100_000, 1000, None, 100_000_000)
    lower = quantiles_ns(histogram, 100_000, 1000, None, 100_000_000, delayed=0.03)
    assert whole.p99 == pytest.approx(99_000_000, rel=2e-3)
    assert lower.p99 == pytest.approx(96_000_000, rel=2e-3)
    assert lower.p50 == pytest.approx(47_000_000, rel=2e-3)
    assert quantiles_ns(histogram, 100_000, 1000, None, 100_000_000, delayed=1.0).p99 == pytest.approx(1000, rel=2e-3)
