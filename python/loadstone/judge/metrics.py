"""The metrics that an experiment may name, as figures of a row or a trial."""

from typing import Protocol

from loadstone.drivers.histogram import PER_MILLE
from loadstone.drivers.outcome import Quantiles
from loadstone.experiment.spec.experiment import COST, LATENCIES, QUANTILES, RATES
from loadstone.run_folder.latency_logs import LatencyKind
from loadstone.safety.errors import UserError

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

    What a request costs a part (`cpu_ns.redis`) is a figure of rows alone.

    Raises:
        UserError: there is no such metric.
    """
    if metric in RATES:
        value: float | None = getattr(row, metric)
        return value
    if metric.startswith(COST):
        of = getattr(row, "cost_of", None)
        cost = None if of is None else of(metric.removeprefix(COST))
        return None if cost is None else float(cost.ns)
    kind, _, quantile = metric.partition(".")
    if kind not in LATENCIES or quantile not in QUANTILES:
        known = ", ".join([*RATES, *(f"{name}.p99" for name in LATENCIES)])
        raise UserError("metric '{metric}': there is no such metric; use one of {known}", metric=metric, known=known)
    latency = getattr(row, kind)
    return None if latency is None else getattr(latency, quantile)


def is_rate(metric: str) -> bool:
    """Whether the metric is a rate, and not read off a latency."""
    return metric in RATES


def tail_of(metric: str) -> tuple[LatencyKind, int] | None:
    """The kind of latency and the quantile (in thousandths) of a metric that is read off merged histograms.

    Those are the quantiles beyond the median; None for every other metric.
    """
    quantile = quantile_of(metric)
    return quantile if quantile is not None and quantile[1] > PER_MILLE["p50"] else None


def quantile_of(metric: str) -> tuple[LatencyKind, int] | None:
    """As `tail_of`, of the median and every other quantile."""
    kind, _, quantile = metric.partition(".")
    return (_LOGGED[kind], PER_MILLE[quantile]) if kind in _LOGGED and quantile in PER_MILLE else None


def less_is_better(metric: str) -> bool:
    """Whether the smaller figure is the better one."""
    return metric not in RATES
