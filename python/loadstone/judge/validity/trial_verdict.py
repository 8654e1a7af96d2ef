"""Judging one trial: every check that applies, and the verdict."""

from collections.abc import Iterable

from loadstone.judge.validity.check import Judged
from loadstone.judge.validity.checks import CHECKS
from loadstone.judge.validity.evidence import TrialEvidence, evidence_of
from loadstone.judge.validity.load import finished
from loadstone.message import Message, message
from loadstone.record.trial import CheckResult, CheckVerdict, TrialRecord, TrialVerdict


def judge_trial(trial: TrialRecord) -> TrialRecord:
    """The trial with its checks and its verdict, made from the facts in its record alone."""
    checks = run_checks(trial, evidence_of(trial))
    return trial.model_copy(update={"checks": checks, "verdict": verdict_of(checks)})


def run_checks(trial: TrialRecord, evidence: TrialEvidence | None) -> list[CheckResult]:
    """The result of each check that applies to the trial."""
    if trial.facts.plan is None:
        return [_not_finished(message("check.finished.no_facts"), "unknown")]
    if evidence is None:
        why = trial.facts.failure
        reason = message("check.finished.not_driven", why=why) if why else message("check.finished.never_driven")
        return [_not_finished(reason, "invalid")]
    results = (check(evidence) for check in CHECKS)
    return [result for result in results if result is not None]


def verdict_of(checks: Iterable[CheckResult]) -> TrialVerdict:
    """Invalid if any check is, else suspect if any is, else valid. What is unknown does not spoil a trial.

    A trial of which nothing at all is known is suspect.
    """
    verdicts = {check.verdict for check in checks}
    if "invalid" in verdicts:
        return "invalid"
    return "suspect" if "suspect" in verdicts or "valid" not in verdicts else "valid"


def _not_finished(reason: Message, verdict: CheckVerdict) -> CheckResult:
    return finished.result(Judged(verdict, None, None, reason))
