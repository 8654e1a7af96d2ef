"""A classical ramp of a condition: users are added in nGrinder's steps, and the whole of it is measured."""

import math

from loadstone.plan.drive_plan import Closed, Phases, Plan, RampUp
from loadstone.plan.saturation.level_plans import pool_for, with_users
from loadstone.spec.ramp_text import Ramp

STEPS_MAX = 100
"""A chart of a screen shows no more."""
SHORTEST_STEP_S = 0.5


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
    pool = pool_for(plan, ramp.users)
    if pool.connections > steps.initial_users:
        pool = pool.model_copy(update={"min_idle": steps.initial_users})
    lengths = {"ramp_up_s": 0.0, "warm_up_s": 0.0, "measure_s": ramp.seconds}
    phases = Phases(**lengths, drain_s=plan.phases.drain_s)
    interval_s = steps.step_every_s / math.ceil(steps.step_every_s)
    return full.model_copy(update={"model": model, "pool": pool, "phases": phases, "interval_s": round(interval_s, 6)})
