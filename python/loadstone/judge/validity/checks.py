"""The checks of one trial: each a function of its evidence.

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
from loadstone.message import Message, message
from loadstone.record.trial import CheckResult, TrialRecord


@dataclass(frozen=True)
class Check:
    """One validity rule. `explanation`: its question, for a person who has read no statistics."""

    function: Callable[[TrialEvidence], CheckResult | None]
    limit: Limit | None
    explanation: Message
    less_is_worse: bool = False
    """Whether the smaller figure is the worse one."""
    information: bool = False
    """Whether it is never held against a trial."""

    @property
    def name(self) -> str:
        return self.function.__name__


CHECKS: tuple[Check, ...] = (
    Check(load.finished, None, message("check.finished"), less_is_worse=True),
    Check(restarts.restarted, limits.RESTARTED, message("check.restarted")),
    Check(bounds.gain, limits.GAIN, message("check.gain")),
    Check(bounds.taken, limits.TAKEN, message("check.taken")),
    Check(generator.round_trip, limits.ROUND_TRIP, message("check.round_trip")),
    Check(time.clock, limits.CLOCK, message("check.clock")),
    Check(time.schedule_sent, limits.SCHEDULE_SENT, message("check.schedule_sent")),
    Check(time.schedule_lag, limits.SCHEDULE_LAG, message("check.schedule_lag")),
    Check(time.dropped_arrivals, limits.DROPPED, message("check.dropped_arrivals")),
    Check(accounting.errors, limits.ERRORS, message("check.errors")),
    Check(accounting.conservation, limits.CONSERVATION, message("check.conservation")),
    Check(accounting.server_counter, limits.SERVER_COUNTER, message("check.server_counter")),
    Check(application.stored_rows, limits.STORED_ROWS, message("check.stored_rows")),
    Check(accounting.replies, limits.REPLIES, message("check.replies")),
    Check(accounting.payload, limits.PAYLOAD, message("check.payload")),
    Check(load.little, limits.LITTLE, message("check.little"), less_is_worse=True),
    Check(load.pool_wait, limits.POOL_WAIT, message("check.pool_wait")),
    Check(load.connections, limits.CONNECTIONS, message("check.connections")),
    Check(load.warm_up, limits.WARM_UP, message("check.warm_up")),
    Check(load.samples, limits.SAMPLES, message("check.samples"), less_is_worse=True),
    Check(keys.hit_rate, limits.HIT_RATE, message("check.hit_rate")),
    Check(keys.key_count, limits.KEY_COUNT, message("check.key_count")),
    Check(application.settings, limits.SETTINGS, message("check.settings")),
    Check(in_force.limits, limits.LIMITS, message("check.limits")),
    Check(application.connection_leak, limits.CONNECTION_LEAK, message("check.connection_leak")),
    Check(surroundings.evicted_keys, limits.EVICTED, message("check.evicted_keys")),
    Check(surroundings.swap, limits.SWAP, message("check.swap")),
    Check(surroundings.placement, limits.PLACEMENT, message("check.placement")),
    Check(surroundings.background, limits.BACKGROUND, message("check.background")),
    Check(server.monitor_clients, limits.MONITOR_CLIENTS, message("check.monitor_clients")),
    Check(server.slow_log, limits.SLOW_LOG, message("check.slow_log"), less_is_worse=True),
    Check(server.log_level, limits.LOG_LEVEL, message("check.log_level")),
    Check(server.huge_pages, limits.HUGE_PAGES, message("check.huge_pages")),
    Check(server.overcommit, limits.OVERCOMMIT, message("check.overcommit"), information=True),
    Check(surroundings.server_cpu, limits.SERVER_CPU, message("check.server_cpu"), information=True),
    Check(
        application.subject_throttled, limits.SUBJECT_THROTTLED, message("check.subject_throttled"), information=True
    ),
)

BOUNDS: frozenset[str] = frozenset({"gain", "taken"})
"""Checks that bound the figure and do not doubt it: a trial that fails one still takes part in comparisons, where the
first widens the interval and the second, which falls on both sides by chance, is in it already."""


def forbidding(trial: TrialRecord) -> list[CheckResult]:
    """The checks for which no figure of a judged trial may be used; those that bound it are not among them."""
    return failed_checks(trial, ("invalid",), without=BOUNDS)
