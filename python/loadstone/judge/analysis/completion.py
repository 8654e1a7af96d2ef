"""Determines how far a run came: what it needed, what is finished, how long it took."""

import math

from loadstone.experiment.plan.look_schedule import schedule_of
from loadstone.experiment.plan.run_plan import FULL_SERVERS, REPORT_S, REPORT_TRIAL_S
from loadstone.run_folder.look import Look
from loadstone.run_folder.plan_summary import PlannedLine
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import lasted_s

ROUNDED_TO_S = 5.0


def newest_look(run: RecordedRun, group: str) -> Look | None:
    """The last look that was taken at a group."""
    return next((look for look in reversed(run.looks) if look.group == group), None)


def is_finished(run: RecordedRun, group: str) -> bool:
    """Whether a group needs no more trials: a look stopped it, or all of its trials are there."""
    newest = newest_look(run, group)
    done = {trial.trial for trial in run.trials}
    return (newest is not None and newest.stop) or all(line.trial in done for line in _lines(run, group))


def is_complete(run: RecordedRun) -> bool:
    """Whether every group of the run is finished, and every goal has its answer."""
    groups = {line.group for line in run.plan.trials}
    return all(is_finished(run, group) for group in groups) and not _without_end(run)


def needed_trials(run: RecordedRun) -> set[str]:
    """The trials that the run needs: of a group that a look stopped those up to there, and what was done beyond.

    Of what is measured at a fixed rate only what was done: there is time for it or not.
    """
    done = {trial.trial for trial in run.trials}
    looks = {group: newest_look(run, group) for group in {line.group for line in run.plan.trials}}
    needed = {line.trial for line in run.plan.trials if line.trial in done or _is_needed(line, looks[line.group])}
    goals = {FULL_SERVERS, *(goal.name for goal in run.plan.goals)}
    needed |= {trial.trial for trial in run.trials if trial.search is not None or trial.group in goals}
    needed |= _without_end(run)
    return needed | {line.trial for line in (run.plan.at_rate.trials if run.plan.at_rate else ()) if line.trial in done}


def _without_end(run: RecordedRun) -> set[str]:
    """What a look ends and none did yet: the search for a saturation point, by its line in the plan, and goals."""
    planned = () if run.plan.search is None else run.plan.search.trials
    names = {*(line.trial for line in planned), *(goal.name for goal in run.plan.goals)}
    return {name for name in names if (look := newest_look(run, name)) is None or not look.stop}


def _is_needed(line: PlannedLine, newest: Look | None) -> bool:
    if newest is None or not newest.stop:
        return True
    return newest.reason != "not needed" and line.block <= newest.blocks


def _lines(run: RecordedRun, group: str) -> list[PlannedLine]:
    return [line for line in run.plan.trials if line.group == group]


def needed_budget_s(run: RecordedRun) -> float:
    """The budget in seconds, rounded up, with which a run would have measured something; 0 where it did.

    It reaches to the first look at every comparison, whatever the report then takes.
    """
    plan = run.plan
    cut = any(look.stop and look.reason == "out of budget" for look in run.looks)
    if not cut or plan.budget_s <= 0 or run.trials or run.superseded:
        return 0.0
    needed_s = plan.expected_s + REPORT_S + REPORT_TRIAL_S * len(plan.trials)
    return ROUNDED_TO_S * math.ceil(max(needed_s, plan.budget_s + ROUNDED_TO_S) / ROUNDED_TO_S)


def elapsed_s(run: RecordedRun) -> float:
    """What the trials took, attempts that do not count included; without the pauses between two sessions.

    Where the looks tell the time, what the last one says.
    """
    if run.looks and schedule_of(run.experiment).is_timed_by_looks:
        return max(look.elapsed_s for look in run.looks)
    trials = [*run.trials, *run.superseded, *run.shorter]
    return round(lasted_s(sorted(trials, key=lambda trial: trial.ended_unix_s)), 3)
