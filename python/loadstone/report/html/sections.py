"""The sections of the page: tables, comparisons, effects and findings, as the templates print them."""

import re
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from loadstone.judge.analysis.analysis import Analysis, Comparison, EffectsAnswer, Family, ResultTable, Row
from loadstone.judge.verdict import Side, Verdict
from loadstone.report import effects, summary, verdicts
from loadstone.report import figure_format as fmt
from loadstone.report.charts.pictures import NOT_DRAWN
from loadstone.report.document import Finding
from loadstone.report.figure_quality import different_rows
from loadstone.report.glossary import VERDICT_TERMS
from loadstone.report.summary import Anchors
from loadstone.report.tables import observed
from loadstone.report.tables.column import Column
from loadstone.report.tables.columns import TPS, columns_for, end_columns, full_load_columns, most_telling, rate_of_run
from loadstone.run_folder.trial import CheckResult
from loadstone.text.english.figures import metric_text
from loadstone.text.language import _, plural, translated

if TYPE_CHECKING:  # what draws may be missing
    from loadstone.report.charts.chart import Chart

_WIDE_FROM = 10
"""A table with more columns is set closer."""
_MAIN_ROWS_MAX = 20
"""More conditions than this stand in the folded tables alone."""
MINOR = frozenset({"operations", "elapsed_s", "executed", "blocks", "slices"})
"""Columns that a telephone has no room for: how long and how often a condition was measured."""
_ORDER = ("invalid", "suspect", "unknown", "valid")


def figure(chart: "Chart") -> dict[str, Any]:
    """What the page prints of a picture: its text, and the drawing as a part of the page."""
    return {
        "name": chart.name,
        "title": chart.heading,
        "caption": chart.caption,
        "two": chart.narrow is not None,
        "drawing": Markup(chart.inline()) if chart.is_drawn() else NOT_DRAWN,
    }


def linked(text: str, anchors: Anchors) -> Markup:
    """`text` with every trial's name in it as a link to the trial."""
    link = Markup('<a href="#{}">{}</a>')
    pieces = ((word, anchors.trial(word)) for word in re.split(r"([\w-]+)", fmt.plain(text)))
    return Markup("").join(link.format(anchor, word) if anchor else word for word, anchor in pieces)


def hints(analysis: Analysis) -> dict[str, str]:
    """What is in each folded part, in a few words beside its heading."""
    pairs, rows = len(list(verdicts.all_comparisons(analysis))), len(different_rows(analysis))
    failed = sum(bool(check.invalid or check.suspect) for check in analysis.checks)
    return {
        "comparisons": _(
            "{counted}: both sides, blocks, checks",
            counted=plural(pairs, "{pairs} pair", "{pairs} pairs", pairs=fmt.count(pairs)),
        ),
        "results": _(
            "{counted}: rates, response times, usage",
            counted=plural(rows, "{rows} condition", "{rows} conditions", rows=fmt.count(rows)),
        ),
        "checks": _(
            "{failed} of {counted} failed in some trials",
            counted=plural(len(analysis.checks), "{n} check", "{n} checks"),
            failed=failed,
        ),
        "trials": _("{trials}, each with its checks", trials=summary.trials(analysis)),
    }


def main_table(analysis: Analysis, anchors: Anchors) -> dict[str, Any] | None:
    """The one table that is not folded: the rows that say most, of all tables; None without a figure."""
    every = different_rows(analysis)
    if not any(row.goodput_per_s is not None for row in every):
        return None
    rows = most_telling(analysis, _MAIN_ROWS_MAX)
    columns = end_columns(rows, tps=rate_of_run(analysis) is TPS)
    shown = [{**_row(row, columns, _best(rows, columns), anchors), "why": ""} for row in rows]
    return {"columns": columns, "rows": shown, "left": len(every) - len(rows), "cpu": False, "wide": False}


def table_view(table: ResultTable, charts: "list[Chart]", anchors: Anchors, analysis: Analysis) -> dict[str, Any]:
    columns, full_load = columns_for(table), full_load_columns(table)
    best = _best(table.rows, columns)
    own = {
        kind: next((c for c in charts if c.table == table.name and c.kind == kind), None) for kind in ("rps", "latency")
    }
    return {
        "table": table,
        "columns": columns,
        "rows": [_row(row, columns, best, anchors) for row in table.rows],
        "latency_lines": summary.latency_lines(table),
        "full_load": _full_load(table, full_load, anchors) if full_load else None,
        "observed": [
            {"table": one, "lines": [(anchors.condition(line.row.trials), line) for line in one.lines]}
            for one in observed.observed_in(analysis, table)
        ],
        "figures": {kind: figure(chart) if chart else None for kind, chart in own.items()},
        "cpu": any(row.cpu_share for row in table.rows) and not any(row.bottleneck for row in table.rows),
        "wide": len(columns) > _WIDE_FROM,
    }


