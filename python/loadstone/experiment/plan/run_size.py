"""Computes how much a run will measure, how long that takes, and what follows for the figures."""

from collections.abc import Sequence

from loadstone.experiment.plan.design.interleaving import AS_PUBLISHED, AS_WRITTEN
from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.run_plan import RunPlan, in_tables
from loadstone.text.message import Message, message

WORTH_A_LINE_S = 2.0
PRINTED_S = 0.5
"""J: what judging a short run and printing what is known is taken to cost, where no report is written."""


def extent(run_plan: RunPlan, *, report: bool = True) -> list[Message]:
    """A line each. `report`: whether one is written at the end, beside what is printed."""
    size = [_size(run_plan)] if run_plan.groups else []
    return [*size, _time(run_plan, report=report), *_parts_of_the_time(run_plan), *_consequences(run_plan)]


def _size(run_plan: RunPlan) -> Message:
    """Conditions, comparisons and whole trials; of these from those to the first looks up to all that are planned.

    What takes turns is counted in rounds, where it is said how long they are.
    """
    tables = _tables(run_plan)
    first = {group.name: group.looks[0] for group in run_plan.groups if group.rounds is None}
    whole = [trial for trial in run_plan.trials if trial.group in first]
    return message(
        "plan_size",
        conditions=len(run_plan.conditions),
        of_tables=sum(len(group.conditions) for group in tables),
        comparisons=len(run_plan.groups) - len(tables),
        seed=run_plan.seed,
        trials_min=sum(trial.block <= first[trial.group] for trial in whole),
        trials_max=len(whole),
    )


def _time(run_plan: RunPlan, *, report: bool) -> Message:
    """From the first looks to the end of the budget."""
    expected_s, longest_s, budget_s = run_plan.expected_s(), run_plan.longest_s(), run_plan.budget_s
    if budget_s > 0:
        judged_s = run_plan.report_s() - run_plan.crashes_s()
        expected_s += judged_s if report else min(judged_s, PRINTED_S)
    builds = _built(run_plan)
    if 0 < budget_s < expected_s:
        return message("plan_time_too_short", budget_s=budget_s, expected_s=expected_s, builds=builds)
    sequential = any(group.sequential for group in run_plan.groups)
    if longest_s == budget_s:
        return message(
            "plan_time_of_budget", expected_s=expected_s, budget_s=budget_s, sequential=sequential, builds=builds
        )
    at_most_s = longest_s if longest_s > 1.01 * expected_s else None
    starts = {} if _starts(run_plan) else {"starts": False}
    return message(
        "plan_time", expected_s=expected_s, at_most_s=at_most_s, sequential=sequential, builds=builds, **starts
    )


def _starts(run_plan: RunPlan) -> bool:
    """Whether anything is started for the run: a server or an application that has no URL."""
    servers = (settings for trial in run_plan.every_trial for settings in trial.servers.values())
    return any("url" not in settings for settings in servers) or bool(_built(run_plan))


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
    if (time_s := run_plan.keys_s()) >= WORTH_A_LINE_S:
        keys = max(trial.plan.keys.count for trial in trials)
        lines.append(message("plan_keys", keys=keys, time_s=time_s))
    if run_plan.at_rate is not None:
        fixed, rows = run_plan.at_rate.fixed, len(run_plan.at_rate.trials)
        rate = {"rate_per_s": fixed.rate_per_s, "share": fixed.share}
        lines.append(message("plan_at_rate", rows=rows, time_s=run_plan.at_rate_s(), **rate))
    if run_plan.search is not None and (announced := run_plan.search.announced) is not None:
        time_s, search = run_plan.search_s(), run_plan.search
        shortened = {"shortened": True} if search.least_s < search.expected_s and time_s < search.expected_s else {}
        lines.append(announced.with_figures(time_s=time_s, **shortened))
    for goal in run_plan.goals:
        lines.append(message("plan_goal", name=goal.name, conditions=len(goal.trials), time_s=goal.time_s))
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
    if run_plan.shortened_for_s > 0:
        lines.append(message("plan_shortened"))
    tables = _tables(run_plan)
    lines += _in_rounds(tables)
    if not run_plan.groups:
        return lines
    if len(tables) == len(run_plan.groups):
        lines.append(message("plan_nothing_compared"))
    elif tables and tables[0].looks[-1] == 1 and all(group.rounds is None for group in tables):
        lines.append(message("plan_tables_once"))
    return lines


def _in_rounds(tables: Sequence[Group]) -> list[Message]:
    """Return sentences that say how many rows take turns, how often and for how long; and which do not, and why."""
    lines = []
    decks: dict[tuple[int, int, float], list[float]] = {}
    for group in tables:
        if group.rounds is not None:
            alike = (len(group.conditions), group.replicates(group.looks[-1]), group.rounds.slice_s)
            decks.setdefault(alike, []).append(group.looks[-1] * group.block_s)
    for (rows, rounds, slice_s), times_s in decks.items():
        how = {"decks": len(times_s), "rows": rows, "rounds": rounds, "slice_s": slice_s, "time_s": sum(times_s)}
        lines.append(message("plan_table_rounds", **how))
    for group in (group for group in tables if group.rounds is None):
        why = None if group.whole_trials in (AS_PUBLISHED, AS_WRITTEN) else group.whole_trials
        measured = {"blocks": group.looks[-1], "trial_s": group.trial_s}
        lines.append(message("plan_table_trials", rows=len(group.conditions), **measured, why=why))
    return lines


def _tables(run_plan: RunPlan) -> list[Group]:
    return [group for group in run_plan.groups if in_tables(group.name)]
