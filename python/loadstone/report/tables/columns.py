"""The columns of a table, those at a fixed rate among them, and which rows a short table shows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadstone.experiment.spec.levels import Level, identity
from loadstone.judge.analysis.analysis import Analysis, AtRate, PartName, ResultTable, Row, TimelinePoint, printed_ns
from loadstone.monitors import catalogue
from loadstone.monitors.metric import STORES, StudyColumn
from loadstone.report import figure_format as fmt
from loadstone.report import verdicts
from loadstone.report.figure_quality import different_rows, is_well_bounded
from loadstone.report.glossary import TERMS
from loadstone.report.tables import observed
from loadstone.report.tables.column import STALLED, Column, cost_text, errors, latency, rate_range
from loadstone.report.tables.observed import TEXT, CellText
from loadstone.run_folder.facts import DRIVER
from loadstone.run_folder.part_kinds import SUBJECT
from loadstone.text.language import _, translatable, translated
from loadstone.text.message import Message

BOTTLENECKS: dict[PartName, str] = {
    "generator": translatable("generator"),
    "subject": translatable("subject"),
    "server": translatable("server"),
    "disk": translatable("disk"),
    "lock": translatable("lock"),
    "pool": translatable("pool"),
    "network": translatable("network"),
    "cpu": translatable("shared CPU"),
    "latency": translatable("round trips"),
    "paced": translatable("its own pace"),
    "unknown": "?",
}
"""What limited a condition, in short."""
ROUND_TRIP = translatable("round trip of this client")
RATES = ("tps", "tps_store")
"""Columns whose figure counts failed operations, too."""
_AWAKE_SHOWN = 0.005
"""J: less of a CPU than that, spent awake in waits, is not said."""


def bottleneck_text(row: Row) -> str:
    """What limited the condition, and how busy that was: `disk 60 %`; of a pool, a lock and the delay of a line how
    much of the response time it took. One user: its rate is no capacity, and is called what it is."""
    if row.bound is not None and row.bound.round_trip:
        return translated(ROUND_TRIP)
    if row.bottleneck is None:
        return ""
    name, share = BOTTLENECKS[row.bottleneck.part], row.bottleneck.share
    name = translated(name)
    return name if share is None or row.bottleneck.part == "unknown" else f"{name} {100 * share:.0f} %"


def _knows_bottleneck(rows: Sequence[Row]) -> bool:
    return any(row.bottleneck is not None and row.bottleneck.part != "unknown" for row in rows)


def error_share(row: Row) -> float | None:
    """Operations that failed, as a share of all that ended; None where nothing was measured."""
    failed = errors(row)
    if failed is None or row.operations is None:
        return None
    return failed / max(row.operations, failed, 1)


def _driver_cpu_ns(row: Row) -> float | None:
    """CPU time of the generator's work an operation, in ns; None where either was not observed."""
    share = row.cpu_share.get(DRIVER)
    if share is None or not row.throughput_per_s:
        return None
    return 1e9 * max(0.0, share - _awake(row)) / row.throughput_per_s


def _awake(row: Row) -> float:
    """CPUs that the generator spent awake in waits."""
    return 0.0 if row.at_once is None else row.at_once.awake


def _generator_cpu(row: Row) -> str:
    """`100 %`; with what of it is no work."""
    share, awake = row.cpu_share.get(DRIVER), _awake(row)
    if share is None:
        return ""
    if awake < _AWAKE_SHOWN:
        return fmt.percent(share)
    return _("{share} (awake in waits {awake})", share=fmt.percent(share), awake=fmt.percent(awake))


def store_cores(row: Row) -> dict[str, float]:
    """The highest CPU of each store of the row, in cores."""
    return {part: of["cpu_share"].max for part, of in observed.parts(row, STORES) if "cpu_share" in of}


