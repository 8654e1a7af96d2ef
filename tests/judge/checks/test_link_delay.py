"""What a line added: stated with its bound where it is off, and in the bound of the rate."""

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.checks.evidence import TrialEvidence, evidence_of
from loadstone.judge.checks.link_delay import lost_to_links
from loadstone.judge.verdict import UNBOUNDED
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message

Line = dict[str, Any]
ResultOf = Callable[..., Any]


@pytest.mark.parametrize(
    ("late_ns", "verdict", "percent"),
    [(0.0, "valid", 0.4), (40_000.0, "valid", 4.4), (-60_000.0, "suspect", 5.6), (2_000_000.0, "suspect", 200.4)],
)
def test_the_delay_that_it_really_added(
    result_of: ResultOf, injectors: ModuleType, late_ns: float, verdict: str, percent: float
) -> None:
    found = result_of("link_delay", injectors.behind_line(late_ns=[late_ns, 500_000.0]))
    assert (found.verdict, found.measured) == (verdict, pytest.approx(percent))


def test_a_late_line_says_what_it_added_and_what_was_required(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("link_delay", injectors.behind_line(late_ns=[200_000.0, 500_000.0]))
    assert render_message(found.reason) == (
        "The line to redis added 1.204 [1.202, 1.207] ms to a round trip where 1 ms were required: the figures "
        "are those of that delay."
    )


@pytest.mark.parametrize("missing", ["late_ns", "unrecorded_ns"])
def test_what_it_added_is_unknown_without_pings_or_its_own_record(
    result_of: ResultOf, injectors: ModuleType, missing: str
) -> None:
    found = result_of("link_delay", injectors.behind_line(**{missing: None}))
    assert found.verdict == "unknown"
    assert "the line to redis added is not known" in render_message(found.reason)


def test_a_line_without_a_delay_is_not_judged_by_it(result_of: ResultOf, injectors: ModuleType) -> None:
    without = injectors.behind_line(requested_ns=0)
    assert result_of("link_delay", without) is None
    assert result_of("link_busy", without).verdict == "valid"


def used(share: float) -> Callable[[Line], None]:
    """The CPU of the line in the measure phase, in cores."""
    return lambda line: line["facts"]["parts"].update({"redis.link": {"mean_share": share}})


def test_a_saturated_line_is_bounded_by_its_own_record(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("link_busy", injectors.behind_line(late_ns=[2_000_000.0, 9e6]), used(0.93))
    assert (found.verdict, found.measured) == ("suspect", pytest.approx(93))
    assert render_message(found.reason) == (
        "The line to redis was saturated (93% busy or waiting for its CPU): by its own record it added 3 ms (at most "
        "3.01) to a round trip."
    )


def test_it_is_invalid_only_where_there_is_no_bound(result_of: ResultOf, injectors: ModuleType) -> None:
    for changes in (
        (injectors.behind_line(late_ns=None), used(0.93)),
        (injectors.behind_line(busy_share=0.95), injectors.becomes_http),
    ):
        found = result_of("link_busy", *changes)
        assert found.verdict == "invalid"
        assert "how much it delayed each request is not known" in render_message(found.reason)
    unknown = result_of("link_busy", injectors.behind_line(busy_share=None))
    assert unknown.verdict == "unknown"


def evidence(clean: Line, *changes: Callable[[Line], Any]) -> TrialEvidence:
    line = copy.deepcopy(clean)
    for change in changes:
        change(line)
    found = evidence_of(TrialRecord.model_validate(line))
    assert found is not None
    return found


def test_the_rate_would_be_higher_by_what_the_line_added_in_excess(clean: Line, injectors: ModuleType) -> None:
    plain = evidence(clean)
    assert lost_to_links(plain) == 0
    cycle_ns = 1e9 * 32 * plain.drive.measure_s / plain.completed
    excess_ns = cycle_ns / 5
    trips = plain.drive.total.sent
    line = {"unrecorded_ns": [0.0, 0.0, 0.0], "pieces": 2 * trips}
    late = injectors.behind_line(late_ns=[excess_ns, excess_ns], **line)
    assert lost_to_links(evidence(clean, late)) == pytest.approx(0.25)
    assert lost_to_links(evidence(clean, injectors.behind_line(late_ns=[-50_000.0, 0.0], **line))) == 0
    assert lost_to_links(evidence(clean, injectors.behind_line(late_ns=[5 * excess_ns, 1.0], **line))) == UNBOUNDED
    assert lost_to_links(evidence(clean, late, injectors.becomes_open)) == 0


def test_a_line_without_a_delay_counts_from_what_passing_on_takes(clean: Line, injectors: ModuleType) -> None:
    """60 us before the drive, half of which the line recorded as its own; 90 us in it."""
    passing = {"requested_ns": 0, "added_ns": [6e4, 5e4, 7e4], "unrecorded_ns": [3e4, 2e4, 4e4], "late_ns": [6e4, 1e5]}
    found = evidence(clean, injectors.behind_line(**passing)).facts.links["redis"]
    assert found.added_in_drive_ns == (9e4, 8e4, 10e4)
    assert found.excess_ns == (3e4, 2e4, 4e4)
