"""The outcome of an ad-hoc load as lines: one a row as redis-benchmark's `-q` prints it, or its CSV."""

import csv
import io
from collections.abc import Iterator

from loadstone.judge.analysis.analysis import Analysis, AtRate, ResultTable, Row, own_ns, printed_ns
from loadstone.judge.verdict import UNBOUNDED, CpuCost
from loadstone.report import figure_format as fmt
from loadstone.report import verdicts
from loadstone.report.figure_quality import why_so_far
from loadstone.report.summary import ERRORS_FAILED
from loadstone.text.language import _
from loadstone.text.sentences import render_message

CSV_HEADER = (
    "test",
    "rps",
    "avg_latency_ms",
    "min_latency_ms",
    "p50_latency_ms",
    "p95_latency_ms",
    "p99_latency_ms",
    "max_latency_ms",
    "rps_low",
    "rps_high",
    "errors",
    "misses_percent",
    "verdict",
    "up_to_percent",
    "bounded_by",
    "p50_latency_low_ms",
    "p50_latency_high_ms",
    "p95_latency_low_ms",
    "p95_latency_high_ms",
    "p99_latency_low_ms",
    "p99_latency_high_ms",
    "latencies_unsettled",
    "p50_latency_ours_ms",
    "p95_latency_ours_ms",
    "p99_latency_ours_ms",
    "at_rate_rps",
    "at_rate_p50_latency_ms",
    "at_rate_p95_latency_ms",
    "at_rate_p99_latency_ms",
    "at_rate_p99_latency_ours_ms",
    "at_rate_verdict",
    "cpu_us",
    "cpu_low_us",
    "cpu_high_us",
    "stalls",
    "at_rate_stalls",
)
"""redis-benchmark's columns, and ours behind them."""
_HIT_RATE = "hit_rate"


def quiet_lines(analysis: Analysis) -> list[str]:
    """`get: 81234.00 requests per second [80100, 82400], p50=0.287 msec`; then a line a verdict."""
    rows = [_quiet(analysis, row) for table in analysis.tables for row in table.rows]
    return [*rows, *verdict_lines(analysis)]


def verdict_lines(analysis: Analysis) -> list[str]:
    """A line a comparison, and one for each part that a request costs less on one side; first that nothing was answered
    correctly, if so."""
    lines = [] if analysis.unanswered is None else [render_message(analysis.unanswered)]
    for pair in verdicts.all_comparisons(analysis):
        said = verdicts.by_latency(pair.primary) + verdicts.verdict_text(pair.primary, quick=False)
        same = [fmt.sentence(warning) for warning in pair.warnings if warning.kind == "one_process"]
        lines += [
            f"{verdicts.title(pair)}: {line}"
            for line in (said, *(cost for _, cost in verdicts.cost_lines(pair)), *same)
        ]
    return lines


