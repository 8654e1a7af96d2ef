"""Rows of which some users waited all through the measure phase: their rate stands, and of their latency the mean.

A pool that is not fair gives a connection to who comes while others wait, and an application may answer some of its
connections alone. What the others' operations took is in no histogram then; how long all of them waited on average
follows from the rate by Little's law.
"""

from collections.abc import Sequence

from loadstone.judge.validity.bounds import TAKEN_AT_RATE
from loadstone.judge.validity.load import little
from loadstone.judge.validity.time import schedule_lag
from loadstone.message import Message, message
from loadstone.record.histogram import PER_MILLE
from loadstone.record.trial import CheckResult, Quantiles, TrialRecord

_BEGUN_EARLIER = "check.little.begun_earlier"


def is_of_latency(check: CheckResult) -> bool:
    """Whether it doubts the latencies alone, and not the rate: users are missing from them, or requests left late."""
    return check.name == schedule_lag.name or is_disturbed(check) or _is_of_waiting(check)


def is_disturbed(check: CheckResult) -> bool:
    """Whether others had CPU time while a rate that was set was held."""
    return check.reason is not None and check.reason.kind == TAKEN_AT_RATE


def _is_of_waiting(check: CheckResult) -> bool:
    return check.name == little.name and check.reason is not None and check.reason.kind == _BEGUN_EARLIER


def is_bounded(check: CheckResult, least: Quantiles | None) -> bool:
    """Whether what a check doubts is what the latencies' own bound says."""
    return check.name == schedule_lag.name and least is not None


def some_waited(trials: Sequence[TrialRecord]) -> bool:
    """Whether any of the trials has users whose operations ended in none of its histograms."""
    return any(check.verdict == "suspect" and _is_of_waiting(check) for trial in trials for check in trial.checks)


def time_of_all_users(trials: Sequence[TrialRecord]) -> Quantiles:
    """The mean response time in ns by Little's law, N / X less the think time; no quantile."""
    closed = [(model, trial) for trial in trials if (model := trial.facts.closed) is not None]  # no other has users
    users_s = sum(model.users * trial.duration_s for model, trial in closed)
    ended = sum(trial.throughput_per_s * trial.duration_s for _, trial in closed)
    mean_s = users_s / ended - closed[0][0].think_time_ms / 1e3 if ended else None
    return Quantiles(min=None, mean=None if mean_s is None else 1e9 * mean_s, max=None, **dict.fromkeys(PER_MILLE))


def no_quantiles() -> dict[str, Message]:
    """The reason for which such a row has none, by quantile."""
    return {name: message("quantile_users_waited") for name in PER_MILLE}
