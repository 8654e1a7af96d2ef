"""The columns of a table, those at a fixed rate among them, and which rows a short table shows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from loadstone.analyse.model import Analysis, AtRate, ResultTable, Row, printed_ns
from loadstone.language import _, marked, translated
from loadstone.message import Message
from loadstone.report import format as fmt
from loadstone.report import verdicts
from loadstone.report.glossary import TERMS
from loadstone.report.tables.column import STALLED, Column, cost_text, errors, latency, rate_range
from loadstone.report.tables.study_columns import STUDY_COLUMNS, USERS, bottleneck_text, study_columns
from loadstone.report.trust import different_rows, is_well_bounded
from loadstone.spec.levels import identity

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
_COST = Column(
    "cost",
    "CPU a request",
    TERMS["CPU a request"],
    lambda r: None if r.cost is None else r.cost.ns,
    fmt.duration,
    drop=6,
    row_text=lambda r: cost_text(r.costs),
)
_BOTTLENECK = Column(
    "bottleneck",
    "bottleneck",
    TERMS["bottleneck"],
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
    _COST,
    _BOTTLENECK,
)
MARKS = {"valid": "✓", "suspect": "!", "invalid": "✕", "missing": "–", "unknown": "?"}
MARK_TEXTS = {
    "valid": marked("every check passed"),
    "suspect": marked("a check was near its limit: read the figure with care"),
    "invalid": marked("a check failed: the figure does not describe the server"),
    "missing": marked("not measured"),
    "unknown": marked("could not be observed"),
}
_AT_RATE_QUANTILES = (
    ("p50", "P50", "Half of the replies came at least this fast", 4),
    ("p99", "P99", "99 of 100 replies came at least this fast", 3),
    ("p999", "P99.9", "999 of 1,000 replies came at least this fast", 5),
)
FULL_LOAD = marked("Response times under full load: users / throughput")
"""Heading of what stands apart."""
FULL_LOAD_READING = marked(
    "Users without pauses keep the server full: each waits for all the others, so that the mean time is the number of "
    "users divided by the throughput. It says how the load was made, and is no property of the server."
)
SHARE_OFF = 0.1
"""A rate that is further from its share than this is not called by it."""
_IN_REPORT = marked("Response times under full load are users / throughput: they are in the report.")


def columns_for(table: ResultTable) -> list[Column]:
    """The columns of a table; where rows were measured at a fixed rate, too, its latencies are those at that rate."""
    return [column.marked_once(table.rows) for column in _with_fixed_rates(_every(table), table.rows)]


def full_load_columns(table: ResultTable) -> list[Column]:
    """The latencies under the rows' own load, where they stand apart from the table."""
    return [column.marked_once(table.rows) for column in _apart(_every(table), table.rows)]


def _every(table: ResultTable) -> list[Column]:
    """The study's own columns, or else those of every table that have something to say in this one."""
    if table.columns:
        return _with_cost(_with_units(_with_bound(study_columns(table), table), table), table)
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
        _COST: not any(row.costs for row in table.rows),
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
        replace(_COST, row_text=lambda r: cost_text(r.costs, ends=False)),
        replace(_BOTTLENECK, drop=7),
        replace(_PUBLISHED, drop=8),
    ]
    idle = {"bound"} if not any(fmt.bound(row.bound) for row in rows) else set()
    return [
        column.marked_once(rows)
        for column in columns
        if column.key not in idle and any(column.says_something(row) for row in rows)
    ]


def _with_bound(columns: list[Column], table: ResultTable) -> list[Column]:
    """A study's columns with the bound behind its rates, where some row has one that matters."""
    if not any(fmt.bound(row.bound) for row in table.rows):
        return columns
    rates = [place for place, column in enumerate(columns) if column.ranks or column.key == "goodput"]
    place = rates[-1] + 1 if rates else 0
    return [*columns[:place], _BOUND, *columns[place:]]


def _with_cost(columns: list[Column], table: ResultTable) -> list[Column]:
    """A study's columns, and last what a request costs, where that is known of some row."""
    return [*columns, _COST] if any(row.costs for row in table.rows) else columns


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


