"""What was lost when a server was killed, and tries without a result."""

from collections.abc import Callable, Sequence

from loadstone.text.figures import digits
from loadstone.text.language import _, plural


def _lost_of(least: int, most: int, acknowledged: int, overwritten: bool, counted: bool) -> str:
    """`0 of 1,000`, `20 of 1,000 (2 %)` or `0 to 5 of 1,000 (bounds)`; of overwritten keys `of 1,000 keys`."""
    ends = f"{least:,}" if least == most else _("{least:,} to {most:,}", least=least, most=most)
    if overwritten:
        said = _("{ends} of {acknowledged:,} keys", ends=ends, acknowledged=acknowledged)
    else:
        said = _("{ends} of {acknowledged:,}", ends=ends, acknowledged=acknowledged)
    if least != most or counted:
        return _("{said} (bounds)", said=said)
    return f"{said} ({digits(100 * least / acknowledged)} %)" if least else said


def _short(lost: str, tries: int) -> str:
    return f"{_('{lost} lost', lost=lost) if lost else _('nothing is known')}, {plural(tries, '{n} try', '{n} tries')}"


def _alarm(label: str, promised: int, lost: str, keys: Sequence[str]) -> str:
    limit = _("at most {promised:,} in one try", promised=promised) if promised else _("none")
    first = _(" First: {keys}.", keys=", ".join(keys)) if keys else ""
    return _(
        "ALARM: {label} promises to lose {limit} of the acknowledged writes, and lost {lost}.{first}",
        label=label,
        limit=limit,
        lost=lost,
        first=first,
    )


CRASHES: dict[str, str | Callable[..., str]] = {
    "crash_heading": "Acknowledged writes lost when the server was killed (process killed, not power lost)",
    "crash_reading": (
        "Process killed, not power lost: kill -9 ends the server's process, not the machine, and what it had handed to "
        "the kernel is kept. What fsync protects against, a power failure, is not tried."
    ),
    "crash_condition": "condition",
    "crash_condition_meaning": "How the server was configured.",
    "crash_tries": "tries",
    "crash_tries_meaning": "How often it was killed under load and started again.",
    "crash_lost": "lost",
    "crash_lost_meaning": (
        "Acknowledged writes that are gone after the restart, of all acknowledged ones: every acknowledged key was "
        "looked up. Bounds: the writes were counted, or several writes of a key were in flight at once."
    ),
    "crash_present": "present",
    "crash_present_meaning": "Acknowledged writes that are there after the restart.",
    "crash_unacknowledged": "unacknowledged, present",
    "crash_unacknowledged_meaning": (
        "Writes that are there after the restart, and whose reply had not come when it died."
    ),
    "crash_worst": "worst try",
    "crash_worst_meaning": "The most writes that one try certainly lost.",
    "crash_restart": "restart",
    "crash_restart_meaning": "The longest time until it served again.",
    "crash_lost_of": _lost_of,
    "crash_short": _short,
    "crash_alarm": _alarm,
    "crash_try": lambda number, why: _("Try {number}: {why}.", number=number, why=why.rstrip(".")),
    "crash_not_restarted": "it did not start again",
    "crash_not_counted": "what it held could not be counted",
}
