"""What a check is: a question about one trial, its limit, and how an answer becomes a result.

A check returns what it measured, that it could not be observed, or a verdict of its own. Its name, its limit and
its unit stand in its declaration alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from loadstone.judge.checks.evidence import TrialEvidence
from loadstone.run_folder.trial import CheckResult, CheckVerdict
from loadstone.text.message import Message, message

Concern = Literal["all", "rate", "latency"]
"""Which figures a check is about: a failed one about the rate bounds the rate and never refuses it."""


@dataclass(frozen=True)
class Limit:
    """Where a check's figure stops being valid, and where it becomes invalid: both are upper limits, in `unit`."""

    valid: float
    invalid: float
    unit: str
    source: str
    """Where it comes from (S: simulation, J: judgement, X: exact by definition) and why; `docs/checks.md` prints it."""
    beyond: str = ""
    """What a figure past `valid` is, where it is neither suspect nor invalid."""

    def verdict(self, measured: float) -> CheckVerdict:
        """Valid up to `valid`, suspect up to `invalid`, else invalid."""
        if measured > self.invalid:
            return "invalid"
        return "suspect" if measured > self.valid else "valid"


@dataclass(frozen=True)
class MeasuredFigure:
    """A figure; the limit gives the verdict."""

    figure: float
    reason: Message | None = None
    """Why it is past the limit; not shown where it is valid."""
    limit: Limit | None = None
    """Another limit than the declared one, in a unit of its own."""


@dataclass(frozen=True)
class NotObserved:
    """It could not be observed: never valid, and not held against the trial."""

    why: Message
    measured: float | None = None


@dataclass(frozen=True)
class DirectVerdict:
    """A verdict that does not follow from the limit."""

    verdict: CheckVerdict
    measured: float | None
    limit: float | None
    """What is shown as the limit."""
    reason: Message | None = None
    unit: str | None = None
    """None: that of the declared limit."""


Finding = MeasuredFigure | NotObserved | DirectVerdict
Function = Callable[[TrialEvidence], Finding | None]
"""None: its question does not arise (a schedule in the closed model)."""


@dataclass(frozen=True)
class Check:
    """A validity rule: a function with what is declared of it. Calling it gives the function's finding as a result."""

    function: Function
    limit: Limit | None
    """None: of a question that is answered by yes or no."""
    less_is_worse: bool = False
    """Whether the smaller figure is the worse one."""
    information: bool = False
    """Whether it is never held against a trial."""
    about: Concern = "all"

    def __call__(self, evidence: TrialEvidence) -> CheckResult | None:
        finding = self.function(evidence)
        return None if finding is None else self.result(finding)

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def explanation(self) -> Message:
        """What it asks, for a person who has read no statistics."""
        return message(f"check.{self.name}")

    def result(self, finding: Finding) -> CheckResult:
        """The finding under the check's name, beside the limit that it crossed or kept to."""
        unit = "" if self.limit is None else self.limit.unit
        match finding:
            case MeasuredFigure():
                return self._held(finding, finding.limit or self.limit)
            case NotObserved():
                valid = None if self.limit is None else self.limit.valid
                return self._result("unknown", finding.measured, valid, unit, finding.why)
            case DirectVerdict(verdict, measured, limit, reason):
                return self._result(verdict, measured, limit, unit if finding.unit is None else finding.unit, reason)

    def _held(self, finding: MeasuredFigure, limit: Limit | None) -> CheckResult:
        if limit is None:
            raise ValueError(f"{self.name}: a figure without a limit has no verdict")
        verdict = limit.verdict(finding.figure)
        crossed = limit.invalid if verdict == "invalid" else limit.valid
        reason = None if verdict == "valid" else finding.reason
        return self._result("valid" if self.information else verdict, finding.figure, crossed, limit.unit, reason)

    def _result(
        self, verdict: CheckVerdict, measured: float | None, limit: float | None, unit: str, reason: Message | None
    ) -> CheckResult:
        figure = None if measured is None else round(measured, 6)
        return CheckResult(name=self.name, verdict=verdict, measured=figure, limit=limit, unit=unit, reason=reason)


def check(
    limit: Limit | None,
    *,
    less_is_worse: bool = False,
    information: bool = False,
    about: Concern = "all",
) -> Callable[[Function], Check]:
    """Declares a function as a check; see the fields of `Check`."""

    def declared(function: Function) -> Check:
        return Check(function, limit, less_is_worse, information, about)

    return declared


def share(part: float, whole: float) -> float:
    """`part` in per cent of `whole`; 0 of nothing is 0."""
    return 100 * part / whole if whole else 0.0
