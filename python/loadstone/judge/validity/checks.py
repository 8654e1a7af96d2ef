"""The checks of one trial, in their order."""

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
from loadstone.record.trial import CheckResult, TrialRecord

CHECKS: tuple[Check, ...] = (
    load.finished,
    restarts.restarted,
    standing_still.stalls,
    standing_still.own_stalls,
    standing_still.clock_set,
    bounds.gain,
    bounds.taken,
    generator.round_trip,
    time.clock,
    time.schedule_sent,
    time.schedule_lag,
    time.dropped_arrivals,
    accounting.errors,
    accounting.conservation,
    accounting.server_counter,
    application.stored_rows,
    accounting.replies,
    accounting.payload,
    accounting.deliveries,
    load.little,
    load.pool_wait,
    load.connections,
    link_delay.link_delay,
    link_delay.link_busy,
    load.warm_up,
    load.samples,
    keys.hit_rate,
    keys.key_count,
    application.settings,
    in_force.limits,
    stores.connection_leak,
    stores.temporary_files,
    surroundings.evicted_keys,
    surroundings.swap,
    surroundings.accept_queue,
    surroundings.placement,
    surroundings.background,
    server.monitor_clients,
    server.slow_log,
    server.log_level,
    server.huge_pages,
    server.overcommit,
    surroundings.server_cpu,
    application.subject_throttled,
)
"""In the order in which they are run, recorded and shown. Each is declared where its function stands."""

BOUNDS: frozenset[str] = frozenset(check.name for check in CHECKS if check.about == "rate")
"""Checks that bound the figure and do not doubt it: a trial that fails one still takes part in comparisons, where the
first widens the interval and the second, which falls on both sides by chance, is in it already."""


def forbidding(trial: TrialRecord) -> list[CheckResult]:
    """The checks for which no figure of a judged trial may be used; those that bound it are not among them."""
    return failed_checks(trial, ("invalid",), without=BOUNDS)
