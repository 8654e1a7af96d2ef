"""The steps of the open model carried out: rates, one after the other."""

from loadstone.conduct.saturation.condition_trials import ConditionTrials
from loadstone.goals.saturate_open import RateTrial
from loadstone.judge.statistics.saturation_open import BLOCK_STEPS, BLOCKS, LOCATE_STEPS
from loadstone.plan.run_plan import PlannedTrial
from loadstone.plan.saturation.level_plans import in_one_stretch, step_trial, with_arrivals
from loadstone.plan.saturation.saturation_step import SaturationStep


def measure_rate(
    trials: ConditionTrials,
    template: PlannedTrial,
    step: RateTrial,
    measure_s: float,
    users: int,
    label: str,
    own_s: float,
) -> None:
    """One rate; its pool is large enough for `users`, and its condition takes `own_s` from now on."""
    rate_per_s = float(f"{step.rate_per_s:.6g}")
    plan = in_one_stretch(
        with_arrivals(template.plan, rate_per_s, users), measure_s, application=bool(template.subjects)
    )
    of_step = SaturationStep(
        phase="locate" if step.phase == "locate" else "bisect",
        rate_per_s=rate_per_s,
        number=step.number if step.phase == "locate" else step.block,
    )
    where = "locate" if step.phase == "locate" else f"block{step.block}"
    trial = step_trial(
        template,
        plan,
        of_step,
        name=f"{template.name}-{where}-{step.number}",
        block=step.block + 1,
        order=step.number,
        seed=trials.seed(template, where, step.number),
    )
    trials.run(trial, label, f"{_place(step)}: {rate_per_s:,.0f} a second", own_s)


def _place(step: RateTrial) -> str:
    if step.phase == "locate":
        return f"locating the rate, step {step.number} of {LOCATE_STEPS}"
    return f"bisection {step.block} of {BLOCKS}, step {step.number} of {BLOCK_STEPS}"
