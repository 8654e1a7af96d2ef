"""What the conditions of tables did at a fixed rate, beside their own load."""

from collections.abc import Sequence
from typing import Literal

from loadstone.experiment.plan.fixed_rate import AT_RATE_GROUP, FixedRate
from loadstone.experiment.plan.run_plan import FULL_SERVERS
from loadstone.experiment.spec.levels import Condition, identity
from loadstone.judge.analysis.analysis import AtRate
from loadstone.judge.analysis.row_latencies import doubted_figures, merged_latencies, unmeasurable
from loadstone.judge.analysis.settled import quantile_intervals, row_fields
from loadstone.judge.checks.checks import BOUNDS, counted_reasons, failed_checks, forbidding
from loadstone.judge.compare.pairs import refusal_of
from loadstone.judge.full_speed import capacity_of
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message, message


def own_load(run: RecordedRun, trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Those under the load that the experiment writes: what is in no table or answer of its own is beside it.

    That is a fixed rate, what is measured to find where a condition saturates, and what other goals measure.
    """
    at_a_rate = {group.name for group in run.plan.groups if group.fixed_rate is not None}
    return [trial for trial in without_searches(run, trials) if trial.group not in at_a_rate]


def without_searches(run: RecordedRun, trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Those of tables and comparisons: without rows at a fixed rate, full servers, saturation points, other goals."""
    beside = {AT_RATE_GROUP, FULL_SERVERS, *(goal.name for goal in run.plan.goals)}
    return [trial for trial in trials if trial.group not in beside and trial.search is None]


def at_fixed_rates(run: RecordedRun, trials: Sequence[TrialRecord]) -> dict[str, AtRate]:
    """Return what came of each condition that was to be measured at a fixed rate, by its identity.

    `trials` are all of the run, judged.
    """
    own, found = own_load(run, trials), dict[str, list[TrialRecord]]()
    for trial in trials:
        if trial.group == AT_RATE_GROUP:
            found.setdefault(identity(trial.condition), []).append(trial)
    planned = run.plan.at_rate
    lines = () if planned is None else planned.trials
    missing = {identity(line.condition): line.condition for line in lines if identity(line.condition) not in found}
    fixed = FixedRate() if planned is None else FixedRate(planned.rate_per_s, planned.share)
    return {key: _measured(run, measured) for key, measured in found.items()} | {
        key: _missing(fixed, condition, own) for key, condition in missing.items()
    }


def _missing(fixed: FixedRate, condition: Condition, own: Sequence[TrialRecord]) -> AtRate:
    """Nothing was measured: the rate was not known, or there was no time."""
    rate_per_s = fixed.of(capacity_of(condition, own))
    why = message("at_rate.no_capacity") if rate_per_s is None else message("at_rate.no_time")
    return _empty([], "missing", [why], rate_per_s, fixed.share)


def _measured(run: RecordedRun, trials: list[TrialRecord]) -> AtRate:
    """A rate that is set has no bound: checks that bound one do not count."""
    rate_per_s, share = _rate_of(trials[-1])
    used = [trial for trial in trials if not forbidding(trial)]
    reasons = counted_reasons(trials, without=BOUNDS) if len(trials) > 1 else _reasons(trials[0])
    if not used or refusal_of(trials) is not None:
        return _empty(trials, "invalid", reasons, rate_per_s, share)
    latencies = merged_latencies(run, used)
    doubts = [(trial, check) for trial in used for check in failed_checks(trial, ("suspect",), without=BOUNDS)]
    found = quantile_intervals(run, used, latencies.response, latencies.service, latencies.least)
    measured_s = sum(trial.duration_s for trial in used)
    replied = sum(trial.replies for trial in used)
    return AtRate(
        verdict="suspect" if doubts else "valid",
        reasons=[*reasons, *latencies.unread],
        trials=[trial.trial for trial in trials],
        rate_per_s=rate_per_s,
        share=share,
        achieved_per_s=replied / measured_s if measured_s else 0.0,
        response_ns=latencies.response,
        service_ns=latencies.service,
        least_ns=latencies.least,
        unmeasurable=unmeasurable(latencies.response, used),
        **row_fields(found, doubted_figures(doubts, latencies.least)),
    )


def _empty(
    trials: Sequence[TrialRecord],
    verdict: Literal["invalid", "missing"],
    reasons: list[Message],
    rate_per_s: float | None,
    share: float | None,
) -> AtRate:
    return AtRate(
        verdict=verdict,
        reasons=reasons,
        trials=[trial.trial for trial in trials],
        rate_per_s=rate_per_s,
        share=share,
        achieved_per_s=None,
        response_ns=None,
        service_ns=None,
        unmeasurable={},
    )


def _reasons(trial: TrialRecord) -> list[Message]:
    return [check.reason for check in failed_checks(trial, without=BOUNDS) if check.reason is not None]


def _rate_of(trial: TrialRecord) -> tuple[float | None, float | None]:
    """The rate that a trial's plan has, and its share of the condition's capacity."""
    model = trial.facts.open
    return None if model is None else model.rate_per_s, trial.facts.rate_share
