"""What the monitors of stores reported."""

from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.validity.trial_verdict import judge_trial
from loadstone.record.trial import TrialRecord
from loadstone.report.text.sentences import text


@pytest.mark.parametrize(("bytes_per_s", "verdict"), [(0.0, "valid"), (1.0, "suspect"), (5e9, "suspect")])
def test_temporary_files(clean: dict[str, Any], injectors: ModuleType, bytes_per_s: float, verdict: str) -> None:
    line = injectors.injected(clean, injectors.spills(bytes_per_s))
    trial = judge_trial(TrialRecord.model_validate(line))
    found = next(check for check in trial.checks if check.name == "temporary_files")
    assert (found.verdict, found.measured) == (verdict, bytes_per_s)
    assert verdict == "valid" or text(found.reason).startswith("db wrote ")


def test_temporary_files_are_not_asked_for_where_no_store_reports_them(clean: dict[str, Any]) -> None:
    trial = judge_trial(TrialRecord.model_validate(clean))
    assert "temporary_files" not in [check.name for check in trial.checks]
