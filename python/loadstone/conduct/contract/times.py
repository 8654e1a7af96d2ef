"""Whether a driver keeps to the plan's times, and reports the times that passed."""

import threading
import time

from loadstone.conduct.contract.lab import GET, SET, VALUE, Lab, null_server, of, require
from loadstone.conduct.drivers import client_driver
from loadstone.drive.driver import drive_alone
from loadstone.plan.drive_plan import Closed, Open, Phases, Pool, Timeouts

FREEZE_EVERY_S, FREEZE_S = 1.0, 0.25
OFF = 0.10
"""How far a quantile may be off the truth here; `bench/` has the exact comparison."""


def phases(lab: Lab) -> str:
    """Every phase has its length, and the intervals follow each other without a gap."""
    plan = lab.plan(SET, phases=Phases(ramp_up_s=0.3, warm_up_s=0.4, measure_s=0.7, drain_s=1.0))
    record = lab.drive(plan)
    lab.forget()
    lengths = {name: phase.end_s - phase.start_s for name, phase in record.phases.items()}
    for name, planned in (("ramp_up", 0.3), ("warm_up", plan.phases.warm_up_s), ("measure", 0.7)):
        length = lengths[name]  # type: ignore[index]
        require(abs(length - planned) < 0.05, f"{name} lasted {length:.3f} s, and {planned:g} s are planned")
    before = 0.0
    for interval in lab.intervals:
        start_s = interval.start_s
        require(abs(start_s - before) < 0.01, f"an interval begins at {start_s:.3f} s, not at {before:.3f} s")
        before = interval.start_s + interval.duration_s
    observed = list(dict.fromkeys(interval.phase for interval in lab.intervals))
    require(observed[:3] == ["ramp_up", "warm_up", "measure"], f"intervals are of {observed}")
    return f"{len(lab.intervals)} intervals"


def think_time(lab: Lab) -> str:
    """A user pauses between two operations: the rate is that of the pauses."""
    with null_server(lab) as endpoint:
        model = Closed(users=4, think_time_ms=20)
        record = lab.drive(lab.plan(VALUE, endpoint=endpoint, model=model, verify=_unverified(lab)))
    rate, due = record.operations["get"].window_ok / record.measure_s, 4 / 0.020
    require(0.75 * due < rate < 1.02 * due, f"{rate:.0f} operations a second, and at most {due:.0f} are due")
    return f"{rate:.0f} of at most {due:.0f} operations a second"


def arrivals(lab: Lab) -> str:
    """The open model offers what the rate says, constant and Poisson."""
    shown = []
    for kind in ("constant", "poisson"):
        with null_server(lab) as endpoint:
            model = Open(rate_per_s=500, arrivals=kind)
            plan = lab.plan(VALUE, endpoint=endpoint, model=model, pool=Pool(connections=16), verify=_unverified(lab))
            record = lab.drive(plan)
        offered, due = record.operations["get"].counts.offered, 500 * record.measure_s
        allowed = 2 if kind == "constant" else 6 * due**0.5
        require(abs(offered - due) <= allowed, f"{kind}: {offered} operations arrived, and {due:.0f} are due")
        shown.append(f"{kind} {offered} of {due:.0f}")
    return ", ".join(shown)


def frozen_server(lab: Lab) -> str:
    """The open model counts from the intended time: a server that stands still shows in the quantiles as it must.

    Frozen for a quarter of the time, 10 % of the operations wait longer than 150 ms, whatever the pool.
    """
    phases = lab.plan(VALUE).phases.model_copy(update={"measure_s": 3 * FREEZE_EVERY_S})
    with null_server(lab, freeze_every_s=FREEZE_EVERY_S, freeze_s=FREEZE_S) as endpoint:
        model, pool = Open(rate_per_s=400), Pool(connections=4)
        plan = lab.plan(
            VALUE, endpoint=endpoint, model=model, pool=pool, phases=phases, verify=_unverified(lab), interval_s=1.0
        )
        record = lab.drive(plan)
    p90_s = record.operations["get"].response_ns.p90 / 1e9
    true = FREEZE_S - 0.10 * FREEZE_EVERY_S
    require(abs(p90_s - true) <= OFF * true, f"its P90 is {p90_s * 1e3:.0f} ms, and {true * 1e3:.0f} ms are true")
    return f"P90 {p90_s * 1e3:.1f} ms, {true * 1e3:.0f} ms are true"


def slower_server(lab: Lab) -> str:
    """A server that takes 10 ms more is found to."""
    p50 = []
    for delay_us in (5_000, 15_000):
        with null_server(lab, delay_us=delay_us) as endpoint:
            plan = lab.plan(VALUE, endpoint=endpoint, model=Closed(users=2), verify=_unverified(lab))
            p50.append(lab.drive(plan).operations["get"].service_ns.p50 / 1e6)
    more = p50[1] - p50[0]
    require(abs(more - 10) < 1.5, f"it finds {more:.2f} ms more, and 10 ms are true")
    return f"{more:.2f} ms more, 10 ms are true"


def timeouts(lab: Lab) -> str:
    """An operation whose reply does not come in time is given up and counted."""
    waits = of("wait", "BLPOP", "{key}:none", "1", expect="any")
    limits = Timeouts(request_ms=100, connect_ms=1000, gone_s=20)
    record = lab.drive(lab.plan(waits, timeouts=limits, model=Closed(users=2), pool=Pool(connections=2)))
    require(record.total.timeouts > 0, f"no timeout was counted, {record.total.ok} correct, {record.total.errors}")
    require(record.total.ok == 0, f"{record.total.ok} operations that take a second are correct, with 100 ms for each")
    return f"{record.total.timeouts} timeouts"


def ends_by_itself(lab: Lab) -> str:
    """A number of operations of each user, and of all in the measure phase, where it claims them."""
    shown = []
    if lab.can("operations_per_user"):
        phases = Phases(warm_up_s=0.0, measure_s=0.001, measure_max_s=20.0)
        record = lab.drive(lab.plan(SET, model=Closed(users=4, operations_per_user=50), phases=phases))
        require(record.total.ok == 200, f"{record.total.ok} operations of 4 users with 50 each")
        shown.append("50 of each of 4 users")
    if lab.can("measure_operations"):
        phases = lab.plan(SET).phases.model_copy(
            update={"measure_s": 0.1, "measure_operations": 2000, "measure_max_s": 30.0}
        )
        record = lab.drive(lab.plan(SET, phases=phases))
        done = record.operations["set"].counts.ok
        require(done >= 2000, f"{done} operations, and the measure phase has 2000")
        shown.append(f"{done} in a measure phase of at least 2000")
    lab.forget()
    return ", ".join(shown) or "not claimed"


def stop(lab: Lab) -> str:
    """An order to stop ends it with its record, in two seconds."""
    began: list[float] = []

    def order() -> None:
        began.append(time.monotonic())
        driver.stop()

    driver = client_driver(lab.chosen, lab.context).driver
    timer = threading.Timer(0.7 + lab.chosen.manifest.warm_up_s, order)
    timer.start()
    phases = lab.plan(GET).phases.model_copy(update={"measure_s": 100.0})
    record = drive_alone(driver, lab.plan(SET, phases=phases))
    took = time.monotonic() - began[0]
    timer.join()
    lab.forget()
    require(record.stopped is not None, "its record does not say that it was stopped")
    require(took < 3.0, f"it took {took:.1f} s to stop")
    return f"{took:.2f} s after the order"


def _unverified(lab: Lab) -> object:
    return lab.plan(VALUE).verify.model_copy(update={"count_mismatch": False})
