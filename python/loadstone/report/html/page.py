"""What the page prints: the analysis as text, figures and anchors."""

from collections.abc import Iterator
from typing import Any

from loadstone.analyse.model import Analysis, CheckSummary, ResultTable, Row, TrialView
from loadstone.report import crashes, glossary, lessons, summary
from loadstone.report import format as fmt
from loadstone.report.anchors import Anchors
from loadstone.report.answers import answer_verdict
from loadstone.report.charts import theme
from loadstone.report.charts.chart import Chart
from loadstone.report.charts.chart_list import charts_of
from loadstone.report.html.page_families import comparison_checks, family_view
from loadstone.report.html.page_parts import figure, linked
from loadstone.report.tables import observed_tables
from loadstone.report.tables.column import Column
from loadstone.report.tables.columns import MARK_TEXTS, MARKS, columns_for
from loadstone.report.tables.rates import goodput_name, rate_of
from loadstone.report.trust import trust_text

_WIDE_FROM = 10
"""A table with more columns is set closer."""
_OPENED_MAX = 6
"""More invalid trials than this stay folded."""


def page(analysis: Analysis) -> dict[str, Any]:
    """Everything that the template prints, by the names it uses."""
    charts, anchors = charts_of(analysis), Anchors(analysis)
    return {
        "analysis": analysis,
        "headline": trust_text(analysis),
        "trials_line": summary.trials(analysis),
        "badges": summary.badges(analysis),
        "scaled": summary.scaled(analysis),
        "time_used": summary.time_used(analysis),
        "shares": _shares(analysis),
        "families": [family_view(family, charts, anchors) for family in analysis.families],
        "comparison_checks": comparison_checks(analysis),
        "tables": [_table(table, charts, anchors, analysis) for table in analysis.tables],
        "timeline": next((figure(chart) for chart in charts if chart.kind == "timeline"), None),
        "matrix": next((figure(chart) for chart in charts if chart.kind == "checks"), None),
        "checks": [_check(check) for check in summary.failing_first(analysis.checks)],
        "opened": sum(view.verdict == "invalid" for view in analysis.trials) <= _OPENED_MAX,
        "conditions": [_condition(anchor, label, views, analysis) for anchor, label, views in anchors.conditions],
        "environment": _environment(analysis.environment),
        "commands": summary.reproduce(analysis),
        "groups": glossary.groups_of(analysis),
        "rate": goodput_name(analysis),
        "meaning": glossary.meaning,
        "anchors": anchors,
        "crashes": crashes,
        "lessons": lessons,
        "observed_tables": observed_tables,
        "marks": MARKS,
        "mark_texts": MARK_TEXTS,
        "answers": [
            {
                "answer": answer,
                "verdict": answer_verdict(answer.verdict),
                "evidence": [linked(fmt.sentence(line), anchors) for line in answer.evidence],
            }
            for answer in analysis.answers
        ],
        "pictures": {
            "specs": {chart.name: chart.spec for chart in charts},
            "themes": {"light": theme.config(dark=False), "dark": theme.config(dark=True)},
            "onDark": theme.ON_DARK,
        },
    }


def _shares(analysis: Analysis) -> list[tuple[str, int]]:
    """Verdicts and how many trials have them, for the bar."""
    left = max(0, analysis.trials_planned - analysis.trials_done)
    kinds = (
        ("valid", analysis.trials_valid),
        ("suspect", analysis.trials_suspect),
        ("invalid", analysis.trials_invalid),
        ("missing", left),
    )
    return [(kind, number) for kind, number in kinds if number]


def _table(table: ResultTable, charts: list[Chart], anchors: Anchors, analysis: Analysis) -> dict[str, Any]:
    columns = columns_for(table)
    rank = next((column.value for column in columns if column.ranks), rate_of(table).of_row)
    best = max((rank(row) or 0.0 for row in table.rows if row.verdict in ("valid", "suspect")), default=0.0)
    own = {
        kind: next((c for c in charts if c.table == table.name and c.kind == kind), None) for kind in ("rps", "latency")
    }
    return {
        "table": table,
        "columns": columns,
        "rows": [_row(row, columns, best, anchors) for row in table.rows],
        "unmeasurable": list(summary.unmeasurable_lines(table)),
        "observed": [
            {"table": one, "lines": [(anchors.condition(line.row.trials), line) for line in one.lines]}
            for one in observed_tables.observed_in(analysis, table)
        ],
        "figures": {kind: figure(chart) if chart else None for kind, chart in own.items()},
        "cpu": any(row.cpu_share for row in table.rows) and not any(row.bottleneck for row in table.rows),
        "wide": len(columns) > _WIDE_FROM,
    }


def _row(row: Row, columns: list[Column], best: float, anchors: Anchors) -> dict[str, Any]:
    cells = [
        {
            "text": column.cell(row),
            "value": column.value(row),
            "why": column.why_missing(row),
            "struck": row.verdict == "invalid" and not column.context,
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
    """What is wrong with a row, in one line: the checks' reasons and the errors by kind."""
    errors = ", ".join(f"{fmt.count(number)} {fmt.plain(kind)}" for kind, number in row.errors.items() if number)
    said = [*map(fmt.sentence, row.reasons)] + ([f"Errors: {errors}."] if errors else [])
    return f"{row.verdict.upper()}: {' '.join(said)}" if said and row.verdict != "valid" else " ".join(said)


def _bar(row: Row, rate: float | None, best: float) -> float | None:
    """Length of the bar under a rate, as a share of the table's best."""
    if not best or rate is None or row.verdict not in ("valid", "suspect"):
        return None
    return round(rate / best, 3)


def _check(check: CheckSummary) -> dict[str, Any]:
    verdict = next((kind for kind in ("invalid", "suspect", "unknown") if getattr(check, kind)), "valid")
    return {"check": check, "verdict": verdict, "worst": summary.figure(check.worst) if check.worst else fmt.NONE}


def _condition(anchor: str, label: str, views: list[TrialView], analysis: Analysis) -> dict[str, Any]:
    verdicts = [view.verdict for view in views]
    worst = next((kind for kind in ("invalid", "suspect") if kind in verdicts), "valid")
    names = {view.trial for view in views}
    rows = (row for table in analysis.tables for row in table.rows if names.intersection(row.trials))
    bottleneck = next((fmt.sentence(row.bottleneck.message) for row in rows if row.bottleneck), "")
    return {"label": label, "trials": views, "anchor": anchor, "verdict": worst, "bottleneck": bottleneck}


def _environment(values: dict[str, object]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The record of the environment as headings with lines below; nested keys are joined by dots."""
    plain = [_fact(key, value) for key, value in values.items() if not isinstance(value, dict) and key != "format"]
    groups = [(key, list(_facts(value))) for key, value in values.items() if isinstance(value, dict)]
    return [*groups, ("further", plain)] if plain else groups


def _facts(values: dict[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _facts(value, f"{prefix}{key}.")
        else:
            yield _fact(f"{prefix}{key}", value)


_UNITS = {"_bytes": fmt.size, "_s": fmt.seconds, "_ns": fmt.duration}


def _fact(name: str, value: object) -> tuple[str, str]:
    """A name and its value as text; the unit that the name ends in goes to the value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        for end, text in _UNITS.items():
            if name.endswith(end):
                return name.removesuffix(end), text(value)
    return name, _value_text(value)


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_value_text(item) for item in value) or fmt.NONE
    return fmt.NONE if value is None else fmt.plain(str(value))
