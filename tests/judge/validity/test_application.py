"""What servers and applications did with what they were queried: rows, settings, connections, limits."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.compare.pairs import EXACT
from loadstone.report.text.sentences import text

ResultOf = Callable[..., Any]


@pytest.mark.parametrize(
    ("answered", "unknown", "grown", "verdict", "measured"),
    [
        (100, 0, 100, "valid", 0),
        (100, 0, 99, "invalid", 1),
        (100, 0, 101, "invalid", 1),
        (100, 5, 105, "valid", 0),
        (100, 5, 100, "valid", 0),
        (100, 5, 106, "invalid", 1),
        (100, 5, 90, "invalid", 10),
        (0, 0, 0, "valid", 0),
    ],
)
def test_rows_are_what_was_answered_and_at_most_what_was_sent(
    result_of: ResultOf, injectors: ModuleType, answered: int, unknown: int, grown: int, verdict: str, measured: int
) -> None:
    counted = injectors.stores(answered=answered, unknown=unknown, before=1000, after=1000 + grown)
    found = result_of("stored_rows", counted)
    assert (found.verdict, found.measured) == (verdict, measured)
    assert bool(found.reason) == (verdict == "invalid")


def test_rows_that_are_missing_and_rows_too_many_are_distinguished(result_of: ResultOf, injectors: ModuleType) -> None:
    missing = result_of("stored_rows", injectors.stores(after=2400))
    assert text(missing.reason) == (
        "redis has 1,400 more for 1,464 correct replies of set, too few: writes were lost, or one replaced another."
    )
    assert "too many" in text(result_of("stored_rows", injectors.stores(after=3000)).reason)


def test_counting_keys_would_have_said_something_else(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("stored_rows", injectors.stores(keys_before=0, keys_after=4392))
    assert found.verdict == "valid"
    assert text(found.reason) == (
        "redis has 1,464 rows more, as answered, and 4,392 keys more: counting keys is not counting rows."
    )
    assert text(result_of("stored_rows", injectors.stores(keys_before=0, keys_after=1464)).reason) == ""


def test_what_could_not_be_counted_is_unknown(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("stored_rows", injectors.stores(after=None))
    assert (found.verdict, text(found.reason)) == ("unknown", "What redis holds could not be counted.")
    not_ours = injectors.setting("facts.placement", None)
    assert result_of("stored_rows", injectors.stores(after=3000), not_ours).verdict == "unknown"
    assert result_of("stored_rows", injectors.stores(), not_ours).verdict == "valid"


def test_rows_and_settings_are_exact() -> None:
    assert {"stored_rows", "settings"} <= set(EXACT)


def test_a_setting_that_is_not_as_requested_is_named(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("settings", injectors.has_other_settings(1))
    assert text(found.reason) == "A setting is not as requested: setting-0 of redis is 0 instead of 1."
    assert result_of("settings", injectors.has_other_settings(0)).verdict == "valid"
    assert result_of("settings") is None
    silent = result_of("settings", injectors.setting("facts.settings", {"redis": {}, "mariadb": {"log_bin": "OFF"}}))
    assert (silent.verdict, text(silent.reason)) == ("unknown", "redis did not report its settings.")


def test_a_limit_that_is_not_in_force_is_named(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("limits", injectors.limited("0.5", "unavailable: no control groups"))
    assert (found.verdict, found.measured) == ("suspect", 1)
    assert text(found.reason) == (
        "Not in force: cpu limit of redis-1 (unavailable: no control groups). The figure is without it."
    )
    assert result_of("limits", injectors.limited("0.5")).verdict == "valid"
    assert result_of("limits") is None


def test_the_limits_of_an_application_are_queried_too(result_of: ResultOf, injectors: ModuleType) -> None:
    def app(text: str) -> Any:
        limits = {"memory limit in bytes": "512000000", "cpu limit": text}
        return injectors.setting("facts.subjects", {"app": {"replicas": 1, "ours": True, "limits": limits}})

    assert result_of("limits", app("0.5")).verdict == "valid"
    assert result_of("limits", app("unavailable: x")).verdict == "suspect"
    without_figure = result_of("limits", app("unknown: nobody tells"))
    assert (without_figure.verdict, text(without_figure.reason)) == (
        "unknown",
        "It is not known whether this limit is in force: cpu limit of app.",
    )


@pytest.mark.parametrize(
    ("thirds", "verdict"),
    [
        ((0, 0, 0), "valid"),
        ((0, 2, 4), "valid"),
        ((0, 10, 20), "suspect"),
        ((0, 20, 20), "valid"),  # a pool that filled, and then stood
        ((20, 0, 20), "valid"),
        ((20, 10, 0), "valid"),
        ((0, 20, 31), "suspect"),
    ],
)
def test_connections_that_rise_all_the_time(
    result_of: ResultOf, injectors: ModuleType, thirds: tuple[float, ...], verdict: str
) -> None:
    found = result_of("connection_leak", injectors.becomes_http, injectors.opens_connections(*thirds))
    assert found.verdict == verdict


def test_connections_of_the_load_itself_are_no_leak(result_of: ResultOf, injectors: ModuleType) -> None:
    def opens_more(line: dict[str, Any]) -> None:
        for number, point in enumerate(line["facts"]["series"]):
            point["connections"] += number // 2 * 10

    rises = injectors.opens_connections(0, 10, 20)
    assert result_of("connection_leak", rises).verdict == "suspect"
    assert result_of("connection_leak", rises, opens_more).verdict == "valid"
    assert result_of("connection_leak", rises, opens_more, injectors.becomes_http).verdict == "suspect"


def test_connections_that_could_not_be_followed_are_unknown(result_of: ResultOf, injectors: ModuleType) -> None:
    unseen = injectors.setting("facts.server_connections", {})
    assert result_of("connection_leak", unseen).verdict == "unknown"
    nobody = injectors.setting("facts.servers", {}), injectors.setting("facts.kinds", {})
    assert result_of("connection_leak", injectors.becomes_http, unseen, *nobody) is None


def test_a_limit_is_information_and_needs_one(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("subject_throttled", injectors.throttled(0.34))
    assert found.verdict == "valid"
    assert found.measured == pytest.approx(34)
    assert (
        text(found.reason) == "The CPU limit of app throttled its threads for 34 % of the time: it is the bottleneck."
    )
    assert text(result_of("subject_throttled", injectors.throttled(0.01)).reason) == ""
    without = injectors.setting("facts.subjects", {"app": {"replicas": 1, "ours": True}})
    assert result_of("subject_throttled", without) is None


def test_connections_that_the_load_gave_up_are_no_leak(result_of: ResultOf, injectors: ModuleType) -> None:
    """After timeouts each is made again, and a server that stands still counts the old ones, too."""
    rises = injectors.opens_connections(0, 30, 60)
    assert result_of("connection_leak", rises).verdict == "suspect"
    assert result_of("connection_leak", rises, injectors.setting("facts.drive.connections.lost", 60)).verdict == "valid"
    gave_up = injectors.setting("facts.drive.connections.lost", 10)
    assert result_of("connection_leak", rises, gave_up).verdict == "suspect", "more than those"
