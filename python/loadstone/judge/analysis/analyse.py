"""The analysis of a run, from its folder alone: the same folder gives the same analysis."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from loadstone.experiment.plan.labels import label_of
from loadstone.experiment.spec.experiment import Experiment
from loadstone.judge.analysis.analysis import Analysis, CheckSummary, FactorView, TrialView
from loadstone.judge.analysis.claims import without_claims
from loadstone.judge.analysis.comparisons import compare_groups
from loadstone.judge.analysis.completion import elapsed_s, is_complete, needed_budget_s, needed_trials
from loadstone.judge.analysis.crashes import crash_tables
from loadstone.judge.analysis.effects import effects_of
from loadstone.judge.analysis.evaluations import EVALUATIONS, LATER_EVALUATIONS, RunFindings, evaluated
from loadstone.judge.analysis.fixed_rates import own_load
from loadstone.judge.analysis.headline import Opening, budget_too_short, comparison_line, opening, unanswered
from loadstone.judge.analysis.notes import machine_speed, meanings_of, notes_of, published_sources
from loadstone.judge.analysis.sides import with_figures_of_rows
from loadstone.judge.analysis.tables import make_tables
from loadstone.judge.analysis.timeline import make_timeline
from loadstone.judge.checks.check import Check
from loadstone.judge.checks.checks import CHECKS, forbidding, judge_trial
from loadstone.judge.compare.one_process import with_one_process
from loadstone.run_folder.reading import RecordedRun, read_run
from loadstone.run_folder.trial import CheckResult, TrialRecord

_ORDER = {"invalid": 3, "suspect": 2, "valid": 1, "unknown": 0}


def analyse(folder: Path) -> Analysis:
    """The outcome of the run in `folder`; of one that was cut short, what there is.

    Raises:
        UserError: it is no run's folder, or of a format that this version does not know.
    """
    return analyse_run(read_run(folder))


def analyse_run(run: RecordedRun) -> Analysis:
    """The outcome of a run that was read. Every trial is judged again, from its facts."""
    judged = [judge_trial(trial) for trial in with_one_process(run.trials)]
    in_time = sorted(judged, key=lambda trial: (trial.started_unix_ns, trial.trial))
    tables = make_tables(run, judged)
    compared, effects = with_figures_of_rows(compare_groups(run, judged), tables), effects_of(run, judged)
    checks = summarise_checks(judged)
    seen = RunFindings(run, judged, own_load(run, judged), tables, compared, effects, checks, {})
    parts = evaluated(EVALUATIONS, seen)
    refusals = (part.refusal_of_claims(compared) for part in parts.values())
    refusal = next((one for one in refusals if one is not None), None)
    families = compared if refusal is None else without_claims(compared, refusal)
    parts |= evaluated(LATER_EVALUATIONS, replace(seen, families=families, answers=parts))
    needed_s, quick = needed_budget_s(run), run.plan.quick
    short = budget_too_short(run.plan.budget_s, needed_s, quick=quick) if needed_s else None
    sayings = [one for part in parts.values() if (one := part.headline()) is not None]
    silent = unanswered(judged)
    openings = (part.opens_alone() for part in parts.values())
    alone = next((one for one in openings if one is not None), None) or short or silent
    if alone is None and not tables:
        alone = next(iter(sayings), None)
    begin = (
        Opening.alone(alone)
        if alone is not None
        else opening(run.experiment, tables, families, effects, [*parts.values()], quick=quick)
    )
    meanings = meanings_of(run, judged, tables)
    verdicts = Counter(trial.verdict for trial in judged)
    return Analysis(
        experiment=run.experiment.name,
        run=run.path.resolve().name,
        question=run.experiment.question,
        answer=begin.answer,
        answered_by=run.experiment.answered_by,
        headline=begin.headline,
        costs=begin.costs,
        comparison=comparison_line(tables, families),
        families=families,
        effects=effects,
        elapsed_s=elapsed_s(run),
        budget_s=run.plan.budget_s,
        unanswered=silent,
        needed_budget_s=needed_s,
        quick=run.plan.quick,
        as_published=run.plan.as_published,
        complete=is_complete(run),
        trials_planned=len(needed_trials(run)),
        trials_done=len(judged),
        trials_valid=verdicts["valid"],
        trials_suspect=verdicts["suspect"],
        trials_invalid=verdicts["invalid"],
        published_source=published_sources([source.source for source in run.experiment.published]),
        meanings=meanings,
        notes=[*meanings, *notes_of(run, judged)],
        tables=tables,
        checks=checks,
        timeline=make_timeline(run, in_time),
        environment=dict(run.environment),
        trials=[_view(run.experiment, trial) for trial in in_time],
        crashes=crash_tables(run),
        speed=machine_speed(judged),
        scale=run.plan.scale,
        parts=parts,
        factors={name: FactorView(title=f.title, unit=f.unit) for name, f in run.experiment.factors.items()},
    )


def _view(experiment: Experiment, trial: TrialRecord) -> TrialView:
    """A trial as the report shows it; an invalid one has no figures."""
    usable = not forbidding(trial)
    return TrialView(
        trial=trial.trial,
        label=label_of(experiment, trial.condition),
        condition=trial.condition,
        group=trial.group,
        block=trial.block,
        order=trial.order,
        attempt=trial.facts.attempt,
        verdict=trial.verdict,
        goodput_per_s=trial.goodput_per_s if usable else None,
        p99_ns=trial.response_ns.p99 if usable else None,
        checks=trial.checks,
    )


def summarise_checks(trials: Sequence[TrialRecord]) -> list[CheckSummary]:
    """Return how often each check passed, and where it was worst; without checks that applied to no trial."""
    return [summary for check in CHECKS if (summary := _summary(check, trials)) is not None]


def _summary(check: Check, trials: Sequence[TrialRecord]) -> CheckSummary | None:
    found = [(result, trial.trial) for trial in trials for result in trial.checks if result.name == check.name]
    if not found:
        return None
    verdicts = Counter(result.verdict for result, _ in found)
    worst, trial = max(found, key=lambda pair: _badness(check, pair[0]))
    return CheckSummary(
        name=check.name,
        explanation=check.explanation,
        valid=verdicts["valid"],
        suspect=verdicts["suspect"],
        invalid=verdicts["invalid"],
        unknown=verdicts["unknown"],
        worst=worst,
        worst_trial=trial,
    )


def _badness(check: Check, result: CheckResult) -> tuple[int, float]:
    measured = result.measured if result.measured is not None else 0.0
    return _ORDER[result.verdict], -measured if check.less_is_worse else measured
