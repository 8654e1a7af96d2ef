"""What was lost when a server was killed, in words and figures, the same in every format."""

from loadstone.analyse.model import CrashRow
from loadstone.report import format as fmt

HEADING = "What durability buys: acknowledged writes lost when the server was killed"
READING = (
    "kill -9 ends the server's process, not the machine: what it had handed to the kernel is kept. "
    "What fsync protects against, a power failure, is not tried."
)
HEADERS = {
    "condition": "How the server was set.",
    "tries": "How often it was killed under load and started again.",
    "acknowledged": "Writes that were answered as stored before it died, all tries together.",
    "lost": "Of these, gone after the restart. A range where writes without an answer leave it open.",
    "worst try": "The most that one try lost for certain.",
    "restart": "The longest time until it served again.",
}


def cells(row: CrashRow) -> list[str]:
    """The figures of a row in the order of `HEADERS`, after the condition; dashes where no try told anything."""
    told = [fmt.count(row.times), fmt.count(row.acknowledged)]
    if not row.acknowledged:
        return [*told, fmt.NONE, fmt.NONE, fmt.NONE]
    return [*told, lost(row), fmt.count(row.lost_worst), fmt.seconds(row.restart_s or None)]


def lost(row: CrashRow) -> str:
    """`0`, or `1,234 to 1,240 (at most 2.1 %)`: the share is that of the acknowledged writes."""
    ends = dict.fromkeys((fmt.count(row.lost_min), fmt.count(row.lost_max)))
    if not row.lost_max or not row.acknowledged:
        return " to ".join(ends)
    at_most = "at most " if len(ends) > 1 else ""
    return f"{' to '.join(ends)} ({at_most}{fmt.percent(row.lost_max / row.acknowledged)})"
