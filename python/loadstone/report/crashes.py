"""What was lost when a server was killed, as text and figures, the same in every format."""

from collections.abc import Iterable

from loadstone.analyse.model import CrashRow, CrashTable
from loadstone.message import Message, message
from loadstone.report import format as fmt

_HEADERS = (
    (message("crash_condition"), message("crash_condition_meaning")),
    (message("crash_tries"), message("crash_tries_meaning")),
    (message("crash_lost"), message("crash_lost_meaning")),
    (message("crash_present"), message("crash_present_meaning")),
    (message("crash_unacknowledged"), message("crash_unacknowledged_meaning")),
    (message("crash_worst"), message("crash_worst_meaning")),
    (message("crash_restart"), message("crash_restart_meaning")),
)


def heading() -> str:
    """What stands above the tables."""
    return fmt.sentence(message("crash_heading"))


def reading() -> str:
    """How the tables are to be read."""
    return fmt.sentence(message("crash_reading"))


def headers() -> dict[str, str]:
    """The heads of the columns and what they mean."""
    return {fmt.sentence(head): fmt.sentence(meaning) for head, meaning in _HEADERS}


def cells(row: CrashRow) -> list[str]:
    """The figures of a row in the order of `headers`, after the condition; dashes where nothing is known."""
    tries = fmt.count(row.times)
    if not row.acknowledged:
        return [tries, *[fmt.NONE] * (len(_HEADERS) - 2)]
    found = [fmt.count(row.present), fmt.count(row.unacknowledged_present)] if row.looked_up else [fmt.NONE] * 2
    return [tries, lost(row), *found, fmt.count(row.lost_worst), fmt.seconds(row.restart_s or None)]


def values(row: CrashRow) -> tuple[float, ...]:
    """What the cells are sorted by."""
    return (row.times, row.lost_min, row.present, row.unacknowledged_present, row.lost_worst, row.restart_s)


def lost(row: CrashRow) -> str:
    """`0 of 1,000`, `20 of 1,000 (2 %)` or `0 to 5 of 1,000 (bounds)`; of overwritten keys `of 1,000 keys`."""
    return fmt.sentence(_lost(row))


def short(row: CrashRow) -> str:
    """A condition in one line: `20 of 1,000 (2 %) lost, 3 tries`."""
    return fmt.sentence(message("crash_short", lost=_lost(row) if row.acknowledged else None, tries=row.times))


def alarms(tables: Iterable[CrashTable]) -> list[str]:
    """A line for each condition that lost more than it promises."""
    return [fmt.sentence(_alarm(row)) for table in tables for row in table.rows if row.broken]


def _lost(row: CrashRow) -> Message:
    return message(
        "crash_lost_of",
        least=row.lost_min,
        most=row.lost_max,
        acknowledged=row.acknowledged,
        overwritten=row.writes > row.acknowledged,
        counted=not row.looked_up,
    )


def _alarm(row: CrashRow) -> Message:
    promised = row.promised or 0
    return message("crash_alarm", label=row.label, promised=promised, lost=_lost(row), keys=list(row.lost_keys))
