"""What a check is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.limits import Limit
from loadstone.message import Message, message
from loadstone.record.trial import CheckResult

Concern = Literal["all", "rate", "latency"]
"""Which figures a check is about: a failed one about the rate bounds the rate and never refuses it."""


Function = Callable[[TrialEvidence], CheckResult | None]


@dataclass(frozen=True)
class Check:
    """One validity rule: a function with all that is known of it. Called, it is the function."""

    function: Function
    limit: Limit | None
    less_is_worse: bool = False
    """Whether the smaller figure is the worse one."""
    information: bool = False
    """Whether it is never held against a trial."""
    about: Concern = "all"
    formerly: tuple[str, ...] = ()
    """Names of checks of earlier versions whose question it answers now: experiments of old folders have them."""

    def __call__(self, evidence: TrialEvidence) -> CheckResult | None:
        return self.function(evidence)

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def explanation(self) -> Message:
        """What it asks, for a person who has read no statistics."""
        return message(f"check.{self.name}")


def check(
    limit: Limit | None,
    *,
    less_is_worse: bool = False,
    information: bool = False,
    about: Concern = "all",
    formerly: tuple[str, ...] = (),
) -> Callable[[Function], Check]:
    """Declares a function as a check; see the fields of `Check`."""

    def declared(function: Function) -> Check:
        return Check(function, limit, less_is_worse, information, about, formerly)

    return declared
