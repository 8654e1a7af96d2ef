"""Where a condition saturates in the open model: its trials as the bisections take them, and what these give."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from loadstone.addons.saturation.bisection import (
    BLOCK_STEPS,
    LOCATE_STEPS,
    REACH,
    Bisection,
    OpenTrial,
    RateObjective,
    failing,
    open_saturation,
)
from loadstone.addons.saturation.closed_estimate import Saturation, at_least, no_point
from loadstone.addons.saturation.closed_trials import generator_limit
from loadstone.addons.saturation.recorded_steps import number_of, phase_of, rate_of
from loadstone.addons.saturation.spec import LatencyObjective, SaturationSettings
from loadstone.drivers.histogram import Histogram
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message, message

HistogramOf = Callable[[str], Histogram]
"""All response times of a trial, by its name. Raises DriveFailed."""
SENT_MIN = 0.99
"""Least share of what was due that is sent: what the generator could not send is no failure of the system."""
LATE_NS = 1_000_000
"""J: a generator whose own delay is more than that at P99, or a tenth of the objective, keeps no schedule."""


@dataclass(frozen=True)
class BisectionStep:
    """One step of a bisection."""

    trial: TrialRecord
    why: Message | None
    """Which part of the objective it missed; None if it kept it."""
    by_generator: bool
    """Whether the generator did not keep the schedule: then the system was not asked for the rate."""


def objective_of(required: LatencyObjective) -> RateObjective:
    """As the estimates take it."""
    return RateObjective(required.latency_s, required.quantile)


def rate_steps(
    trials: Iterable[TrialRecord], phase: str, required: LatencyObjective, histogram: HistogramOf
) -> list[BisectionStep]:
    """The finished steps of a phase in their order; of several attempts at one the last counts."""
    last = {trial.trial: trial for trial in trials if phase_of(trial) == phase}
    return [step_of(one, required, histogram) for one in last.values()]


def step_of(trial: TrialRecord, required: LatencyObjective, histogram: HistogramOf) -> BisectionStep:
    """What one trial shows."""
    late_ns = trial.schedule_lag_ns.p99 or 0
    counts = trial.counts
    unsent = counts.offered > 0 and counts.sent + counts.dropped < SENT_MIN * counts.offered
    late = late_ns > max(LATE_NS, 1e8 * required.latency_s)
    by_generator = bool(counts.offered) and (late or (unsent and generator_limit([trial]) is not None))
    if not counts.offered:
        return BisectionStep(trial, message("no_correct_reply"), by_generator=False)
    measured = OpenTrial(
        rate_per_s=rate_of(trial) or 0.0,
        offered=counts.offered,
        ok=counts.ok,
        latency_s=_latency_s(trial, required.quantile, histogram),
        backlogs=tuple(point.backlog for point in trial.facts.series),
    )
    return BisectionStep(trial, failing(measured, objective_of(required)), by_generator)


def replayed(start: Bisection, steps: Sequence[BisectionStep]) -> Bisection:
    """A bisection after these of its steps."""
    for step in steps[: start.steps_left]:
        start = start.after(keeps=step.why is None)
    return start


def _latency_s(trial: TrialRecord, quantile: float, histogram: HistogramOf) -> float | None:
    """The quantile of all that was due, what failed counted as infinite, from however few operations."""
    latencies = histogram(trial.trial)
    recorded = latencies.total
    rank = quantile * trial.counts.offered
    if not recorded or rank > recorded:
        return None
    return latencies.value_at_percentile(100 * rank / recorded) / 1e9


@dataclass(frozen=True)
class RateAnswer:
    """What was found, and what it rests on."""

    saturation: Saturation
    located: tuple[BisectionStep, ...]
    steps: tuple[BisectionStep, ...]
    """Steps of the blocks."""
    blocks: int


def rate_answer(
    trials: Sequence[TrialRecord], settings: SaturationSettings, histogram: HistogramOf
) -> RateAnswer | None:
    """The answer of one condition's trials; None where it did not come to a rate."""
    required = settings.required
    if required is None:
        return None
    located, later = (rate_steps(trials, phase, required, histogram) for phase in ("locate", "bisect"))
    if not located:
        return None
    blocks: list[Bisection] = []
    for number in sorted({_block(step) for step in later}):
        own = [step for step in later if _block(step) == number]
        if len(own) == BLOCK_STEPS:
            first = _rate(own[0])
            blocks.append(replayed(Bisection(first / REACH, first * REACH, BLOCK_STEPS), own))
    return RateAnswer(_saturation(located, later, blocks, settings), tuple(located), tuple(later), len(blocks))


def _saturation(
    located: Sequence[BisectionStep],
    later: Sequence[BisectionStep],
    blocks: Sequence[Bisection],
    settings: SaturationSettings,
) -> Saturation:
    required = settings.required
    assert required is not None
    steps = [*located, *later]
    best = max((_rate(step) for step in steps if step.why is None), default=0.0)
    missed = [step for step in steps if step.why is not None and _rate(step) > best]
    kept = message("latency_objective", quantile=required.quantile, latency_s=required.latency_s)
    if missed and 2 * sum(step.by_generator for step in missed) > len(missed):
        return at_least(best, message("generator_gave_out", limit=message("generator_late")))
    if len(located) >= LOCATE_STEPS and not best:
        return no_point(message("missed_at_every_rate", objective=kept))
    if len(located) < LOCATE_STEPS:
        return at_least(best, message("search_of_rate_not_ended", steps=len(located), of=LOCATE_STEPS))
    return open_saturation(blocks, objective_of(required))


def _block(step: BisectionStep) -> int:
    return number_of(step.trial)


def _rate(step: BisectionStep) -> float:
    return rate_of(step.trial) or 0.0
