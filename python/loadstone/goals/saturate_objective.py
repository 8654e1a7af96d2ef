"""Up to which load an objective is met."""

from collections.abc import Mapping, Sequence

from hdrh.histogram import HdrHistogram

from loadstone.errors import DriveFailed
from loadstone.goals.saturate_types import Estimated, ObjectiveAnswer
from loadstone.judge.closed_saturation import LevelLatency, Met, met_up_to, sweep_blocks, sweep_rounds_of
from loadstone.judge.statistics.saturation_model import Estimate, Saturation, Sweep
from loadstone.message import Message, message
from loadstone.record.histogram import merge
from loadstone.record.reading import Run
from loadstone.record.trial import TrialRecord
from loadstone.spec.saturation_spec import LatencyObjective


def estimated(one: Estimate | None) -> Estimated | None:
    """As the analysis holds it."""
    return None if one is None else Estimated(value=one.value, low=one.low, high=one.high)


def met_in_sweeps(
    run: Run, trials: Sequence[TrialRecord], sweeps: Sequence[Sweep], required: LatencyObjective
) -> ObjectiveAnswer:
    """Of the closed model: from the quantile of each level in each sweep."""
    latencies = _latencies(run, trials, required.quantile)
    rates = [{probe.users: probe.goodput_per_s for probe in sweep} for sweep in sweeps]
    levels = [
        {users: LevelLatency(per_s[users], found.get(users)) for users in per_s}
        for per_s, found in zip(rates, latencies, strict=False)
    ]
    met = met_up_to(levels, required.latency_s)
    return ObjectiveAnswer(
        text=required.text,
        kind=met.kind,
        message=_said(met, levels, required),
        rate_per_s=estimated(met.per_s),
        users=estimated(met.users),
    )


def _said(met: Met, levels: Sequence[Mapping[int, LevelLatency]], required: LatencyObjective) -> Message:
    most = max((users for level in levels for users in level), default=0)
    if met.users is not None and met.per_s is not None:
        users, per_s = met.users.figures, met.per_s.figures
        return message("objective_limit_by_users", objective=required.text, most_users=most, users=users, per_s=per_s)
    if met.kind == "met_always":
        return message("objective_met_always_by_users", objective=required.text, most_users=most)
    if met.kind == "never":
        return message("objective_never_by_users", objective=required.text)
    return message("objective_unknown_by_users", objective=required.text)


def met_by_rates(found: Saturation | None, required: LatencyObjective) -> ObjectiveAnswer:
    """Of the open model the limit is the answer."""
    kinds = {"limit": "limit", "at_least": "met_always", "none": "unknown"}
    kind = "unknown" if found is None else kinds.get(found.kind, "unknown")
    why = None if found is None else found.message.figures.get("why")
    if kind == "unknown" and getattr(why, "kind", "") == "missed_at_every_rate":
        kind = "never"
    return ObjectiveAnswer.model_validate(
        {
            "text": required.text,
            "kind": kind,
            "message": message("saturation_not_measured") if found is None else found.message,
            "rate_per_s": None if found is None else estimated(found.per_s),
        }
    )


def _latencies(run: Run, trials: Sequence[TrialRecord], quantile: float) -> list[dict[int, float | None]]:
    """Of each sweep, in their order: users -> the quantile in seconds."""
    found: list[dict[int, float | None]] = []
    for block in sweep_blocks(trials):
        rounds = sweep_rounds_of(block)
        in_rounds = any(one.saturation is not None and one.saturation.rounds_a_sweep for one in block.values())
        if in_rounds:
            of_levels = {users: _by_rounds(run, trial) for users, trial in block.items()}
            for of_sweep in rounds:
                found.append({users: _in(of_levels[users], of_sweep, block[users], quantile) for users in block})
        else:
            found.append({users: _whole(run, trial, quantile) for users, trial in block.items() if trial.phases})
    return found


def _by_rounds(run: Run, trial: TrialRecord) -> dict[tuple[int, int], HdrHistogram]:
    try:
        return run.logs.by_rounds(trial.trial, "response")
    except DriveFailed:
        return {}


def _in(
    histograms: Mapping[tuple[int, int], HdrHistogram], rounds: Sequence[int], trial: TrialRecord, quantile: float
) -> float | None:
    """The quantile in these rounds; what failed in the whole trial counts in proportion, as infinitely late."""
    inside = [one for (first, last), one in histograms.items() if rounds[0] <= first and last <= rounds[-1]]
    return _quantile_s(merge(inside), quantile, _lost(trial)) if inside else None


def _whole(run: Run, trial: TrialRecord, quantile: float) -> float | None:
    try:
        return _quantile_s(run.logs.whole(trial.trial, "response"), quantile, _lost(trial))
    except DriveFailed:
        return None


def _lost(trial: TrialRecord) -> float:
    counts = trial.counts
    return 1 - counts.ok / counts.offered if counts.offered else 1.0


def _quantile_s(histogram: HdrHistogram, quantile: float, lost: float) -> float | None:
    if not histogram.get_total_count() or quantile > 1 - lost:
        return None
    return float(histogram.get_value_at_percentile(100 * quantile / (1 - lost))) / 1e9
