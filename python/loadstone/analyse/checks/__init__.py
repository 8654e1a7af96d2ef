"""The checks of one trial: each a function of its evidence, with a line for people.

A check answers None where its question does not arise (a schedule in the closed model).
"""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import ValidationError

from loadstone.analyse import limits
from loadstone.analyse.checks import (
    accounting,
    application,
    generator,
    in_force,
    keys,
    load,
    server,
    surroundings,
    time,
)
from loadstone.analyse.evidence import TrialEvidence, evidence_of
from loadstone.analyse.limits import Limit
from loadstone.record.facts import DRIVER, OWN
from loadstone.record.trial import CheckResult, TrialRecord


@dataclass(frozen=True)
class Check:
    """One validity rule. `explanation` is one line for a person who has read no statistics."""

    function: Callable[[TrialEvidence], CheckResult | None]
    limit: Limit | None
    explanation: str
    less_is_worse: bool = False
    """Whether the smaller figure is the worse one."""
    outside: bool = False
    """Whether only something outside the measured system can make it fail."""
    information: bool = False
    """Whether it is never held against a trial."""

    @property
    def name(self) -> str:
        return self.function.__name__


CHECKS: tuple[Check, ...] = (
    Check(load.finished, None, "Did the trial run to its planned end?", less_is_worse=True),
    Check(generator.generator_cpu, limits.GENERATOR_CPU, "Was the program that makes the load itself out of breath?"),
    Check(
        generator.generator_wait, limits.CPU_WAIT, "Did other programs take the load program's CPU away?", outside=True
    ),
    Check(
        generator.generator_ceiling, limits.CEILING, "Could the load program have done clearly more than it did here?"
    ),
    Check(
        generator.round_trip, limits.ROUND_TRIP, "Is the typical latency the server's, or that of any answer at all?"
    ),
    Check(time.clock, limits.CLOCK, "Is the clock fine enough for the latencies that are printed?"),
    Check(time.schedule_sent, limits.SCHEDULE_SENT, "Was everything sent that the schedule asked for?"),
    Check(time.schedule_lag, limits.SCHEDULE_LAG, "Did the load program send on time?"),
    Check(time.dropped_arrivals, limits.DROPPED, "Was any arrival turned away because too many were waiting?"),
    Check(accounting.errors, limits.ERRORS, "Did operations fail?"),
    Check(accounting.conservation, limits.CONSERVATION, "Does every operation that was begun have exactly one end?"),
    Check(accounting.server_counter, limits.SERVER_COUNTER, "Did the server count the same commands as we did?"),
    Check(application.stored_rows, limits.STORED_ROWS, "Did the server store as many rows as were answered as stored?"),
    Check(accounting.replies, limits.REPLIES, "Were the replies right, and was the data really stored?"),
    Check(accounting.payload, limits.PAYLOAD, "Did the server read the bytes that were sent, and no others?"),
    Check(
        load.little, limits.LITTLE, "Were the virtual users busy all the time, as they should be?", less_is_worse=True
    ),
    Check(load.pool_wait, limits.POOL_WAIT, "Did operations queue for a connection instead of for the server?"),
    Check(load.connections, limits.CONNECTIONS, "Were all connections there all the time?"),
    Check(load.warm_up, limits.WARM_UP, "Had the rate settled before the measurement began?"),
    Check(
        load.samples,
        limits.SAMPLES,
        "Were enough operations measured for the rarest latencies that are printed?",
        less_is_worse=True,
    ),
    Check(keys.hit_rate, limits.HIT_RATE, "Did the reads find what they should find?"),
    Check(keys.key_count, limits.KEY_COUNT, "Are there as many keys as the operations must have stored?"),
    Check(application.settings, limits.SETTINGS, "Did the servers run with the settings that were asked for?"),
    Check(in_force.limits, limits.LIMITS, "Were the CPU and memory limits in force that were asked for?"),
    Check(
        application.connection_leak,
        limits.CONNECTION_LEAK,
        "Did the application open ever more connections without giving them back?",
    ),
    Check(surroundings.evicted_keys, limits.EVICTED, "Did the server throw data away?"),
    Check(surroundings.steal, limits.STEAL, "Did other virtual machines take CPU time away?", outside=True),
    Check(surroundings.server_wait, limits.CPU_WAIT, "Did other programs take the server's CPU away?", outside=True),
    Check(surroundings.swap, limits.SWAP, "Was memory moved to the disk and back?", outside=True),
    Check(surroundings.placement, limits.PLACEMENT, "Did the load program and the server get in each other's way?"),
    Check(surroundings.background, limits.BACKGROUND, "Did the server save its data while it was measured?"),
    Check(
        server.monitor_clients,
        limits.MONITOR_CLIENTS,
        "Did the server have to show every command to somebody?",
        outside=True,
    ),
    Check(
        server.slow_log, limits.SLOW_LOG, "Did the server note ordinary commands in its slow log?", less_is_worse=True
    ),
    Check(server.log_level, limits.LOG_LEVEL, "Did the server write a log while it worked?"),
    Check(server.huge_pages, limits.HUGE_PAGES, "Did forks cost more than they must, because of huge pages?"),
    Check(
        server.overcommit,
        limits.OVERCOMMIT,
        "For information: may the kernel refuse a fork to a large server?",
        information=True,
    ),
    Check(
        surroundings.server_cpu,
        limits.SERVER_CPU,
        "For information: how busy was the server's main thread?",
        information=True,
    ),
    Check(
        application.subject_throttled,
        limits.SUBJECT_THROTTLED,
        "For information: how long did its CPU limit hold the application back?",
        information=True,
    ),
)

OUTSIDE: frozenset[str] = frozenset(check.name for check in CHECKS if check.outside)
"""Checks whose failure comes from outside the measured system: a trial that fails one is measured again.

A fork or an eviction is not among them: the server's own settings cause it. What the system itself does
(a server larger than the memory, which swaps) comes again with each attempt, and ends as too many repeats.
"""


def outside_causes(trial: TrialRecord) -> list[CheckResult]:
    """The failed checks of a judged trial that something outside the measured system caused; empty if none.

    Waiting for a CPU is not counted where the parts may have waited for each other: on shared CPUs, with
    more parts than CPUs for them, or with a part of many threads among them; nor while a child of the server
    was writing.
    """
    failed = [check for check in trial.checks if check.verdict in ("suspect", "invalid")]
    names = {check.name for check in failed}
    try:
        evidence = evidence_of(trial) if names & _WAITS else None
    except ValidationError:  # damaged facts: nothing speaks for the parts themselves
        evidence = None
    among_themselves = set[str]()
    if evidence is not None and _share_cpus(evidence):
        among_themselves = set(_WAITS)
    elif "background" in names:
        among_themselves = {"server_wait"}
    return [check for check in failed if check.name in OUTSIDE - among_themselves]


_WAITS = frozenset({"generator_wait", "server_wait"})


def _share_cpus(evidence: TrialEvidence) -> bool:
    """Whether parts of the measured system may take a CPU from each other."""
    placed = evidence.facts.placement
    parts = set(evidence.facts.parts) - {DRIVER, OWN}
    wide = len(parts) > 1 and any(evidence.subject_of(part) or part in evidence.mariadbs for part in parts)
    return placed is not None and (placed.shared or wide or len(parts) > max(1, len(placed.server_cpus)))
