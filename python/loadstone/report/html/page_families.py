"""What the page prints of the declared comparisons."""

from typing import Any

from loadstone.analyse.model import Analysis, Comparison, Family
from loadstone.judge.verdict import Side, Verdict
from loadstone.record.trial import CheckResult
from loadstone.report import format as fmt
from loadstone.report import summary, verdicts
from loadstone.report.anchors import Anchors
from loadstone.report.charts.chart import Chart
from loadstone.report.glossary import VERDICT_TERMS
from loadstone.report.html.page_parts import figure, linked
from loadstone.report.text.english.metrics import metric_text

_ORDER = ("invalid", "suspect", "unknown", "valid")


def verdicts_picture(analysis: Analysis, charts: list[Chart]) -> dict[str, Any] | None:
    """The picture that opens the page: the forests of all families, one below the other; None without a pair."""
    questions = {family.name: fmt.plain(family.question) for family in analysis.families}
    forests = [chart for chart in charts if chart.kind == "forest"]
    if not forests:
        return None
    alone = len(forests) == 1 and questions[forests[0].family] == fmt.plain(analysis.question)
    parts = [{"heading": "" if alone else questions[chart.family], "figure": figure(chart)} for chart in forests]
    sentences = dict.fromkeys(one for chart in forests for one in chart.caption.rstrip(".").split(". "))
    return {"parts": parts, "caption": f"{'. '.join(sentences)}."}


def family_view(family: Family, charts: list[Chart], anchors: Anchors) -> dict[str, Any]:
    """A family with the picture of its blocks, a line a pair, and what stands behind each."""
    blocks = next((chart for chart in charts if chart.family == family.name and chart.kind == "blocks"), None)
    return {
        "family": family,
        "answer": fmt.sentence(family.answer),
        "metric": metric_text(family.metric),
        "margin": verdicts.margin_text(family),
        "sides": verdicts.side_headings(family.comparisons),
        "units": verdicts.units(family.comparisons),
        "blocks": figure(blocks) if blocks else None,
        "pairs": [_pair(comparison, anchors) for comparison in family.comparisons],
        "exploratory": [
            {"title": verdicts.title(comparison), **_judged(verdict, anchors, comparison)}
            for comparison in family.comparisons
            for verdict in comparison.exploratory
        ],
    }


def _pair(comparison: Comparison, anchors: Anchors) -> dict[str, Any]:
    primary = comparison.primary
    return {
        "comparison": comparison,
        "title": verdicts.title(comparison),
        "warnings": [linked(fmt.sentence(warning), anchors) for warning in comparison.warnings],
        "basis": [*verdicts.basis(comparison), *map(fmt.sentence, comparison.notes)],
        "checks": sorted(comparison.checks, key=lambda check: _ORDER.index(check.verdict)),
        "blocks": [
            {
                "point": point,
                "a": _trial(point.trial_a, anchors),
                "b": _trial(point.trial_b, anchors),
                "figure_a": _shown(primary, point.a),
                "figure_b": _shown(primary, point.b),
                "why": linked(fmt.sentence(point.why), anchors),
                "ratio": verdicts.blocks_ratio(primary, point.log_ratio),
            }
            for point in primary.points
        ],
        **_judged(primary, anchors, comparison),
    }


def _judged(verdict: Verdict, anchors: Anchors, comparison: Comparison) -> dict[str, Any]:
    """One line of a table of verdicts."""
    points = comparison.primary.points
    return {
        "verdict": verdict,
        "said": verdicts.verdict_text(verdict),
        "metric": metric_text(verdict.metric),
        "mark": verdicts.MARKS[verdict.kind],
        "term": VERDICT_TERMS[verdict.kind],
        "a": _side(verdict, verdict.a, anchors.condition([point.trial_a for point in points])),
        "b": _side(verdict, verdict.b, anchors.condition([point.trial_b for point in points])),
        "ratio": verdicts.ratio(verdict),
        "stalls": verdicts.stalls(verdict),
        "detectable": fmt.plus_minus(verdict.detectable),
    }


def _side(verdict: Verdict, side: Side, anchor: str | None) -> dict[str, Any]:
    return {"name": fmt.plain(side.name), "figure": verdicts.typical(verdict, side), "anchor": anchor}


def _trial(name: str, anchors: Anchors) -> dict[str, Any]:
    return {"name": fmt.plain(name), "anchor": anchors.trial(name)}


def _shown(verdict: Verdict, value: float | None) -> str:
    return fmt.NONE if verdict.kind == "invalid" else verdicts.metric_figure(verdict.metric, value)


def comparison_checks(analysis: Analysis) -> list[dict[str, Any]]:
    """Each rule for comparisons over all of them, failing ones first: counts, and the worst with its comparison."""
    found: dict[str, list[tuple[CheckResult, str, str]]] = {}
    for number, family in enumerate(analysis.families, 1):
        for place, comparison in enumerate(family.comparisons, 1):
            where = f"comparison-{number}-{place}"
            for check in comparison.checks:
                found.setdefault(check.name, []).append((check, verdicts.title(comparison), where))
    lines = []
    for name, results in found.items():
        kinds = [check.verdict for check, _, _ in results]
        worst, title, where = min(results, key=lambda result: _ORDER.index(result[0].verdict))
        lines.append(
            {
                "name": name,
                "verdict": worst.verdict,
                "counts": [kinds.count(kind) for kind in ("valid", "suspect", "invalid", "unknown")],
                "figure": summary.figure(worst),
                "reason": fmt.sentence(worst.reason),
                "title": title,
                "anchor": where,
            }
        )
    return sorted(lines, key=lambda line: _ORDER.index(str(line["verdict"])))