def _busiest(row: Row) -> str:
    """`380m` of the busiest store; with its name before it where the condition does not name it among several."""
    cores = store_cores(row)
    if not cores:
        return ""
    part = max(cores, key=lambda name: cores[name])
    named = len(cores) > 1 and not any(_first_part(part) == _first_part(level) for level in row.condition.values())
    return f"{fmt.plain(part)} {fmt.millicores(cores[part])}" if named else fmt.millicores(cores[part])


def _first_part(level: Level) -> str:
    """`redis` of `redis-json`: stores and the levels of experiments are called so."""
    return str(level).split("-")[0]


def _stores(row: Row) -> str:
    """`380m`; with its name before it where there are several."""
    cores = store_cores(row)
    named = len(cores) > 1
    return ", ".join(
        f"{fmt.plain(part)} {fmt.millicores(v)}" if named else fmt.millicores(v) for part, v in cores.items()
    )


def _tps_and_stores(row: Row) -> str:
    if row.throughput_per_s is None:
        return ""
    store = _busiest(row)
    return f"{fmt.rate(row.throughput_per_s)} ({store})" if store else fmt.rate(row.throughput_per_s)


def _stored(row: Row) -> str:
    """`5,310 of 5,310`: counted on the server, of the correct replies in the same span."""
    if row.stored is None:
        return ""
    return (
        fmt.count(row.stored)
        if row.answered is None
        else _("{stored:,} of {answered:,}", stored=row.stored, answered=row.answered)
    )


def _average_and_maximum(kind: str, metric: str, text: CellText) -> Callable[[Row], str]:
    """`16.1 / 23.7 %`."""

    def cell(row: Row) -> str:
        average, highest = observed.average(row, kind, metric), observed.highest(row, kind, metric)
        return "" if average is None else f"{text(average).removesuffix(' %')} / {text(highest)}"

    return cell


def _declared(column: StudyColumn) -> Column:
    """A column that the room of a software declares."""

    def maximum(row: Row) -> float | None:
        """Without loadstone\'s own; None where others may be among them, too."""
        if column.own and not row.ours:
            return None
        return observed.highest(row, column.kind, column.metric, column.own)

    def average(row: Row) -> float | None:
        return observed.average(row, column.kind, column.metric)

    def mean(row: Row) -> float | None:
        return observed.mean(row, column.kind, column.metric)

    text = TEXT[column.format]
    both = column.aggregate == "average_and_maximum"
    value = {"maximum": maximum, "mean": mean}.get(column.aggregate, average)
    return Column(
        column.key, column.title, column.help, value, text, column.drop,
        row_text=_average_and_maximum(column.kind, column.metric, text) if both else None,
    )  # fmt: skip


def _response(name: str, header: str, explanation: str, drop: int) -> Column:
    return Column(
        name, header, explanation, latency(name), fmt.duration, drop, quantile=name, own_load=True, is_response=True
    )


def _delivery(name: str, header: str, explanation: str, drop: int) -> Column:
    """A quantile of how late messages were delivered."""

    def value(row: Row) -> float | None:
        return None if row.deliveries is None else getattr(row.deliveries.delivery_ns, name)

    return Column(f"delivery_{name}", header, explanation, value, fmt.duration, drop)


_APP_CPU = StudyColumn(
    "app_cpu", "app CPU",
    "CPU of the application, average and maximum; 100 % is one core. Replicas are added up, their maxima too.",
    SUBJECT, "cpu_share", "average_and_maximum", "percent", drop=2,
)  # fmt: skip
_POOL_WAIT_FROM = 0.01
"""Share of the mean response time from which the pool's queue is worth a column."""


def _waits(row: Row) -> bool:
    """Whether requests queued for a connection for a share of their time that matters."""
    wait, response = row.pool_wait_ns, row.response_ns
    return bool(wait and response and wait.mean and response.mean and wait.mean >= _POOL_WAIT_FROM * response.mean)


def _low(row: Row) -> float | None:
    return row.goodput_interval[0] if row.goodput_interval else None


def _high(row: Row) -> float | None:
    return row.goodput_interval[1] if row.goodput_interval else None


