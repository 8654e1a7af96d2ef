"""One planned trial, from the parts of its condition."""

from loadstone.plan.crashes import Parts
from loadstone.plan.design.order import derived_seed
from loadstone.plan.drive_plan import Plan
from loadstone.plan.run_plan import PlannedTrial


def planned_trial(
    parts: Parts,
    plan: Plan,
    *,
    name: str,
    group: str,
    block: int,
    order: int,
    seed: int,
    in_rounds: bool,
    key: str = "",
    stage: int = 0,
) -> PlannedTrial:
    """A trial under this plan. Plan and load have a seed of their own, which follows from the run's.

    `key`: what the group is called in this stage of it, where that is not its name.
    """
    own = {"seed": derived_seed(seed, key or group, parts.one.identity, block)}
    deployment = parts.deployment
    return PlannedTrial(
        name=name,
        condition=parts.one.condition,
        block=block,
        order=order,
        servers=deployment.servers,
        plan=plan.model_copy(update=own),
        load=None if parts.load is None else parts.load.model_copy(update=own),
        group=group,
        subjects=deployment.subjects,
        data=deployment.data,
        stored=deployment.stored,
        target=deployment.target,
        driver=deployment.driver,
        studied=parts.studied,
        in_rounds=in_rounds,
        stage=stage,
    )
