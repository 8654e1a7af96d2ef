"""The checks of one trial: each a function of its evidence.

A check answers None where its question does not arise (a schedule in the closed model).
"""

from loadstone.judge.validity import (
    accounting,
    application,
    bounds,
    generator,
    in_force,
    keys,
    link_delay,
    load,
    restarts,
    server,
    standing_still,
    stores,
    surroundings,
    time,
)
from loadstone.judge.validity.check import Check
from loadstone.judge.validity.reasons import failed_checks
from loadstone.message import message
from loadstone.record.trial import CheckResult, TrialRecord

CHECKS: tuple[Check, ...] = (
    Check(load.finished, None, message("check.finished"), less_is_worse=True),
    Check(restarts.restarted, restarts.RESTARTED, message("check.restarted")),
    Check(standing_still.stalls, standing_still.STALLS, message("check.stalls")),
    Check(standing_still.own_stalls, standing_still.OWN_STALLS, message("check.own_stalls")),
    Check(standing_still.clock_set, standing_still.CLOCK_SET, message("check.clock_set"), information=True),
    Check(bounds.gain, bounds.GAIN, message("check.gain"), about="rate"),
    Check(bounds.taken, bounds.TAKEN, message("check.taken"), about="rate"),
    Check(generator.round_trip, generator.ROUND_TRIP, message("check.round_trip"), about="latency"),
    Check(time.clock, time.CLOCK, message("check.clock"), about="latency"),
    Check(time.schedule_sent, time.SCHEDULE_SENT, message("check.schedule_sent")),
    Check(time.schedule_lag, time.SCHEDULE_LAG, message("check.schedule_lag"), about="latency"),
    Check(time.dropped_arrivals, time.DROPPED, message("check.dropped_arrivals"), about="latency"),
    Check(accounting.errors, accounting.ERRORS, message("check.errors")),
    Check(accounting.conservation, accounting.CONSERVATION, message("check.conservation")),
    Check(accounting.server_counter, accounting.SERVER_COUNTER, message("check.server_counter")),
    Check(application.stored_rows, application.STORED_ROWS, message("check.stored_rows")),
    Check(accounting.replies, accounting.REPLIES, message("check.replies")),
    Check(accounting.payload, accounting.PAYLOAD, message("check.payload")),
    Check(accounting.deliveries, accounting.DELIVERIES, message("check.deliveries")),
    Check(load.little, load.LITTLE, message("check.little"), less_is_worse=True),
    Check(load.pool_wait, load.POOL_WAIT, message("check.pool_wait"), about="latency"),
    Check(load.connections, load.CONNECTIONS, message("check.connections")),
    Check(link_delay.link_delay, link_delay.LINK_DELAY, message("check.link_delay")),
    Check(link_delay.link_busy, link_delay.LINK_BUSY, message("check.link_busy")),
    Check(load.warm_up, load.WARM_UP, message("check.warm_up")),
    Check(load.samples, load.SAMPLES, message("check.samples"), less_is_worse=True, about="latency"),
    Check(keys.hit_rate, keys.HIT_RATE, message("check.hit_rate")),
    Check(keys.key_count, keys.KEY_COUNT, message("check.key_count")),
    Check(application.settings, application.SETTINGS, message("check.settings")),
    Check(in_force.limits, in_force.LIMITS, message("check.limits")),
    *stores.CHECKS,
    Check(surroundings.evicted_keys, surroundings.EVICTED, message("check.evicted_keys")),
    Check(surroundings.swap, surroundings.SWAP, message("check.swap")),
    Check(surroundings.accept_queue, surroundings.ACCEPT_QUEUE, message("check.accept_queue")),
    Check(surroundings.placement, surroundings.PLACEMENT, message("check.placement")),
    Check(surroundings.background, surroundings.BACKGROUND, message("check.background")),
    Check(server.monitor_clients, server.MONITOR_CLIENTS, message("check.monitor_clients")),
    Check(server.slow_log, server.SLOW_LOG, message("check.slow_log"), less_is_worse=True),
    Check(server.log_level, server.LOG_LEVEL, message("check.log_level")),
    Check(server.huge_pages, server.HUGE_PAGES, message("check.huge_pages")),
    Check(server.overcommit, server.OVERCOMMIT, message("check.overcommit"), information=True),
    Check(surroundings.server_cpu, surroundings.SERVER_CPU, message("check.server_cpu"), information=True),
    Check(
        application.subject_throttled,
        application.SUBJECT_THROTTLED,
        message("check.subject_throttled"),
        information=True,
    ),
)

BOUNDS: frozenset[str] = frozenset(check.name for check in CHECKS if check.about == "rate")
"""Checks that bound the figure and do not doubt it: a trial that fails one still takes part in comparisons, where the
first widens the interval and the second, which falls on both sides by chance, is in it already."""


def forbidding(trial: TrialRecord) -> list[CheckResult]:
    """The checks for which no figure of a judged trial may be used; those that bound it are not among them."""
    return failed_checks(trial, ("invalid",), without=BOUNDS)
