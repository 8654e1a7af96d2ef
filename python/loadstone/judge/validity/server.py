"""Whether the server and its kernel were set up so that they do not cost what nobody asked for."""

import re

from loadstone.judge.validity import limits
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.result import unknown, within
from loadstone.record.facts import ServerCounters
from loadstone.record.trial import CheckResult

MICROSECONDS = "slowlog-log-slower-than"
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")


def monitor_clients(evidence: TrialEvidence) -> CheckResult | None:
    """Clients that were shown every command by MONITOR, which halves what a server can do."""
    if not evidence.has_redis:
        return None
    limit = limits.MONITOR_CLIENTS
    begun = sum(
        after.calls.get("monitor", 0) - before.calls.get("monitor", 0) for before, after in evidence.server_sides
    )
    seen = [side.monitor_clients for side in _all(evidence)]
    told = [number for number in seen if number is not None]
    listening = max([begun, *told], default=0)
    if not listening and (None in seen or not seen):
        return unknown("monitor_clients", limit, "The server does not tell who is connected to it.")
    reason = f"{listening} client(s) had the server show them every command (MONITOR): end them."
    return within("monitor_clients", listening, limit, reason)


def slow_log(evidence: TrialEvidence) -> CheckResult | None:
    """Whether ordinary commands were written to the slow log: the time from which on a command is."""
    if not evidence.has_redis:
        return None
    limit = limits.SLOW_LOG
    told = [_whole_number(side.settings.get(MICROSECONDS, "")) for side in _all(evidence)]
    thresholds = [threshold for threshold in told if threshold is not None]
    grown = sum(
        after.slow_log_entries - before.slow_log_entries
        for before, after in evidence.server_sides
        if before.slow_log_entries is not None and after.slow_log_entries is not None
    )
    if not thresholds:
        more = f" (it grew by {grown} commands)" if grown > 0 else ""
        return unknown("slow_log", limit, f"The server does not tell what it writes to its slow log{more}.")
    lowest = min((value for value in thresholds if value >= 0), default=None)
    logs = lowest is not None and lowest < limit.valid
    return CheckResult(
        name="slow_log",
        verdict="suspect" if logs else "valid",
        measured=lowest,
        limit=limit.valid,
        unit=limit.unit,
        reason=f"Commands of {lowest} us and more go to the slow log: set {MICROSECONDS} to 10000." if logs else "",
    )


def _whole_number(text: str) -> int | None:
    """None for what no Redis says of a whole number."""
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else None


def log_level(evidence: TrialEvidence) -> CheckResult | None:
    """Whether the server writes a log line for what it does all the time."""
    if not evidence.has_redis:
        return None
    levels = {side.settings["loglevel"] for side in _all(evidence) if "loglevel" in side.settings}
    if not levels:
        return unknown("log_level", limits.LOG_LEVEL, "The server does not tell its log level.")
    reason = "The server writes its log at the level 'debug': set loglevel to 'notice'."
    return within("log_level", float("debug" in levels), limits.LOG_LEVEL, reason)


def huge_pages(evidence: TrialEvidence) -> CheckResult | None:
    """Forks with transparent huge pages: each page that is written after one is copied whole, 2 MB at a time."""
    if not evidence.has_redis:
        return None
    limit = limits.HUGE_PAGES
    always, told = evidence.facts.host.huge_pages_always, [side.settings.get("disable-thp") for side in _all(evidence)]
    if always is None or not evidence.ours:
        return unknown("huge_pages", limit, "Whether the server's kernel gives huge pages unasked could not be seen.")
    forks = evidence.counted("total_forks") or 0.0
    open_to_them = always and not (told and all(value == "yes" for value in told))
    reason = (
        f"The server forked {forks:.0f} times and the kernel gives huge pages unasked: each first write after a fork "
        "copies 2 MB; set disable-thp to yes."
    )
    return within("huge_pages", forks if open_to_them else 0.0, limit, reason)


def overcommit(evidence: TrialEvidence) -> CheckResult | None:
    """Information: whether the kernel may refuse a fork to a large server. Never held against a trial."""
    if not evidence.has_redis:
        return None
    limit = limits.OVERCOMMIT
    found = evidence.facts.host.overcommit_memory
    if found is None or not evidence.ours:
        return unknown("overcommit", limit, "The setting of the server's kernel could not be seen.")
    return CheckResult(
        name="overcommit",
        verdict="valid",
        measured=found,
        limit=limit.valid,
        unit=limit.unit,
        reason="vm.overcommit_memory is not 1: a server that fills half of the memory may fail to fork."
        if found != limit.valid
        else "",
    )


def _all(evidence: TrialEvidence) -> list[ServerCounters]:
    """Every server before and after."""
    return [side for sides in evidence.server_sides for side in sides]
