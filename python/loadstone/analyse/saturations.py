"""Where each condition saturates: from its trials to an answer."""

from collections.abc import Sequence
from functools import partial

from loadstone.analyse.limiting_parts import limiting_levels, limiting_rates
from loadstone.analyse.ramp import ramp_of_trials
from loadstone.analyse.saturation_answer import SaturationAnswer, Search, SearchPoint
from loadstone.analyse.saturation_objectives import estimated, met_by_rates, met_in_sweeps
from loadstone.analyse.saturation_points import level_points, rate_points, trials_of_sweeps
from loadstone.judge.saturation.closed_answer import ClosedAnswer, closed_answer
from loadstone.judge.saturation.level_probes import search_trials
from loadstone.judge.saturation.rate_answer import rate_answer
from loadstone.judge.saturation.rate_trials import RateStep
from loadstone.judge.statistics.saturation_model import no_point
from loadstone.message import Message, message
from loadstone.plan.labels import condition_label
from loadstone.plan.saturation.saturation_settings import SaturationSettings
from loadstone.record.plan_summary import PlannedLine
from loadstone.record.reading import Run, read_histogram
from loadstone.record.trial import TrialRecord
from loadstone.spec.levels import identity


def make_saturations(run: Run, judged: Sequence[TrialRecord]) -> list[SaturationAnswer]:
    """One answer for each condition of which it was to be found; `judged` are all trials of the run."""
    planned = run.plan.saturation
    if planned is None:
        return []
    by_condition: dict[str, list[TrialRecord]] = {}
    for trial in judged:
        if trial.saturation is not None:
            by_condition.setdefault(identity(trial.condition), []).append(trial)
    varied = [factor for factor in planned.trials[0].condition if _varies(planned.trials, factor)]
    make = partial(_open if planned.settings.model == "open" else _closed, run, planned.settings)
    return [make(line, varied, by_condition.get(identity(line.condition), [])) for line in planned.trials]


def saturation_headline(answers: Sequence[SaturationAnswer]) -> Message | None:
    """Where each condition saturates; None of runs that did not measure it."""
    said = [message("saturation_of", label=one.label, said=one.message) for one in answers]
    return message("saturations", answers=said) if said else None


def _varies(lines: Sequence[PlannedLine], factor: str) -> bool:
    return len({str(line.condition.get(factor)) for line in lines}) > 1


def _closed(
    run: Run, settings: SaturationSettings, line: PlannedLine, varied: Sequence[str], trials: list[TrialRecord]
) -> SaturationAnswer:
    answer, found = closed_answer(trials, settings), closed_answer(trials, settings).saturation
    by_users: dict[int, list[TrialRecord]] = {}
    for trial in trials_of_sweeps(trials) or search_trials(trials):
        if trial.saturation is not None and trial.saturation.users is not None:
            by_users.setdefault(trial.saturation.users, []).append(trial)
    required, sweeps = settings.required, answer.sweeps
    rounds_a_sweep = max((one.saturation.rounds_a_sweep for one in trials if one.saturation), default=0)
    return SaturationAnswer(
        condition=line.condition,
        label=condition_label(run.experiment, line.condition, varied),
        model="closed",
        kind=found.kind,
        message=found.message,
        users=estimated(found.users),
        per_s=estimated(found.per_s),
        at_least_per_s=found.at_least_per_s,
        sweeps=found.repeats or len(sweeps),
        rounds_a_sweep=rounds_a_sweep,
        seconds=_seconds(trials),
        think_s=answer.think_s,
        unloaded_s=answer.unloaded_s,
        unloaded_users=answer.unloaded_users,
        points=level_points(run, trials, sweeps),
        search=_search(answer),
        limiting=limiting_levels(by_users, found.users.value if found.users is not None else None),
        objective=None if required is None else met_in_sweeps(run, trials, sweeps, required),
        ramp=ramp_of_trials(run, settings, trials, estimated(found.users)),
    )


def _open(
    run: Run, settings: SaturationSettings, line: PlannedLine, varied: Sequence[str], trials: list[TrialRecord]
) -> SaturationAnswer:
    closed = closed_answer(trials, settings)
    answer = rate_answer(trials, settings, lambda name: read_histogram(run.path, name, "response"))
    why = message("saturation_not_measured") if closed.saturation.kind != "none" else closed.saturation.message
    found = no_point(why) if answer is None else answer.saturation
    steps: Sequence[RateStep] = () if answer is None else (*answer.located, *answer.steps)
    limit_per_s, required = None if found.per_s is None else found.per_s.value, settings.required
    located = () if answer is None else answer.located
    return SaturationAnswer(
        condition=line.condition,
        label=condition_label(run.experiment, line.condition, varied),
        model="open",
        kind=found.kind,
        message=found.message,
        users=None,
        per_s=estimated(found.per_s),
        at_least_per_s=found.at_least_per_s,
        sweeps=0 if answer is None else answer.blocks,
        seconds=_seconds(trials),
        think_s=0.0,
        unloaded_s=closed.unloaded_s,
        unloaded_users=closed.unloaded_users,
        points=rate_points(run, steps),
        search=Search(points=[*_search(closed).points, *map(_located, located)], why=closed.why),
        limiting=limiting_rates([step.trial for step in steps], limit_per_s),
        objective=None if required is None else met_by_rates(None if answer is None else found, required),
    )


def _search(answer: ClosedAnswer) -> Search:
    points = [SearchPoint(users=one.users, rate_per_s=None, per_s=one.goodput_per_s) for one in answer.probes]
    return Search(points=points, why=answer.why)


def _located(step: RateStep) -> SearchPoint:
    rate = None if step.trial.saturation is None else step.trial.saturation.rate_per_s
    return SearchPoint(users=None, rate_per_s=rate, per_s=step.trial.goodput_per_s, kept=step.why is None)


def _seconds(trials: Sequence[TrialRecord]) -> float:
    """From the first one's start to the last one's end."""
    if not trials:
        return 0.0
    ends = [one.started_unix_ns / 1e9 + max((end for _, end in one.phases.values()), default=0.0) for one in trials]
    return round(max(ends) - min(one.started_unix_ns for one in trials) / 1e9, 3)
