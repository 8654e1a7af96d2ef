"""A mark belongs to the figure that its check is about."""

from types import ModuleType
from typing import Any

import pytest

from loadstone.drivers.outcome import Quantiles
from loadstone.judge.analysis.row_latencies import FIGURES, doubted_figures
from loadstone.run_folder.trial import CheckResult, TrialRecord


@pytest.fixture
def trial(synthetic: ModuleType, studies: ModuleType) -> TrialRecord:
    study = studies.Study(synthetic, [({"operation": "get", "payload": "1 kB", "workers": 8, "idle": "few"}, 1.0)], 1)
    found: TrialRecord = study.trials()[0]
    return found


def quantiles(**figures: Any) -> Quantiles:
    return Quantiles(**{**dict.fromkeys(FIGURES), **figures})


def check(name: str, measured: float = 20.0, unit: str = "%") -> CheckResult:
    return CheckResult(name=name, verdict="suspect", measured=measured, limit=10.0, unit=unit, reason=None)


def doubted(trial: TrialRecord, *checks: CheckResult, least: Quantiles | None = None) -> list[str]:
    return doubted_figures([(trial, one) for one in checks], least)


def test_a_wait_for_connections_doubts_the_quantiles_that_have_it(trial: TrialRecord) -> None:
    waits = {"mean": 20_000.0, "p50": 0, "p95": 900, "p99": 900_000}
    response = {"mean": 60_000.0, "p50": 25_000, "p95": 40_000, "p99": 1_280_000}
    stalled = trial.model_copy(update={"pool_wait_ns": quantiles(**waits), "response_ns": quantiles(**response)})
    assert doubted(stalled, check("pool_wait")) == ["mean", "p99"]


def test_connections_left_behind_doubt_no_time_that_a_request_took(trial: TrialRecord) -> None:
    assert doubted(trial, check("connection_leak")) == []


def test_lateness_that_is_bounded_doubts_nothing_else_everything(trial: TrialRecord) -> None:
    assert doubted(trial, check("schedule_lag"), least=quantiles(p50=1)) == []
    assert doubted(trial, check("schedule_lag")) == list(FIGURES)
    assert doubted(trial, check("errors"), check("connection_leak")) == list(FIGURES)


def test_a_stall_doubts_the_quantiles_that_it_reaches(trial: TrialRecord) -> None:
    assert doubted(trial, check("own_stalls", 0.6, "% of the time")) == ["mean", "p99", "p999", "max"]
    assert doubted(trial, check("own_stalls", 0.06, "% of the time")) == ["mean", "p999", "max"]
    assert doubted(trial, check("stalls", trial.duration_s, "s")) == [name for name in FIGURES if name != "min"]
