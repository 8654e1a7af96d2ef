"""Whether the server and its kernel were set up so that they cost nothing in addition to the load."""

import re
from math import inf

from loadstone.judge.checks.check import DirectVerdict, Finding, Limit, MeasuredFigure, NotObserved, check
from loadstone.judge.checks.evidence import TrialEvidence
from loadstone.run_folder.facts import ServerCounters
from loadstone.text.message import message

MONITOR_CLIENTS = Limit(0, inf, "clients", "J: each command is copied to each client that watches")
SLOW_LOG = Limit(1000, inf, "us", "J: an entry takes time, too")
LOG_LEVEL = Limit(0, inf, "", "J: the level `debug` writes lines for ordinary work")
HUGE_PAGES = Limit(0, inf, "forks", "J: with huge pages the first write after a fork copies 2 MB instead of 4 kB")
OVERCOMMIT = Limit(1, inf, "", "J: at 0 it may, and then snapshots and rewrites fail")

MICROSECONDS = "slowlog-log-slower-than"
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")


@check(MONITOR_CLIENTS)
def monitor_clients(evidence: TrialEvidence) -> Finding | None:
    """Clients that were shown every command by MONITOR, which halves what a server can do."""
    if not evidence.has_redis:
        return None
    begun = sum(
        after.calls.get("monitor", 0) - before.calls.get("monitor", 0) for before, after in evidence.server_sides
    )
    numbers = [side.monitor_clients for side in _all(evidence)]
    listening = max([begun, *(number for number in numbers if number is not None)], default=0)
    if not listening and (None in numbers or not numbers):
        return NotObserved(message("check.monitor_clients.not_reported"))
    reason = message("check.monitor_clients.listening", clients=listening)
    return MeasuredFigure(listening, reason)


@check(SLOW_LOG, less_is_worse=True)
def slow_log(evidence: TrialEvidence) -> Finding | None:
    """Whether ordinary commands were written to the slow log: the time from which on a command is."""
    if not evidence.has_redis:
        return None
    reported = [_whole_number(side.settings.get(MICROSECONDS, "")) for side in _all(evidence)]
    thresholds = [threshold for threshold in reported if threshold is not None]
    grown = sum(
        after.slow_log_entries - before.slow_log_entries
        for before, after in evidence.server_sides
        if before.slow_log_entries is not None and after.slow_log_entries is not None
    )
    if not thresholds:
        return NotObserved(message("check.slow_log.not_reported", grown=max(0, grown)))
    lowest = min((value for value in thresholds if value >= 0), default=None)
    if lowest is None or lowest >= SLOW_LOG.valid:
        return DirectVerdict("valid", lowest, SLOW_LOG.valid)
    reason = message("check.slow_log.on", from_us=lowest, setting=MICROSECONDS)
    return DirectVerdict("suspect", lowest, SLOW_LOG.valid, reason)


def _whole_number(text: str) -> int | None:
    """None where the text is not a whole number as Redis writes it."""
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else None


@check(LOG_LEVEL)
def log_level(evidence: TrialEvidence) -> Finding | None:
    """Whether the server writes a log line for what it does all the time."""
    if not evidence.has_redis:
        return None
    levels = {side.settings["loglevel"] for side in _all(evidence) if "loglevel" in side.settings}
    if not levels:
        return NotObserved(message("check.log_level.not_reported"))
    return MeasuredFigure(float("debug" in levels), message("check.log_level.debug"))


@check(HUGE_PAGES)
def huge_pages(evidence: TrialEvidence) -> Finding | None:
    """Forks with transparent huge pages: each page that is written after one is copied whole, 2 MB at a time."""
    if not evidence.has_redis:
        return None
    always = evidence.facts.host.huge_pages_always
    disabled = [side.settings.get("disable-thp") for side in _all(evidence)]
    if always is None or not evidence.ours:
        return NotObserved(message("check.huge_pages.not_observed"))
    forks = evidence.counted("total_forks") or 0.0
    open_to_them = always and not (disabled and all(value == "yes" for value in disabled))
    return MeasuredFigure(forks if open_to_them else 0.0, message("check.huge_pages.forks", forks=forks))


@check(OVERCOMMIT, information=True)
def overcommit(evidence: TrialEvidence) -> Finding | None:
    """Information: whether the kernel may refuse a fork to a large server. Never held against a trial."""
    if not evidence.has_redis:
        return None
    setting = evidence.facts.host.overcommit_memory
    if setting is None or not evidence.ours:
        return NotObserved(message("check.overcommit.not_observed"))
    off = setting != OVERCOMMIT.valid
    return DirectVerdict("valid", setting, OVERCOMMIT.valid, message("check.overcommit.off") if off else None)


def _all(evidence: TrialEvidence) -> list[ServerCounters]:
    """Every server before and after."""
    return [side for sides in evidence.server_sides for side in sides]
