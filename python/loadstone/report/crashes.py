"""What was lost when a server was killed, as text and figures, the same in every format."""

from collections.abc import Iterable

from loadstone.analyse.model import CrashRow, CrashTable
from loadstone.report import format as fmt

HEADING = "Acknowledged writes lost when the server was killed (process killed, not power lost)"
READING = (
    "Process killed, not power lost: kill -9 ends the server's process, not the machine, and what it had handed to the "
    "kernel is kept. What fsync protects against, a power failure, is not tried."
)
BOUNDS = "bounds"
HEADERS = {
    "condition": "How the server was set.",
    "tries": "How often it was killed under load and started again.",
    "lost": "Acknowledged writes that are gone after the restart, of all acknowledged ones: every acknowledged key was "
    "looked up. Bounds: the writes were counted, or several writes of a key were in flight at once.",
    "present": "Acknowledged writes that are there after the restart.",
    "unacknowledged, present": "Writes that are there after the restart, and whose reply had not come when it died.",
    "worst try": "The most that one try lost for certain.",
    "restart": "The longest time until it served again.",
}


def cells(row: CrashRow) -> list[str]:
    """The figures of a row in the order of `HEADERS`, after the condition; dashes where nothing is known."""
    tries = fmt.count(row.times)
    if not row.acknowledged:
        return [tries, *[fmt.NONE] * (len(HEADERS) - 2)]
    found = [fmt.count(row.present), fmt.count(row.unacknowledged_present)] if row.looked_up else [fmt.NONE] * 2
    return [tries, lost(row), *found, fmt.count(row.lost_worst), fmt.seconds(row.restart_s or None)]


def values(row: CrashRow) -> tuple[float, ...]:
    """What the cells are sorted by."""
    return (row.times, row.lost_min, row.present, row.unacknowledged_present, row.lost_worst, row.restart_s)


def lost(row: CrashRow) -> str:
    """`0 of 1,000`, `20 of 1,000 (2 %)` or `0 to 5 of 1,000 (bounds)`; of overwritten keys `of 1,000 keys`."""
    ends = dict.fromkeys((fmt.count(row.lost_min), fmt.count(row.lost_max)))
    of = f"of {fmt.count(row.acknowledged)}{' keys' if row.writes > row.acknowledged else ''}"
    text = f"{' to '.join(ends)} {of}"
    if len(ends) > 1 or not row.looked_up:
        return f"{text} ({BOUNDS})"
    return f"{text} ({fmt.percent(row.lost_min / row.acknowledged)})" if row.lost_min else text


def alarms(tables: Iterable[CrashTable]) -> list[str]:
    """A line for each condition that lost more than it promises."""
    return [_alarm(row) for table in tables for row in table.rows if row.broken]


def _alarm(row: CrashRow) -> str:
    promised = "none" if row.promised == 0 else f"at most {fmt.count(row.promised or 0)} in one try"
    first = f" First: {', '.join(row.lost_keys)}." if row.lost_keys else ""
    return f"ALARM: {row.label} promises to lose {promised} of the acknowledged writes, and lost {lost(row)}.{first}"
