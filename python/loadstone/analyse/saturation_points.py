"""What each load did: a point for each level of users, or for each rate, over all its trials."""

from collections.abc import Sequence
from math import exp, log
from statistics import median

from loadstone.analyse.saturation_answer import SaturationPoint
from loadstone.errors import DriveFailed
from loadstone.judge.saturation.level_probes import failed_share, search_trials
from loadstone.judge.saturation.rate_trials import RateStep
from loadstone.judge.statistics.saturation_model import Sweep
from loadstone.judge.validity.checks import BOUNDS
from loadstone.judge.validity.reasons import counted_reasons, failed_checks
from loadstone.message import Message
from loadstone.record.reading import Run
from loadstone.record.trial import Quantiles, TrialRecord, TrialVerdict


def level_points(run: Run, trials: Sequence[TrialRecord], sweeps: Sequence[Sweep]) -> list[SaturationPoint]:
    """A point a level, over its sweeps; where there were no sweeps, of the search."""
    by_users: dict[int, list[TrialRecord]] = {}
    for trial in trials_of_sweeps(trials) or search_trials(trials):
        if trial.saturation is not None and trial.saturation.users is not None:
            by_users.setdefault(trial.saturation.users, []).append(trial)
    rates: dict[int, list[float]] = {}
    for sweep in sweeps:
        for probe in sweep:
            rates.setdefault(probe.users, []).append(probe.goodput_per_s)
    return [
        _point(run, found, rates.get(users) or [one.goodput_per_s for one in found], users=users)
        for users, found in sorted(by_users.items())
    ]


def rate_points(run: Run, steps: Sequence[RateStep]) -> list[SaturationPoint]:
    """A point a trial of the open model, in the order of their rates."""
    found = [
        _point(run, [step.trial], [step.trial.goodput_per_s], rate_per_s=step.trial.saturation.rate_per_s)
        for step in steps
        if step.trial.saturation is not None
    ]
    return sorted(found, key=lambda point: point.rate_per_s or 0.0)


def trials_of_sweeps(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Those of them that are of a sweep and were driven."""
    return [one for one in trials if one.saturation is not None and one.saturation.phase == "sweep" and one.phases]


def _point(
    run: Run,
    trials: list[TrialRecord],
    rates: Sequence[float],
    *,
    users: int | None = None,
    rate_per_s: float | None = None,
) -> SaturationPoint:
    typical = exp(median(log(rate) for rate in rates)) if rates and min(rates) > 0 else 0.0
    return SaturationPoint(
        users=users,
        rate_per_s=rate_per_s,
        per_s=typical,
        low=min(rates, default=0.0),
        high=max(rates, default=0.0),
        response_ns=_response(run, trials),
        cpu=_cpu(trials),
        errors=_failed(trials),
        sweeps=len(rates),
        verdict=_verdict(trials),
        reasons=_reasons(trials),
    )


def _response(run: Run, trials: list[TrialRecord]) -> Quantiles | None:
    if len(trials) == 1:
        return trials[0].response_ns
    try:
        return run.response_ns(trials)
    except DriveFailed:
        return None


def _failed(trials: Sequence[TrialRecord]) -> float:
    offered = sum(trial.counts.offered for trial in trials)
    return sum(failed_share(one) * one.counts.offered for one in trials) / offered if offered else 1.0


def _cpu(trials: Sequence[TrialRecord]) -> dict[str, float]:
    elapsed_s = sum(trial.duration_s for trial in trials)
    parts = sorted({part for trial in trials for part in trial.cpu_s}) if elapsed_s else []
    return {part: round(sum(trial.cpu_s.get(part, 0.0) for trial in trials) / elapsed_s, 4) for part in parts}


def _verdict(trials: Sequence[TrialRecord]) -> TrialVerdict:
    """What bounds the figure doubts none of it: the bound of the gain rule stands in the interval."""
    for verdict in ("invalid", "suspect"):
        if any(failed_checks(trial, (verdict,), without=BOUNDS) for trial in trials):
            return verdict
    return "valid"


def _reasons(trials: list[TrialRecord]) -> list[Message]:
    if len(trials) > 1:
        return counted_reasons(trials, without=BOUNDS)
    return [one.reason for trial in trials for one in failed_checks(trial, without=BOUNDS) if one.reason is not None]