def is_at_rate(rows: Sequence[Row]) -> bool:
    """Whether some row was measured at a fixed rate, too."""
    return any(row.at_rate for row in rows)


def rate_name(rows: Sequence[Row]) -> str:
    """What the rate is called: `half rate`, `30 % rate`, or `fixed rate` where some row's rate is not that share."""
    shares = {_share(row) for row in rows if row.at_rate}
    share = shares.pop() if len(shares) == 1 else None
    if share is None or any(_off_its_share(row) for row in rows):
        return _("fixed rate")
    return _("half rate") if share == 0.5 else _("{percent} rate", percent=fmt.percent(share))


def _true_share(row: Row) -> float | None:
    """The rate that was held, as a share of what the row did; None where one of the two is not known."""
    if row.at_rate is None or row.at_rate.rate_per_s is None or not row.goodput_per_s:
        return None
    return row.at_rate.rate_per_s / row.goodput_per_s


def _off_its_share(row: Row) -> bool:
    """Whether a row did much more or less than what its rate was chosen by."""
    share, true = _share(row), _true_share(row)
    return share is not None and true is not None and abs(true / share - 1) > SHARE_OFF


def fixed_rate_columns(rows: Sequence[Row]) -> list[Column]:
    """The rate that was held, and the quantiles at it; none where no row has any."""
    if not is_at_rate(rows):
        return []
    name = rate_name(rows)
    shared = _(" It is a share of the condition's own capacity.") if any(_share(row) for row in rows) else ""
    says = _(
        "Requests a second that were sent on a schedule, however long replies took: latency is measured so.{shared}",
        shared=shared,
    )
    held = Column("at_rate", name, says, _held, fmt.rate, drop=6, source=_at_rate)
    return [held, *(_quantile(key, header, says, drop, name) for key, header, says, drop in _AT_RATE_QUANTILES)]


def _quantile(key: str, header: str, says: str, drop: int, name: str) -> Column:
    return Column(
        f"{key}_at_rate",
        _("{header} at {name}", header=header, name=name),
        _("{says}, from the time that each request was due, at the rate of the column '{name}'.", says=says, name=name),
        _of(key),
        fmt.duration,
        drop=drop,
        quantile=key,
        source=_at_rate,
        is_response=True,
    )


def _at_rate(row: Row) -> AtRate | None:
    return row.at_rate


def _held(row: Row) -> float | None:
    return row.at_rate.rate_per_s if row.at_rate else None


def _share(row: Row) -> float | None:
    return row.at_rate.share if row.at_rate else None


def _of(key: str) -> Callable[[Row], float | None]:
    return lambda row: None if row.at_rate is None else printed_ns(row.at_rate, key)


def _with_fixed_rates(columns: Sequence[Column], rows: Sequence[Row]) -> list[Column]:
    """The columns with those at a fixed rate in the place of what stands apart; as they are where there are none."""
    added = fixed_rate_columns(rows)
    if not added:
        return list(columns)
    apart = [place for place, column in enumerate(columns) if column.own_load]
    place = apart[0] if apart else len(columns)
    added = [replace(column, drop=2 if column.quantile == "p999" else 0 if column.quantile else 5) for column in added]
    return [*columns[:place], *added, *(column for column in columns[place:] if not column.own_load)]


def _apart(columns: Sequence[Column], rows: Sequence[Row]) -> list[Column]:
    """The latencies under the rows' own load where they stand apart; none where they stand in the table itself."""
    return [column for column in columns if column.own_load] if is_at_rate(rows) else []


