"""The conditions of which it is found where they saturate, planned."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from loadstone.plan.design.conditions import NumberedCondition, Only, conditions_varied, has_levels
from loadstone.plan.design.parts import Parts, planned_trial
from loadstone.plan.mode import Mode
from loadstone.plan.run_plan import SaturationPlan
from loadstone.plan.saturation.saturation_settings import SATURATION_GROUP, settings_of
from loadstone.plan.workload.trial_plans import WorkloadPlanner
from loadstone.spec.drivers import NATIVE, DriverWord
from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import Condition, identity


def plan_saturation(
    experiment: Experiment,
    mode: Mode,
    seed: int,
    only: Only,
    chosen: Sequence[NumberedCondition],
    planner: WorkloadPlanner,
    made: Mapping[str, Parts],
) -> SaturationPlan | None:
    """With `load: saturate` all chosen conditions, else those of `saturation.vary`; None where there are none.

    `made` has the workload's plan and the parts of each condition, by its identity. The original found no saturation
    point so, and `--as-published` has none. Raises UserError where a condition's driver is a program.
    """
    spec = experiment.load or experiment.saturation
    if spec is None or mode.as_published:
        return None
    conditions = _conditions(experiment, mode, only, chosen)
    if not conditions:
        return None
    trials = []
    for number, condition in enumerate(conditions, start=1):
        parts = made[identity(condition)]
        if parts.deployment.driver != NATIVE:
            problem = (
                f"'{DriverWord.of(parts.deployment.driver).place}' cannot take turns, and a saturation is measured so"
            )
            raise experiment.source.error(
                ("workload", "driver"), f"{problem}; write {NATIVE}, or leave it out of `vary`"
            )
        trial = planned_trial(
            parts,
            planner.for_many_users(condition, parts.plan),
            name=f"{SATURATION_GROUP}-{number:03d}",
            group=SATURATION_GROUP,
            block=1,
            order=number,
            seed=seed,
            in_rounds=False,
        )
        trials.append(replace(trial, stored=()))
    return SaturationPlan(settings_of(spec, quick=mode.quick), tuple(trials))


def _conditions(experiment: Experiment, mode: Mode, only: Only, chosen: Sequence[NumberedCondition]) -> list[Condition]:
    if experiment.load is not None:
        return [one.condition for one in chosen]
    group = experiment.saturation
    if group is None or (mode.quick and not group.quick):
        return []
    return [condition for condition in conditions_varied(experiment, group.vary) if has_levels(condition, only)]
