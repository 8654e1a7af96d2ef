"""Words and figures in English: plurals, lists, what metrics are called, intervals, bounds, why a row has none."""

from collections.abc import Callable, Mapping, Sequence

from loadstone.text.figures import bound_suffix, digits, duration, rounded
from loadstone.text.language import _, plural, sentence_case, translatable, translated

_RATES = {
    "goodput_per_s": translatable("correct replies a second"),
    "throughput_per_s": translatable("operations a second"),
    "peak_per_s": translatable("operations in the best second"),
    "units_per_s": translatable("keys (or other units) a second"),
}
_LATENCIES = {
    "response_ns": translatable("response time"),
    "service_ns": translatable("service time"),
    "pool_wait_ns": translatable("pool wait"),
}
_QUANTILES = {
    **{"p50": "P50", "p90": "P90", "p95": "P95", "p99": "P99", "p999": "P99.9"},
    "mean": translatable("mean"),
    "max": translatable("longest"),
}
_SEVERAL = {
    "slice": translatable("slices"),
    "second": translatable("seconds"),
    "part": translatable("parts of the trials"),
    "trial": translatable("trials"),
}


def _one_unit(quantile: str, unit: str, units: int, share: float, without_ns: float) -> str:
    name = translated(_QUANTILES[quantile])
    return _(
        "{name}: one of {units} {several} holds {share:.0f} % of the replies beyond it: a stall, "
        "not the condition; without it {name} is {without_ns}.",
        name=name,
        units=units,
        several=translated(_SEVERAL[unit]),
        share=100 * share,
        without_ns=duration(without_ns),
    )


def _apart(quantile: str, unit: str, units: int, most: int, low_ns: float, high_ns: float | None) -> str:
    ends = (
        _("from {low_ns} to {high_ns}", low_ns=duration(low_ns), high_ns=duration(high_ns))
        if high_ns is not None
        else _("from {low_ns} on", low_ns=duration(low_ns))
    )
    return _(
        "{quantiles}: its interval reaches {ends}, since {most} of {units} {several} hold nine "
        "tenths of the replies beyond it: measure for longer.",
        quantiles=translated(_QUANTILES[quantile]),
        ends=ends,
        most=most,
        units=units,
        several=translated(_SEVERAL[unit]),
    )


def _stalls(
    quantile: str, unit: str, stalled: int, units: int, low: float, high: float, longest_ns: float, all_ns: float
) -> str:
    return _(
        "{name}: {stalled} of {units} {several} held a stall ({low} to {high} %), the longest {longest_ns}; the figure "
        "is of the others, and {all_ns} over all.",
        name=translated(_QUANTILES[quantile]),
        stalled=stalled,
        units=units,
        several=translated(_SEVERAL[unit]),
        low=_percent(low),
        high=_percent(high),
        longest_ns=duration(longest_ns),
        all_ns=duration(all_ns),
    )


def _percent(share: float) -> str:
    """A share in per cent as a number: `0.4`, `12`."""
    return f"{100 * share:.1f}" if share < 0.01 else f"{100 * share:.0f}"


def _neighbour(quantile: str, times: float, neighbour: str) -> str:
    return _(
        "{quantiles} is {times:.0f} times that of {neighbour}, and no interval says whether it repeats.",
        quantiles=translated(_QUANTILES[quantile]),
        times=times,
        neighbour=neighbour,
    )