def csv_text(analysis: Analysis) -> str:
    """A line a row; a figure that is not known is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    for table in analysis.tables:
        writer.writerows(_cells(analysis, row) for row in table.rows)
    return text.getvalue()


def further_lines(analysis: Analysis, table: ResultTable) -> Iterator[str]:
    """What table and errors do not say: reads that found no key, what a cluster sent on, which server got what."""
    for row in table.rows:
        misses = misses_percent(analysis, row)
        if misses:
            yield _(
                "reads of {label} that found no key (misses): {percent:.2f} %",
                label=fmt.plain(row.label),
                percent=misses,
            )
        yield from _deliveries(row)
        sent_on = ", ".join(f"{kind} {fmt.count(count)}" for kind, count in row.redirections.items() if count)
        if sent_on:
            yield _("redirections of {label}: {each}", label=fmt.plain(row.label), each=sent_on)
        yield from _endpoint_lines(row)
        for gap_s in row.failovers_s:
            if gap_s is None:
                yield _("failover of {label}: no server answered until the end", label=fmt.plain(row.label))
            else:
                yield _(
                    "failover of {label}: no server answered for {seconds:.3f} s, until another primary did",
                    label=fmt.plain(row.label),
                    seconds=gap_s,
                )
        if row.unknown_nodes:
            nodes = ", ".join(map(fmt.plain, row.unknown_nodes))
            yield _(
                "not followed to {nodes}: no node of the cluster when the run began; begin again to load it, too",
                nodes=nodes,
            )


def _endpoint_lines(row: Row) -> Iterator[str]:
    """What each server got where replicas are read from, and what they answered late."""
    if not row.endpoints:
        return
    got = ", ".join(f"{server.name} {fmt.count(server.sent)}" for server in row.endpoints)
    yield _("requests of {label}: {each}", label=fmt.plain(row.label), each=got)
    stale = ", ".join(f"{server.name} {fmt.count(server.stale)}" for server in row.endpoints if server.stale)
    if stale:
        yield _("stale replies of {label}: {each}", label=fmt.plain(row.label), each=stale)


def _deliveries(row: Row) -> Iterator[str]:
    got = row.deliveries
    if got is None:
        return
    figures = {"label": fmt.plain(row.label), "delivered": got.delivered, "expected": got.expected}
    figures["missing"] = got.missing
    if not got.disconnected:
        yield _("deliveries of {label}: {delivered:,} of {expected:,}, {missing:,} missing", **figures)
        return
    yield _(
        "deliveries of {label}: {delivered:,} of {expected:,}, {missing:,} missing; {n:,} receivers lost their "
        "connections",
        n=got.disconnected,
        **figures,
    )


def misses_percent(analysis: Analysis, row: Row) -> float | None:
    """Reads that found no key, in the worst of the row's trials, by the server's own count; None where not known."""
    names = set(row.trials)
    shares = [
        check.measured
        for trial in analysis.trials
        if trial.trial in names
        for check in trial.checks
        if check.name == _HIT_RATE and check.measured is not None
    ]
    return max(shares, default=None)


def _quiet(analysis: Analysis, row: Row) -> str:
    if row.goodput_per_s is None:
        return f"{row.label}: {row.verdict.upper()}: {_why(row)}"
    said = f"{row.label}: {row.goodput_per_s:.2f} requests per second"
    if row.goodput_interval is not None:
        said += f" [{row.goodput_interval[0]:.0f}, {row.goodput_interval[1]:.0f}]"
    if bounded := fmt.bound_phrase(row.bound):
        said += f" ({bounded})"
    for quantile in ("p50", "p99") if row.interval_units else ("p50",):
        said += _latency(row, quantile)
    if (cost := row.cost) is not None:
        said += f", cpu={cost.ns / 1e3:.2f} usec"
    if row.deliveries is not None:
        said += f", delivered={row.deliveries.per_s:.2f} per second"
        p99 = row.deliveries.delivery_ns.p99
        said += "" if p99 is None else f", delivery p99={p99 / 1e6:.3f} msec"
    counted = [f"{kind}={count}" for kind, count in sorted(row.errors.items()) if count]
    misses = misses_percent(analysis, row)
    counted += [f"misses={misses:.2f}%"] if misses else []
    said = ", ".join([said, *counted]) + _at_rate(row.at_rate)
    return said if row.verdict == "valid" else f"{said}, {row.verdict.upper()}: {_why(row)}"


def _at_rate(at_rate: AtRate | None) -> str:
    """`, at 5000 per second: p50=0.084 [0.081, 0.094] msec, p99=...`: latency at a rate, beside that at full speed."""
    if at_rate is None:
        return ""
    rate = "a fixed rate" if at_rate.rate_per_s is None else f"{at_rate.rate_per_s:.0f} per second"
    latencies = "".join(_latency(at_rate, quantile) for quantile in ("p50", "p99")).removeprefix(", ")
    doubt = "" if at_rate.verdict == "valid" else f"{at_rate.verdict.upper()}: {_why(at_rate)}"
    return f", at {rate}: {', '.join(filter(None, (latencies, doubt)))}"


def _latency(source: Row | AtRate, quantile: str) -> str:
    """`, p99=0.287 [0.281, 0.294] msec (≤ 0.042 msec generator)`: the generator's own part, as in tables."""
    figure_ns = printed_ns(source, quantile)
    if figure_ns is None:
        return ""
    ours_ns = own_ns(source, quantile) or 0.0
    ours = f" (≤ {ours_ns / 1e6:.3f} msec generator)" if ours_ns > fmt.OWN_SHOWN_FROM * figure_ns else ""
    return f", {quantile}={figure_ns / 1e6:.3f}{_brackets(source, quantile)} msec{ours}"


