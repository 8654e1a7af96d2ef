"""Checks whether a driver keeps the plan's times, and reports true ones."""

import threading
import time
from collections.abc import Callable, Iterable
from statistics import fmean, pvariance

from loadstone.addons.driver_contract.lab import GET, SET, VALUE, Lab, NotClaimed, null_server, of, require, scripted
from loadstone.drivers.driver import drive_alone
from loadstone.experiment.plan.drive_plan import Closed, Open, Phases, Pool, RampUp, RateStep, Timeouts
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.programs.clients.drivers import client_driver

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
            plan = lab.plan(
                VALUE,
                endpoint=endpoint,
                model=model,
                pool=Pool(connections=16),
                verify=_unverified(lab),
                interval_s=0.02,
            )
            record = lab.drive(plan)
        offered, due = record.operations["get"].counts.offered, 500 * record.measure_s
        allowed = 2 if kind == "constant" else 6 * due**0.5
        require(abs(offered - due) <= allowed, f"{kind}: {offered} operations arrived, and {due:.0f} are due")
        shown.append(f"{kind} {offered} of {due:.0f}")
    # The last drive was of Poisson arrivals: their numbers vary as much as their mean, more where the machine stalls.
    counts = [
        sum(operation.offered for operation in interval.operations.values())
        for interval in lab.intervals
        if interval.phase == "measure" and abs(interval.duration_s - plan.interval_s) < 0.005
    ]
    spread = pvariance(counts) / fmean(counts)
    require(
        0.3 < spread < 6, f"poisson: the arrivals of {len(counts)} intervals vary {spread:.1f} times as they should"
    )
    return ", ".join(shown)


def changing_rate(lab: Lab) -> str:
    """The rate rises over the ramp-up, keeps its height over the warm-up, and goes on in steps; the last one lasts."""
    steps = (RateStep(rate_per_s=200, duration_s=0.4), RateStep(rate_per_s=1000, duration_s=0.2))
    phases = Phases(ramp_up_s=0.5, warm_up_s=0.2, measure_s=0.9, drain_s=1.0)
    with null_server(lab) as endpoint:
        model = Open(rate_per_s=400, schedule=steps)
        plan = lab.plan(VALUE, endpoint=endpoint, model=model, phases=phases, verify=_unverified(lab), interval_s=0.05)
        lab.drive(plan)
    warm_s = plan.phases.warm_up_s
    stretches = ((0.5, 0, 400), (warm_s, 400, 400), (0.4, 200, 200), (0.5, 1000, 1000))
    offered = worst = 0.0
    for interval in lab.intervals:
        offered += sum(operation.offered for operation in interval.operations.values())
        end_s = interval.start_s + interval.duration_s
        due = _arrived(stretches, end_s)
        is_measured = interval.phase == "measure"
        worst = max(worst, due - offered) if is_measured else 0.0
        # In the ramp-up a program that is compiled while it runs may be late; later the machine may be, for a moment.
        late = 20 if is_measured else due
        require(
            -late <= offered - due < 2,
            f"after {end_s:.2f} s {offered:.0f} operations had arrived, and {due:.0f} were due",
        )
    return f"at most {worst:.0f} of {offered:.0f} arrivals late at the end of an interval of the measure phase"


def _arrived(stretches: Iterable[tuple[float, float, float]], until_s: float) -> float:
    """Operations that are due by then; the first is at once. A stretch: its length, the rate at its begin and end."""
    due, begin_s = 1.0, 0.0
    for length_s, first, last in stretches:
        passed_s = min(max(until_s - begin_s, 0.0), length_s)
        due += passed_s * (first + (last - first) * passed_s / length_s / 2)
        begin_s += length_s
    return due


