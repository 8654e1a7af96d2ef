"""The design of a run: randomised complete blocks, and the plan of every trial."""

import hashlib
import random
from collections.abc import Mapping

from loadstone.errors import UserError
from loadstone.plan.conditions import NumberedCondition, all_conditions, select
from loadstone.plan.model import Plan
from loadstone.plan.run_plan import PlannedTrial, RunPlan
from loadstone.plan.substitute import substitute
from loadstone.plan.workload import Mode, WorkloadPlanner
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
    blocks: int = 1,
    cpus: tuple[int, ...] = (),
) -> RunPlan:
    """All trials in the order in which they are to run: each condition once a block, in fresh random order.

    The same arguments give the same plan. `cpus` are those that the driver's threads are pinned to.
    Every condition of the experiment is planned, selected or not, so that a mistake in any of them is
    found before the run. Raises UserError.
    """
    if not 0 <= seed <= _LARGEST_SEED:
        raise UserError(f"--seed {seed}: must be from 0 to {_LARGEST_SEED}")
    if blocks < 1:
        raise UserError(f"--blocks {blocks}: must be at least 1")
    if as_published and experiment.as_published is None:
        raise UserError(f"--as-published: {experiment.name} has no published counts; leave the option out")
    planner = WorkloadPlanner(experiment, Mode(quick=quick, as_published=as_published), cpus)
    planned = {one.number: _plans(planner, one, seed) for one in all_conditions(experiment)}
    chosen = select(experiment, only=only or {}, quick=quick, as_published=as_published)
    trials = [
        _trial(experiment, one, planned[one.number], seed=seed, block=block, order=order)
        for block in range(1, blocks + 1)
        for order, one in enumerate(_shuffled(chosen, seed, block), start=1)
    ]
    return RunPlan(
        experiment=experiment.name,
        seed=seed,
        quick=quick,
        as_published=as_published,
        conditions=tuple(one.condition for one in chosen),
        trials=tuple(trials),
    )


def derived_seed(seed: int, *parts: object) -> int:
    """A seed of 63 bits that depends on the run's seed and on what it is for, and on nothing else."""
    text = "|".join(str(part) for part in (seed, *parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


def _plans(planner: WorkloadPlanner, one: NumberedCondition, seed: int) -> tuple[Plan, Plan | None]:
    """The plan of a condition's trials and of the load before them, with the run's seed."""
    prefix = f"loadstone:{seed & 0xFFFFFFFF:08x}:{one.number:03d}:"
    plan = planner.plan(one.condition, prefix=prefix)
    load = planner.load(one.condition, plan)
    if load is None:
        return plan, None
    return plan.model_copy(update={"keys": plan.keys.model_copy(update={"loaded": True})}), load


def _shuffled(chosen: tuple[NumberedCondition, ...], seed: int, block: int) -> list[NumberedCondition]:
    """One block's order. It is a shuffle of its own: nothing carries over from block to block."""
    order = list(chosen)
    random.Random(derived_seed(seed, "order", block)).shuffle(order)
    return order


def _trial(
    experiment: Experiment,
    one: NumberedCondition,
    plans: tuple[Plan, Plan | None],
    *,
    seed: int,
    block: int,
    order: int,
) -> PlannedTrial:
    """One trial. Its load has the trial's own seed, by which both know the content of every document."""
    plan, load = plans
    own = {"seed": derived_seed(seed, one.identity, block)}
    return PlannedTrial(
        name=f"b{block:02d}-{order:03d}",
        condition=one.condition,
        block=block,
        order=order,
        servers=substitute(experiment.servers, one.condition, experiment.factors),
        plan=plan.model_copy(update=own),
        load=load.model_copy(update=own) if load is not None else None,
    )
