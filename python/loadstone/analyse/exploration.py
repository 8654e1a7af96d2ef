"""The other metrics of a pair: labelled exploratory, since nobody said beforehand that they would decide."""

from collections.abc import Sequence

from loadstone.analyse.cases import Evidence
from loadstone.analyse.judgements import Finding, judgement, settings_of_metric
from loadstone.analyse.latencies import Latencies
from loadstone.analyse.measure import Measured, measure
from loadstone.analyse.metrics import metric_words
from loadstone.analyse.model import Judgement
from loadstone.analyse.statistics.judge import verdict
from loadstone.analyse.statistics.settings import Settings
from loadstone.record.trial import CheckResult
from loadstone.spec.experiment import usual_margin

METRICS = (
    "goodput_per_s",
    "throughput_per_s",
    "peak_per_s",
    "response_ns.mean",
    *(f"{kind}.{quantile}" for kind in ("response_ns", "service_ns") for quantile in ("p50", "p95", "p99", "p999")),
)
"""What is explored beside the primary metric."""


def explore(primary: str, evidence: Evidence, latencies: Latencies) -> tuple[list[Judgement], list[str]]:
    """The judgements that the data allow, and one sentence for each rule that forbids others.

    Each interval has the level of the primary one; there is no correction for looking at many.
    """
    found: list[Judgement] = []
    refused: dict[str, tuple[CheckResult, list[str]]] = {}
    for metric in METRICS:
        if metric == primary or not evidence.used:
            continue
        margin = usual_margin(metric)
        settings = settings_of_metric(evidence.settings, metric, margin)
        measured = measure(metric, evidence.used, settings, latencies)
        if measured.refusal is not None:
            refused.setdefault(measured.refusal.name, (measured.refusal, []))[1].append(metric)
        elif measured.evidence.blocks:
            found.append(_judgement(metric, evidence, settings, measured))
    return found, [_left_out(check, metrics) for check, metrics in refused.values()]


def _judgement(metric: str, evidence: Evidence, settings: Settings, measured: Measured) -> Judgement:
    finding = Finding(metric, "exploratory", settings, verdict(measured.evidence, settings), measured.typical)
    return judgement(finding, evidence.pair)


def _left_out(check: CheckResult, metrics: Sequence[str]) -> str:
    """`Not compared: P99 of the response time: ...`; one word for latencies if the rule is about all of them."""
    what = "latencies" if check.name == "offered_rate" else ", ".join(metric_words(metric) for metric in metrics)
    return f"Not compared: {what}. {check.reason.rstrip('.')}."
