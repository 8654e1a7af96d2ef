"""Latency at a fixed rate: its columns, and how it stands apart from latency under a row's own load."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from loadstone.analyse.model import AtRate, ResultTable, Row
from loadstone.report import format as fmt
from loadstone.report.fold import folded
from loadstone.report.tables.column import Column

_QUANTILES = (
    ("p50", "P50", "Half of the replies came at least this fast", 4),
    ("p99", "P99", "99 of 100 replies came at least this fast", 3),
    ("p999", "P99.9", "999 of 1,000 replies came at least this fast", 5),
)
FULL_LOAD = "Response times under full load: users / throughput"
"""Heading of what stands apart."""
FULL_LOAD_READING = (
    "Users without pauses keep the server full: each waits for all the others, so that the mean time is the number of "
    "users divided by the throughput. It says how the load was made, and is no property of the server."
)
SHARE_OFF = 0.1
"""A rate that is further from its share than this is not called by it."""
_IN_REPORT = "Response times under full load are users / throughput: they are in the report."


def is_at_rate(rows: Sequence[Row]) -> bool:
    """Whether some row was measured at a fixed rate, too."""
    return any(row.at_rate for row in rows)


def rate_name(rows: Sequence[Row]) -> str:
    """What the rate is called: `half rate`, `30 % rate`, or `fixed rate` where some row's rate is not that share."""
    shares = {_share(row) for row in rows if row.at_rate}
    share = shares.pop() if len(shares) == 1 else None
    if share is None or any(_off_its_share(row) for row in rows):
        return "fixed rate"
    return "half rate" if share == 0.5 else f"{fmt.percent(share)} rate"


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
    shared = " It is a share of the condition's own capacity." if any(_share(row) for row in rows) else ""
    says = f"Requests a second that were sent on a schedule, however long replies took: latency is measured so.{shared}"
    held = Column("at_rate", name, says, _held, fmt.rate, drop=6, source=_at_rate)
    return [held, *(_quantile(key, header, says, drop, name) for key, header, says, drop in _QUANTILES)]


def _quantile(key: str, header: str, says: str, drop: int, name: str) -> Column:
    return Column(
        f"{key}_at_rate",
        f"{header} at {name}",
        f"{says}, from the time that each request was due, at the rate of the column '{name}'.",
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
    def value(row: Row) -> float | None:
        response = row.at_rate.response_ns if row.at_rate else None
        return None if response is None else getattr(response, key)

    return value


def with_fixed_rates(columns: Sequence[Column], rows: Sequence[Row]) -> list[Column]:
    """The columns with those at a fixed rate in the place of what stands apart; as they are where there are none."""
    added = fixed_rate_columns(rows)
    if not added:
        return list(columns)
    apart = [place for place, column in enumerate(columns) if column.own_load]
    place = apart[0] if apart else len(columns)
    added = [replace(column, drop=2 if column.quantile == "p999" else 0 if column.quantile else 5) for column in added]
    return [*columns[:place], *added, *(column for column in columns[place:] if not column.own_load)]


def apart(columns: Sequence[Column], rows: Sequence[Row]) -> list[Column]:
    """The latencies under the rows' own load where they stand apart; none where they stand in the table itself."""
    return [column for column in columns if column.own_load] if is_at_rate(rows) else []


def fixed_rate_lines(table: ResultTable) -> Iterator[str]:
    """What is wrong with the figures at a fixed rate, a line each: the reason, how many rows, one as an example."""
    name = rate_name(table.rows)
    for row in filter(_off_its_share, table.rows):
        meant, true = fmt.percent(_share(row)), fmt.percent(_true_share(row))
        yield f"The rate of {fmt.plain(row.label)} is {true} of what it did, where {meant} were meant"
    for verdict, said in (
        ("missing", f"No figures at {name}"),
        ("invalid", f"Figures at {name} refused"),
        ("suspect", f"Figures at {name} are suspect"),
    ):
        found = [row for row in table.rows if row.at_rate and row.at_rate.verdict == verdict]
        reasons = ((fmt.plain(row.label), why) for row in found for why in (row.at_rate.reasons if row.at_rate else ()))
        for alike in folded(reasons):
            label, why = alike[0]
            where = f"{len(alike)} of {len(table.rows)} conditions" if len(alike) > 1 else label
            example = f" (e.g. {label})" if len(alike) > 1 else ""
            yield f"{said} for {where}{example}: {why}"


def full_load_line(rows: Sequence[Row]) -> str:
    """What a short table does not say of latency under full load; empty where there is nothing to say."""
    return _IN_REPORT if is_at_rate(rows) and any(row.saturated and row.response_ns for row in rows) else ""
