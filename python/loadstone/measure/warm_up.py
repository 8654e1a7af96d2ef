"""Warms a subject up: before its first trial it gets the trial's own load, and nothing of that counts.

It is warm when its rate no longer rises, and when it falls quiet without load: a JVM goes on compiling for a while what
it got to know, and would measure that. Each stretch begins with a few users alone. Under full load the compiler's
thread is one of dozens that want the CPU, and without load a JVM drops what waits to be compiled.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from loadstone.drivers.driver import Driver, drive_alone
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Plan, Pool
from loadstone.machine.processes.idle import IdleCriteria, await_quiet_of, hold, release
from loadstone.machine.start_context import LastingStep, Step
from loadstone.measure.goals.block_attempts import RISING
from loadstone.measure.measurement import Measurement, PreparedTrial
from loadstone.programs.ready import RunningParts, RunningSubject
from loadstone.safety.errors import DriveFailed
from loadstone.text.language import _

FEW_USERS = 2
"""Users for each process that leave its compiler a third of one CPU. Measured on a JVM with one CPU, which other
programs used, too (2026-11-23): .2 cores for the compiler against .03 with 60 users, and after 40 s 1,368 requests a
second against 181."""
GENTLY = 0.75
"""The share of a stretch that is theirs."""
LONGEST = 3
"""After so many times the planned length a subject is taken as it is."""
QUIET_CORES = 0.03
WINDOW_S, WINDOWS = 0.2, 3
"""A subject is quiet if it takes no more CPU than that in so many windows in a row."""
REPORTED_EVERY_S = 3.0
QUIET_LONGEST_S = 60.0
"""It is waited for `LONGEST` times the planned length, and no longer than this."""


def warm_up(
    driver: Driver,
    ready: RunningParts,
    target: str | None,
    plan: Plan,
    progress: Callable[[str], None],
    going_on: Callable[[], None] = lambda: None,
) -> None:
    """Put the load on the subjects that `plan` goes to, if they never were under this kind of load since their start.

    For the planned length at least, and longer as long as the rate goes on rising; then wait until they are quiet.
    What fails is reported by the trial itself, which comes next.

    Raises:
        Interrupted: by `going_on`, when the user requested a stop.
    """
    kind, cold = _kind(plan), cold_subjects(ready, target, plan)
    if not cold:
        return
    best_per_s = 0.0
    for length_s in stretches(max(deployed.warm_up_s for deployed in cold.values())):
        names = ", ".join(cold)
        figures = {"names": names, "kind": kind, "seconds": length_s}
        told = _("warming {names} up by {kind} for {seconds:g} s", **figures)
        if best_per_s:
            told = _(
                "warming {names} up by {kind} for {seconds:g} s more, at {rate:,.0f} correct replies a second so far",
                rate=best_per_s,
                **figures,
            )
        progress(Step(told, about=f"warming {names} up by {kind}{' more' if best_per_s else ''}"))
        rate_per_s = _stretch(driver, plan, length_s)
        if not rate_per_s:
            return
        if rate_per_s < RISING * best_per_s:
            break
        best_per_s = rate_per_s
    for deployed in cold.values():
        deployed.warmed.add(kind)
    for name, deployed in cold.items():
        deployed.restless_cores = _await_quiet(name, deployed, progress, going_on)


def _stretch(driver: Driver, plan: Plan, length_s: float) -> float:
    """A few users first, then the whole load: its rate; 0 where that failed."""
    gently_s = round(GENTLY * length_s, 3) if _is_full_speed(plan) else 0.0
    rate_per_s = 0.0
    for part, part_s in ((_gently(plan), gently_s), (plan, length_s - gently_s)):
        if not part_s:
            continue
        try:
            done = drive_alone(driver, _for(part, part_s))
        except DriveFailed:
            return 0.0
        rate_per_s = 0.0 if done.stopped else _rate_per_s(done)
        if not rate_per_s:
            return 0.0
    return rate_per_s


def cold_subjects(ready: RunningParts, target: str | None, plan: Plan) -> dict[str, RunningSubject]:
    """The subjects that `plan` goes to and that were not warmed up by this kind of load, by name."""
    kind = _kind(plan)
    return {
        name: deployed
        for name, deployed in _loaded(ready, target).items()
        if deployed.warm_up_s > 0 and kind not in deployed.warmed
    }


def _kind(plan: Plan) -> str:
    return " ".join(sorted(operation.name for operation in plan.operations))


def _await_quiet(
    name: str, one: RunningSubject, progress: Callable[[str], None], going_on: Callable[[], None]
) -> float | None:
    """Wait until a subject of ours is quiet; None if it is, else the cores that it still takes."""
    if not one.subject.ours:
        return None
    longest_s = min(QUIET_LONGEST_S, LONGEST * one.warm_up_s)
    next_s = time.monotonic() + REPORTED_EVERY_S
    ends_s = time.monotonic() + longest_s

    def report(cores: float) -> None:
        nonlocal next_s
        now_s = time.monotonic()
        if now_s < next_s:
            return
        next_s, left_s = now_s + REPORTED_EVERY_S, max(0.0, ends_s - now_s)
        told = _(
            "waiting for {name} to become idle: {cores:.2f} cores without load; for {seconds:.0f} s more at most",
            name=name,
            cores=cores,
            seconds=left_s,
        )
        progress(Step(told, about=f"waiting for {name} to become idle"))

    rule = IdleCriteria(QUIET_CORES, WINDOW_S, WINDOWS, longest_s)
    cores = await_quiet_of(one.subject, rule, going_on, report)
    if cores is not None:
        told = _(
            "{name} still takes {cores:.2f} cores without load, {seconds:.0f} s after its warm-up",
            name=name,
            cores=cores,
            seconds=longest_s,
        )
        progress(LastingStep(told, about=f"{name} still takes cores"))
    return cores


def stretches(length_s: float) -> Iterable[float]:
    """Lengths in seconds: two halves of what is planned, and more such halves up to `LONGEST` times that."""
    return [round(length_s / 2, 3)] * (2 * LONGEST)


def _loaded(ready: RunningParts, target: str | None) -> dict[str, RunningSubject]:
    return {name: deployed for name, deployed in ready.subjects.items() if target in (None, name)}


def _rate_per_s(done: DriveRecord) -> float:
    """Correct replies a second: errors may come fast from a subject that is cold."""
    correct = sum(operation.window_ok for operation in done.operations.values())
    return correct / done.measure_s if done.measure_s > 0 else 0.0


def _is_full_speed(plan: Plan) -> bool:
    """Whether more users than a few ask as fast as they are answered."""
    model = plan.model
    return isinstance(model, Closed) and model.users > _few(plan) and not model.think_time_ms


def _gently(plan: Plan) -> Plan:
    """Return the plan with its operations made by a few users."""
    threads = min(plan.threads, FEW_USERS)
    few = {"model": Closed(users=_few(plan)), "pool": Pool(connections=_few(plan))}
    return plan.model_copy(update={**few, "threads": threads, "cpus": plan.cpus[-threads:]})


def _few(plan: Plan) -> int:
    return FEW_USERS * len(plan.endpoints)


def _for(plan: Plan, length_s: float) -> Plan:
    """Return the plan with its load for `length_s` seconds, whatever number of operations the trial has."""
    no_end = {"measure_operations": None, "measure_max_s": None}
    phases = plan.phases.model_copy(update={"ramp_up_s": 0.0, "warm_up_s": 0.0, "measure_s": length_s, **no_end})
    changed: dict[str, object] = {"phases": phases}
    if isinstance(plan.model, Closed):
        endless = {"operations_per_user": None, "operations_more": 0, "ramp_up": None}
        changed["model"] = plan.model.model_copy(update=endless)
    return plan.model_copy(update=changed)


def warm_up_each(steps: Measurement, prepared: Sequence[PreparedTrial]) -> None:
    """Warm the applications of each condition up that never were under its load, while those of others stand still.

    Raises:
        Interrupted: the user requested a stop.
    """
    for trial in prepared:
        target, driver = trial.planned.target, steps.driver
        if cold_subjects(trial.ready, target, trial.plan):
            with _alone(trial.ready, [other.ready for other in prepared]):
                warm_up(driver, trial.ready, target, trial.plan, steps.progress.step, steps.require_going_on)


@contextmanager
def _alone(ready: RunningParts, every: Sequence[RunningParts]) -> Iterator[None]:
    own = {id(deployed) for deployed in ready.subjects.values()}
    others = [deployed for other in every for deployed in other.subjects.values() if id(deployed) not in own]
    try:
        for one in others:
            hold(one.subject)
        yield
    finally:
        for one in others:
            release(one.subject)
