"""Rows of which some users waited all through the measure phase: the rate stands, and of the latencies the mean."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.analysis.analysis import Row
from loadstone.judge.analysis.tables import make_tables
from loadstone.judge.checks.checks import judge_trial
from loadstone.run_folder.reading import RecordedRun, read_run
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message

LABEL = "set, 100 B, 32 workers"


@pytest.fixture(scope="module")
def run(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    return read_run(synthetic.write_run(tmp_path_factory.mktemp("runs"), synthetic.make_run_plan(blocks=2)))


@pytest.fixture(scope="module")
def injectors(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    return load_module(Path(__file__).parents[2] / "judge" / "checks" / "injectors.py")


def row_of(run: RecordedRun, *changes: Callable[[dict[str, Any]], Any]) -> Row:
    lines = [trial.model_dump(mode="json") for trial in run.trials]
    for line in (line for line in lines if line["condition"]["operation"] == "set"):
        for change in changes:
            change(line)
    judged = [judge_trial(TrialRecord.model_validate(line)) for line in lines]
    return next(row for table in make_tables(run, judged) for row in table.rows if row.label == LABEL)


def test_who_waited_is_missing_from_the_quantiles_and_not_from_the_rate(
    run: RecordedRun, injectors: ModuleType
) -> None:
    usual = row_of(run)

    def goes_on(line: dict[str, Any]) -> None:
        users_s = line["facts"]["plan"]["model"]["users"] * line["facts"]["drive"]["measure_s"]
        injectors.operation(line)["earlier_ns"] = int(0.5 * users_s * 1e9)

    row = row_of(run, injectors.little_of(0.5), goes_on)
    assert (row.verdict, row.goodput_per_s) == ("valid", usual.goodput_per_s)
    assert row.response_ns is not None
    assert row.throughput_per_s is not None
    assert row.response_ns.mean == pytest.approx(32 / row.throughput_per_s * 1e9), "N / X"
    assert (row.response_ns.p50, row.response_ns.p99, row.pool_wait_ns) == (None, None, None)
    assert "some users waited" in render_message(row.unmeasurable["p99"])
    assert "the rate stands" in render_message(row.reasons[0])


def test_users_who_did_nothing_refuse_the_row(run: RecordedRun, injectors: ModuleType) -> None:
    assert row_of(run, injectors.little_of(0.5)).verdict == "invalid"
    assert row_of(run, injectors.little_of(0.9)).verdict == "suspect", "those who are missing are no one's"
