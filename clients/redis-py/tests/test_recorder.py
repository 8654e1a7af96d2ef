"""What is counted, where, and that it adds up."""

from collections.abc import Callable
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from driver.failures import CORRECT, TIMEOUT, Outcome
from driver.histogram import LONGEST_NS, Histogram
from driver.plan import Plan, PlanError, read_plan
from driver.recorder import Interval, Recorder, Times
from driver.schedule import Timeline

MS = 1_000_000


@pytest.fixture
def plan(plan_json: Callable[..., dict[str, Any]]) -> Plan:
    """10 ms of warm-up, measured until 30 ms, in intervals of 15 ms."""
    phases = {"warm_up_s": 0.01, "measure_s": 0.02}
    return read_plan(plan_json(phases=phases, interval_s=0.015))


def operate(recorder: Recorder, timeline: Timeline, intended_ms: int, completed_ms: int, outcome: Outcome) -> None:
    member = timeline.phase_of(intended_ms * MS)
    recorder.offered("set", member, 0, intended_ms * MS)
    recorder.sent("set", member, 0, intended_ms * MS)
    recorder.ended("set", member, outcome, Times(intended_ms * MS, intended_ms * MS, completed_ms * MS))


def test_an_operation_counts_by_its_intended_time_and_where_it_ends(plan: Plan) -> None:
    delivered: list[Interval] = []
    timeline = Timeline(plan.phases)
    recorder = Recorder(plan, timeline, delivered.append)
    operate(recorder, timeline, 9, 11, CORRECT)
    operate(recorder, timeline, 12, 13, CORRECT)
    operate(recorder, timeline, 14, 16, Outcome("server_oom", replied=True))
    operate(recorder, timeline, 29, 31, CORRECT)
    recorder.finish(32 * MS)
    measured = recorder.measured["set"]
    assert (measured.tally.offered, measured.tally.ok, measured.tally.errors) == (3, 2, {"server_oom": 1})
    assert (measured.window_completed, measured.window_ok) == (3, 2)
    assert (measured.response_sum_ns, measured.earlier_ns) == (5 * MS, 1 * MS)
    assert [(one.phase, one.start_ns // MS, one.end_ns // MS) for one in delivered] == [
        ("warm_up", 0, 10),
        ("measure", 10, 25),
        ("measure", 25, 30),
        ("drain", 30, 32),
    ]
    assert [one.operations["set"].tally.ok for one in delivered] == [0, 2, 0, 1]
    assert recorder.total.counts()["in_flight"] == recorder.total.counts()["unsent"] == 0


def test_what_did_not_end_is_in_flight_and_what_was_not_sent_is_not(plan: Plan) -> None:
    timeline = Timeline(plan.phases)
    recorder = Recorder(plan, timeline, lambda _: None)
    operate(recorder, timeline, 12, 13, Outcome(TIMEOUT, replied=False))
    for _ in range(3):
        recorder.offered("set", "measure", 0, 14 * MS)
    recorder.sent("set", "measure", 0, 15 * MS)
    recorder.dropped("set", "measure", 15 * MS)
    recorder.finish(32 * MS)
    expected = {
        "offered": 4,
        "sent": 2,
        "ok": 0,
        "timeouts": 1,
        "dropped": 1,
        "errors": {},
        "in_flight": 1,
        "unsent": 1,
    }
    assert recorder.total.counts() == recorder.measured["set"].tally.counts() == expected
    assert not recorder.sent("set", "measure", 0, 33 * MS), "nothing is sent once the load is over"
    recorder.ended("set", "measure", CORRECT, Times(0, 0, 34 * MS))
    assert recorder.total.counts() == expected


def test_enough_operations_end_the_measure_phase(plan_json: Callable[..., dict[str, Any]]) -> None:
    phases = {"warm_up_s": 0, "measure_s": 0.001, "measure_operations": 2, "measure_max_s": 60}
    plan = read_plan(plan_json(phases=phases))
    timeline = Timeline(plan.phases)
    recorder = Recorder(plan, timeline, lambda _: None)
    operate(recorder, timeline, 1, 2, CORRECT)
    assert timeline.drain_ns == 60_000 * MS
    operate(recorder, timeline, 3, 4, CORRECT)
    assert timeline.drain_ns == 4 * MS


@pytest.mark.parametrize("value", [0, 1, 999, 2047, 2048, 123_456, 3_000_000_000, LONGEST_NS])
def test_histograms_keep_three_digits(value: int) -> None:
    histogram = Histogram()
    assert histogram.record(value)
    decoded = HdrHistogram.decode(histogram.encoded())
    assert decoded.total_count == 1
    assert decoded.get_max_value() == pytest.approx(value, rel=0.001)
    assert not histogram.record(LONGEST_NS + 1)


@pytest.mark.parametrize(
    ("field", "changed"),
    [
        ("protocol", {"protocol": "http1"}),
        ("acknowledged", {"acknowledged": True}),
        ("start_at_unix_ns", {"start_at_unix_ns": 5}),
        ("pipeline_depth", {"pipeline_depth": 2, "model": {"kind": "open"}}),
    ],
)
def test_what_cannot_be_driven_is_refused_by_its_field(
    plan_json: Callable[..., dict[str, Any]], field: str, changed: dict[str, Any]
) -> None:
    with pytest.raises(PlanError, match=f"^{field}"):
        read_plan(plan_json(**changed))
