"""A server that stood still is a finding; loadstone that did bounds the rate; a clock that was set is only said."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.checks.checks import judge_trial
from loadstone.judge.checks.generator_bounds import bound_of
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message

ResultOf = Callable[..., Any]


def test_what_stood_still_says_who_how_long_and_how_many_waited(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of(
        "stalls", injectors.stands_still("server", 5.0), injectors.setting("facts.drive.total.timeouts", 50)
    )
    assert found.verdict == "suspect"
    assert render_message(found.reason).startswith("Nothing was answered for 5.00 s")
    assert "50 timed out" in render_message(found.reason)
    assert "redis was stopped" in render_message(found.reason)
    own = result_of("own_stalls", injectors.stands_still("driver", 5.0))
    assert "did not run for 5.00 s: it was stopped" in render_message(own.reason)
    assert "other programs had the CPU" in render_message(
        result_of("own_stalls", injectors.stands_still("driver", 5.0, 4.9)).reason
    )
    assert result_of("stalls", injectors.stands_still("driver", 5.0)).verdict == "valid"


def test_intervals_that_were_not_collected_in_time_are_said_and_spoil_no_figure(
    result_of: ResultOf, injectors: ModuleType
) -> None:
    joined = injectors.setting("facts.drive.joined_intervals", 1200)
    found = result_of("own_stalls", joined)
    assert (found.verdict, found.measured) == ("valid", 0)
    assert "did not keep up with 1,200 intervals" in render_message(found.reason)
    assert "did not run for 5.00 s" in render_message(
        result_of("own_stalls", joined, injectors.stands_still("driver", 5.0)).reason
    )


@pytest.mark.parametrize("of", ["server", "driver"])
@pytest.mark.parametrize("ratio", [0.5, 2.08])
def test_users_who_waited_for_what_stood_still_were_busy(
    result_of: ResultOf, injectors: ModuleType, of: str, ratio: float
) -> None:
    assert result_of("little", injectors.little_of(ratio)).verdict == "invalid"
    found = result_of("little", injectors.stands_still(of, 7.0), injectors.little_of(ratio))
    assert found.verdict == "valid"
    assert "stood still" in render_message(found.reason)


def test_timeouts_of_a_server_that_stood_still_refuse_no_figure(result_of: ResultOf, injectors: ModuleType) -> None:
    def times_out(line: dict[str, Any]) -> None:
        line["counts"]["timeouts"] = line["counts"]["sent"] // 20

    assert result_of("errors", times_out).verdict == "invalid"
    assert result_of("errors", times_out, injectors.stands_still("server")).verdict == "suspect"
    others = injectors.fails(0.05)
    assert result_of("errors", others, injectors.stands_still("server")).verdict == "invalid", (
        "errors of other kinds do"
    )
    nothing = injectors.setting("counts.ok", 0)
    assert result_of("samples", nothing, injectors.stands_still("server")).verdict == "suspect"


def test_a_pause_that_is_short_for_the_load_is_none(result_of: ResultOf, injectors: ModuleType) -> None:
    slow = injectors.setting("response_ns.p50", 300_000_000)
    assert result_of("stalls", slow, injectors.stands_still("server", 2.0)).verdict == "valid"
    assert result_of("stalls", slow, injectors.stands_still("server", 3.1)).verdict == "suspect"


def test_what_was_stopped_is_the_generators_and_what_stood_still_the_servers(
    clean: dict[str, Any], injectors: ModuleType
) -> None:
    def bound(*changes: Callable[[dict[str, Any]], Any]) -> float:
        line = clean
        for change in changes:
            line = injectors.injected(line, change)
        found = bound_of(judge_trial(TrialRecord.model_validate(line)))
        assert found is not None
        assert found.generator is not None
        return found.generator

    idle = injectors.setting("facts.parts.redis.main_thread_share", 0.5)
    slow = injectors.setting("facts.drive.threads.0.cpu_s", 3.0)
    assert bound(idle, slow, injectors.stands_still("driver", 2.0)) > bound(idle, slow)
    assert bound(idle, slow, injectors.stands_still("server", 2.0)) < bound(idle, slow)
    waited = injectors.stands_still("driver", 2.0, no_cpu_s=2.0)
    assert bound(idle, slow, waited) == pytest.approx(bound(idle, slow)), "others took that: `taken` counts it"


def test_at_a_rate_the_time_that_loadstone_lost_is_late_for_all(result_of: ResultOf, injectors: ModuleType) -> None:
    still, short = injectors.stands_still("driver", 2.0), injectors.stands_still("driver", 0.03)
    assert result_of("own_stalls", injectors.opened(still)).verdict == "invalid"
    assert result_of("own_stalls", injectors.opened(short)).verdict == "suspect"


def test_a_clock_that_was_set_is_said_and_nothing_more(result_of: ResultOf, injectors: ModuleType) -> None:
    back = result_of("clock_set", injectors.setting("facts.drive.clock_set_s", -7200.0))
    assert (back.verdict, "set back by 7,200.0 s" in render_message(back.reason)) == ("valid", True)
    assert result_of("clock_set", injectors.setting("facts.drive.clock_set_s", 0.01)) is None
