"""Latencies of several trials together, and which of their quantiles say something."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.errors import DriveFailed
from loadstone.message import Message, message
from loadstone.record.histogram import PER_MILLE, SAMPLES_BEYOND, measurable
from loadstone.record.reading import Run
from loadstone.record.trial import Quantiles, TrialRecord


def saturates(trials: Sequence[TrialRecord]) -> bool:
    """Whether their load was a closed model without think time: latency is users / throughput then."""
    models = [trial.facts.closed for trial in trials]
    return bool(models) and all(one is not None and not one.think_time_ms for one in models)


def has_a_rate(trials: Sequence[TrialRecord]) -> bool:
    """Whether their load came at a rate that was set, the open model."""
    return bool(trials) and all(trial.facts.open is not None for trial in trials)


@dataclass(frozen=True)
class Latencies:
    """Of all trials together."""

    response: Quantiles | None
    service: Quantiles | None
    least: Quantiles | None
    """The response time without what the driver itself may have added; None where that was not measured."""
    unread: list[Message]
    """Why there are none."""


def merged_latencies(run: Run, trials: list[TrialRecord]) -> Latencies:
    """The latencies of all trials together, from their merged histograms."""
    if len(trials) == 1:
        return Latencies(trials[0].response_ns, trials[0].service_ns, trials[0].least_ns, [])
    try:
        return Latencies(run.response_ns(trials), run.service_ns(trials), run.least_ns(trials), [])
    except DriveFailed as error:
        return Latencies(None, None, None, [message("row.not_merged", error=str(error))])


def unmeasurable(response: Quantiles | None, trials: Sequence[TrialRecord]) -> dict[str, Message]:
    """Quantiles that the data do not support, each with the reason."""
    operations = sum(trial.counts.offered for trial in trials)
    reasons: dict[str, Message] = {}
    for name, per_mille in PER_MILLE.items():
        if response is None or getattr(response, name) is not None:
            continue
        if measurable(per_mille, operations):
            reasons[name] = message("quantile_failed")
        else:
            needed = SAMPLES_BEYOND * 1000 // (1000 - per_mille)
            reasons[name] = message("quantile_needs", quantile=name, needed=needed, operations=operations)
    return reasons
