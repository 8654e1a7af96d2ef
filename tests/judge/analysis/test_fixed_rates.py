"""What a row did at a fixed rate stands beside its own figures, and in nothing else."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.changed_facts import with_drive, with_facts, with_model, written

from loadstone.experiment.plan.drive_plan import Open
from loadstone.judge.analysis.analyse import analyse_run
from loadstone.judge.analysis.analysis import Analysis, Row
from loadstone.judge.checks.checks import judge_trial
from loadstone.run_folder.plan_summary import AtRateLine, PlannedLine
from loadstone.run_folder.trial import TrialRecord

Study = Any


@pytest.fixture
def study(synthetic: ModuleType, studies: ModuleType) -> Study:
    conditions = [
        ({"operation": kind, "payload": "1 kB", "workers": 32, "idle": "few"}, 1.0) for kind in ("set", "get")
    ]
    tables = [{"name": "all", "title": "All", "vary": {"operation": ["set", "get"], "workers": [32]}}]
    experiment = {"comparisons": [studies.spec(at={"payload": ["1 kB"], "workers": [32]})], "tables": tables}
    return studies.Study(synthetic, conditions, blocks=8, experiment=experiment)


def at_rate(study: Study, operation: str, **changes: Any) -> TrialRecord:
    """A trial of the group `at-rate`, judged; `changes` of its record."""
    like = next(trial for trial in study.trials() if trial.condition["operation"] == operation)
    model = Open(rate_per_s=500).model_dump(mode="json")
    given = {"trial": f"at-rate-b01-{operation}", "group": "at-rate", "block": 1, "order": 1}
    return judge_trial(with_model(like, model, rate_share=0.5).model_copy(update={**given, **changes}))


def line(study: Study, operation: str) -> PlannedLine:
    (condition,) = (one for one, _ in study.ratios if one["operation"] == operation)
    return PlannedLine(
        trial=f"at-rate-b01-{operation}", condition=condition, group="at-rate", block=1, order=1, plan_sha256="0" * 64
    )


@pytest.fixture
def analysed(study: Study) -> Callable[..., Analysis]:
    def run(*added: TrialRecord, **changes: Any) -> Analysis:
        lines = (line(study, "set"), line(study, "get"))
        plan = study.plan().model_copy(update={"at_rate": AtRateLine(rate_per_s=None, share=0.5, trials=lines)})
        return analyse_run(study.run(Path("runs/x"), plan=plan, **{"trials": (*study.trials(), *added), **changes}))

    return run


def row(analysis: Analysis, operation: str) -> Row:
    (found,) = (one for one in analysis.tables[0].rows if one.condition["operation"] == operation)
    return found


def test_it_stands_beside_the_rows_own_figures(study: Study, analysed: Callable[..., Analysis]) -> None:
    trial = at_rate(study, "set", goodput_per_s=499.0)
    without, found = row(analysed(), "set"), row(analysed(trial), "set")
    assert found.model_copy(update={"at_rate": without.at_rate}) == without, "its own figures are as before"
    assert found.saturated
    assert found.at_rate is not None
    assert (found.at_rate.rate_per_s, found.at_rate.share, found.at_rate.achieved_per_s) == (500, 0.5, 499.0)
    assert found.at_rate.response_ns == trial.response_ns
    assert found.at_rate.trials == [trial.trial]


def test_it_decides_nothing_else(study: Study, analysed: Callable[..., Analysis]) -> None:
    without, found = analysed(), analysed(at_rate(study, "set", goodput_per_s=1.0))
    for name in ("families", "answer", "headline", "parts", "comparison"):
        assert getattr(found, name) == getattr(without, name), name
    assert found.complete == without.complete
    assert found.trials_done == without.trials_done + 1 == len(study.trials()) + 1
    assert found.trials_planned == without.trials_planned + 1


def test_a_row_that_was_not_reached_says_so(analysed: Callable[..., Analysis]) -> None:
    found = row(analysed(), "get").at_rate
    assert found is not None
    assert (found.verdict, found.response_ns, [one.kind for one in found.reasons]) == (
        "missing", None, ["at_rate.no_time"]
    )  # fmt: skip
    assert found.rate_per_s is not None


def test_a_row_without_a_trial_that_counts_has_no_rate(study: Study, analysed: Callable[..., Analysis]) -> None:
    others = tuple(trial for trial in study.trials() if trial.condition["operation"] == "get")
    found = row(analysed(trials=others), "set").at_rate
    assert found is not None
    assert (found.verdict, found.rate_per_s, [one.kind for one in found.reasons]) == (
        "missing", None, ["at_rate.no_capacity"]
    )  # fmt: skip


def test_one_that_fails_a_check_has_no_figures(study: Study, analysed: Callable[..., Analysis]) -> None:
    failed = judge_trial(with_facts(at_rate(study, "set"), failure="the server went away"))
    found = row(analysed(failed), "set").at_rate
    assert found is not None
    assert (found.verdict, found.response_ns, found.rate_per_s) == ("invalid", None, 500)
    assert found.reasons


def test_a_folder_of_before_has_none(study: Study) -> None:
    found = row(analyse_run(study.run(Path("runs/x"))), "set")
    assert found.at_rate is None
    assert found.saturated


def test_what_others_took_bounds_no_rate_that_was_set(study: Study) -> None:
    names = {check.name for check in at_rate(study, "set").checks}
    assert not {"taken", "gain"} & names
    assert {"schedule_sent", "schedule_lag", "dropped_arrivals"} <= names


def test_lateness_bounds_the_figures_or_doubts_them_and_refuses_none(
    study: Study, analysed: Callable[..., Analysis]
) -> None:
    plain = at_rate(study, "set")
    response = plain.response_ns
    assert response.p50 is not None
    half = response.model_copy(update={"p50": response.p50 // 2})
    found = row(analysed(at_rate(study, "set", least_ns=half)), "set").at_rate
    assert found is not None
    assert found.response_ns == response
    assert found.least_ns == half
    assert (found.verdict, found.latencies_doubted) == ("suspect", False), "the bound says it"
    lag_ns = written(plain)["drive"]["schedule_lag_ns"] | {"count": 100, "p50": response.p50, "p99": response.p50}
    unbounded = judge_trial(with_drive(plain, schedule_lag_ns=lag_ns))
    found = row(analysed(unbounded), "set").at_rate
    assert found is not None
    assert found.response_ns == response
    assert (found.verdict, found.latencies_doubted) == ("suspect", True)
