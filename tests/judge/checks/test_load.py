"""Whether the load was the one that was planned."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.text.sentences import render_message

ResultOf = Callable[..., Any]


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (1.0, "valid"),
        (0.96, "valid"),
        (0.9, "suspect"),
        (0.81, "suspect"),
        (0.79, "invalid"),
        (1.1, "suspect"),
        (1.3, "invalid"),
    ],
)
def test_littles_law(result_of: ResultOf, injectors: ModuleType, ratio: float, verdict: str) -> None:
    found = result_of("little", injectors.little_of(ratio))
    assert found.verdict == verdict
    assert found.measured == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("ratio", "earlier", "verdict", "words"),
    [
        (0.6, 0.0, "invalid", "60% of the users' time is accounted for: the generator did not keep its users going."),
        (0.6, 0.19, "invalid", "60% of the users' time is accounted for: the generator did not keep its users going."),
        (0.6, 0.21, "suspect", "60% of the users' time is accounted for; 21% went to operations that had begun before"),
        (0.6, 0.38, "suspect", "60% of the users' time is accounted for; 38% went to operations that had begun before"),
        (0.3, 0.45, "invalid", "30% of the users' time is accounted for; 45% went to operations that had begun before"),
        (0.3, 0.95, "invalid", "30% of the users' time is accounted for; 95% went to operations that had begun before"),
        (1.4, 0.0, "invalid", "140% of the users' time is accounted for: operations went on after the measure phase"),
    ],
)
def test_who_is_to_blame_for_missing_time(
    result_of: ResultOf, injectors: ModuleType, ratio: float, earlier: float, verdict: str, words: str
) -> None:
    def goes_on(line: dict[str, Any]) -> None:
        users_s = line["facts"]["plan"]["model"]["users"] * line["facts"]["drive"]["measure_s"]
        injectors.operation(line)["earlier_ns"] = int(earlier * users_s * 1e9)

    found = result_of("little", injectors.little_of(ratio), goes_on)
    assert found.verdict == verdict
    assert render_message(found.reason).startswith(words)


@pytest.mark.parametrize(
    ("ratio", "earlier", "verdict"),
    [(1.3, 0.0, "valid"), (0.7, 0.0, "invalid"), (0.67, 0.62, "suspect"), (0.67, 3.0, "invalid")],
)
def test_in_slices_long_operations_are_followed_beyond_each_end(
    result_of: ResultOf, injectors: ModuleType, ratio: float, earlier: float, verdict: str
) -> None:
    """None of them is in progress where a slice begins: too much at each end, and by chance too little. Where they last
    about as long as a slice, those that began in its settle time make up for what is missing."""

    def in_slices(line: dict[str, Any]) -> None:
        drive, count = line["facts"]["drive"], 64
        users_s = line["facts"]["plan"]["model"]["users"] * drive["measure_s"]
        injectors.operation(line)["earlier_ns"] = int(earlier * users_s * 1e9)
        mean_s = ratio * line["facts"]["plan"]["model"]["users"] / injectors.operation(line)["counts"]["ok"]
        # Of the whole, what one edge cuts is .01: 64 of them may add up, or cancel but for their root.
        line["facts"]["response_dispersion"] = 2 * 0.01 / mean_s
        each = {"position": 0, "offered": 1, "completed": 1, "ok": 1, "failed": 0, "cpu_s": 0.0, "parts": {}}
        times = {"begin_s": 0.0, "end_s": 1.0, "drained_s": 1.0}
        drive["slices"] = [{"round": number, **each, **times} for number in range(count)]

    found = result_of("little", injectors.little_of(ratio), in_slices)
    assert found.verdict == verdict


def test_think_time_counts_as_busy(result_of: ResultOf, injectors: ModuleType) -> None:
    def thinks(line: dict[str, Any]) -> None:
        ended = injectors.operation(line)["counts"]["ok"]
        users_s = line["facts"]["plan"]["model"]["users"] * 6.0
        line["facts"]["plan"]["model"]["think_time_ms"] = 0.75 * users_s / ended * 1000
        injectors.little_of(0.25)(line)

    found = result_of("little", thinks)
    assert found.verdict == "valid"
    assert found.measured == pytest.approx(1.0)


def test_long_responses_widen_the_edges(result_of: ResultOf, injectors: ModuleType) -> None:
    """With responses of a fifth of the window those that cross its edges are missing: so far from 1 is no fault."""

    def slow(line: dict[str, Any]) -> None:
        operation = injectors.operation(line)
        operation["counts"] |= {"offered": 128, "sent": 128, "ok": 128}
        injectors.little_of(0.82)(line)

    assert result_of("little", slow).verdict == "valid"


@pytest.mark.parametrize(
    ("place", "value"), [("facts.plan.pipeline_depth", 16), ("facts.plan.model.operations_per_user", 1000)]
)
def test_where_the_law_says_nothing_it_is_unknown(
    result_of: ResultOf, injectors: ModuleType, place: str, value: int
) -> None:
    assert result_of("little", injectors.setting(place, value), injectors.little_of(0.5)).verdict == "unknown"


@pytest.mark.parametrize(("share", "verdict"), [(0.09, "valid"), (0.11, "suspect"), (0.9, "suspect")])
def test_waiting_for_a_connection_is_named(
    result_of: ResultOf, injectors: ModuleType, share: float, verdict: str
) -> None:
    found = result_of("pool_wait", injectors.waits(share))
    assert found.verdict == verdict
    if verdict == "suspect":
        assert render_message(found.reason).startswith("Pool-bound: ")
        assert "64 connections for 32 users" in render_message(found.reason)


def test_users_who_are_planned_to_share_connections_wait_by_design(result_of: ResultOf, injectors: ModuleType) -> None:
    fewer = injectors.setting("facts.plan.pool.connections", 1)
    found = result_of("pool_wait", fewer, injectors.waits(0.97))
    assert (found.verdict, found.measured) == ("valid", pytest.approx(97))
    assert render_message(found.reason) == (
        "Pool-bound: 97 % of the response time is waiting for a connection (1 connection for 32 users). "
        "The plan has it so: it is the condition."
    )
    assert result_of("pool_wait", fewer, injectors.waits(0.05)).reason is None


def test_a_pool_too_small_for_a_rate_is_suspect_unless_pools_are_compared(
    result_of: ResultOf, injectors: ModuleType
) -> None:
    at_rate = injectors.setting("facts.plan.model", {"kind": "open", "rate_per_s": 1000.0})
    assert result_of("pool_wait", at_rate, injectors.waits(0.3)).verdict == "suspect"
    compared = injectors.setting("facts.studied", ["pool"])
    assert result_of("pool_wait", at_rate, compared, injectors.waits(0.3)).verdict == "valid"
    drivers = injectors.setting("facts.studied", ["driver"])
    assert result_of("pool_wait", at_rate, drivers, injectors.waits(0.3)).verdict == "suspect"


def test_a_late_driver_is_no_queue_for_a_connection(result_of: ResultOf, injectors: ModuleType) -> None:
    def late(line: dict[str, Any]) -> None:
        drive = line["facts"]["drive"]
        drive["schedule_lag_ns"] = dict(drive["pool_wait_ns"])

    assert result_of("pool_wait", injectors.waits(0.3), late).verdict == "valid"


@pytest.mark.parametrize("place", ["lost", "failed"])
def test_a_connection_that_had_to_be_made_again(result_of: ResultOf, injectors: ModuleType, place: str) -> None:
    found = result_of("connections", injectors.setting(f"facts.drive.connections.{place}", 1))
    assert found.verdict == "suspect"


def test_connections_that_were_not_there(result_of: ResultOf, injectors: ModuleType) -> None:
    assert result_of("connections", injectors.connections_missing).verdict == "invalid"


def test_a_pool_that_may_shrink_is_no_fault(result_of: ResultOf, injectors: ModuleType) -> None:
    shrinking = injectors.setting("facts.plan.pool", {"connections": 64, "min_idle": 16, "max_idle": 32})
    assert result_of("connections", shrinking, injectors.connections_missing).verdict == "valid"


@pytest.mark.parametrize(("share", "verdict"), [(0.0, "valid"), (0.08, "valid"), (0.12, "suspect"), (0.3, "suspect")])
def test_first_third_against_last(result_of: ResultOf, injectors: ModuleType, share: float, verdict: str) -> None:
    """One trial alone is never invalid for it: the trend over all trials of a condition may be."""
    assert result_of("warm_up", injectors.long(), injectors.drifts(share)).verdict == verdict


def test_a_cold_start_is_suspect(result_of: ResultOf, injectors: ModuleType) -> None:
    """The study's own mistake: the first scenario ran on a cold client."""

    def cold(line: dict[str, Any]) -> None:
        rates = [90, 130, 150, 170, 180, 190, 195, 198, 200, 200, 200, 200]
        for point, completed in zip(line["facts"]["series"], rates, strict=True):
            point["completed"] = completed

    found = result_of("warm_up", injectors.long(), cold)
    assert found.verdict == "suspect"
    assert "rose from 135 a second in the first third to 200 in the last" in render_message(found.reason)


