"""Plans how a condition is measured at so many users, at a rate or in a ramp, and how the levels of a sweep take turns.

In rounds every level is open all the time, and a sweep is some rounds together: the machine's slow noise is then the
same for all levels of a sweep. What a slice must hold follows from the search: a slice that is short against a response
would count none.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from loadstone.addons.saturation.spec import SATURATION_GROUP, Ramp, SaturationSettings, SaturationStep
from loadstone.experiment.plan.design.interleaving import CONNECTIONS_MAX, why_whole_plan
from loadstone.experiment.plan.drive_plan import Closed, Open, Phases, Plan, Pool, RampUp
from loadstone.experiment.plan.protocols import PROTOCOLS
from loadstone.experiment.plan.rounds import (
    APPLICATION_SETTLE_S,
    APPLICATION_SLICE_S,
    SETTLE_S,
    SHORTEST_APPLICATION_SLICE_S,
    SHORTEST_SLICE_S,
    SLICE_S,
    TABLE_OPENING_S,
    TABLE_WARM_UP_S,
    Rounds,
)
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.plan.stored_bytes import TOGETHER_BYTES_MAX, of_load
from loadstone.experiment.plan.trial_plans import with_fixed_length
from loadstone.machine.ports import local_ports
from loadstone.text.message import Message, message

WARM_UP_S, APPLICATION_WARM_UP_S = 0.2, 0.5
"""Warm-up of a trial that is measured in one stretch."""
CYCLES = 3.0
"""A closed load settles within so many times what a user takes from one request to the next."""
STEPS_MAX = 100
"""A chart of a screen shows no more."""
SHORTEST_STEP_S = 0.5


def think_s(plan: Plan) -> float:
    """The mean think time of the condition's users; 0 where the workload has a rate."""
    return plan.model.think_time_ms / 1e3 if isinstance(plan.model, Closed) else 0.0


def with_users(plan: Plan, users: int) -> Plan:
    """The plan in the closed model with so many users, who think as the workload has it.

    A pool that has a connection for each user of the workload grows with the users; a smaller one stays as it is. The
    generator has no more threads than users, and one where users share connections.
    """
    written = plan.model if isinstance(plan.model, Closed) else Closed(users=users)
    no_end = {"users": users, "ramp_up": None, "operations_per_user": None, "operations_more": 0}
    pool = _pool_for(plan, users)
    threads = 1 if pool.connections < users else min(plan.threads, users)
    phases = plan.phases.model_copy(update={"ramp_up_s": 0.0})
    return plan.model_copy(
        update={
            "model": written.model_copy(update=no_end),
            "pool": pool,
            "threads": threads,
            "cpus": plan.cpus[-threads:],
            "phases": phases,
        }
    )


def _pool_for(plan: Plan, users: int) -> Pool:
    """The pool with which so many users work."""
    if not _pool_grows(plan):
        return plan.pool
    each = plan.pool.connections // plan.model.users if isinstance(plan.model, Closed) else 1
    return plan.pool.model_copy(update={"connections": each * users, "min_idle": None, "max_idle": None})


def _pool_grows(plan: Plan) -> bool:
    """Whether the workload has a connection for each of its users."""
    return isinstance(plan.model, Closed) and plan.pool.connections >= plan.model.users


def with_arrivals(plan: Plan, rate_per_s: float, users: int) -> Plan:
    """The plan in the open model; its pool is large enough for as many users as the closed search tried.

    Arrivals are as the workload has them, and where it is closed those of users who know nothing of each other.
    """
    arrivals = plan.model.arrivals if isinstance(plan.model, Open) else "poisson"
    pool = _pool_for(plan, users) if isinstance(plan.model, Closed) else plan.pool
    phases = plan.phases.model_copy(update={"ramp_up_s": 0.0})
    model = Open(rate_per_s=rate_per_s, arrivals=arrivals)
    return plan.model_copy(update={"model": model, "pool": pool, "phases": phases})


def in_one_stretch(plan: Plan, measure_s: float, *, application: bool, response_s: float = 0.0) -> Plan:
    """The plan measured for so long, after its load had time to settle."""
    cycle_s = response_s + think_s(plan)
    warm_up_s = max(APPLICATION_WARM_UP_S if application else WARM_UP_S, CYCLES * cycle_s)
    whole = with_fixed_length(plan, round(measure_s, 3))
    return whole.model_copy(update={"phases": whole.phases.model_copy(update={"warm_up_s": round(warm_up_s, 3)})})


