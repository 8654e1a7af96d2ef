"""How much a run will measure, how long that takes, and what follows for the figures."""

from loadstone.message import Message, message
from loadstone.plan.run_plan import TABLE_GROUP, RunPlan


def extent(run_plan: RunPlan) -> list[Message]:
    """A line each."""
    return [_size(run_plan), _time(run_plan), *_parts_of_the_time(run_plan), *_consequences(run_plan)]


def _size(run_plan: RunPlan) -> Message:
    """Conditions, blocks and trials; from those to the first looks up to all that are planned."""
    tables = [group for group in run_plan.groups if group.name == TABLE_GROUP]
    first = {group.name: group.looks[0] for group in run_plan.groups}
    return message(
        "plan_size",
        conditions=len(run_plan.conditions),
        of_tables=[len(group.conditions) for group in tables],
        blocks_of_tables=[group.looks[-1] for group in tables],
        comparisons=len(run_plan.groups) - len(tables),
        seed=run_plan.seed,
        trials_min=sum(trial.block <= first[trial.group] for trial in run_plan.trials),
        trials_max=len(run_plan.trials),
    )


def _time(run_plan: RunPlan) -> Message:
    """From the first looks to the end of the budget."""
    expected_s, longest_s, budget_s = run_plan.expected_s(), run_plan.longest_s(), run_plan.budget_s
    if budget_s > 0:
        expected_s += run_plan.ending_s() - run_plan.crashes_s()
    builds = _built(run_plan)
    if 0 < budget_s < expected_s:
        return message("plan_time_too_short", budget_s=budget_s, expected_s=expected_s, builds=builds)
    sequential = any(group.sequential for group in run_plan.groups)
    if longest_s == budget_s:
        return message(
            "plan_time_of_budget", expected_s=expected_s, budget_s=budget_s, sequential=sequential, builds=builds
        )
    at_most_s = longest_s if longest_s > 1.01 * expected_s else None
    return message("plan_time", expected_s=expected_s, at_most_s=at_most_s, sequential=sequential, builds=builds)


def _built(run_plan: RunPlan) -> list[str]:
    """Subjects that may have to be built first: that is in the budget, and in no expectation."""
    trials = run_plan.every_trial
    return list(dict.fromkeys(name for trial in trials for name, subject in trial.subjects.items() if not subject.urls))


def _parts_of_the_time(run_plan: RunPlan) -> list[Message]:
    lines = []
    trials, preparation_s = run_plan.every_trial, run_plan.preparation_s()
    subjects = list(dict.fromkeys(name for trial in trials for name in trial.subjects))
    data = list(dict.fromkeys(data.name for trial in trials for data in trial.data))
    if (subjects or data) and preparation_s >= 1:
        lines.append(message("plan_preparation", time_s=preparation_s, subjects=subjects, data=data))
    if run_plan.crashes:
        lines.append(message("plan_crashes", crashes=len(run_plan.crashes), time_s=run_plan.crashes_s()))
    return lines


def _consequences(run_plan: RunPlan) -> list[Message]:
    """What a scale, a quick run and single blocks mean for the figures."""
    lines = []
    if run_plan.scale != 1:
        lines.append(message("plan_scale", scale=run_plan.scale, shorter=run_plan.as_published))
    if run_plan.quick:
        lines.append(message("plan_quick"))
    tables = [group for group in run_plan.groups if group.name == TABLE_GROUP]
    if len(tables) == len(run_plan.groups):
        lines.append(message("plan_nothing_compared", blocks=tables[0].looks[-1]))
    elif tables and tables[0].looks[-1] == 1:
        lines.append(message("plan_tables_once"))
    return lines
