"""The trial of a classical ramp, beside the search for a condition's saturation point."""

from loadstone.plan.run_plan import PlannedTrial
from loadstone.plan.saturation.level_plans import step_trial
from loadstone.plan.saturation.ramp_plan import with_ramp
from loadstone.plan.saturation.saturation_step import SaturationStep
from loadstone.spec.ramp_text import Ramp


def ramp_trial(template: PlannedTrial, ramp: Ramp, seed: int) -> PlannedTrial:
    """One trial, all of which is measured."""
    step = SaturationStep(phase="ramp", users=ramp.users)
    plan = with_ramp(template.plan, ramp)
    return step_trial(template, plan, step, name=f"{template.name}-ramp", block=1, order=1, seed=seed)


def ramp_text(ramp: Ramp) -> str:
    """Where in the run it stands."""
    return f"classical ramp: 1 to {ramp.users:,} users over {ramp.seconds:.0f} s"