_ALL = (
    Column(
        "users", "vUsers", "Virtual users that made the load: the run was made smaller than the experiment writes it.",
        lambda r: r.users, fmt.count, optional=True, drop=1, csv={"users": lambda r: r.users},
    ),
    Column(
        "operations", "operations", "Operations counted in the measure phase.", lambda r: r.operations, fmt.count,
        drop=4, csv={"operations": lambda r: r.operations},
    ),
    Column(
        "elapsed_s", "elapsed", "Length of the measure phase.", lambda r: r.elapsed_s, fmt.seconds, drop=6,
        csv={"elapsed_s": lambda r: r.elapsed_s},
    ),
    Column(
        "tps", "TPS", TERMS["TPS"], lambda r: r.throughput_per_s, fmt.rate, ranks=True,
        csv={"throughput_per_s": lambda r: r.throughput_per_s},
    ),
    Column(
        "tps_store", "TPS (store)",
        "TPS, and in brackets the highest CPU of the busiest store while it was measured, in millicores: 1000m is one "
        "core.",
        lambda r: r.throughput_per_s, fmt.rate, row_text=_tps_and_stores, ranks=True,
    ),
    Column(
        "goodput", "goodput", "Operations a second that were answered rightly: TPS without what failed.",
        lambda r: r.goodput_per_s, fmt.rate,
    ),
    Column(
        "goodput_per_s", "RPS",
        "Requests a second that were answered rightly (goodput); failed and wrong replies do not count.",
        lambda r: r.goodput_per_s, fmt.rate, ranks=True, csv={"goodput_per_s": lambda r: r.goodput_per_s},
    ),
    Column(
        "interval", "95 % interval",
        "The typical goodput of a trial of this condition lies in this range about 95 times in 100.",
        _low, fmt.rate, drop=4, row_text=lambda r: rate_range(r.goodput_interval), optional=True,
    ),
    Column(
        "goodput_interval", "95 % interval",
        "The typical rate of this condition lies in this range about 95 times in 100.",
        _low, fmt.rate, drop=1, row_text=lambda r: rate_range(r.goodput_interval), optional=True,
        csv={"goodput_low_per_s": _low, "goodput_high_per_s": _high},
    ),
    Column(
        "throughput_interval", "95 % interval",
        "The typical rate of this condition lies in this range about 95 times in 100.",
        lambda r: r.throughput_interval[0] if r.throughput_interval else None, fmt.rate, drop=1,
        row_text=lambda r: rate_range(r.throughput_interval), optional=True,
    ),
    Column(
        "units_per_s", "units/s",
        "RPS by what a request is made of: a MGET of ten keys is ten. See `units` of the operation.",
        lambda r: r.units_per_s, fmt.rate, drop=1, when=lambda rows: any(row.unit for row in rows),
        row_text=lambda r: "" if r.units_per_s is None else f"{fmt.rate(r.units_per_s)} {r.unit or 'key'}s",
    ),
    Column(
        "bound", "up to",
        "How much higher the rate would be at most with a generator that costs nothing, and if nothing else had taken "
        "time from its CPUs.",
        lambda r: None if r.bound is None else r.bound.total, fmt.percent, drop=1,
        when=lambda rows: any(fmt.bound(row.bound) for row in rows), row_text=lambda r: fmt.bound_cell(r.bound),
        csv={
            "bound_generator": lambda r: r.bound.generator if r.bound else None,
            "bound_taken": lambda r: r.bound.taken if r.bound else None,
        },
    ),
    Column(
        "blocks", "blocks", "How often the condition was measured, each time with everything fresh.",
        lambda r: r.blocks if r.blocks > 1 else None, fmt.count, drop=8, optional=True,
        csv={"blocks": lambda r: r.blocks},
    ),
    Column(
        "slices", "slices",
        "In how many slices it was measured, in turn with other conditions and spread over the run.",
        lambda r: r.slices or None, fmt.count, drop=7, optional=True, csv={"slices": lambda r: r.slices},
    ),
    Column(
        "peak_tps", "peak TPS", TERMS["peak TPS"], lambda r: r.peak_per_s, fmt.rate, drop=3,
        csv={"peak_per_s": lambda r: r.peak_per_s},
    ),
    Column("mtt", "MTT", TERMS["MTT"], latency("mean"), fmt.duration, drop=1),
    Column("executed", "executed tests", TERMS["executed tests"], lambda r: r.operations, fmt.count, drop=5),
    Column(
        "errors", "errors", "Failed, timed-out and wrong replies. TPS counts them, goodput does not.", errors,
        fmt.count, drop=2,
        csv={
            "errors_total": errors,
            "errors": lambda r: "; ".join(f"{kind}: {number}" for kind, number in r.errors.items()),
        },
    ),
    Column("error_share", "error share", "Failed, timed-out and wrong replies, of all that ended. TPS counts them, "
           "goodput does not.", error_share, fmt.percent, drop=1),
    _response("min", "min", "The fastest reply.", 6),
    _response("mean", "avg", "The mean: one slow reply moves it, so look at P50 first.", 7),
    _response("p50", "P50", "Half of the replies came at least this fast (the median).", 1),
    _response("p95", "P95", "95 of 100 replies came at least this fast.", 3),
    _response("p99", "P99", "99 of 100 replies came at least this fast; one user in a hundred waited longer.", 1),
    _response("p999", "P99.9", "999 of 1,000 replies came at least this fast.", 4),
    _response("max", "max", "The slowest reply.", 5),
    Column(
        "stored", "stored / answered",
        "Rows or entities that the trials stored, counted on the server, not as keys, of those that were answered as "
        "stored. Both warm-up included, so they are more than the executed tests.",
        lambda r: r.stored, fmt.count, drop=2, row_text=_stored,
        csv={
            "stored": lambda r: r.stored, "answered": lambda r: r.answered, "stored_keys": lambda r: r.stored_keys,
        },
    ),
    Column(
        "store_cpu", "store CPU",
        "The highest CPU of the store while it was measured, in millicores: 1000m is one core.",
        lambda r: max(store_cores(r).values(), default=None), fmt.millicores, drop=2, row_text=_stores,
    ),
    _declared(_APP_CPU),
    *map(_declared, catalogue.STUDY_COLUMNS),
    Column(
        "server_wakeups", "server wake-ups/s",
        "How often a second the server's thread began to run. Fewer at a higher rate: it finds more at once.",
        lambda r: None if r.at_once is None else r.at_once.server_wakeups_per_s, fmt.rate, drop=5, optional=True,
    ),
    Column(
        "generator_cpu", "generator CPU", "CPU of the generator's threads together; 100 % is one core.",
        lambda r: r.cpu_share.get(DRIVER), fmt.percent, drop=5, optional=True, row_text=_generator_cpu,
    ),
    Column(
        "wakeups", "wake-ups/s", "How often a second the generator's waits ended, with replies or with what was due.",
        lambda r: None if r.at_once is None else r.at_once.wakeups_per_s, fmt.rate, drop=6, optional=True,
    ),
    Column(
        "replies_a_wakeup", "replies/wake-up",
        "How many replies the generator took each time that it woke up. More of them share the cost of waking.",
        lambda r: None if r.at_once is None else r.at_once.replies_a_wakeup, fmt.number, drop=6, optional=True,
    ),
    Column(
        "requests_a_send", "requests/send", "How many requests the generator sent at once on a connection.",
        lambda r: None if r.at_once is None else r.at_once.requests_a_send, fmt.number, drop=6, optional=True,
    ),
    Column(
        "delivered", "delivered/s",
        "Messages that receivers got, a second, of all receivers together: one that several get counts as often.",
        lambda r: None if r.deliveries is None else r.deliveries.per_s, fmt.rate,
    ),
    _delivery("p50", "delivery P50", "Half of the deliveries came at least this soon after the message was due.", 1),
    _delivery("p99", "delivery P99", "99 of 100 deliveries came at least this soon after the message was due.", 1),
    _delivery("p999", "delivery P99.9", "999 of 1,000 deliveries came at least this soon after their time.", 3),
    _delivery("max", "delivery max", "The latest delivery.", 4),
    Column(
        "missing", "missing", "Deliveries of messages that were answered as sent, and that did not come.",
        lambda r: None if r.deliveries is None else r.deliveries.missing, fmt.count, drop=2,
    ),
    Column(
        "pool_wait", "pool wait",
        "Mean time that a request queued for a free connection of the load; it is part of the response time.",
        lambda r: None if r.pool_wait_ns is None else r.pool_wait_ns.mean, fmt.duration, drop=4,
    ),
    Column(
        "driver_cpu", "client CPU",
        "CPU time of the generator for each operation that ended: of the client library, where it makes the load.",
        _driver_cpu_ns, fmt.duration, drop=3,
    ),
    Column(
        "cost", "CPU per request", TERMS["CPU per request"],
        lambda r: None if r.cost is None else r.cost.ns, fmt.duration,
        drop=6, row_text=lambda r: cost_text(r.costs), when=lambda rows: any(row.costs for row in rows),
        narrow_text=lambda r: fmt.duration(sum(one.ns for one in r.costs.values())) if r.costs else "",
    ),
    Column(
        "held_back", "bottleneck", TERMS["bottleneck"], lambda _: None, fmt.number, drop=2,
        row_text=bottleneck_text, optional=True,
        csv={
            "bottleneck": lambda r: r.bottleneck.part if r.bottleneck else "",
            "bottleneck_evidence": lambda r: fmt.sentence(r.bottleneck.message) if r.bottleneck else "",
        },
    ),
    Column(
        "published", "published", "The original study's figure, from its author's machine: context, not a target.",
        lambda r: r.published, fmt.rate, drop=3, context=True, optional=True,
        csv={"published": lambda r: r.published},
    ),
)  # fmt: skip
COLUMNS: dict[str, Column] = {column.key: column for column in _ALL}
"""Every column that a table may have, but for those at a fixed rate, which are called by it. A study's table names them
by these keys (`experiment.spec.experiment.COLUMNS`), and so do the lists of other tables."""
_USUAL: dict[str, dict[str, Any]] = {
    "users": {}, "operations": {}, "elapsed_s": {}, "goodput_per_s": {}, "goodput_interval": {}, "units_per_s": {},
    "bound": {},
    "blocks": {
        "drop": 7, "value": lambda r: r.blocks or None,
        "when": lambda rows: not all(row.blocks <= 1 or row.slices for row in rows),
    },
    "slices": {}, "published": {},
    "min": {"drop": 5}, "max": {"drop": 4}, "mean": {}, "p50": {"drop": 0}, "p95": {"drop": 2}, "p99": {"drop": 0},
    "p999": {"drop": 1},
    "pool_wait": {
        "drop": 3, "when": lambda rows: any(map(_waits, rows)),
        "explanation": translatable(
            "Mean time that a request queued for a free connection; it is part of the response time."
        ),
    },
    "errors": {
        "when": lambda rows: any(map(errors, rows)),
        "explanation": translatable("Failed, timed-out and wrong replies. They are not part of RPS."),
    },
    "cost": {}, "held_back": {"drop": 3, "when": lambda rows: any(row.bottleneck for row in rows)},
}  # fmt: skip
"""The columns of a table that names none, in their order, and what is otherwise in it."""
USUAL = tuple(replace(COLUMNS[key], **changed) for key, changed in _USUAL.items())
_ORIGINAL = {"stored": translatable("count of what it stored")}
_PER_CENT = [
    "error_share",
    *(column.key for column in (_APP_CPU, *catalogue.STUDY_COLUMNS) if column.format == "percent"),
]
_PUBLISHED_TEXT: dict[str, CellText] = {
    "store_cpu": lambda value: fmt.NONE if value is None else fmt.millicores(value / 1000),
    **dict.fromkeys(_PER_CENT, lambda value: fmt.NONE if value is None else fmt.percent(value / 100)),
}
"""Published figures stand as the studies print them: millicores, per cent; others in the unit of our own figure."""


