"""The metrics that an experiment may name, as figures of a row or a trial and in words."""

from typing import Protocol

from loadstone.errors import UserError
from loadstone.figures import duration, rounded
from loadstone.record.histogram import PER_MILLE
from loadstone.record.reading import LatencyKind
from loadstone.record.trial import Quantiles

_RATES = {
    "goodput_per_s": "correct replies a second",
    "throughput_per_s": "operations a second",
    "peak_per_s": "operations in the best second",
}
_LATENCIES = {"response_ns": "response time", "service_ns": "service time", "pool_wait_ns": "pool wait"}
_QUANTILES = {"mean": "mean", "p50": "P50", "p90": "P90", "p95": "P95", "p99": "P99", "p999": "P99.9", "max": "longest"}


_LOGGED: dict[str, LatencyKind] = {"response_ns": "response", "service_ns": "service"}
"""The latencies of which a trial's log holds every value."""


class HasFigures(Protocol):
    """A trial, or a row of a table."""

    @property
    def goodput_per_s(self) -> float | None: ...
    @property
    def response_ns(self) -> Quantiles | None: ...


def figure(row: HasFigures, metric: str) -> float | None:
    """The figure of a row or a trial, e.g. of `goodput_per_s` or `response_ns.p99`; None where it has none.

    Raises:
        UserError: there is no such metric.
    """
    if metric in _RATES:
        value: float | None = getattr(row, metric)
        return value
    kind, _, quantile = metric.partition(".")
    if kind not in _LATENCIES or quantile not in _QUANTILES:
        known = ", ".join([*_RATES, *(f"{name}.p99" for name in _LATENCIES)])
        raise UserError(f"metric '{metric}': there is no such metric; take one of {known}")
    latency = getattr(row, kind)
    return None if latency is None else getattr(latency, quantile)


def is_rate(metric: str) -> bool:
    """Whether the metric is a rate, and not read off a latency."""
    return metric in _RATES


def tail_of(metric: str) -> tuple[LatencyKind, int] | None:
    """The kind of latency and the quantile (in thousandths) of a metric that is read off merged histograms.

    Those are the quantiles beyond the median; None for every other metric.
    """
    kind, _, quantile = metric.partition(".")
    if kind not in _LOGGED or PER_MILLE.get(quantile, 0) <= PER_MILLE["p50"]:
        return None
    return _LOGGED[kind], PER_MILLE[quantile]


def less_is_better(metric: str) -> bool:
    """Whether the smaller figure is the better one."""
    return metric not in _RATES


def metric_words(metric: str) -> str:
    """What the figure counts: `correct replies a second`, `P99 of the response time`."""
    if metric in _RATES:
        return _RATES[metric]
    kind, _, quantile = metric.partition(".")
    return f"{_QUANTILES.get(quantile, quantile)} of the {_LATENCIES.get(kind, kind)}"


def figure_words(value: float, metric: str) -> str:
    """A figure for people, three digits: `18,400`, `1.20 ms`."""
    return rounded(value) if metric in _RATES else duration(value)
