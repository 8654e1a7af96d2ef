"""The checks of one trial: each a function of its evidence, with a line for people.

A check answers None where its question does not arise (a schedule in the closed model).
"""

from collections.abc import Callable
from dataclasses import dataclass

from loadstone.judge.validity import (
    accounting,
    application,
    bounds,
    generator,
    in_force,
    keys,
    limits,
    load,
    restarts,
    server,
    surroundings,
    time,
)
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.limits import Limit
from loadstone.judge.validity.reasons import failed_checks
from loadstone.record.trial import CheckResult, TrialRecord


@dataclass(frozen=True)
class Check:
    """One validity rule. `explanation` is one line for a person who has read no statistics."""

    function: Callable[[TrialEvidence], CheckResult | None]
    limit: Limit | None
    explanation: str
    less_is_worse: bool = False
    """Whether the smaller figure is the worse one."""
    information: bool = False
    """Whether it is never held against a trial."""

    @property
    def name(self) -> str:
        return self.function.__name__


CHECKS: tuple[Check, ...] = (
    Check(load.finished, None, "Did the trial run to its planned end?", less_is_worse=True),
    Check(restarts.restarted, limits.RESTARTED, "Did every part run on, from the beginning of the trial to its end?"),
    Check(bounds.gain, limits.GAIN, "How much more would a generator that costs nothing bring at most?"),
    Check(bounds.taken, limits.TAKEN, "How much did other programs and other machines take at most?"),
    Check(
        generator.round_trip, limits.ROUND_TRIP, "Is the typical latency the server's, or that of any answer at all?"
    ),
    Check(time.clock, limits.CLOCK, "Is the clock fine enough for the latencies that are printed?"),
    Check(time.schedule_sent, limits.SCHEDULE_SENT, "Was everything sent that the schedule asked for?"),
    Check(time.schedule_lag, limits.SCHEDULE_LAG, "Did the generator send on time?"),
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
    Check(surroundings.swap, limits.SWAP, "Was memory moved to the disk and back?"),
    Check(surroundings.placement, limits.PLACEMENT, "Did generator and server get in each other's way?"),
    Check(surroundings.background, limits.BACKGROUND, "Did the server save its data while it was measured?"),
    Check(
        server.monitor_clients,
        limits.MONITOR_CLIENTS,
        "Did the server have to show every command to somebody?",
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

BOUNDS: frozenset[str] = frozenset({"gain", "taken"})
"""Checks that bound the figure and do not doubt it: a trial that fails one still takes part in comparisons, where the
first widens the interval and the second, which falls on both sides by chance, is in it already."""


def forbidding(trial: TrialRecord) -> list[CheckResult]:
    """The checks for which no figure of a judged trial may be used; those that bound it are not among them."""
    return failed_checks(trial, ("invalid",), without=BOUNDS)