def study_columns(table: ResultTable) -> list[Column]:
    """The columns that the table names, each with its published figures behind it.

    Where failures make TPS and goodput differ both are there, and the errors. Keys that are not known here are passed
    over.
    """
    keys = list(dict.fromkeys(key for key in table.columns if key in COLUMNS))
    found: list[Column] = [COLUMNS["users"]]
    for key in _with_errors(keys, table.rows):
        found += [COLUMNS[key], _published(COLUMNS[key])]
    return [column for column in found if column.belongs_to(table.rows)]


def _with_errors(keys: list[str], rows: Sequence[Row]) -> list[str]:
    """The keys; with goodput beside TPS where the two differ, and with the errors where there are any."""
    if any(fmt.rate(row.throughput_per_s) != fmt.rate(row.goodput_per_s) for row in rows):
        rates = [key for key in keys if key in RATES]
        if rates and "goodput" not in keys:
            keys = [more for key in keys for more in ((key, "goodput") if key == rates[-1] else (key,))]
        elif not rates and "goodput" in keys:
            keys = [more for key in keys for more in (("tps", key) if key == "goodput" else (key,))]
    counted = {"errors", "error_share"} & set(keys)
    return [*keys, "errors"] if any(map(errors, rows)) and not counted else keys


def _published(column: Column) -> Column:
    """The original's figures of a column."""
    is_store = column.key == "tps_store"

    def value(row: Row) -> float | None:
        figures = row.published_columns
        return figures.get(column.key, figures.get("tps") if is_store else None)

    def with_store(row: Row) -> str:
        rate, store = value(row), row.published_columns.get("store_cpu")
        return "" if rate is None else fmt.rate(rate) + (f" ({fmt.millicores(store / 1000)})" if store else "")

    header = _ORIGINAL.get(column.key, column.header)
    return Column(
        f"published_{column.key}", "published",
        _("The original study's {header}: context, not a target.", header=translated(header)), value,
        _PUBLISHED_TEXT.get(column.key, column.text), drop=column.drop + 1, row_text=with_store if is_store else None,
        context=True, optional=True, own_load=column.own_load,
    )  # fmt: skip