QUANTILES: dict[str, str | Callable[..., str]] = {
    "quantile_apart": _apart,
    "quantile_failed": "its rank falls among the operations that failed",
    "quantile_interval_needs": lambda needed, units, unit: plural(
        units,
        "an interval needs {needed} {units}, and there is {n}",
        "an interval needs {needed} {units}, and there are {n}",
        needed=needed,
        units=translated(_SEVERAL[unit]),
    ),
    "quantile_needs": lambda quantile, needed, operations: _(
        "{quantiles} needs {needed:,} operations, {operations:,} were measured",
        quantiles=translated(_QUANTILES[quantile]),
        needed=needed,
        operations=operations,
    ),
    "quantile_neighbour": _neighbour,
    "quantile_one_unit": _one_unit,
    "quantile_stalls": _stalls,
    "quantile_users_waited": (
        "some users waited all through the measure phase for operations that had begun before it; the mean is that of "
        "all users, by Little's law"
    ),
}


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, or `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return _("{first} and {last}", first=", ".join(parts[:-1]), last=parts[-1])


def capitalised(sentence: str) -> str:
    """With a capital letter at its beginning."""
    return sentence_case(sentence)


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


_PART_NAMES = {
    "generator": translatable("client"),
    "store": translatable("the store"),
    "application": translatable("the application"),
}
"""A generator has a cost where it is the program of a client library; the others stand for parts of two names."""


def part_text(part: str) -> str:
    """What a part of a cost is called."""
    return translated(_PART_NAMES[part]) if part in _PART_NAMES else part


def parts_text(name: str) -> str:
    """What one part is called, or several that share CPUs: `redis + spring`, `the generator` by its name in reports."""
    return " + ".join(translated("generator") if one == "generator" else one for one in name.split(" + "))


def cost_figure(ns: float) -> str:
    """CPU per request with two digits: `7.9 µs`, `94 µs`, `1.2 ms`."""
    for size, unit in ((1e6, "ms"), (1e3, "µs")):
        if ns >= 0.9995 * size:
            return f"{ns / size:.1f} {unit}" if ns / size < 9.95 else f"{ns / size:,.0f} {unit}"
    return f"{ns:.0f} ns"


def metric_text(metric: str, *, short: bool = False) -> str:
    """What the figure counts: `correct replies a second`, `P99 of the response time`; `short`: the latter as `P99`."""
    if metric in _RATES:
        return translated(_RATES[metric])
    kind, _dot, quantile = metric.partition(".")
    if kind == "cpu_ns":
        return _("CPU per request of {part}", part=part_text(quantile)) if quantile else _("CPU per request")
    name = translated(_QUANTILES.get(quantile, quantile))
    if short and kind == "response_ns":
        return name
    return _("{quantile} of the {latency}", quantile=name, latency=translated(_LATENCIES.get(kind, kind)))


def metric_short(metric: str) -> str:
    """Return the name of a latency where there is little room: `P99`, `P99 of the service time`."""
    return metric_text(metric, short=True)


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
        return _("none")
    ends = "" if low is None or high is None else f" [{figure_text(low, metric)}, {figure_text(high, metric)}]"
    at_most = bound_suffix(bound_share)
    bound = _(" (no upper bound)") if unbounded else _(" (up to {at_most})", at_most=at_most) if at_most else ""
    return f"{figure_text(value, metric)}{ends}{bound}"


def _sentences(parts: Sequence[str]) -> str:
    return " ".join(parts)


FIGURES: dict[str, str | Callable[..., str]] = {"figure": _figure, "sentences": _sentences}


def _other_speed(cpu: str, slower: float) -> str:
    if slower > 0:
        return _("While it was measured {cpu} was {share:.0%} slower than usual in this run.", cpu=cpu, share=slower)
    return _("While it was measured {cpu} was {share:.0%} faster than usual in this run.", cpu=cpu, share=abs(slower))


def _misses(labels: Sequence[str], percent: float, not_loaded: bool) -> str:
    remedy = _(" (nothing was loaded: add workload.load)") if not_loaded and percent >= 99.5 else ""
    if not_loaded and not remedy:
        remedy = _(" (not all keys were stored before: add workload.load)")
    return _(
        "{percent:.3g} % of the reads of {labels} missed{remedy}.",
        percent=percent,
        labels=listed(labels),
        remedy=remedy,
    )


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


def blocks_text(blocks: int, unit: str = "block", *, always_many: bool = False) -> str:
    """`1 block`, `8 blocks`, `32 rounds`."""
    if always_many:
        return _("{n} rounds", n=blocks) if unit == "round" else _("{n} blocks", n=blocks)
    if unit == "round":
        return plural(blocks, "{n} round", "{n} rounds")
    return plural(blocks, "{n} block", "{n} blocks")


def units_text(unit: str) -> str:
    """`blocks`, `rounds`."""
    return _("rounds") if unit == "round" else _("blocks")
