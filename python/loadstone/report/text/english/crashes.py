"""Tries of a crash without a result."""

from collections.abc import Callable

CRASHES: dict[str, str | Callable[..., str]] = {
    "crash_try": lambda number, why: f"Try {number}: {why.rstrip('.')}.",
    "crash_not_restarted": "it did not start again",
    "crash_not_counted": "what it held could not be counted",
}