@dataclass(frozen=True)
class Rate:
    """A rate, and how it is read off a row, an interval and the original's figures."""

    unit: str
    title: str
    of_row: Callable[[Row], float | None]
    of_point: Callable[[TimelinePoint], float]
    of_original: Callable[[Row], float | None]
    of_interval: Callable[[Row], tuple[float, float] | None]


def _published_tps(row: Row) -> float | None:
    figures = row.published_columns
    return next((figures[key] for key in RATES if key in figures), row.published)


RPS = Rate(
    "RPS", translatable("Requests a second"), lambda row: row.goodput_per_s, lambda point: point.goodput_per_s,
    lambda row: row.published, lambda row: row.goodput_interval,
)  # fmt: skip
TPS = Rate(
    "TPS", translatable("Transactions a second"), lambda row: row.throughput_per_s,
    lambda point: point.throughput_per_s, _published_tps, lambda row: row.throughput_interval,
)  # fmt: skip


def rate_of(table: ResultTable) -> Rate:
    """The rate that the table's rows are ranked by."""
    return TPS if set(RATES) & set(table.columns) else RPS


def rate_of_run(analysis: Analysis) -> Rate:
    """The rate of the run as a whole: TPS as soon as one of its tables prints it."""
    return TPS if any(rate_of(table) is TPS for table in analysis.tables) else RPS


