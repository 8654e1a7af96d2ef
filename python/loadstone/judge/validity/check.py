"""What a check is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.limits import Limit
from loadstone.message import Message
from loadstone.record.trial import CheckResult

Concern = Literal["all", "rate", "latency"]
"""Which figures a check is about: a failed one about the rate bounds the rate and never refuses it."""


@dataclass(frozen=True)
class Check:
    """One validity rule. `explanation`: what it asks, for a person who has read no statistics."""

    function: Callable[[TrialEvidence], CheckResult | None]
    limit: Limit | None
    explanation: Message
    less_is_worse: bool = False
    """Whether the smaller figure is the worse one."""
    information: bool = False
    """Whether it is never held against a trial."""
    about: Concern = "all"

    @property
    def name(self) -> str:
        return self.function.__name__