@pytest.mark.parametrize("share", [0.0, 0.12, 1.5])
def test_a_short_phase_cannot_tell_a_warm_up_from_noise(
    result_of: ResultOf, injectors: ModuleType, share: float
) -> None:
    found = result_of("warm_up", injectors.long(9), injectors.drifts(share))
    assert found.verdict == "unknown"
    assert (
        render_message(found.reason)
        == "9 s are too short to distinguish a warm-up from noise; all trials together may be enough."
    )


def test_settling_late_in_a_long_trial_is_suspect(result_of: ResultOf, injectors: ModuleType) -> None:
    """Equal thirds, and yet a rate that settles only after three fifths of the trial."""

    def late(line: dict[str, Any]) -> None:
        point = line["facts"]["series"][0]
        rates = [1000 + 4 * (-1) ** n for n in range(100)]
        rates[:60] = [1000 + 90 * (-1) ** (n // 5) for n in range(60)]
        line["facts"]["series"] = [{**point, "start_s": float(n), "completed": rate} for n, rate in enumerate(rates)]

    found = result_of("warm_up", injectors.long(100), late)
    assert found.verdict == "suspect"
    assert "in the last half" in render_message(found.reason)


def test_a_changing_schedule_has_no_rate_to_settle(result_of: ResultOf, injectors: ModuleType) -> None:
    steps = [{"rate_per_s": rate, "duration_s": 1.0} for rate in (100, 200)]
    changing = injectors.setting("facts.plan.model", {"kind": "open", "rate_per_s": 100.0, "schedule": steps})
    assert result_of("warm_up", changing) is None


@pytest.mark.parametrize(
    ("operations", "words"),
    [(150, "they support no quantile"), (5000, "P95 is the highest"), (50_000, "P99 is the highest")],
)
def test_too_few_operations_are_said_and_not_held_against_a_trial(
    result_of: ResultOf, injectors: ModuleType, operations: int, words: str
) -> None:
    found = result_of("samples", injectors.setting("counts.offered", operations))
    assert found.verdict == "unknown"
    assert f"{operations:,} were measured" in render_message(found.reason)
    assert words in render_message(found.reason)


def test_a_hundred_thousand_operations_tell_everything(result_of: ResultOf, injectors: ModuleType) -> None:
    assert result_of("samples", injectors.setting("counts.offered", 100_000)).verdict == "valid"


def test_a_trial_that_was_stopped_says_why(result_of: ResultOf, injectors: ModuleType) -> None:
    stopped = result_of("finished", injectors.setting("facts.drive.stopped", "no connection for 2 s"))
    assert render_message(stopped.reason) == "The trial ended early: no connection for 2 s."
    failed = result_of("finished", injectors.setting("facts.failure", "redis was killed"))
    assert render_message(failed.reason) == "The trial ended early: redis was killed."


@pytest.mark.parametrize("intervals", [10, 12, 15])
@pytest.mark.parametrize("rise", [0.6, 1.5, -0.6])
def test_a_steady_rise_does_not_pass_for_noise(
    result_of: ResultOf, injectors: ModuleType, intervals: int, rise: float
) -> None:
    def rises(line: dict[str, Any]) -> None:
        point = line["facts"]["series"][0]
        line["facts"]["series"] = [
            {**point, "start_s": i, "completed": round(1000 * (1 + rise * (i / (intervals - 1) - 0.5)))}
            for i in range(intervals)
        ]

    assert result_of("warm_up", injectors.long(intervals), rises).verdict == "suspect"
