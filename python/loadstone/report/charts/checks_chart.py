"""Every check against every trial, or against every condition where there are many trials."""

from typing import Any

import altair as alt

from loadstone.analyse.model import Analysis, TrialView
from loadstone.record.trial import CheckResult
from loadstone.report import format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.chart import Chart, make, named
from loadstone.report.summary import trials_by_condition

_TRIALS_MAX = 60
_SEVERITY = ("valid", "unknown", "suspect", "invalid")
_MARKS = {"valid": "circle", "unknown": "M-1,-0.25H1V0.25H-1Z", "suspect": "triangle-up", "invalid": "cross"}


def checks_chart(analysis: Analysis) -> Chart | None:
    """The matrix of checks; None without trials."""
    names = list(dict.fromkeys(check.name for view in analysis.trials for check in view.checks))
    if not names:
        return None
    by_trial = len(analysis.trials) <= _TRIALS_MAX
    rows: dict[str, list[TrialView]] = {}
    for label, views in trials_by_condition(analysis).items():
        for view in views:
            rows.setdefault(f"{label} · {view.trial}" if by_trial else label, []).append(view)
    cells = [_cell(fmt.plain(row), name, views) for row, views in rows.items() for name in names]
    values = [cell for cell in cells if cell]
    kinds = list(_SEVERITY)
    base = named("checks").encode(
        x=alt.X(
            "check:N",
            sort=[fmt.plain(name).replace("_", " ") for name in names],
            axis=alt.Axis(title=None, orient="top", labelAngle=-40, domain=False, ticks=False, grid=True),
        ),
        y=alt.Y("row:N", sort=None, axis=alt.Axis(title=None, grid=True)),
    )
    marks = base.mark_point(filled=True, opacity=1, strokeWidth=2).encode(
        color=alt.Color(
            "verdict:N", scale=alt.Scale(domain=kinds, range=[theme.VERDICTS[k] for k in kinds]), title=None
        ),
        shape=alt.Shape("verdict:N", scale=alt.Scale(domain=kinds, range=[_MARKS[k] for k in kinds]), title=None),
        size=alt.condition("datum.verdict === 'valid'", alt.value(20), alt.value(80)),
        tooltip=[alt.Tooltip(f"{key}:N") for key in ("row", "check", "verdict", "measured", "limit", "reason")],
    )
    bad = sum(cell["verdict"] in ("suspect", "invalid") for cell in values)
    what = "trial" if by_trial else "condition, with the worst verdict of its trials"
    return make(
        "checks",
        "Every check",
        f"A row a {what}; a column a check.",
        f"Verdicts of {len(names)} checks over {len(rows)} rows: {bad} suspect or invalid, {len(values) - bad} others.",
        marks.properties(width=alt.Step(30), height=alt.Step(17)),
        {"checks": values},
    )


def _cell(row: str, name: str, views: list[TrialView]) -> dict[str, Any] | None:
    """The worst verdict of one check over the trials of a row."""
    found = [check for view in views for check in view.checks if check.name == name]
    if not found:
        return None
    worst: CheckResult = max(found, key=lambda check: _SEVERITY.index(check.verdict))
    return {
        "row": row,
        "check": fmt.plain(name).replace("_", " "),
        "verdict": worst.verdict,
        "measured": fmt.quantity(worst.measured, worst.unit),
        "limit": fmt.quantity(worst.limit, worst.unit),
        "reason": fmt.sentence(worst.reason),
    }
