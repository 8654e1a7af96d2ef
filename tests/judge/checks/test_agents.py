"""What one agent of a fleet did badly is found, and the agent named, where the sum of all would not show it."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.text.sentences import render_message

ResultOf = Callable[..., Any]
MS = 1_000_000


def test_agents_that_did_as_one_driver_does_are_judged_as_one(result_of: ResultOf, injectors: ModuleType) -> None:
    fleet = injectors.of_agents({}, {"skew_ns": -MS})
    for name in ("gain", "clock", "own_stalls", "beginning"):
        assert result_of(name, fleet).verdict == "valid"
    assert result_of("schedule_sent", injectors.becomes_open, fleet).verdict == "valid"
    assert result_of("clock_set", fleet) is None


@pytest.mark.fault("An agent begins later than the others", "by how much, with a bound, is judged", area="fleet")
@pytest.mark.parametrize(
    ("skews_ms", "bound_ms", "verdict", "measured"),
    [
        ((0, 10), 1, "valid", 0.2),
        ((-30, 29), 0.4, "valid", 0.997),
        ((0, 61), 0, "suspect", 1.017),
        ((0, 0), 31, "suspect", 1.033),
        ((0, -301), 0, "invalid", 5.017),
    ],
)
def test_how_far_apart_agents_began(
    result_of: ResultOf,
    injectors: ModuleType,
    skews_ms: tuple[float, ...],
    bound_ms: float,
    verdict: str,
    measured: float,
) -> None:
    agents = [{"skew_ns": round(ms * MS), "skew_bound_ns": round(bound_ms * MS)} for ms in skews_ms]
    found = result_of("beginning", injectors.of_agents(*agents))
    assert (found.verdict, found.measured) == (verdict, pytest.approx(measured, abs=0.001))


def test_that_an_agents_last_thread_began_late_is_lateness_of_the_agent(
    result_of: ResultOf, injectors: ModuleType
) -> None:
    found = result_of("beginning", injectors.of_agents({}, {"start_lag_ns": 61 * MS}))
    assert (found.verdict, found.measured) == ("suspect", pytest.approx(1.018, abs=0.001))


def test_the_shortest_slice_is_what_a_skew_is_held_against(result_of: ResultOf, injectors: ModuleType) -> None:
    counted = dict.fromkeys(("offered", "completed", "ok", "failed", "position"), 0)
    slices = [
        {
            **counted,
            "round": number,
            "begin_s": number,
            "end_s": number + length_s,
            "drained_s": number + 0.5,
            "cpu_s": 0,
        }
        for number, length_s in enumerate((0.2, 0.1))
    ]
    found = result_of(
        "beginning",
        injectors.of_agents({}, {"skew_ns": 3 * MS, "skew_bound_ns": 0}),
        injectors.setting("facts.drive.slices", slices),
    )
    assert (found.verdict, found.measured) == ("suspect", pytest.approx(3.05))
    assert render_message(found.reason) == "Agent a1 began 3 ms too late (known to 0 ms): meanwhile not all made load."


def test_what_lies_within_the_edges_of_slices_does_no_harm(result_of: ResultOf, injectors: ModuleType) -> None:
    agents = [{"skew_ns": skew * MS, "skew_bound_ns": 10 * MS, "edge_ns": 30 * MS} for skew in (0, 5)]
    assert result_of("beginning", injectors.of_agents(*agents)).measured == 0
    wider = [{**agents[0]}, {**agents[1], "skew_ns": 71 * MS}]
    found = result_of("beginning", injectors.of_agents(*wider))
    assert (found.verdict, found.measured) == ("suspect", pytest.approx(1.017, abs=0.01))


def test_where_the_clocks_were_not_compared_it_is_not_known(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("beginning", injectors.of_agents({}, {"skew_ns": None}, {"skew_bound_ns": None}))
    assert (found.verdict, render_message(found.reason)) == (
        "unknown",
        "When a1, a2 began is not known: their clocks could not be compared.",
    )
    assert result_of("beginning", injectors.of_agents({})) is None


def test_the_agent_that_had_no_time_left_bounds_the_rate_and_is_named(
    result_of: ResultOf, injectors: ModuleType
) -> None:
    fleet = injectors.of_agents({}, {}, {})
    busy = injectors.setting("facts.drive.threads.1.cpu_s", 0.5 * 6)
    found = result_of("gain", fleet, busy)
    assert found.verdict == "suspect"
    assert render_message(found.reason).startswith("Agent a1: The generator used 50% of its time")
    waited = injectors.setting("facts.drive.threads.2.waited_s", 0.6 * 6)
    assert render_message(result_of("gain", fleet, busy, waited).reason).startswith("Agent a2: The generator used 60%")


def test_threads_that_take_turns_on_too_few_cpus_of_their_agent_count_together(
    result_of: ResultOf, injectors: ModuleType
) -> None:
    def three_threads(line: dict[str, Any]) -> None:
        injectors.of_agents({}, {"threads": 3, "cpus": 1})(line)
        thread = line["facts"]["drive"]["threads"][0]
        line["facts"]["drive"]["threads"] = [thread, *({**thread, "cpu_s": 0.2 * 6} for _ in range(3))]

    assert render_message(result_of("gain", three_threads).reason).startswith("Agent a1: The generator used 60%")


@pytest.mark.fault("An agent's threads stand still for a while", "the trial is suspect and names it", area="fleet")
def test_an_agent_that_was_stopped_is_named(result_of: ResultOf, injectors: ModuleType) -> None:
    stall = {"of": "driver", "begin_s": 2.0, "end_s": 5.0, "waiting": 3}
    fleet = injectors.of_agents({}, {"stalls": [stall]})
    stalls = injectors.setting("facts.drive.stalls", [stall])
    assert "threads on a1 did not run for 3.00 s" in render_message(result_of("own_stalls", fleet, stalls).reason)
    assert render_message(result_of("gain", fleet, stalls).reason).startswith("Agent a1: The generator used 50%")


@pytest.mark.fault("One agent of ten does not keep its rate", "the trial is invalid and names it", area="fleet")
def test_the_agent_that_kept_its_schedule_least_is_named(result_of: ResultOf, injectors: ModuleType) -> None:
    def one_of_ten_sends_less(line: dict[str, Any]) -> None:
        injectors.becomes_open(line)
        injectors.of_agents(*({} for _ in range(10)))(line)
        counts = line["facts"]["drive"]["agents"][7]["counts"]
        missing = round(0.05 * counts["offered"])
        for of in (counts, line["counts"]):
            of["unsent"], of["sent"], of["ok"] = missing, of["sent"] - missing, of["ok"] - missing

    found = result_of("schedule_sent", one_of_ten_sends_less)
    assert found.verdict == "invalid"
    assert render_message(found.reason).startswith("Agent a7: 6 of 120 operations were never sent")


def test_the_agent_whose_own_time_is_in_the_latencies_is_named(result_of: ResultOf, injectors: ModuleType) -> None:
    def late(line: dict[str, Any]) -> None:
        injectors.becomes_open(line)
        injectors.own_time(0.01)(line)
        injectors.of_agents({}, {}, {})(line)
        for place, share in enumerate((0.02, 0.3, 0.1)):
            agent = line["facts"]["drive"]["agents"][place]
            agent["least_ns"] = {**agent["response_ns"], "p50": round((1 - share) * agent["response_ns"]["p50"])}

    found = result_of("schedule_lag", late)
    assert (found.verdict, found.measured) == ("suspect", pytest.approx(30, abs=0.1))
    assert render_message(found.reason).startswith("Agent a1: The generator sent late")


def test_the_agent_with_the_coarse_clock_is_named_and_so_is_that_whose_clock_was_set(
    result_of: ResultOf, injectors: ModuleType
) -> None:
    coarse = injectors.of_agents({}, {"clock_quantum_ns": MS * 100})
    found = result_of("clock", coarse, injectors.setting("facts.drive.clock_quantum_ns", MS * 100))
    assert found.verdict == "invalid"
    assert render_message(found.reason).startswith("Agent a1: The clock moves in steps of 100 ms")
    was_set = injectors.of_agents({"clock_set_s": -1.0}, {})
    found = result_of("clock_set", was_set, injectors.setting("facts.drive.clock_set_s", -1.0))
    assert render_message(found.reason).startswith("Agent a0: The wall clock was set back by 1.0 s")


def test_how_many_keys_agents_that_walk_them_beside_each_other_store_is_known_less_exactly(
    result_of: ResultOf, injectors: ModuleType
) -> None:
    """One thread that goes through the keys one by one stores each; where several do, some are stored twice."""
    walk = [
        injectors.setting("facts.plan.keys", {"count": 5000, "distribution": "sequential", "loaded": False}),
        injectors.setting("facts.servers.redis.after.counters.keys", 2000.0),
    ]
    assert result_of("key_count", *walk).verdict == "invalid"
    assert result_of("key_count", *walk, injectors.of_agents({}, {})).verdict == "valid"
