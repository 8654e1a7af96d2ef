"""What went wrong in the five studies, made again: each is refused for its own reason, and nothing is called faster.

Each study is first made without its mistake, where the second condition is faster: so it is the mistake that is
found, and no other weakness of the fixture.
"""

from typing import Any

import pytest

from loadstone.judge.analysis.analysis import Comparison
from loadstone.report.verdicts import verdict_text

Line = dict[str, Any]


def claims_nothing(comparison: Comparison) -> bool:
    """Whether no metric of the comparison has a winner."""
    judgements = [comparison.primary, *comparison.exploratory]
    return all(j.winner is None and j.kind != "faster" and "FASTER" not in verdict_text(j) for j in judgements)


def refused_by(comparison: Comparison, *checks: str) -> bool:
    """Whether the verdict is INVALID because of one of these checks, without a ratio."""
    primary = comparison.primary
    named = any(verdict_text(primary).startswith(f"INVALID: {check}") for check in checks)
    return primary.kind == "invalid" and named and primary.estimate is None and claims_nothing(comparison)


@pytest.mark.parametrize("metric", ["goodput_per_s", "throughput_per_s"])
def test_without_a_mistake_the_second_condition_is_faster(study: Any, metric: str) -> None:
    primary = study.compared(metric=metric).primary
    assert primary.kind == "faster"
    assert primary.winner == "b"
    assert 0.2 < primary.low < primary.high < 0.33


def generator_at_its_limit(line: Line) -> None:
    """One core for the load generator, all of it used, while the server idles at 17 %."""
    for thread in line["facts"]["drive"]["threads"]:
        thread["cpu_s"] = thread["wall_s"]
    line["facts"]["parts"]["generator"]["mean_share"] = 1.0
    line["facts"]["parts"]["redis"] |= {"mean_share": 0.17, "main_thread_share": 0.17}
    line["facts"]["host"]["idle_share"] = 1 - (1.0 + 0.17) / 2


def leaves_it_open(comparison: Comparison) -> bool:
    """Whether nothing is decided because of what the generator may hide: a figure stands, and no winner."""
    open_for_it = "the generator may hide up to" in verdict_text(comparison.primary)
    return comparison.primary.kind == "not_decidable" and open_for_it and claims_nothing(comparison)


def test_1_the_load_generator_was_measured(study: Any) -> None:
    assert leaves_it_open(study.compared(generator_at_its_limit, generator_at_its_limit))


def test_1_of_one_condition_only(study: Any) -> None:
    """The other one was measured rightly: how far apart the two are cannot be determined all the same."""
    assert leaves_it_open(study.compared(first=generator_at_its_limit))


def rows_are_three_times_the_replies(line: Line) -> None:
    """The store counted three writes for each that the load generator counted."""
    server = line["facts"]["servers"]["redis"]
    for name, command in line["facts"]["drive"]["commands"].items():
        server["after"]["calls"][name.lower()] += 2 * command["replied"]


def test_2_two_counters_of_one_thing_disagree(study: Any) -> None:
    assert refused_by(study.compared(second=rows_are_three_times_the_replies), "server_counter", "conservation")


def a_row_is_several_keys(line: Line) -> None:
    """Every reply is a row, and each row is four keys of which all are counted."""
    stored = line["facts"]["drive"]["operations"][line["facts"]["plan"]["operations"][0]["name"]]["counts"]["ok"]
    line["facts"]["stored"] = [
        {"operation": "set", "server": "redis", "before": 0, "after": 4 * stored, "answered": stored}
    ]


def test_2_rows_that_disagree_with_the_replies(study: Any) -> None:
    assert refused_by(study.compared(second=a_row_is_several_keys), "stored_rows")


def more_keys_than_documents(line: Line) -> None:
    line["facts"]["servers"]["redis"]["after"]["counters"]["keys"] += 1_500_000


def test_2_keys_are_counted_as_rows(study: Any) -> None:
    assert refused_by(study.compared(second=more_keys_than_documents), "key_count")


def test_3_a_ramp_that_is_one_trial_has_not_settled(study: Any) -> None:
    assert refused_by(study.compared(rises_by(1.5), rises_by(1.5)), "warm_up")


def clock_of_a_millisecond(line: Line) -> None:
    line["facts"]["drive"]["clock_quantum_ns"] = 1_000_000


def test_4_with_a_good_clock_one_worker_can_be_compared(study: Any) -> None:
    one_worker = {"users": 1, "per_interval": (1000, 1300)}
    assert study.compared(**one_worker).primary.kind == "faster"


@pytest.mark.parametrize("metric", ["goodput_per_s", "response_ns.p50", "response_ns.p99"])
def test_4_no_figure_of_a_clock_of_a_millisecond_is_compared(study: Any, metric: str) -> None:
    mistaken = study.compared(
        clock_of_a_millisecond, clock_of_a_millisecond, users=1, per_interval=(1000, 1300), metric=metric
    )
    assert refused_by(mistaken, "clock")


@pytest.mark.parametrize("metric", ["goodput_per_s", "throughput_per_s"])
def test_5_errors_are_counted_as_work(study: Any, metric: str) -> None:
    """2.6 % of the operations of the second condition failed."""
    assert refused_by(study.compared(errors={"server_oom": 42}, metric=metric), "errors")


@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_6_one_run_each_decides_nothing(study: Any, blocks: int) -> None:
    """Two runs of which the better is kept, or three, are no more."""
    comparison = study.compared(blocks=blocks)
    assert comparison.primary.kind == "undecided"
    assert verdict_text(comparison.primary).startswith("UNDECIDED")
    assert claims_nothing(comparison)


def rises_by(share: float) -> Any:
    """The rate rises all through the trial, by so much of its mean."""

    def mistake(line: Line) -> None:
        series = line["facts"]["series"]
        for number, point in enumerate(series):
            place = number / (len(series) - 1) - 0.5
            point["completed"] = point["ok"] = round(point["completed"] * (1 + share * place))

    return mistake


def cold_start(line: Line) -> None:
    """The first seconds compile, connect and fill caches."""
    for point, warmth in zip(line["facts"]["series"], (0.5, 0.75, 0.9, 0.97, 1.0, 1.0), strict=True):
        point["completed"] = point["ok"] = round(point["completed"] * warmth)


def test_7_the_first_scenario_was_cold(study: Any) -> None:
    assert refused_by(study.compared(first=cold_start), "warm_up")
