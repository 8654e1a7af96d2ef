"""The other metrics of a pair: labelled exploratory, since no one said beforehand that they would decide.

What repeats the primary metric is no further row: throughput where nothing failed, the mean time of users who send
again at once (users over rate), the best second of a trial of a second.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from loadstone.experiment.spec.experiment import default_margin
from loadstone.judge.compare.latencies import HistogramCache
from loadstone.judge.compare.metric_of_pair import evaluate_metric
from loadstone.judge.compare.pairs import Pair, PairBlock, exploratory
from loadstone.judge.metrics import figure, is_rate, less_is_better
from loadstone.judge.statistics.decision import verdict_of
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import Verdict
from loadstone.run_folder.trial import CheckResult
from loadstone.text.message import Message, message

MEAN_TIME = "response_ns.mean"
METRICS = (
    "goodput_per_s",
    "throughput_per_s",
    "peak_per_s",
    MEAN_TIME,
    *(f"{kind}.{quantile}" for kind in ("response_ns", "service_ns") for quantile in ("p50", "p95", "p99", "p999")),
)
"""What is explored beside the primary metric."""
SAME = 0.01
"""Two metrics say the same where no block's log ratios differ by more: a fifth of the usual margin of a rate."""


@dataclass
class Explored:
    """What there is to say beside the primary metric."""

    verdicts: list[Verdict] = field(default_factory=list)
    repeats: dict[str, str] = field(default_factory=dict)
    """Metric -> the one above that says the same, so that it has no verdict of its own."""
    refused: dict[str, tuple[CheckResult, list[str]]] = field(default_factory=dict)
    """Name of a check -> itself, and the metrics that it forbids to compare."""

    @property
    def listed(self) -> list[str]:
        """The metrics that have a verdict of their own."""
        return [verdict.metric for verdict in self.verdicts]

    def refuse(self, check: CheckResult, metric: str) -> None:
        self.refused.setdefault(check.name, (check, []))[1].append(metric)

    def notes(self) -> list[Message]:
        """Why metrics are missing, one for each rule. No warnings: the verdict does not rest on them."""
        by_like: dict[str, list[str]] = {}
        for metric, like in self.repeats.items():
            by_like.setdefault(like, []).append(metric)
        return [
            *(message("not_listed", metrics=same, like=like) for like, same in by_like.items()),
            *(_not_compared(check, metrics) for check, metrics in self.refused.values()),
        ]


def explore(primary: str, pair: Pair, latencies: HistogramCache) -> Explored:
    """The verdicts that the data allow, and what has none.

    Each interval has the level of the primary one; there is no correction for looking at many.
    """
    explored = Explored()
    by_rounds = pair.settings.unit == "round"  # where latencies are compared at a rate that was set
    for metric in METRICS:
        if metric == primary or not pair.used or (by_rounds and is_rate(metric)):
            continue
        settings = settings_by(metric, pair.settings)
        evidence = evaluate_metric(metric, pair.used, settings, latencies)
        if evidence.refusal is not None:
            explored.refuse(evidence.refusal, metric)
        elif (like := repeated(metric, [primary, *explored.listed], pair.used)) is not None:
            explored.repeats[metric] = like
        elif evidence.blocks:
            explored.verdicts.append(exploratory(verdict_of(evidence, settings), pair.design))
    return explored


def settings_by(metric: str, settings: Settings, margin: float | None = None) -> Settings:
    """Return the settings of the comparison judged by another metric; with its usual margin where none is given."""
    return replace(
        settings,
        metric=metric,
        larger_is_faster=not less_is_better(metric),
        margin=default_margin(metric) if margin is None else margin,
    )


def repeated(metric: str, listed: Iterable[str], blocks: Sequence[PairBlock]) -> str | None:
    """The metric of `listed` whose ratios are those of `metric` in every block; None if there is none.

    The mean time says the same as a rate where it falls as that rises; quantiles repeat nothing.
    """
    own = _log_ratios(metric, blocks)
    for like in listed:
        theirs = _log_ratios(like, blocks)
        sign = 1 if is_rate(metric) == is_rate(like) else -1
        if own and theirs and all(abs(d - sign * e) <= SAME for d, e in zip(own, theirs, strict=True)):
            return like
    return None


def _log_ratios(metric: str, blocks: Sequence[PairBlock]) -> list[float]:
    """Return the log ratios of every block; empty for quantiles, and where a block has no figure."""
    if not (is_rate(metric) or metric == MEAN_TIME):
        return []
    figures = [(figure(block.a, metric), figure(block.b, metric)) for block in blocks]
    ratios = [math.log(b / a) for a, b in figures if a and b]
    return ratios if len(ratios) == len(figures) else []


def _not_compared(check: CheckResult, metrics: Sequence[str]) -> Message:
    """Metrics that a check forbids to compare; latencies in one if the rule is about all of them."""
    if check.name == "offered_rate":
        return message("latencies_not_compared", reason=check.reason)
    return message("metrics_not_compared", metrics=metrics, reason=check.reason)
