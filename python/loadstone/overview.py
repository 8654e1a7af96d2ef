"""What loadstone can tell without measuring: the plan of an experiment, and this machine."""

import math

from rich.console import Console

from loadstone.options import RunOptions, wanted_experiment, wanted_plan
from loadstone.plan.describe import describe, extent, wrapped
from loadstone.plan.looks import BLOCKS_MIN, level
from loadstone.plan.run_plan import Group, RunPlan
from loadstone.plan.trial_length import expected_spread
from loadstone.spec.experiment import RATES, Experiment


def describe_experiment(options: RunOptions) -> str:
    """What `loadstone show` prints. Raises UserError."""
    experiment = wanted_experiment(options)
    run_plan = wanted_plan(experiment, options, ())
    from loadstone.conduct.confinement import confined  # only now: it takes time to load

    remarks = confined(run_plan, ask=False, allow=options.allow_any_command)
    return "\n".join([describe(run_plan, experiment, _prospects(run_plan)), *remarks])


def announce(run_plan: RunPlan, experiment: Experiment) -> list[str]:
    """What `loadstone run` prints before it starts: the question, how long it takes, what can get no verdict.

    No forecast: how far blocks lie apart on this machine is known after the first look, which says what it means.
    """
    lines = [experiment.question, *extent(run_plan), *shortcomings(run_plan)]
    return [part for line in lines for part in wrapped(line, then=2)]


def shortcomings(run_plan: RunPlan) -> list[str]:
    """A line for each comparison that may get no verdict: its name, and why."""
    last = run_plan.looks_within_budget()
    found = {group.name: _shortcoming(group, last[group.name]) for group in run_plan.groups if group.pairs}
    return [f"{name}: {sentence}" for name, sentence in found.items() if sentence]


def prospects(run_plan: RunPlan) -> list[str]:
    """A line for each comparison: its name, and what difference it may be able to show, as a guess."""
    return [f"{name}: {sentence}" for name, sentence in _prospects(run_plan).items()]


def _prospects(run_plan: RunPlan) -> dict[str, str]:
    last = run_plan.looks_within_budget()
    return {
        group.name: _shortcoming(group, last[group.name]) or _guess(group, last[group.name] or group.looks[0])
        for group in run_plan.groups
        if group.pairs
    }


def _shortcoming(group: Group, last_blocks: int | None) -> str:
    """Why a comparison may get no verdict; empty if it should."""
    if group.looks[-1] < BLOCKS_MIN:
        return f"{group.looks[-1]} blocks are too few for a verdict; it takes at least {BLOCKS_MIN}"
    if last_blocks is None:
        return f"the budget may end before its first look, after {group.looks[0]} blocks"
    if group.metric in RATES and _detectable(group, group.looks[0], expected_spread(group.trial_s)) is None:
        return f"{group.looks[0]} blocks are too few for {len(group.pairs)} pairs"
    return ""


def _guess(group: Group, last_blocks: int) -> str:
    """What a comparison would show on a quiet machine, at its first look and at the last one that the budget allows."""
    if group.metric not in RATES:
        return f"what it can show depends on how {group.metric} spreads, which its first look will say"
    spread = expected_spread(group.trial_s)
    first = _detectable(group, group.looks[0], spread)
    further = _detectable(group, last_blocks, spread) if last_blocks > group.looks[0] else None
    within = f", after {last_blocks} (as the budget allows) one of {further}" if further else ""
    return (
        f"a guess for a quiet machine: after {group.looks[0]} blocks a difference of {first} shows 8 times in 10"
        f"{within}; its first look measures how far blocks lie apart on this one"
    )


def _detectable(group: Group, blocks: int, spread: float) -> str | None:
    """The difference that is seen 8 times in 10 after so many blocks; None where no interval exists."""
    from loadstone.judge.statistics.effect import detectable_effect  # only now: it takes time to load

    log_ratio = detectable_effect(blocks, spread, level(group.sequential) / len(group.pairs))
    return None if log_ratio is None else f"{100 * math.expm1(log_ratio):.2g} %"


def examine(console: Console) -> bool:
    """Print what `loadstone doctor` finds; False if something could be better."""
    from loadstone.deploy import doctor  # only now: what it examines takes time to load

    facts = doctor.facts()
    for fact in facts:
        console.print(f"{fact.verdict:<5} {fact.name:<24} {fact.value}", markup=False, soft_wrap=True)
        if fact.remedy:
            console.print(f"{'':<30} {fact.remedy}", markup=False, soft_wrap=True)
    return all(fact.verdict == "ok" for fact in facts)
