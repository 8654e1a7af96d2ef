"""Words and figures in English: plurals, lists, what metrics are called, intervals, bounds, why a row has none."""

from collections.abc import Callable, Mapping, Sequence

from loadstone.figures import digits, duration, rounded
from loadstone.percents import up_to

_RATES = {
    "goodput_per_s": "correct replies a second",
    "throughput_per_s": "operations a second",
    "peak_per_s": "operations in the best second",
    "units_per_s": "keys (or other units) a second",
}
_LATENCIES = {"response_ns": "response time", "service_ns": "service time", "pool_wait_ns": "pool wait"}
_QUANTILES = {"mean": "mean", "p50": "P50", "p90": "P90", "p95": "P95", "p99": "P99", "p999": "P99.9", "max": "longest"}
_SEVERAL = {"slice": "slices", "second": "seconds", "part": "parts of the trials", "trial": "trials"}


def _one_unit(quantile: str, unit: str, units: int, share: float, without_ns: float) -> str:
    name = _QUANTILES[quantile]
    return (
        f"{name}: one of {units} {_SEVERAL[unit]} holds {100 * share:.0f} % of the replies beyond it: a stall, not the "
        f"condition; without it {name} is {duration(without_ns)}."
    )


def _apart(quantile: str, unit: str, units: int, most: int, low_ns: float, high_ns: float | None) -> str:
    ends = f"from {duration(low_ns)} to {duration(high_ns)}" if high_ns is not None else f"from {duration(low_ns)} on"
    return (
        f"{_QUANTILES[quantile]}: its interval reaches {ends}, since {most} of {units} {_SEVERAL[unit]} hold nine "
        "tenths of the replies beyond it: measure for longer."
    )


def _neighbour(quantile: str, times: float, neighbour: str) -> str:
    return f"{_QUANTILES[quantile]} is {times:.0f} times that of {neighbour}, and no interval says whether it repeats."


QUANTILES: dict[str, str | Callable[..., str]] = {
    "quantile_apart": _apart,
    "quantile_failed": "its rank falls among the operations that failed",
    "quantile_interval_needs": lambda needed, units, unit: (
        f"an interval needs {needed} {_SEVERAL[unit]}, and there {'is' if units == 1 else 'are'} {units}"
    ),
    "quantile_needs": lambda quantile, needed, operations: (
        f"{_QUANTILES[quantile]} needs {needed:,} operations, {operations:,} were measured"
    ),
    "quantile_neighbour": _neighbour,
    "quantile_one_unit": _one_unit,
    "quantile_users_waited": (
        "some users waited all through the measure phase for operations that had begun before it; the mean is that of "
        "all users, by Little's law"
    ),
}


def several(number: int, noun: str, plural: str = "") -> str:
    """`1 trial`, `2 trials`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, or `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def capitalised(sentence: str) -> str:
    """With a capital letter at its beginning."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


def whole_percent(share: float) -> str:
    """A share: `98 %`."""
    return f"{100 * share:.0f} %"


def figure(value: float) -> str:
    """A rate or a number of users: three digits, whole from 100 on."""
    return f"{value:,.0f}" if value >= 100 else digits(value)


def interval(figures: Sequence[float]) -> str:
    """`1,240 [1,190, 1,300]`."""
    value, low, high = map(figure, figures)
    return f"{value} [{low}, {high}]"


def is_rate(metric: str) -> bool:
    """Whether it counts something a second."""
    return metric in _RATES


_PART_NAMES = {"generator": "client", "store": "the store", "application": "the application"}
"""A generator has a cost where it is the program of a client library; the others stand for parts of two names."""


def part_text(part: str) -> str:
    """What a part of a cost is called."""
    return _PART_NAMES.get(part, part)


def cost_figure(ns: float) -> str:
    """CPU a request with two digits: `7.9 µs`, `94 µs`, `1.2 ms`."""
    for size, unit in ((1e6, "ms"), (1e3, "µs")):
        if ns >= 0.9995 * size:
            return f"{ns / size:.1f} {unit}" if ns / size < 9.95 else f"{ns / size:,.0f} {unit}"
    return f"{ns:.0f} ns"


def metric_text(metric: str) -> str:
    """What the figure counts: `correct replies a second`, `P99 of the response time`."""
    if metric in _RATES:
        return _RATES[metric]
    kind, _, quantile = metric.partition(".")
    if kind == "cpu_ns":
        return f"CPU a request of {part_text(quantile)}" if quantile else "CPU a request"
    return f"{_QUANTILES.get(quantile, quantile)} of the {_LATENCIES.get(kind, kind)}"


def metric_short(metric: str) -> str:
    """The same of a latency where there is little room: `P99`, `P99 of the service time`."""
    return metric_text(metric).removesuffix(" of the response time")


def figure_text(value: float, metric: str) -> str:
    """A figure for people, three digits: `18,400`, `1.20 ms`."""
    return rounded(value) if is_rate(metric) else duration(value)


def _figure(
    metric: str,
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    bound_share: float = 0.0,
    unbounded: bool = False,
) -> str:
    """`18,400 [17,900, 18,900] (up to +4 %)`: an interval and a bound only where there are."""
    if value is None:
        return "none"
    ends = "" if low is None or high is None else f" [{figure_text(low, metric)}, {figure_text(high, metric)}]"
    at_most = up_to(bound_share)
    bound = " (no upper bound)" if unbounded else f" (up to {at_most})" if at_most else ""
    return f"{figure_text(value, metric)}{ends}{bound}"


def _sentences(parts: Sequence[str]) -> str:
    return " ".join(parts)


FIGURES: dict[str, str | Callable[..., str]] = {"figure": _figure, "sentences": _sentences}


def _other_speed(cpu: str, slower: float) -> str:
    kind = "slower" if slower > 0 else "faster"
    return f"While it was measured {cpu} was {abs(slower):.0%} {kind} than usual in this run."


def _misses(labels: Sequence[str], percent: float, not_loaded: bool) -> str:
    remedy = " (nothing was loaded: add workload.load)" if not_loaded and percent >= 99.5 else ""
    if not_loaded and not remedy:
        remedy = " (not all keys were stored before: add workload.load)"
    return f"{percent:.3g} % of the reads of {listed(labels)} missed{remedy}."


ROWS: Mapping[str, str | Callable[..., str]] = {
    "at_rate.no_capacity": "No trial at full speed is valid, so the rate is not known.",
    "at_rate.no_time": "The budget ended before it.",
    "meaning.appends": (
        "Server {servers:list} goes on writing its append-only file after it answered: a part of that falls into the "
        "other's slices, so the true difference is probably larger than measured."
    ),
    "meaning.misses": _misses,
    "row.apart": "Its {trials} trials lie {share:.0%} apart, and are too few for an interval.",
    "row.not_merged": "The latencies cannot be merged: {error}.",
    "row.other_speed": _other_speed,
    "row.rises_within": "The rate rises by {share:.0%} within its trials: they were not warm yet.",
    "row.rose_over": "The rate rose by {share:.0%} from its first trials to its last.",
}
