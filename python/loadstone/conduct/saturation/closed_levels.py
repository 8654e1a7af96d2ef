"""The steps of the closed model carried out: numbers of users, one by one or in turns."""

import random

from loadstone.conduct.saturation.condition_trials import ConditionTrials, users_text
from loadstone.goals.saturate_closed import SearchStep, SweepStep
from loadstone.judge.statistics.saturation_range import sweep_orders
from loadstone.plan.block import Block
from loadstone.plan.run_plan import PlannedTrial
from loadstone.plan.saturation.level_plans import in_one_stretch, step_trial, with_users
from loadstone.plan.saturation.saturation_step import SaturationStep
from loadstone.plan.workload.trial_plans import in_slices


def measure_search(trials: ConditionTrials, template: PlannedTrial, step: SearchStep, label: str, own_s: float) -> None:
    """One step of the search; its condition takes `own_s` from now on."""
    plan = in_one_stretch(
        with_users(template.plan, step.users),
        step.measure_s,
        application=bool(template.subjects),
        response_s=step.response_s,
    )
    trial = step_trial(
        template,
        plan,
        SaturationStep(phase="search", users=step.users, number=step.number),
        name=f"{template.name}-search-u{step.users}{'' if step.users == 2 ** (step.number - 1) else '-again'}",
        block=step.number,
        order=1,
        seed=trials.seed(template, "search", step.users),
    )
    trials.run(trial, label, f"search for the range: {users_text(step.users)}", own_s)


def measure_sweeps(
    trials: ConditionTrials, template: PlannedTrial, step: SweepStep, label: str, of: str, own_s: float
) -> None:
    """A block of sweeps in rounds, or one sweep of whole trials; its condition takes `own_s` from now on.

    `of`: how many sweeps there will be, e.g. `of at least 6`.
    """
    plan, rounds = step.plan, step.plan.rounds
    if rounds is None:
        _whole_sweep(trials, template, step, label, of, own_s)
        return
    interval_s = round((plan.rounds_a_sweep - 0.5) * rounds.measured_s, 6)
    levels = []
    for place, users in enumerate(_order(trials, template, step), start=1):
        level = in_slices(with_users(template.plan, users), rounds, 1, interval_s)
        of_step = SaturationStep(phase="sweep", users=users, number=step.first, rounds_a_sweep=plan.rounds_a_sweep)
        seed = trials.seed(template, "sweep", step.first, users)
        levels.append(
            step_trial(
                template, level, of_step, name=f"{_name(template, step)}-u{users}", block=step.first, order=place,
                seed=seed, in_rounds=True,
            )
        )  # fmt: skip
    dice = random.Random(trials.seed(template, "rounds", step.first))
    places = range(len(levels))
    orders = tuple(tuple(dice.sample(places, len(places))) for _ in range(rounds.of(1)))
    last = step.first + plan.sweeps_a_block - 1
    said = f"sweeps {step.first} to {last}" if last > step.first else f"sweep {step.first}"
    trials.run_rounds(template, Block(tuple(levels), orders, rounds), label, f"{said} {of}", own_s)


def _whole_sweep(
    trials: ConditionTrials, template: PlannedTrial, step: SweepStep, label: str, of: str, own_s: float
) -> None:
    """What is left of a sweep, a trial a level."""
    plan = step.plan
    done = {
        one.saturation.users
        for one in trials.of(template)
        if one.saturation is not None and one.saturation.phase == "sweep" and one.saturation.number == step.first
    }
    order = _order(trials, template, step)
    for place, users in enumerate(order, start=1):
        if users in done:
            continue
        level = in_one_stretch(with_users(template.plan, users), plan.trial_s, application=bool(template.subjects))
        of_step = SaturationStep(phase="sweep", users=users, number=step.first)
        seed = trials.seed(template, "sweep", step.first, users)
        trial = step_trial(
            template, level, of_step, name=f"{_name(template, step)}-u{users}", block=step.first, order=place, seed=seed
        )
        where = f"sweep {step.first} {of}, level {place} of {len(order)}: {users_text(users)}"
        trials.run(trial, label, where, own_s - (place - 1) * plan.block_s / len(order))


def _order(trials: ConditionTrials, template: PlannedTrial, step: SweepStep) -> tuple[int, ...]:
    return sweep_orders(step.plan.levels, 1, trials.seed(template, "sweep", step.first))[0]


def _name(template: PlannedTrial, step: SweepStep) -> str:
    return f"{template.name}-sweep{step.first:02d}"