def goodput_name(analysis: Analysis) -> str:
    """What the correct replies of a second are called beside the run's own rate."""
    return _("goodput") if rate_of_run(analysis) is TPS else RPS.unit


MARKS = {"valid": "✓", "suspect": "!", "invalid": "✕", "missing": "–", "unknown": "?"}
MARK_TEXTS = {
    "valid": translatable("every check passed"),
    "suspect": translatable("a check was near its limit: read the figure with care"),
    "invalid": translatable("a check failed: the figure does not describe the server"),
    "missing": translatable("not measured"),
    "unknown": translatable("could not be observed"),
}
_AT_RATE_QUANTILES = (
    ("p50", "P50", translatable("Half of the replies came at least this fast"), 4),
    ("p99", "P99", translatable("99 of 100 replies came at least this fast"), 3),
    ("p999", "P99.9", translatable("999 of 1,000 replies came at least this fast"), 5),
)
FULL_LOAD = translatable("Response times under full load: users / throughput")
"""Heading of what stands apart."""
FULL_LOAD_READING = translatable(
    "Users without pauses keep the server full: each waits for all the others, so that the mean time is the number of "
    "users divided by the throughput. It says how the load was made, and is no property of the server."
)
SHARE_OFF = 0.1
"""A rate that is further from its share than this is not called by it."""
_IN_REPORT = translatable("Response times under full load are users / throughput: they are in the report.")


