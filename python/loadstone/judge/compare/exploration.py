"""The other metrics of a pair: labelled exploratory, since nobody said beforehand that they would decide.

What repeats the primary metric is no further row: throughput where nothing failed, the mean time of users who ask
again at once (users over rate), the best second of a trial of a second.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from loadstone.judge.compare.cases import Evidence
from loadstone.judge.compare.judgements import Finding, judgement, settings_of_metric
from loadstone.judge.compare.latencies import Latencies
from loadstone.judge.compare.measure import Measured, measure
from loadstone.judge.compare.pairs import PairBlock
from loadstone.judge.judgement import Judgement
from loadstone.judge.metrics import figure, is_rate, metric_words
from loadstone.judge.statistics.sequential import verdict
from loadstone.judge.statistics.settings import Settings
from loadstone.record.trial import CheckResult
from loadstone.spec.experiment import usual_margin

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

    judgements: list[Judgement] = field(default_factory=list)
    repeats: dict[str, str] = field(default_factory=dict)
    """Metric -> the one above that says the same, so that it has no judgement of its own."""
    refused: dict[str, tuple[CheckResult, list[str]]] = field(default_factory=dict)
    """Name of a check -> itself, and the metrics that it forbids to compare."""

    @property
    def listed(self) -> list[str]:
        """The metrics that have a judgement of their own."""
        return [one.metric for one in self.judgements]

    def refuse(self, check: CheckResult, metric: str) -> None:
        self.refused.setdefault(check.name, (check, []))[1].append(metric)

    def notes(self) -> list[str]:
        """Why metrics are missing, a sentence for each rule. No warnings: the verdict does not rest on them."""
        by_like: dict[str, list[str]] = {}
        for metric, like in self.repeats.items():
            by_like.setdefault(like, []).append(metric_words(metric))
        return [
            *(f"Not listed: {', '.join(same)}. The same ratios as {metric_words(m)}." for m, same in by_like.items()),
            *(_not_compared(check, metrics) for check, metrics in self.refused.values()),
        ]


def explore(primary: str, evidence: Evidence, latencies: Latencies) -> Explored:
    """The judgements that the data allow, and what is not judged.

    Each interval has the level of the primary one; there is no correction for looking at many.
    """
    found = Explored()
    for metric in METRICS:
        if metric == primary or not evidence.used:
            continue
        settings = settings_of_metric(evidence.settings, metric, usual_margin(metric))
        measured = measure(metric, evidence.used, settings, latencies)
        if measured.refusal is not None:
            found.refuse(measured.refusal, metric)
        elif (like := repeated(metric, [primary, *found.listed], evidence.used)) is not None:
            found.repeats[metric] = like
        elif measured.evidence.blocks:
            found.judgements.append(_judgement(metric, evidence, settings, measured))
    return found


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
    """Of every block; empty for quantiles, and where a block has no figure."""
    if not (is_rate(metric) or metric == MEAN_TIME):
        return []
    figures = [(figure(block.a, metric), figure(block.b, metric)) for block in blocks]
    ratios = [math.log(b / a) for a, b in figures if a and b]
    return ratios if len(ratios) == len(figures) else []


def _judgement(metric: str, evidence: Evidence, settings: Settings, measured: Measured) -> Judgement:
    finding = Finding(metric, "exploratory", settings, verdict(measured.evidence, settings), measured.typical)
    return judgement(finding, evidence.pair)


def _not_compared(check: CheckResult, metrics: Sequence[str]) -> str:
    """`Not compared: P99 of the response time: ...`; one word for latencies if the rule is about all of them."""
    what = "latencies" if check.name == "offered_rate" else ", ".join(metric_words(metric) for metric in metrics)
    return f"Not compared: {what}. {check.reason.rstrip('.')}."