def _full_load(table: ResultTable, columns: list[Column], anchors: Anchors) -> dict[str, Any]:
    """The latencies under full load, in a table that is folded."""
    rows = [{**_row(row, columns, 0.0, anchors), "why": ""} for row in table.rows if row.response_ns]
    lines = list(summary.unmeasurable_lines(columns, table.rows))
    return {"columns": columns, "rows": rows, "cpu": False, "wide": len(columns) > _WIDE_FROM, "lines": lines}


def _best(rows: list[Row], columns: list[Column]) -> float:
    """The highest of the rates that rows are ranked by."""
    rank = next((column.value for column in columns if column.ranks), None)
    return max((rank(row) or 0.0 for row in rows if rank and row.verdict in ("valid", "suspect")), default=0.0)


def _row(row: Row, columns: list[Column], best: float, anchors: Anchors) -> dict[str, Any]:
    cells = [
        {
            "text": column.cell(row),
            "value": column.value(row),
            "why": column.why_missing(row),
            "struck": column.is_struck(row),
            "minor": column.key in MINOR,
            "bar": _bar(row, column.value(row), best) if column.ranks else None,
        }
        for column in columns
    ]
    return {
        "row": row,
        "cells": cells,
        "anchor": anchors.condition(row.trials),
        "busiest": max(row.cpu_share.items(), key=lambda part: part[1], default=None),
        "cpu": ", ".join(f"{fmt.plain(part)} {fmt.percent(share)}" for part, share in row.cpu_share.items()),
        "why": _why(row),
    }


def _why(row: Row) -> str:
    """What is wrong with a row, in one line: the checks' reasons, the errors by kind, and what was answered."""
    errors = ", ".join(f"{fmt.count(number)} {fmt.plain(kind)}" for kind, number in row.errors.items() if number)
    answers = [
        _("{what}, for example: “{example}”.", what=fmt.plain(kind), example=fmt.plain(reply))
        for kind, reply in row.error_examples.items()
    ]
    said = [*map(fmt.sentence, row.reasons)] + ([_("Errors: {errors}.", errors=errors)] if errors else []) + answers
    return f"{translated(row.verdict).upper()}: {' '.join(said)}" if said and row.verdict != "valid" else " ".join(said)


def _bar(row: Row, rate: float | None, best: float) -> float | None:
    """Length of the bar under a rate, as a share of the table's best."""
    if not best or rate is None or row.verdict not in ("valid", "suspect"):
        return None
    return round(rate / best, 3)


def verdicts_picture(analysis: Analysis, charts: "list[Chart]") -> dict[str, Any] | None:
    """The picture that opens the page: the forests of all families, one below the other; None without a pair."""
    questions = {family.name: fmt.plain(family.question) for family in analysis.families}
    forests = [chart for chart in charts if chart.kind == "forest"]
    if not forests:
        return None
    alone = len(forests) == 1 and questions[forests[0].family] == fmt.plain(analysis.question)
    parts = [{"heading": "" if alone else questions[chart.family], "figure": figure(chart)} for chart in forests]
    sentences = dict.fromkeys(one for chart in forests for one in chart.caption.rstrip(".").split(". "))
    return {"parts": parts, "caption": f"{'. '.join(sentences)}."}


def family_view(family: Family, charts: "list[Chart]", anchors: Anchors) -> dict[str, Any]:
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
        "costs": [_judged(cost, anchors, comparison) for cost in comparison.costs],
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


def effects_view(answer: EffectsAnswer, charts: "list[Chart]") -> dict[str, Any]:
    """A line an effect, the picture of the combinations, and a line a combination."""
    chart = next((one for one in charts if one.kind == "effects" and one.family == answer.name), None)
    return {
        "question": fmt.plain(answer.question),
        "note": fmt.plain(answer.note),
        "basis": effects.basis(answer),
        "factors": answer.factors,
        "lines": [
            {"kind": term.verdict.kind, "line": line}
            for term, line in zip(answer.terms, effects.lines(answer), strict=True)
        ],
        "cells": [{"levels": cell.levels, "figure": effects.cell_text(answer, cell)} for cell in answer.cells],
        "picture": figure(chart) if chart else None,
    }


def finding_view(one: Finding, charts: "list[Chart]") -> dict[str, Any]:
    """A finding with its pictures."""
    own = {chart.kind: figure(chart) for chart in charts if chart.condition == one.condition}
    shown = [(own[each.kind], each.remarks) for each in one.shown if each.kind in own]
    return {"finding": one, "shown": shown}