def fixed_rate_lines(table: ResultTable) -> Iterator[str]:
    """What is wrong with the figures at a fixed rate, a line each: the reason, how many rows, one as an example."""
    name = rate_name(table.rows)
    for row in filter(_off_its_share, table.rows):
        meant, true = fmt.percent(_share(row)), fmt.percent(_true_share(row))
        yield _(
            "The rate of {plain} is {true} of what it did, where {meant} were meant",
            plain=fmt.plain(row.label),
            true=true,
            meant=meant,
        )
    for verdict, said in (
        ("missing", _("No figures at {name}", name=name)),
        ("invalid", _("Figures at {name} refused", name=name)),
        ("suspect", _("Figures at {name} are suspect", name=name)),
    ):
        found = [row for row in table.rows if row.at_rate and row.at_rate.verdict == verdict]
        reasons = ((fmt.plain(row.label), why) for row in found for why in (row.at_rate.reasons if row.at_rate else ()))
        for alike in verdicts.folded(reasons):
            label, why = alike[0]
            where = (
                _("{alike} of {rows} conditions", alike=len(alike), rows=len(table.rows)) if len(alike) > 1 else label
            )
            example = f" (e.g. {label})" if len(alike) > 1 else ""
            yield _("{said} for {where}{example}: {why}", said=said, where=where, example=example, why=why)


def suspect_lines(rows: Sequence[Row], columns: Sequence[Column]) -> Iterator[str]:
    """Which quantiles of these columns do not describe their conditions: a line a reason, one row as an example."""
    printed = {column.quantile for column in columns if column.is_response}
    doubts = (
        (label, why)
        for label, source in _at_fixed_rates(rows)
        for name, why in source.unsettled.items()
        if name in printed
    )
    yield from _folded_lines(_("Suspect"), doubts, len(rows))


def told_apart_lines(rows: Sequence[Row], columns: Sequence[Column]) -> Iterator[str]:
    """The stalls that are told apart from quantiles of these columns: a line a finding, one row as an example."""
    printed = {column.quantile for column in columns if column.is_response}
    found = (
        (label, stalls.said)
        for label, source in _at_fixed_rates(rows)
        for name, stalls in source.stalls.items()
        if stalls.said is not None and name in printed
    )
    yield from _folded_lines(f"{STALLED} {_('Stalls')}", found, len(rows))


def without_interval_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Which rows' quantiles have no interval, and why."""
    missing = ((label, source.no_interval) for label, source in _at_fixed_rates(rows) if source.no_interval is not None)
    yield from _folded_lines(_("Without an interval"), missing, len(rows))


def _at_fixed_rates(rows: Sequence[Row]) -> Iterator[tuple[str, AtRate | Row]]:
    """What each row did at a rate that was set, behind the row's label."""
    return ((fmt.plain(row.label), found) for row in rows if (found := row.at_fixed_rate) is not None)


def _folded_lines(said: str, reasons: Iterable[tuple[str, Message]], rows: int) -> Iterator[str]:
    for alike in verdicts.folded(reasons):
        label, why = alike[0]
        where = (
            _("{alike} of {rows} conditions (e.g. {label})", alike=len(alike), rows=rows, label=label)
            if len(alike) > 1
            else label
        )
        yield f"{said}, {where}: {why}"


def full_load_line(rows: Sequence[Row]) -> str:
    """What a short table does not say of latency under full load; empty where there is nothing to say."""
    return translated(_IN_REPORT) if is_at_rate(rows) and any(row.saturated and row.response_ns for row in rows) else ""


def most_telling(analysis: Analysis, number: int) -> list[Row]:
    """So many rows in the order of the tables: those that are compared and have an interval, then other intervals.

    Of what has none, what is well bounded comes first and what has no figure last, evenly from all tables.
    """
    rows = different_rows(analysis)
    sides = {
        identity(side.condition)
        for comparison in verdicts.all_comparisons(analysis)
        for side in (comparison.primary.a, comparison.primary.b)
    }
    ranks: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        if row.goodput_interval is not None:
            rank = 0 if identity(row.condition) in sides else 1
        else:
            rank = 4 if row.goodput_per_s is None else 2 if is_well_bounded(row) else 3
        ranks.setdefault(rank, []).append(place)
    chosen: list[int] = []
    for rank in sorted(ranks):
        places, free = ranks[rank], number - len(chosen)
        step = max(1.0, len(places) / max(1, free))
        chosen += [places[int(lap * step)] for lap in range(min(free, len(places)))]
    return [rows[place] for place in sorted(chosen)]
