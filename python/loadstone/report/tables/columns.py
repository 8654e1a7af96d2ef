"""The columns of a table: one definition for terminal, page and Markdown."""

from collections.abc import Sequence
from dataclasses import replace

from loadstone.analyse.model import ResultTable, Row
from loadstone.report import format as fmt
from loadstone.report.glossary import meaning
from loadstone.report.tables.column import Column, errors, latency, rate_range
from loadstone.report.tables.fixed_rate_columns import apart, fixed_rate_columns, with_fixed_rates
from loadstone.report.tables.study_columns import STUDY_COLUMNS, USERS, bottleneck_text, study_columns

_OPERATIONS = Column(
    "operations", "operations", "Operations counted in the measure phase.", lambda r: r.operations, fmt.count, drop=4
)
_ELAPSED = Column("elapsed_s", "elapsed", "Length of the measure phase.", lambda r: r.elapsed_s, fmt.seconds, drop=6)
_RPS = Column(
    "goodput_per_s",
    "RPS",
    "Requests a second that were answered rightly (goodput); failed and wrong replies do not count.",
    lambda r: r.goodput_per_s,
    fmt.rate,
    ranks=True,
)
_UNITS = Column(
    "units_per_s",
    "units/s",
    "RPS by what a request is made of: a MGET of ten keys is ten. See `units` of the operation.",
    lambda r: r.units_per_s,
    fmt.rate,
    drop=1,
    row_text=lambda r: "" if r.units_per_s is None else f"{fmt.rate(r.units_per_s)} {r.unit or 'key'}s",
)
_PUBLISHED = Column(
    "published",
    "published",
    "The original study's figure, from its author's machine: context, not a target.",
    lambda r: r.published,
    fmt.rate,
    drop=3,
    context=True,
)
_QUANTILES = (
    ("min", "min", "The fastest reply.", 5),
    ("max", "max", "The slowest reply.", 4),
    ("mean", "avg", "The mean: one slow reply moves it, so look at P50 first.", 7),
    ("p50", "P50", "Half of the replies came at least this fast (the median).", 0),
    ("p95", "P95", "95 of 100 replies came at least this fast.", 2),
    ("p99", "P99", "99 of 100 replies came at least this fast; one user in a hundred waited longer.", 0),
    ("p999", "P99.9", "999 of 1,000 replies came at least this fast.", 1),
)
_POOL_WAIT = Column(
    "pool_wait",
    "pool wait",
    "Mean time that a request queued for a free connection; it is part of the response time.",
    lambda r: None if r.pool_wait_ns is None else r.pool_wait_ns.mean,
    fmt.duration,
    drop=3,
)
_POOL_WAIT_FROM = 0.01
"""Share of the mean response time from which the pool's queue is worth a column."""
_INTERVAL = Column(
    "goodput_interval",
    "95 % interval",
    "The typical rate of this condition lies in this range 95 times in 100.",
    lambda r: None if r.goodput_interval is None else r.goodput_interval[0],
    fmt.rate,
    drop=1,
    row_text=lambda r: rate_range(r.goodput_interval),
)
_THROUGHPUT_INTERVAL = replace(
    _INTERVAL,
    key="throughput_interval",
    value=lambda r: None if r.throughput_interval is None else r.throughput_interval[0],
    row_text=lambda r: rate_range(r.throughput_interval),
)
_BOUND = Column(
    "bound",
    "up to",
    "How much higher the rate would be at most with a generator that costs nothing, and if nothing else had taken "
    "time from its CPUs.",
    lambda r: None if r.bound is None else r.bound.total,
    fmt.percent,
    drop=1,
    row_text=lambda r: fmt.bound_cell(r.bound),
)
_BLOCKS = Column(
    "blocks",
    "blocks",
    "How often the condition was measured, each time with everything fresh.",
    lambda r: r.blocks or None,
    fmt.count,
    drop=7,
)
_SLICES = Column(
    "slices",
    "slices",
    "In how many slices it was measured, in turn with other conditions and spread over the run.",
    lambda r: r.slices or None,
    fmt.count,
    drop=7,
)
_BOTTLENECK = Column(
    "bottleneck",
    "bottleneck",
    meaning("bottleneck"),
    lambda _: None,
    fmt.number,
    drop=3,
    row_text=bottleneck_text,
)
_ERRORS = Column(
    "errors", "errors", "Failed, timed-out and wrong replies. They are not part of RPS.", errors, fmt.count, drop=2
)