def step_trial(
    template: PlannedTrial,
    plan: Plan,
    step: SaturationStep,
    *,
    name: str,
    block: int,
    order: int,
    seed: int,
    in_rounds: bool = False,
) -> PlannedTrial:
    """A trial of the template's condition under this plan, with keys of its own and a seed of its own."""
    prefix = f"{plan.keys.prefix}{'rate' if step.users is None else step.users}:"
    return replace(
        template,
        name=name,
        block=block,
        order=order,
        plan=_own(plan, prefix, seed),
        load=None if template.load is None else _own(template.load, prefix, seed),
        group=SATURATION_GROUP,
        stored=(),
        in_rounds=in_rounds,
        search=step.model_dump(mode="json"),
    )


def _own(plan: Plan, prefix: str, seed: int) -> Plan:
    return plan.model_copy(update={"seed": seed, "keys": plan.keys.model_copy(update={"prefix": prefix})})


def steps_of(ramp: Ramp) -> RampUp:
    """Equal steps: as many as there are users, a hundred at most, none shorter than half a second."""
    most = max(1, min(ramp.users, STEPS_MAX, math.floor(ramp.seconds / SHORTEST_STEP_S)))
    step_users = math.ceil(ramp.users / most)
    every_s = round(ramp.seconds / math.ceil(ramp.users / step_users), 6)
    return RampUp(initial_users=min(step_users, ramp.users), step_users=step_users, step_every_s=every_s)


def users_at(steps: RampUp, users: int, seconds: float) -> int:
    """Return how many users there are at a time since the beginning."""
    return min(users, steps.initial_users + steps.step_users * math.floor(seconds / steps.step_every_s))


def with_ramp(plan: Plan, ramp: Ramp) -> Plan:
    """The plan of a condition under the ramp. As the originals' users do, each opens its connection when it begins."""
    steps = steps_of(ramp)
    full = with_users(plan, ramp.users)
    assert isinstance(full.model, Closed)
    model = full.model.model_copy(update={"ramp_up": steps})
    pool = _pool_for(plan, ramp.users)
    if pool.connections > steps.initial_users:
        pool = pool.model_copy(update={"min_idle": steps.initial_users})
    lengths = {"ramp_up_s": 0.0, "warm_up_s": 0.0, "measure_s": ramp.seconds}
    phases = Phases(**lengths, drain_s=plan.phases.drain_s)
    interval_s = steps.step_every_s / math.ceil(steps.step_every_s)
    return full.model_copy(update={"model": model, "pool": pool, "phases": phases, "interval_s": round(interval_s, 6)})


RESPONSES_A_SLICE = 20
"""A slice lasts so many of the longest responses: what is cut at its ends is little then."""
SLICE_MAX_S, WARM_UP_MAX_S = 5.0, 3.0
"""A longer slice, or a longer time to settle at the beginning of every block, is for whole trials."""
REPLIES_A_SWEEP = 100
"""Replies that are to come to a single user in each sweep: R_0 rests on them."""
SWEEP_S, QUICK_SWEEP_S = 0.3, 0.15
"""Each level is measured for so long in a sweep, at least."""
SWEEP_MAX_S = 10.0
QUICK_SHARE = 0.5
QUICK_SLICE_SHARE = 0.5
"""Behind an application slices of a quick run are so many times as long."""
BLOCK_S = 15.0
"""A block is about so long: what is lost where it is interrupted, beside what opening it costs."""
SEARCH_S, APPLICATION_SEARCH_S = 1.0, 2.0
"""Length of a step of the search."""
TAIL_LEVELS = 3
"""Number of the last levels, none of which is left out of a shorter sweep where there is time for them."""
TRIAL_S, APPLICATION_TRIAL_S = 2.0, 5.0
"""Length of a level that is measured in one stretch."""


def within_budget(settings: SaturationSettings, share: float, *, application: bool) -> SaturationSettings:
    """The settings with steps and slices that are so many times as long as usual, where none are written.

    Below a half of the usual time it is done as in a quick run, but for the number of sweeps.
    """
    if share >= 1:
        return settings
    step_s, slice_s, shortest_s = (
        (APPLICATION_SEARCH_S, APPLICATION_SLICE_S, SHORTEST_APPLICATION_SLICE_S)
        if application
        else (SEARCH_S, SLICE_S, SHORTEST_SLICE_S)
    )
    shorter = {
        "quick": settings.quick or share < QUICK_SHARE,
        "trial_s": settings.trial_s or share * step_s,
        "slice_s": settings.slice_s or max(shortest_s, share * slice_s),
    }
    return settings.model_copy(update=shorter)


