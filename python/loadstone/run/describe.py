"""What loadstone can tell without measuring: the plan of an experiment, and this machine."""

import math
from collections.abc import Callable

from rich.console import Console

from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.look_schedule import BLOCKS_MIN, ROUNDS_MIN, level, schedule_of
from loadstone.experiment.plan.preview import preview_plan, remarks
from loadstone.experiment.plan.rounds import EXPECTED_SPREAD, EXPECTED_SPREAD_A_START, expected_spread
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.plan.run_size import extent
from loadstone.experiment.spec.experiment import RATES, Experiment
from loadstone.report.terminal.announcement import (
    announcement,
    description,
)
from loadstone.run.prepare import requested_experiment, requested_plan
from loadstone.run.request import RunRequest
from loadstone.text.message import Message, message


def describe_experiment(options: RunRequest) -> tuple[str, list[str]]:
    """What `loadstone show` prints: the experiment, and what a run of it does here, a line an act. Raises UserError."""
    experiment = requested_experiment(options)
    return describe(experiment, requested_plan(experiment, options, ()), options)


def describe(experiment: Experiment, run_plan: RunPlan, options: RunRequest) -> tuple[str, list[str]]:
    """Describe an experiment that is planned already. Raises UserError."""
    from loadstone.run.confinement import (
        confined,  # only now: it takes time to load
        doubts,
    )

    allowed = (
        *doubts(run_plan, allow=options.allow_any_command),
        *confined(run_plan, ask=False, allow=options.allow_any_command),
    )
    from loadstone.run.actions import planned_actions
    from loadstone.run.consent import listing

    described = description(preview_plan(run_plan, experiment), experiment, _prospects(run_plan))
    return "\n".join(map(str, [described, *allowed])), list(
        listing(planned_actions(experiment, run_plan, options.secret_files))
    )


def print_announcement(run_plan: RunPlan, experiment: Experiment, *, report: bool = True) -> list[str]:
    """What `loadstone run` prints before it starts: the question, how long it takes, what can get no verdict.

    `report`: whether one is written at the end. No forecast: how far blocks lie apart on this machine is known after
    the first look, which says what it means.
    """
    alone = schedule_of(experiment).announced(experiment.question, run_plan.budget_s)
    if alone is not None:
        return [alone]
    return announcement(experiment, extent(run_plan, report=report), [*remarks(run_plan), *shortcomings(run_plan)])


def shortcomings(run_plan: RunPlan) -> list[Message]:
    """A line for each comparison that may get no verdict: its name, and why."""
    last = run_plan.looks_within_budget()
    found = {group.name: _shortcoming(group, last[group.name]) for group in run_plan.groups if group.pairs}
    return [message("prospect_of", name=name, prospect=why) for name, why in found.items() if why is not None]


def prospects(run_plan: RunPlan) -> list[Message]:
    """A line for each comparison: its name, and what difference it may be able to show, as a guess."""
    return [message("prospect_of", name=name, prospect=one) for name, one in _prospects(run_plan).items()]


def _prospects(run_plan: RunPlan) -> dict[str, Message]:
    last = run_plan.looks_within_budget()
    return {
        group.name: _shortcoming(group, last[group.name]) or _guess(group, last[group.name] or group.looks[0])
        for group in run_plan.groups
        if group.pairs
    }


def _shortcoming(group: Group, last_blocks: int | None) -> Message | None:
    """Why a comparison may get no verdict; None if it should."""
    most, needed = group.replicates(group.looks[-1]), BLOCKS_MIN if group.unit == "block" else ROUNDS_MIN
    if most < needed:
        return message("prospect_few_blocks", blocks=most, needed=needed, unit=group.unit)
    if last_blocks is None:
        return message("prospect_late_look", blocks=group.replicates(group.looks[0]), unit=group.unit)
    if group.metric in RATES and _detectable(group, group.looks[0]) is None:
        return message(
            "prospect_many_pairs",
            blocks=group.replicates(group.looks[0]),
            pairs=len(group.pairs),
            unit=group.unit,
        )
    return None


def _guess(group: Group, last_blocks: int) -> Message:
    """What a comparison would show on a quiet machine, at its first look and at the last one that the budget allows."""
    if group.metric not in RATES:
        return message("prospect_by_spread", metric=group.metric)
    first_blocks = group.looks[0]
    further = last_blocks > first_blocks
    return message(
        "prospect_guess",
        first_blocks=group.replicates(first_blocks),
        first_share=_detectable(group, first_blocks),
        last_blocks=group.replicates(last_blocks),
        last_share=_detectable(group, last_blocks) if further else None,
        unit=group.unit,
    )


def _detectable(group: Group, blocks: int) -> float | None:
    """The difference, as a share, that shows 8 times in 10 after so many blocks; None where no interval exists."""
    from loadstone.judge.statistics.effect import detectable_effect  # only now: it takes time to load

    in_rounds = EXPECTED_SPREAD if group.unit == "round" else EXPECTED_SPREAD_A_START
    spread = expected_spread(group.trial_s) if group.rounds is None else in_rounds
    alpha = level(group.sequential, group.unit == "round") / len(group.pairs)
    log_ratio = detectable_effect(group.replicates(blocks), spread, alpha)
    return None if log_ratio is None else math.expm1(log_ratio)


def try_out(say: Callable[[str], None], remark: Callable[[str], None]) -> int:
    """Print what `loadstone self-test` finds, a part as it is done; the exit status. Raises UserError."""
    from loadstone.run.self_test import SelfTestPart, self_test

    def show(part: SelfTestPart) -> None:
        say(f"{part.verdict:<5} {part.name:<14} {part.found}")
        if part.means:
            say(f"{'':<20} {part.means}")

    return self_test(show, remark)


def examine(console: Console) -> bool:
    """Print what `loadstone doctor` finds; False if something could be better."""
    from loadstone.run import doctor  # only now: what it examines takes time to load

    facts = doctor.facts()
    for fact in facts:
        for line in fact.lines:
            console.print(line, markup=False, soft_wrap=True)
    return all(fact.verdict == "ok" for fact in facts)
