"""Each check over all trials of a run."""

from collections import Counter
from collections.abc import Sequence

from loadstone.analyse.model import CheckSummary
from loadstone.judge.validity.check import Check
from loadstone.judge.validity.checks import CHECKS
from loadstone.record.trial import CheckResult, TrialRecord

_ORDER = {"invalid": 3, "suspect": 2, "valid": 1, "unknown": 0}


def summarise_checks(trials: Sequence[TrialRecord]) -> list[CheckSummary]:
    """How often each check passed, and where it was worst; without checks that applied to no trial."""
    return [summary for check in CHECKS if (summary := _summary(check, trials)) is not None]


def _summary(check: Check, trials: Sequence[TrialRecord]) -> CheckSummary | None:
    found = [(result, trial.trial) for trial in trials for result in trial.checks if result.name == check.name]
    if not found:
        return None
    verdicts = Counter(result.verdict for result, _ in found)
    worst, trial = max(found, key=lambda pair: _badness(check, pair[0]))
    return CheckSummary(
        name=check.name,
        explanation=check.explanation,
        valid=verdicts["valid"],
        suspect=verdicts["suspect"],
        invalid=verdicts["invalid"],
        unknown=verdicts["unknown"],
        worst=worst,
        worst_trial=trial,
    )


def _badness(check: Check, result: CheckResult) -> tuple[int, float]:
    measured = result.measured if result.measured is not None else 0.0
    return _ORDER[result.verdict], -measured if check.less_is_worse else measured