def fewer_levels(levels: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """These levels, and ever fewer of them: the first, the last and those in between evenly, on the log scale."""
    yield tuple(levels)
    powers = tuple(users for users in levels if users & (users - 1) == 0)
    yield tuple(sorted({*powers, *levels[-TAIL_LEVELS:]}))
    yield tuple(sorted({*powers, levels[-1]}))
    yield tuple(sorted({levels[0], *powers[2::2], *levels[-2:]}))


@dataclass(frozen=True)
class SweepPlan:
    """Plan of the sweeps of one condition."""

    levels: tuple[int, ...]
    rounds: Rounds | None
    """One block; None: each level is a whole trial."""
    rounds_a_sweep: int
    """0 where there are no rounds."""
    sweeps_a_block: int
    trial_s: float
    """For how long a level is measured in a sweep."""
    why_whole: Message | None = None
    """Why levels do not take turns."""

    @property
    def block_s(self) -> float:
        """Seconds that a block is expected to take."""
        if self.rounds is not None:
            return self.rounds.block_s(1, len(self.levels))
        return len(self.levels) * (self.trial_s + 1.0)


def plan_sweeps(
    template: PlannedTrial, settings: SaturationSettings, levels: Sequence[int], *, unloaded_s: float, slowest_s: float
) -> SweepPlan:
    """The sweeps of these levels.

    Args:
        template: the condition, under the workload's own load.
        settings: the run's.
        levels: numbers of users.
        unloaded_s: the mean response time with one user.
        slowest_s: the same at the highest level.
    """
    application = bool(template.subjects)
    cycle_s = unloaded_s + think_s(template.plan)
    needed_s = min(SWEEP_MAX_S, max(QUICK_SWEEP_S if settings.quick else SWEEP_S, REPLIES_A_SWEEP * cycle_s))
    why = _why_whole(template, settings, levels, slowest_s)
    if why is not None:
        trial_s = settings.trial_s or (APPLICATION_TRIAL_S if application else TRIAL_S)
        trial_s = max(trial_s, min(SWEEP_MAX_S, RESPONSES_A_SLICE * slowest_s))
        return SweepPlan(tuple(levels), None, 0, 1, trial_s, why)
    slice_s, settle_s = _slice(settings, slowest_s, application=application)
    rounds_a_sweep = max(1, math.ceil(round(needed_s / (slice_s - settle_s), 6)))
    warm_up_s = max(TABLE_WARM_UP_S, CYCLES * (slowest_s + think_s(template.plan)))
    of_sweep_s = rounds_a_sweep * slice_s * len(levels)
    sweeps = min(settings.sweeps, max(1, round(BLOCK_S / of_sweep_s)))
    while settings.sweeps % sweeps:
        sweeps -= 1
    rounds = Rounds(
        (sweeps * rounds_a_sweep,),
        slice_s,
        settle_s,
        round(warm_up_s, 3),
        opening_each_s=TABLE_OPENING_S,
    )
    measured_s = round(rounds_a_sweep * rounds.measured_s, 6)
    return SweepPlan(tuple(levels), rounds, rounds_a_sweep, sweeps, measured_s)


def _slice(settings: SaturationSettings, slowest_s: float, *, application: bool) -> tuple[float, float]:
    """Return how long a slice is, and how much of it is not measured."""
    usual_s, settle_s = (APPLICATION_SLICE_S, APPLICATION_SETTLE_S) if application else (SLICE_S, SETTLE_S)
    if settings.quick and application:
        usual_s, settle_s = QUICK_SLICE_SHARE * usual_s, QUICK_SLICE_SHARE * settle_s
    slice_s = max(settings.slice_s or usual_s, RESPONSES_A_SLICE * slowest_s)
    return round(slice_s, 3), round(min(slice_s / 4, max(settle_s, CYCLES * slowest_s)), 6)


def _why_whole(
    template: PlannedTrial, settings: SaturationSettings, levels: Sequence[int], slowest_s: float
) -> Message | None:
    """Why each level is a whole trial; None where they take turns."""
    if not settings.rounds:
        return message("whole_trials.as_written")
    if (why := why_whole_plan(with_users(template.plan, 1))) is not None:
        return why
    pause_s = think_s(template.plan)
    if RESPONSES_A_SLICE * slowest_s > SLICE_MAX_S or CYCLES * (slowest_s + pause_s) > WARM_UP_MAX_S:
        return message("whole_trials.slow", response_s=slowest_s, pause_s=pause_s)
    plans = [with_users(template.plan, users) for users in levels]
    connections, ports = sum(plan.pool.connections for plan in plans), local_ports()
    if connections > min(CONNECTIONS_MAX, CONNECTIONS_MAX if ports is None else ports.count // 2):
        return message("whole_trials.connections", connections=connections)
    if not template.subjects and _bytes(template, plans) > TOGETHER_BYTES_MAX:
        return message("whole_trials.data", levels=len(levels))
    return None


def _bytes(template: PlannedTrial, plans: Sequence[Plan]) -> int:
    """What all levels hold together at most, each with keys of its own."""
    if not PROTOCOLS[template.plan.protocol].has_keys:
        return 0
    return sum(of_load(plan, template.load).bytes for plan in plans)
