"""Rules that a comparison itself must keep, beside those of its trials: each with its figure and its limit."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from loadstone.drivers.histogram import SAMPLES_BEYOND, rank_of
from loadstone.experiment.plan.look_schedule import BLOCKS_MIN, ROUNDS_MIN
from loadstone.judge.checks import generator_bounds
from loadstone.judge.compare.latencies import operations_of
from loadstone.judge.compare.pairs import PairBlock
from loadstone.judge.compare.warming_up import RISE_MIN, rise_within
from loadstone.judge.statistics.two_sample import WARN_BELOW, order_effect
from loadstone.run_folder.latency_logs import LatencyKind
from loadstone.run_folder.trial import CheckResult, CheckVerdict, TrialRecord
from loadstone.text.figures import log_percent
from loadstone.text.message import Message, message

ERROR_POINTS_MAX = 0.5
"""J: percentage points between the shares of operations that failed."""
RATE_DIFFERENCE_MAX = 1.0
"""J: per cent between the offered rates at which latencies are compared."""


def replication(a_first: Sequence[bool], unit: Literal["block", "round"] = "block") -> CheckResult:
    """Enough blocks (or rounds), and each of the two ran first at times: else an effect of the order looks like one.

    `a_first`: of each of them whether A was first.
    """
    reason: Message | None = None
    done, needed = len(a_first), BLOCKS_MIN if unit == "block" else ROUNDS_MIN
    if done < needed:
        reason = message("pair.replication.few", blocks=done, needed=needed, unit=unit)
    elif len(set(a_first)) == 1:
        reason = message("pair.replication.one_first")
    return _result("replication", "suspect" if reason else "valid", done, needed, f"{unit}s", reason)


def replication_of_trials(a: int, b: int, names: tuple[str, str]) -> CheckResult:
    """Enough trials in each of two runs, which share no block."""
    few = min(a, b)
    reason = message("pair.replication.few_trials", a=a, b=b, names=list(names), needed=BLOCKS_MIN)
    return _result("replication", "suspect" if few < BLOCKS_MIN else "valid", few, BLOCKS_MIN, "trials", reason)


def carry_over(p_value: float, alpha: float, shift: float) -> CheckResult:
    """Slices depend on whose slice came before, by `shift` (ln). The smaller the figure, the worse."""
    reason = message("pair.carry_over.shifts", percent=log_percent(shift))
    return _result("carry_over", "suspect", p_value, alpha, "p", reason)


def no_carry_over(p_value: float | None, alpha: float) -> CheckResult:
    """Nothing was found; without a figure too few slices follow one of their own condition."""
    verdict: CheckVerdict = "unknown" if p_value is None else "valid"
    return _result("carry_over", verdict, p_value, alpha, "p", message("pair.carry_over.few"))


def paused_parts(share: float, limit: float) -> CheckResult:
    """A condition's own parts went on working while it was paused: `share` of what they use in its slices."""
    reason = message("pair.carry_over.paused", percent=100 * share)
    return _result("carry_over", "suspect", 100 * share, 100 * limit, "%", reason)


def error_difference(blocks: Sequence[PairBlock]) -> CheckResult:
    """Both fail about as often: what fails costs less than what succeeds."""
    a, b = (_error_percent(side) for side in _sides(blocks))
    measured = abs(a - b)
    reason = message("pair.error_difference.unequal", a=a, b=b)
    verdict: CheckVerdict = "invalid" if measured > ERROR_POINTS_MAX else "valid"
    return _result("error_difference", verdict, measured, ERROR_POINTS_MAX, "points", reason)


def named_as_failures(check: CheckResult) -> CheckResult:
    """A difference in failures under the name that failures of either side have; any other check as it is."""
    return check.model_copy(update={"name": "errors"}) if check.name == "error_difference" else check


def gain(gains: tuple[float, float]) -> CheckResult:
    """The generator was not the limit of both. Where it was, the interval is as wide as their bounds make it."""
    measured, limit = 100 * min(gains), generator_bounds.FAR
    reason = message("pair.gain.both", percent=measured)
    return _result("gain", "suspect" if measured > limit else "valid", measured, limit, "%", reason)


def warm_up(blocks: Sequence[PairBlock]) -> CheckResult:
    """Neither was still warming up within its trials, over all of them: else it is a start that is compared."""
    rises = [rise for side in _sides(blocks) if (rise := rise_within(side)) is not None]
    measured, limit = log_percent(max(rises, default=0.0)), log_percent(RISE_MIN)
    reason = message("pair.warm_up.rises", percent=measured)
    return _result("warm_up", "invalid" if rises else "valid", measured, limit, "%", reason)


def offered_rate(blocks: Sequence[PairBlock]) -> CheckResult:
    """Latencies are compared at the same rate only: who gets more requests answers later."""
    a, b = (_offered_per_s(side) for side in _sides(blocks))
    measured = 100 * (max(a, b) / min(a, b) - 1) if min(a, b) else None
    verdict: CheckVerdict = "unknown"
    reason = message("pair.offered_rate.not_known")
    if measured is not None:
        verdict = "invalid" if measured > RATE_DIFFERENCE_MAX else "valid"
        closed = any(block.a.facts.open is None for block in blocks)
        reason = message("pair.offered_rate.differs", a=a, b=b, closed=closed)
    return _result("offered_rate", verdict, measured, RATE_DIFFERENCE_MAX, "%", reason)


