"""What receivers got, over the trials of a row, and how it is printed."""

from types import ModuleType
from typing import Any

from hdrh.histogram import HdrHistogram

from loadstone.cli.redis_experiment import RECEIVER_COLUMNS
from loadstone.judge.analysis.analysis import Row
from loadstone.judge.analysis.server_side import deliveries
from loadstone.report.tables.columns import COLUMNS
from loadstone.run_folder.trial import TrialRecord

NAMES = ("min", "mean", "p50", "p90", "p95", "p99", "p999", "max")


def trial(synthetic: ModuleType, late_ns: int, delivered: int = 1000, **changed: Any) -> TrialRecord:
    """One whose two subscribers got messages, all as late."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    histogram.record_value(late_ns, delivered)
    line = synthetic.make_trial().model_dump(mode="json")
    line["facts"]["drive"]["receivers"] = {
        "kind": "subscribe", "connections": 2, "disconnected": 0, "why_disconnected": None, "published": 500,
        "expected": 1000, "delivered": delivered, "missing": 1000 - delivered, "repeated": 0, "unreadable": 0,
        "window_delivered": delivered, "delivery_ns": {"count": delivered, **dict.fromkeys(NAMES, late_ns)},
        "delivery_histogram": histogram.encode().decode(), "overflowed": 0, "bytes_sent": 1, "bytes_received": 1,
        **changed,
    }  # fmt: skip
    return TrialRecord.model_validate(line)


def test_latencies_of_all_trials_are_one_distribution_and_what_is_missing_never_came(synthetic: ModuleType) -> None:
    trials = [trial(synthetic, 1_000_000), trial(synthetic, 9_000_000, delivered=400, disconnected=1)]
    found = deliveries(trials)
    assert found is not None
    assert (found.expected, found.delivered, found.missing, found.disconnected) == (2000, 1400, 600, 1)
    measured_s = sum(one.facts.drive.measure_s for one in trials if one.facts.drive is not None)
    assert found.per_s == 1400 / measured_s
    latency = found.delivery_ns
    assert (latency.min, latency.max) == (1_000_000, 9_000_000)
    assert latency.p50 is not None
    assert abs(latency.p50 - 1_000_000) < 1000
    assert latency.p90 is None, "it falls among those that did not come"


def test_a_load_without_receivers_has_none(synthetic: ModuleType) -> None:
    assert deliveries([synthetic.make_trial()]) is None
    assert deliveries([trial(synthetic, 1000), synthetic.make_trial()]) is None


def test_its_columns_are_those_of_the_row(synthetic: ModuleType) -> None:
    found = deliveries([trial(synthetic, 2_000_000)])
    row = Row.model_construct(deliveries=found)
    shown = {key: COLUMNS[key].value(row) for key in RECEIVER_COLUMNS if key.startswith(("deliver", "missing"))}
    assert found is not None
    assert (shown["missing"], shown["delivered"]) == (0, found.per_s)
    assert shown["delivery_p50"] == found.delivery_ns.p50
    assert shown["delivery_p999"] is None, "fewer than 100 lie beyond it"