def columns_for(table: ResultTable) -> list[Column]:
    """The columns of a table; where rows were measured at a fixed rate, too, its latencies are those at that rate."""
    return [column.marked_once(table.rows) for column in _with_fixed_rates(_every(table), table.rows)]


def full_load_columns(table: ResultTable) -> list[Column]:
    """The latencies under the rows' own load, where they stand apart from the table."""
    return [column.marked_once(table.rows) for column in _apart(_every(table), table.rows)]


def _every(table: ResultTable) -> list[Column]:
    """The study's own columns, or else those of every table that have something to say in this one."""
    if table.columns:
        return _with_further(study_columns(table), table)
    return [column for column in USUAL if column.belongs_to(table.rows)]


def end_columns(rows: Sequence[Row], tps: bool) -> list[Column]:
    """The columns of the one table at the end of a run, whatever tables its rows are of.

    `tps`: the run's tables print throughput; then so does this one.
    """
    latencies = [replace(COLUMNS["p50"], drop=4), replace(COLUMNS["p99"], drop=3)]
    columns = [
        COLUMNS["tps" if tps else "goodput_per_s"],
        COLUMNS["throughput_interval" if tps else "goodput_interval"],
        COLUMNS["units_per_s"],
        replace(COLUMNS["bound"], drop=2),
        *(fixed_rate_columns(rows) or latencies),
        replace(COLUMNS["cost"], row_text=lambda r: cost_text(r.costs, ends=False)),
        replace(COLUMNS["held_back"], drop=7, when=_knows_bottleneck),
        replace(COLUMNS["published"], drop=8),
    ]
    return [
        column.marked_once(rows)
        for column in columns
        if column.belongs_to(rows) and any(column.has_content(row) for row in rows)
    ]


def _with_further(columns: list[Column], table: ResultTable) -> list[Column]:
    """A study's columns, and where rows have them units and the bound behind its rates, and last the cost."""
    rates = [place for place, column in enumerate(columns) if column.ranks or column.key == "goodput"]
    first, last = (rates[0] + 1, rates[-1] + 1) if rates else (0, 0)
    units, bound, cost = (
        [column] if (column := COLUMNS[key]).belongs_to(table.rows) else [] for key in ("units_per_s", "bound", "cost")
    )
    return [*columns[:first], *units, *columns[first:last], *bound, *columns[last:], *cost]


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
        _(
            "{says}, from the time that each request was due, at the rate of the column '{name}'.",
            says=translated(says),
            name=name,
        ),
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
            example = _(" (e.g. {label})", label=label) if len(alike) > 1 else ""
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
    """Return `number` rows in the order of the tables: those that are compared and have an interval, then other
    intervals.

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