def equal_rate_per_s(blocks: Sequence[PairBlock]) -> float | None:
    """The rate at which both were driven in the newest block; None where that was no open model."""
    rates = [_planned_rate(trial) for trial in (blocks[-1].a, blocks[-1].b)] if blocks else []
    return rates[0] if rates and rates[0] == rates[1] else None


def clock(blocks: Sequence[PairBlock], typical_ns: Sequence[float], margin: float) -> CheckResult:
    """The clock's step is at most half of the margin of the figures: a coarser one can make or hide a difference."""
    quanta = [_clock_quantum_ns(trial) for side in _sides(blocks) for trial in side]
    limit = 100 * margin / 2
    smallest = min(typical_ns, default=0.0)
    if not quanta or not smallest:
        return _result("clock", "unknown", None, limit, "%", message("check.clock.no_latency"))
    measured = 100 * max(quanta) / smallest
    verdict: CheckVerdict = "invalid" if measured > limit else "valid"
    reason = message("pair.clock.coarse", step_ns=max(quanta), figures_ns=smallest)
    return _result("clock", verdict, measured, limit, "%", reason)


def figures(without: int, blocks: int) -> CheckResult:
    """Return the failed check of blocks without a figure: the others may not stand for them, which would choose by the
    result."""
    return _impossible("figures", message("pair.figures.missing", without=without, of=blocks))


def no_latencies(why: Message) -> CheckResult:
    """The trials' histograms cannot be read."""
    return _impossible("latencies", why)


def samples(blocks: Sequence[PairBlock], kind: LatencyKind, per_mille: int) -> CheckResult:
    """Enough operations beyond the quantile, over all blocks of each side."""
    totals = [sum(operations_of(trial, kind) for trial in side) for side in _sides(blocks)]
    beyond = min(total - rank_of(per_mille, total) for total in totals)
    verdict: CheckVerdict = "invalid" if beyond < SAMPLES_BEYOND else "valid"
    reason = message("pair.samples.few", operations=beyond)
    return _result("samples", verdict, beyond, SAMPLES_BEYOND, "operations", reason)


def order(a_first: Sequence[bool], log_ratios: Sequence[float]) -> CheckResult:
    """The outcome does not depend on which of the two ran first. The smaller the figure, the worse."""
    effect = order_effect(np.asarray(log_ratios), a_first) if log_ratios else None
    if effect is None:
        why = message("pair.order_effect.one_first") if log_ratios else message("pair.order_effect.no_block")
        return _result("order_effect", "unknown", None, WARN_BELOW, "p", why)
    reason = message("pair.order_effect.depends", p_value=effect.p_value)
    return _result("order_effect", "suspect" if effect.warn else "valid", effect.p_value, WARN_BELOW, "p", reason)


def _result(
    name: str, verdict: CheckVerdict, measured: float | None, limit: float, unit: str, reason: Message | None = None
) -> CheckResult:
    """The figure with its verdict; what is valid needs no reason."""
    rounded = None if measured is None else round(measured, 6)
    why = None if verdict == "valid" else reason
    return CheckResult(name=name, verdict=verdict, measured=rounded, limit=limit, unit=unit, reason=why)


def _impossible(name: str, why: Message) -> CheckResult:
    return CheckResult(name=name, verdict="invalid", measured=None, limit=None, unit="", reason=why)


def _sides(blocks: Sequence[PairBlock]) -> tuple[list[TrialRecord], list[TrialRecord]]:
    return [block.a for block in blocks], [block.b for block in blocks]


def _error_percent(trials: Sequence[TrialRecord]) -> float:
    counts = [trial.counts for trial in trials]
    failed = sum(sum(c.errors.values()) + c.timeouts + c.in_flight for c in counts)
    sent = sum(c.sent for c in counts)
    return 100 * failed / sent if sent else 0.0


def _offered_per_s(trials: Sequence[TrialRecord]) -> float:
    """What the schedule required; in a closed model, which has none, what was completed.

    Of slices the rate that was set: they are so short that random arrivals differ by chance.
    """
    elapsed_s = sum(trial.duration_s for trial in trials)
    return sum(_offered(trial) for trial in trials) / elapsed_s if elapsed_s else 0.0


def _offered(trial: TrialRecord) -> float:
    if trial.facts.open is None:
        return trial.throughput_per_s * trial.duration_s
    rate_per_s = _planned_rate(trial)
    return trial.counts.offered if rate_per_s is None or not trial.slices else rate_per_s * trial.duration_s


def _planned_rate(trial: TrialRecord) -> float | None:
    """The rate of an open model that keeps one."""
    model = trial.facts.open
    return None if model is None or model.schedule else model.rate_per_s


def _clock_quantum_ns(trial: TrialRecord) -> float:
    """The smallest step that the driver's clock was observed to make; 0 if the trial does not have it."""
    return 0.0 if trial.facts.drive is None else float(trial.facts.drive.clock_quantum_ns)
