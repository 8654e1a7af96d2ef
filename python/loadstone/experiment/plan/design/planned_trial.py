"""The parts of a condition, what of the generator is studied in it, and a planned trial made from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from loadstone.experiment.plan.deployment import Deployment
from loadstone.experiment.plan.design.conditions import NumberedCondition, conditions_of
from loadstone.experiment.plan.design.randomisation import derived_seed
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.group import PairDesign
from loadstone.experiment.plan.run_plan import PlannedTrial, StudiedPart
from loadstone.experiment.spec.levels import Condition, identity


@dataclass(frozen=True)
class ConditionParts:
    """What a trial is planned from: the plans and the deployment of one condition."""

    one: NumberedCondition
    plan: Plan
    load: Plan | None
    deployment: Deployment
    studied: tuple[StudiedPart, ...] = ()


def planned_trial(
    parts: ConditionParts,
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


def with_studied(
    made: Mapping[str, ConditionParts],
    tables: Iterable[Iterable[Condition]],
    pairs: Mapping[str, tuple[PairDesign, ...]],
) -> dict[str, ConditionParts]:
    """The parts of each condition, with what differs between the conditions of a table or comparison that it is in.

    Args:
        made: the parts of each condition, by its identity.
        tables: the conditions of each table, of those that are measured.
        pairs: those of each comparison.
    """
    studied: dict[str, set[StudiedPart]] = {}
    for together in (*tables, *map(conditions_of, pairs.values())):
        names = {identity(condition) for condition in together}
        differing = _differing([made[name] for name in names])
        for name in names:
            studied.setdefault(name, set()).update(differing)
    return {name: replace(parts, studied=tuple(sorted(studied.get(name, ())))) for name, parts in made.items()}


def _differing(together: Sequence[ConditionParts]) -> set[StudiedPart]:
    studied: set[StudiedPart] = set()
    if len({one.deployment.driver for one in together}) > 1:
        studied.add("driver")
    if len({one.plan.pool.connections for one in together}) > 1:
        studied.add("pool")
    return studied
