"""The plan of a condition at so many users, at a rate, or in a ramp: its workload with another load."""

import math
from dataclasses import replace

from loadstone.plan.drive_plan import Closed, Open, Phases, Plan, Pool, RampUp
from loadstone.plan.run_plan import PlannedTrial
from loadstone.plan.saturation.saturation_settings import SATURATION_GROUP, SaturationStep
from loadstone.plan.workload.trial_plans import with_fixed_length
from loadstone.spec.saturation_spec import Ramp

WARM_UP_S, APPLICATION_WARM_UP_S = 0.2, 0.5
"""Of a trial that is measured in one stretch."""
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
        saturation=step,
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
    """How many users there are at a time since the beginning."""
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
