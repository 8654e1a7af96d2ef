"""What the metrics of an experiment are called, and their figures."""

from loadstone.figures import duration, rounded

_RATES = {
    "goodput_per_s": "correct replies a second",
    "throughput_per_s": "operations a second",
    "peak_per_s": "operations in the best second",
    "units_per_s": "keys (or other units) a second",
}
_LATENCIES = {"response_ns": "response time", "service_ns": "service time", "pool_wait_ns": "pool wait"}
_QUANTILES = {"mean": "mean", "p50": "P50", "p90": "P90", "p95": "P95", "p99": "P99", "p999": "P99.9", "max": "longest"}


def is_rate(metric: str) -> bool:
    """Whether it counts something a second."""
    return metric in _RATES


def metric_text(metric: str) -> str:
    """What the figure counts: `correct replies a second`, `P99 of the response time`."""
    if metric in _RATES:
        return _RATES[metric]
    kind, _, quantile = metric.partition(".")
    return f"{_QUANTILES.get(quantile, quantile)} of the {_LATENCIES.get(kind, kind)}"


def figure_text(value: float, metric: str) -> str:
    """A figure for people, three digits: `18,400`, `1.20 ms`."""
    return rounded(value) if is_rate(metric) else duration(value)
