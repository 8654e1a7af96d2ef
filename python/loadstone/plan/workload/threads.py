"""`workload.threads: auto`: as many threads of the generator as the CPUs allow and the load needs.

The CPUs allow a half of them where a server gets the load, and a quarter where an application does, which needs CPUs
for itself, its database and its Redis; one at least. The load needs

- not more threads than users;
- one where users share fewer connections than they are: a pool that threads divide is another pool;
- one for each 50,000 operations a second where the rate is given, by an arrival rate or by think time.

On two CPUs it is always one.
"""

import math

from loadstone.plan.drive_plan import Closed, Plan
from loadstone.plan.protocols import PROTOCOLS

AUTO = "auto"
SERVER_SHARE, SUBJECT_SHARE = 2, 4
"""The generator may have one CPU in so many."""
RATE_A_THREAD_PER_S = 50_000
"""What one thread makes with ease, however large the documents are that it makes and checks."""


def threads_for(plan: Plan, cpu_count: int) -> int:
    """The threads of a plan on a machine of which loadstone may use so many CPUs."""
    allowed = max(1, cpu_count // (SUBJECT_SHARE if PROTOCOLS[plan.protocol].is_http else SERVER_SHARE))
    return max(1, min(allowed, _needed(plan)))


def _needed(plan: Plan) -> int:
    model = plan.model
    if not isinstance(model, Closed):
        rate_per_s = max([model.rate_per_s, *(step.rate_per_s for step in model.schedule)])
        return min(plan.pool.connections, math.ceil(rate_per_s / RATE_A_THREAD_PER_S))
    if plan.pool.connections < model.users:
        return 1
    if model.think_time_ms > 0:
        return min(model.users, math.ceil(model.users * 1000 / model.think_time_ms / RATE_A_THREAD_PER_S))
    return model.users
