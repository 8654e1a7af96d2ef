"""Servers and applications with the settings and the limits that the experiment requests."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.compare.pairs import EXACT
from loadstone.text.sentences import render_message

ResultOf = Callable[..., Any]


def test_rows_and_settings_are_exact() -> None:
    assert {"stored_rows", "settings"} <= set(EXACT)


def test_a_setting_that_is_not_as_requested_is_named(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("settings", injectors.has_other_settings(1))
    assert render_message(found.reason) == "A setting is not as requested: setting-0 of redis is 0 instead of 1."
    assert result_of("settings", injectors.has_other_settings(0)).verdict == "valid"
    assert result_of("settings") is None
    silent = result_of("settings", injectors.setting("facts.settings", {"redis": {}, "mariadb": {"log_bin": "OFF"}}))
    assert (silent.verdict, render_message(silent.reason)) == ("unknown", "redis did not report its settings.")


def test_a_limit_that_is_not_in_force_is_named(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("limits", injectors.limited(0.5, "unavailable: no control groups"))
    assert (found.verdict, found.measured) == ("suspect", 1)
    assert render_message(found.reason) == (
        "Not in force: cpu limit of redis-1 (unavailable: no control groups). The figure was measured without it."
    )
    assert result_of("limits", injectors.limited(0.5)).verdict == "valid"
    assert result_of("limits") is None


def test_the_limits_of_an_application_are_queried_too(result_of: ResultOf, injectors: ModuleType) -> None:
    def app(cpu: float | str) -> Any:
        limits = {"memory": injectors.limit(512e6), "cpu": injectors.limit(cpu)}
        return injectors.setting("facts.subjects", {"app": {"replicas": 1, "ours": True, "limits": limits}})

    assert result_of("limits", app(0.5)).verdict == "valid"
    assert result_of("limits", app("unavailable: x")).verdict == "suspect"
    without_figure = result_of("limits", app("unknown"))
    assert (without_figure.verdict, render_message(without_figure.reason)) == (
        "unknown",
        "It is not known whether this limit is in force: cpu limit of app.",
    )


def test_a_limit_is_information_and_needs_one(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("subject_throttled", injectors.throttled(0.34))
    assert found.verdict == "valid"
    assert found.measured == pytest.approx(34)
    assert (
        render_message(found.reason)
        == "The CPU limit of app throttled its threads for 34 % of the time: it is the bottleneck."
    )
    assert render_message(result_of("subject_throttled", injectors.throttled(0.01)).reason) == ""
    without = injectors.setting("facts.subjects", {"app": {"replicas": 1, "ours": True}})
    assert result_of("subject_throttled", without) is None