def starting_users(lab: Lab) -> str:
    """Users start one after the other over the ramp-up, or in steps."""
    shown = []
    even = Closed(users=8, think_time_ms=10)
    stepped = Closed(users=8, think_time_ms=10, ramp_up=RampUp(initial_users=2, step_users=3, step_every_s=0.25))
    starts: tuple[tuple[Closed, float, float, Callable[[float], float]], ...] = (
        (even, 0.8, 0.3, lambda at_s: 1 + at_s // 0.1),
        (stepped, 0.0, 0.8, lambda at_s: 2 + 3 * (at_s // 0.25)),
    )
    for model, ramp_up_s, measure_s, started in starts:
        phases = Phases(ramp_up_s=ramp_up_s, warm_up_s=0.0, measure_s=measure_s, drain_s=1.0)
        with null_server(lab) as endpoint:
            try:
                plan = lab.plan(
                    VALUE, endpoint=endpoint, model=model, phases=phases, verify=_unverified(lab), interval_s=0.1
                )
            except NotClaimed:
                continue
            record = lab.drive(plan)
        for interval in lab.intervals:
            end_s = interval.start_s + interval.duration_s
            if end_s > record.phases["measure"].end_s - 0.05:
                break  # they end
            least, most = (min(8, started(max(0.0, end_s + by_s))) for by_s in (-0.05, 0.05))
            require(
                least <= interval.users <= most,
                f"after {end_s:.2f} s {interval.users} users had started, and {least:.0f} to {most:.0f} are planned",
            )
        shown.append("in steps" if model.ramp_up else "evenly")
    return f"8 users start {' and '.join(shown)}"


def intended_time(lab: Lab) -> str:
    """An operation counts in the phase of its intended time, wherever it ends.

    Of one user without pauses an operation is always on its way: what earlier ones took of the phase and what its own
    took are the phase, and what the last one of them took beyond its end.
    """
    with null_server(lab, delay_us=200_000) as endpoint:
        phases = Phases(warm_up_s=0.5, measure_s=0.7, drain_s=1.0)
        plan = lab.plan(VALUE, endpoint=endpoint, model=Closed(users=1), phases=phases, verify=_unverified(lab))
        record = lab.drive(plan)
    operation, ended = record.operations["get"], record.operations["get"].counts.ok
    earlier_s, taken_s = operation.earlier_ns / 1e9, operation.response_sum_ns / 1e9
    beyond_s = earlier_s + taken_s - record.measure_s
    lasts = f"earlier operations took {earlier_s:.3f} s, its own {taken_s:.3f} s of {record.measure_s:.3f} s"
    require(0 < earlier_s < 0.3 and -0.02 < beyond_s < 0.3, lasts)
    require(ended in (3, 4), f"{ended} operations of 200 ms count as measured")
    came = operation.window_ok
    require(
        came == ended, f"{came} replies came in it: an earlier operation's, and those of its own {ended} but the last"
    )
    return f"{lasts}, the last of which ended {beyond_s * 1e3:.0f} ms after it"


def dropped_arrivals(lab: Lab) -> str:
    """Who finds too many waiting for a connection is dropped; who waits in the end was not sent."""
    with scripted(lambda _: None) as server:
        record = lab.drive(
            lab.plan(
                VALUE,
                endpoint=Endpoint(port=server.port),
                model=Open(rate_per_s=500, backlog_max=20),
                pool=Pool(connections=2),
                phases=Phases(warm_up_s=0.0, measure_s=0.5, drain_s=0.1),
                timeouts=Timeouts(request_ms=60_000),
            )
        )
    total = record.total
    if record.program is not None and not record.program.reports_pool_wait:
        return "no operation waits for a connection of its own"
    outcome = (total.in_flight, total.unsent, total.dropped)
    require(outcome == (2, 20, total.offered - 22), f"2 are in flight and 20 wait of {total.offered}: {outcome}")
    return f"2 in flight, 20 unsent, {total.dropped} dropped"


def frozen_server(lab: Lab) -> str:
    """The open model counts from the intended time: a server that stands still shows in the quantiles as it must.

    Frozen for a quarter of the time, 10 % of the operations wait longer than 150 ms, whatever the pool, and a tenth of
    the driver's load longer: what came meanwhile is sent one after the other. So the rate is a low one. What is off is
    measured once more: a machine stalls now and then, and a driver that is wrong is so each time.
    """
    true = FREEZE_S - 0.10 * FREEZE_EVERY_S
    p90_s = _frozen_p90_s(lab)
    if abs(p90_s - true) > OFF * true:
        p90_s = _frozen_p90_s(lab)
    require(abs(p90_s - true) <= OFF * true, f"its P90 is {p90_s * 1e3:.0f} ms, and {true * 1e3:.0f} ms are true")
    return f"P90 {p90_s * 1e3:.1f} ms, {true * 1e3:.0f} ms are true"


def _frozen_p90_s(lab: Lab) -> float:
    phases = lab.plan(VALUE).phases.model_copy(update={"measure_s": 2 * FREEZE_EVERY_S})
    with null_server(lab, freeze_every_s=FREEZE_EVERY_S, freeze_s=FREEZE_S) as endpoint:
        model, pool = Open(rate_per_s=200), Pool(connections=4)
        plan = lab.plan(
            VALUE, endpoint=endpoint, model=model, pool=pool, phases=phases, verify=_unverified(lab), interval_s=1.0
        )
        return lab.drive(plan).operations["get"].response_ns.p90 / 1e9


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