COLUMNS: tuple[Column, ...] = (
    USERS,
    _OPERATIONS,
    _ELAPSED,
    _RPS,
    _INTERVAL,
    _UNITS,
    _BOUND,
    _BLOCKS,
    _SLICES,
    _PUBLISHED,
    *(
        Column(
            name, header, explanation, latency(name), fmt.duration, drop, quantile=name, own_load=True, is_response=True
        )
        for name, header, explanation, drop in _QUANTILES
    ),
    _POOL_WAIT,
    _ERRORS,
    _BOTTLENECK,
)

MARKS = {"valid": "✓", "suspect": "!", "invalid": "✕", "missing": "–", "unknown": "?"}

MARK_TEXTS = {
    "valid": "every check passed",
    "suspect": "a check was near its limit: read the figure with care",
    "invalid": "a check failed: the figure does not describe the server",
    "missing": "not measured",
    "unknown": "could not be observed",
}


def columns_for(table: ResultTable) -> list[Column]:
    """The columns of a table; where rows were measured at a fixed rate, too, its latencies are those at that rate."""
    return with_fixed_rates(_every(table), table.rows)


def full_load_columns(table: ResultTable) -> list[Column]:
    """The latencies under the rows' own load, where they stand apart from the table."""
    return apart(_every(table), table.rows)


def _every(table: ResultTable) -> list[Column]:
    """The study's own columns, or else those of every table that have something to say in this one."""
    if table.columns:
        return _with_units(_with_bound(study_columns(table), table), table)
    idle = {
        _BOUND: not any(fmt.bound(row.bound) for row in table.rows),
        USERS: not any(row.users for row in table.rows),
        _INTERVAL: not any(row.goodput_interval for row in table.rows),
        _UNITS: not any(row.unit for row in table.rows),
        _BLOCKS: all(row.blocks <= 1 or row.slices for row in table.rows),
        _SLICES: not any(row.slices for row in table.rows),
        _BOTTLENECK: not any(row.bottleneck for row in table.rows),
        _PUBLISHED: not any(row.published for row in table.rows),
        _POOL_WAIT: not any(map(_waits, table.rows)),
        _ERRORS: not any(map(errors, table.rows)),
    }
    return [column for column in COLUMNS if not idle.get(column)]


def end_columns(rows: Sequence[Row], tps: bool) -> list[Column]:
    """The columns of the one table at the end of a run, whatever tables its rows are of.

    `tps`: the run's tables print throughput; then so does this one.
    """
    p50, p99 = (column for column in COLUMNS if column.key in ("p50", "p99"))
    columns = [
        replace(STUDY_COLUMNS["tps"], drop=0) if tps else _RPS,
        replace(_THROUGHPUT_INTERVAL if tps else _INTERVAL, drop=1),
        *([_UNITS] if any(row.unit for row in rows) else []),
        replace(_BOUND, drop=2),
        *(fixed_rate_columns(rows) or (replace(p50, drop=4), replace(p99, drop=3))),
        replace(_BOTTLENECK, drop=7),
        replace(_PUBLISHED, drop=8),
    ]
    idle = {"bound"} if not any(fmt.bound(row.bound) for row in rows) else set()
    return [c for c in columns if c.key not in idle and any(c.says_something(row) for row in rows)]


def _with_bound(columns: list[Column], table: ResultTable) -> list[Column]:
    """A study's columns with the bound behind its rates, where some row has one that matters."""
    if not any(fmt.bound(row.bound) for row in table.rows):
        return columns
    rates = [place for place, column in enumerate(columns) if column.ranks or column.key == "goodput"]
    place = rates[-1] + 1 if rates else 0
    return [*columns[:place], _BOUND, *columns[place:]]


def _with_units(columns: list[Column], table: ResultTable) -> list[Column]:
    """A study's columns with units behind its rates, where an operation is several."""
    if not any(row.unit for row in table.rows):
        return columns
    rates = [place for place, column in enumerate(columns) if column.ranks or column.key == "goodput"]
    place = rates[0] + 1 if rates else 0
    return [*columns[:place], _UNITS, *columns[place:]]


def _waits(row: Row) -> bool:
    """Whether requests queued for a connection for a share of their time that matters."""
    wait, response = row.pool_wait_ns, row.response_ns
    return bool(wait and response and wait.mean and response.mean and wait.mean >= _POOL_WAIT_FROM * response.mean)
