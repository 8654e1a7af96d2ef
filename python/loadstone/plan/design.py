"""The design of a run: its groups, randomised complete blocks, and the plan of every trial."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loadstone.errors import UserError
from loadstone.plan.conditions import NumberedCondition, all_conditions, identity, select
from loadstone.plan.groups import blocks_of, design_of_mode, make_groups
from loadstone.plan.model import Plan
from loadstone.plan.order import block_order, derived_seed
from loadstone.plan.pairs import pairs_of_mode
from loadstone.plan.run_plan import TABLE_GROUP, Group, PlannedTrial, RunPlan
from loadstone.plan.substitute import substitute
from loadstone.plan.workload import Mode, WorkloadPlanner, with_fixed_length
from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import Level

_LARGEST_SEED = 2**63 - 1


def make_run_plan(
    experiment: Experiment,
    *,
    only: Mapping[str, tuple[Level, ...]] | None = None,
    quick: bool = False,
    as_published: bool = False,
    seed: int = 1,
    blocks: int | None = None,
    budget_s: float | None = None,
    cpus: tuple[int, ...] = (),
) -> RunPlan:
    """All trials that the run may need: group by group, each condition of a group once a block, in random order.

    The same arguments give the same plan. `blocks` fixes the blocks of every group; None: comparisons are looked
    at as they go, tables have the design's blocks. `budget_s` replaces the design's budget. `cpus` are those that
    the driver's threads are pinned to. Every condition of the experiment is planned, selected or not, so that a
    mistake in any of them is found before the run. Raises UserError.
    """
    _check_options(experiment, as_published=as_published, seed=seed, blocks=blocks, budget_s=budget_s)
    planner = WorkloadPlanner(experiment, Mode(quick=quick, as_published=as_published), cpus)
    made = {one.identity: _plans(planner, one, seed) for one in all_conditions(experiment)}
    chosen = select(experiment, only=only or {}, quick=quick, as_published=as_published)
    pairs = pairs_of_mode(experiment, only=only or {}, quick=quick, as_published=as_published)
    design = design_of_mode(experiment, quick=quick, as_published=as_published, blocks=blocks, budget_s=budget_s)
    groups = make_groups(experiment, design, chosen, pairs, {key: plans.plan for key, plans in made.items()})
    return RunPlan(
        experiment=experiment.name,
        seed=seed,
        quick=quick,
        as_published=as_published,
        budget_s=design.budget_s,
        conditions=tuple(one.condition for one in chosen),
        groups=groups,
        trials=tuple(trial for group in groups for trial in _trials(experiment, group, made, seed)),
    )


@dataclass(frozen=True)
class _Plans:
    """The plan of a condition's trials, and of the load before them: both have the trial's own seed in the end."""

    plan: Plan
    load: Plan | None


def _check_options(
    experiment: Experiment, *, as_published: bool, seed: int, blocks: int | None, budget_s: float | None
) -> None:
    if not 0 <= seed <= _LARGEST_SEED:
        raise UserError(f"--seed {seed}: must be from 0 to {_LARGEST_SEED}")
    if blocks is not None and blocks < 1:
        raise UserError(f"--blocks {blocks}: must be at least 1")
    if budget_s is not None and not budget_s > 0:
        raise UserError(f"--budget {budget_s}: must be more than 0 s")
    if as_published and experiment.as_published is None:
        raise UserError(f"--as-published: {experiment.name} has no published counts; leave the option out")


def _plans(planner: WorkloadPlanner, one: NumberedCondition, seed: int) -> _Plans:
    """The plans of a condition, with keys of its own in this run."""
    prefix = f"loadstone:{seed & 0xFFFFFFFF:08x}:{one.number:03d}:"
    plan = planner.plan(one.condition, prefix=prefix)
    load = planner.load(one.condition, plan)
    if load is not None:
        plan = plan.model_copy(update={"keys": plan.keys.model_copy(update={"loaded": True})})
    return _Plans(plan, load)


def _trials(experiment: Experiment, group: Group, made: Mapping[str, _Plans], seed: int) -> Iterator[PlannedTrial]:
    """The trials of a group, block by block."""
    servers = {
        identity(condition): substitute(experiment.servers, condition, experiment.factors)
        for condition in group.conditions
    }
    plans = {key: _of_group(group, made[key]) for key in servers}
    prefix = "" if group.name == TABLE_GROUP else f"{group.name}-"
    for block in blocks_of(group):
        for order, condition in enumerate(block_order(group, seed, block), start=1):
            key = identity(condition)
            own = {"seed": derived_seed(seed, group.name, key, block)}
            load = plans[key].load
            yield PlannedTrial(
                name=f"{prefix}b{block:02d}-{order:03d}",
                condition=condition,
                block=block,
                order=order,
                servers=servers[key],
                plan=plans[key].plan.model_copy(update=own),
                load=None if load is None else load.model_copy(update=own),
                group=group.name,
            )


def _of_group(group: Group, plans: _Plans) -> _Plans:
    """The plans of a condition in a group: what is compared has the group's length."""
    return _Plans(with_fixed_length(plans.plan, group.trial_s), plans.load) if group.pairs else plans
