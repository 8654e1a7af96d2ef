"""The columns that studies print, by the keys that an experiment's tables name them with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadstone import registry
from loadstone.analyse.model import Analysis, Part, ResultTable, Row, TimelinePoint
from loadstone.language import _, marked, translated
from loadstone.record.facts import DRIVER
from loadstone.record.part_kinds import SUBJECT
from loadstone.report import format as fmt
from loadstone.report.glossary import TERMS
from loadstone.report.tables import observed
from loadstone.report.tables.column import Column, errors, latency, rate_range
from loadstone.report.tables.observed import TEXT, Text
from loadstone.software.metric import STORES, StudyColumn
from loadstone.spec.levels import Level

BOTTLENECKS: dict[Part, str] = {
    "generator": marked("generator"),
    "subject": marked("subject"),
    "server": marked("server"),
    "disk": marked("disk"),
    "lock": marked("lock"),
    "pool": marked("pool"),
    "network": marked("network"),
    "cpu": marked("shared CPU"),
    "latency": marked("round trips"),
    "paced": marked("its own pace"),
    "unknown": "?",
}
"""What limited a condition, in short."""
ROUND_TRIP = marked("round trip of this client")
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


def _average_and_maximum(kind: str, metric: str, text: Text) -> Callable[[Row], str]:
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


def _quantile(name: str, header: str, explanation: str, drop: int) -> Column:
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
_ALL = (
    Column("tps", "TPS", TERMS["TPS"], lambda r: r.throughput_per_s, fmt.rate, ranks=True),
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
        "interval", "95 % interval",
        "The typical goodput of a trial of this condition lies in this range 95 times in 100.",
        lambda r: r.goodput_interval[0] if r.goodput_interval else None, fmt.rate, drop=4,
        row_text=lambda r: rate_range(r.goodput_interval), optional=True,
    ),
    Column(
        "blocks", "blocks", "How often the condition was measured, each time with everything fresh.",
        lambda r: r.blocks if r.blocks > 1 else None, fmt.count, drop=8, optional=True,
    ),
    Column("peak_tps", "peak TPS", TERMS["peak TPS"], lambda r: r.peak_per_s, fmt.rate, drop=3),
    Column("mtt", "MTT", TERMS["MTT"], latency("mean"), fmt.duration, drop=1),
    Column("executed", "executed tests", TERMS["executed tests"], lambda r: r.operations, fmt.count, drop=5),
    Column("errors", "errors", "Failed, timed-out and wrong replies. TPS counts them, goodput does not.", errors,
           fmt.count, drop=2),
    Column("error_share", "error share", "Failed, timed-out and wrong replies, of all that ended. TPS counts them, "
           "goodput does not.", error_share, fmt.percent, drop=1),
    _quantile("min", "min", "The fastest reply.", 6),
    _quantile("p50", "P50", "Half of the replies came at least this fast (the median).", 1),
    _quantile("p95", "P95", "95 of 100 replies came at least this fast.", 3),
    _quantile("p99", "P99", "99 of 100 replies came at least this fast; one user in a hundred waited longer.", 1),
    _quantile("p999", "P99.9", "999 of 1,000 replies came at least this fast.", 4),
    _quantile("max", "max", "The slowest reply.", 5),
    Column(
        "stored", "stored / answered",
        "Rows or entities that the trials stored, counted on the server, not as keys, of those that were answered as "
        "stored. Both warm-up included, so they are more than the executed tests.",
        lambda r: r.stored, fmt.count, drop=2, row_text=_stored,
    ),
    Column(
        "store_cpu", "store CPU",
        "The highest CPU of the store while it was measured, in millicores: 1000m is one core.",
        lambda r: max(store_cores(r).values(), default=None), fmt.millicores, drop=2, row_text=_stores,
    ),
    _declared(_APP_CPU),
    *map(_declared, registry.STUDY_COLUMNS),
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
        "driver_cpu", "CPU a request",
        "CPU time of the generator for each operation that ended: of the client library, where it makes the load.",
        _driver_cpu_ns, fmt.duration, drop=3,
    ),
    Column(
        "held_back", "bottleneck", TERMS["bottleneck"], lambda _: None, fmt.number, drop=2,
        row_text=bottleneck_text, optional=True,
    ),
    Column(
        "published", "published", "The original study's figure, from its author's machine: context, not a target.",
        lambda r: r.published, fmt.rate, drop=3, context=True, optional=True,
    ),
)  # fmt: skip
USERS = Column(
    "users", "vUsers", "Virtual users that made the load: the run was made smaller than the experiment writes it.",
    lambda r: r.users, fmt.count, optional=True, drop=1,
)  # fmt: skip
"""Of a run that was scaled: its rows are called by the users that the experiment writes."""
STUDY_COLUMNS: dict[str, Column] = {column.key: column for column in _ALL}
_ORIGINAL = {"stored": marked("count of what it stored")}
_PER_CENT = [
    "error_share",
    *(column.key for column in (_APP_CPU, *registry.STUDY_COLUMNS) if column.format == "percent"),
]
_PUBLISHED_TEXT: dict[str, Text] = {
    "store_cpu": lambda value: fmt.NONE if value is None else fmt.millicores(value / 1000),
    **dict.fromkeys(_PER_CENT, lambda value: fmt.NONE if value is None else fmt.percent(value / 100)),
}
"""Published figures stand as the studies print them: millicores, per cent; others in the unit of our own figure."""


def study_columns(table: ResultTable) -> list[Column]:
    """The columns that the table names, each with its published figures behind it.

    Where failures make TPS and goodput differ both are there, and the errors. Keys that are not known here are passed
    over.
    """
    keys = list(dict.fromkeys(key for key in table.columns if key in STUDY_COLUMNS))
    found: list[Column] = [USERS]
    for key in _with_errors(keys, table.rows):
        column = STUDY_COLUMNS[key]
        found += [column, _published(column)]
    return [c for c in found if not c.optional or any(c.says_something(row) for row in table.rows)]


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
    "RPS", marked("Requests a second"), lambda row: row.goodput_per_s, lambda point: point.goodput_per_s,
    lambda row: row.published, lambda row: row.goodput_interval,
)  # fmt: skip
TPS = Rate(
    "TPS", marked("Transactions a second"), lambda row: row.throughput_per_s, lambda point: point.throughput_per_s,
    _published_tps, lambda row: row.throughput_interval,
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