def _brackets(source: Row | AtRate, quantile: str) -> str:
    """` [0.081, 0.094]`; a ` (suspect)` behind a quantile that does not describe the condition."""
    low, high = source.response_interval_ns.get(quantile, (None, None))
    ends = "" if low is None else f" [{low / 1e6:.3f}, {'inf' if high is None else f'{high / 1e6:.3f}'}]"
    doubt = f"{ends} (suspect)" if quantile in source.unsettled else ends
    stalls = source.stalls.get(quantile)
    return doubt if stalls is None or stalls.without_ns is None else f"{doubt} without stalls"


def _why(source: Row | AtRate) -> str:
    """The first reason why a row is not valid, failed operations before all else, and how many there are beside it."""
    telling = sorted(source.reasons, key=lambda reason: reason.kind != ERRORS_FAILED)
    reasons = list(dict.fromkeys(map(fmt.sentence, telling)))
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"{reasons[0]}{more}" if reasons else "not measured"


def _cells(analysis: Analysis, row: Row) -> list[str]:
    label = fmt.without_formula(row.label)
    low, high = row.goodput_interval or (None, None)
    misses = misses_percent(analysis, row)
    return [
        label,
        _number(row.goodput_per_s, 2),
        *_latencies(row),
        _number(low, 2),
        _number(high, 2),
        str(sum(row.errors.values())),
        _number(misses, 3),
        row.verdict,
        *_bounded(analysis, row),
        *_ends(row),
        " ".join(map(fmt.sentence, row.unsettled.values())),
        *(_milliseconds(own_ns(row, quantile)) for quantile in ("p50", "p95", "p99")),
        *_cells_at_rate(row.at_rate),
        *_cells_of_cost(row.cost),
        _stalls(row),
        _stalls(row.at_rate),
    ]


def _stalls(source: Row | AtRate | None) -> str:
    """The stalls that are told apart from quantiles, a sentence each; empty for none."""
    return " ".join(fmt.sentence(one.said) for one in (source.stalls if source else {}).values() if one.said)


def _cells_of_cost(cost: CpuCost | None) -> list[str]:
    """CPU per request of all parts, in microseconds, and its interval."""
    if cost is None:
        return [""] * 3
    return ["" if ns is None else f"{ns / 1e3:.3f}" for ns in (cost.ns, cost.low_ns, cost.high_ns)]


def _cells_at_rate(at_rate: AtRate | None) -> list[str]:
    if at_rate is None:
        return [""] * 6
    return [
        _number(at_rate.rate_per_s, 2),
        *(_milliseconds(printed_ns(at_rate, quantile)) for quantile in ("p50", "p95", "p99")),
        _milliseconds(own_ns(at_rate, "p99")),
        at_rate.verdict,
    ]


def _bounded(analysis: Analysis, row: Row) -> list[str]:
    """Return how much higher the rate could be at most in per cent (`inf`: no limit is known), and why; empty: not
    known."""
    if row.bound is None or row.goodput_per_s is None:
        return ["", ""]
    share = row.bound.printed
    return ["inf" if share >= UNBOUNDED else _number(100 * share, 1), why_so_far(analysis, row)]


def _latencies(row: Row) -> list[str]:
    return [_milliseconds(printed_ns(row, name)) for name in ("mean", "min", "p50", "p95", "p99", "max")]


def _ends(row: Row) -> list[str]:
    """Both ends of the intervals of P50, P95 and P99, of a load at a rate; empty where there are none."""
    known = row.response_interval_ns
    ends = [end for name in ("p50", "p95", "p99") for end in known.get(name, (None, None))]
    return list(map(_milliseconds, ends))


def _milliseconds(nanoseconds: float | None) -> str:
    return _number(None if nanoseconds is None else nanoseconds / 1e6, 3)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
