"""The checks that some trial did not pass against every trial, or every condition where there are many trials."""

from typing import Any

import altair as alt

from loadstone.judge.analysis.analysis import Analysis, TrialView
from loadstone.report import figure_format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.chart import TIP, Chart, layer, make, named
from loadstone.report.summary import check_title, figure, trials_by_condition
from loadstone.run_folder.trial import CheckResult
from loadstone.text.language import _, plural, translated

_TRIALS_MAX = 60
_SEVERITY = ("valid", "unknown", "suspect", "invalid")
_MARKS = {"valid": "circle", "unknown": "M-1,-0.25H1V0.25H-1Z", "suspect": "triangle-up", "invalid": "cross"}


def checks_chart(analysis: Analysis) -> Chart | None:
    """The matrix of the checks that some trial did not pass; None where there is no such check."""
    names = list(dict.fromkeys(check.name for view in analysis.trials for check in view.checks))
    by_trial = len(analysis.trials) <= _TRIALS_MAX
    rows: dict[str, list[TrialView]] = {}
    for label, views in trials_by_condition(analysis).items():
        for view in views:
            rows.setdefault(f"{fmt.plain(label)} · {view.trial}" if by_trial else label, []).append(view)
    columns = {name: [_cell(fmt.plain(row), name, views) for row, views in rows.items()] for name in names}
    found = {name: [cell for cell in cells if cell] for name, cells in columns.items()}
    shown = {name: cells for name, cells in found.items() if any(cell["verdict"] != "valid" for cell in cells)}
    if not shown:
        return None
    verdicts = [cell["verdict"] for cells in found.values() for cell in cells]
    bad = sum(verdict in ("suspect", "invalid") for verdict in verdicts)
    passed = len(names) - len(shown)
    caption = (
        _("One row per trial, one column per check.")
        if by_trial
        else _("One row per condition (the worst verdict of its trials), one column per check.")
    )
    if passed:
        left_out = plural(
            passed,
            "{n} check passed in every trial and is not drawn.",
            "{n} checks passed in every trial and are not drawn.",
        )
        caption = f"{caption} {left_out}"
    return make(
        "checks",
        _("Every check"),
        caption,
        _(
            "Verdicts of {checks} checks over {rows} rows: {bad} suspect or invalid, {others} others.",
            checks=len(names),
            rows=len(rows),
            bad=bad,
            others=len(verdicts) - bad,
        ),
        _matrix([check_title(name) for name in shown], [fmt.plain(row) for row in rows]),
        {"checks": [cell for cells in shown.values() for cell in cells]},
    )


def _matrix(columns: list[str], rows: list[str]) -> dict[str, Any]:
    """A small mark where a check was passed; a large one, with its reason, where it was not."""
    kinds = list(_SEVERITY)
    base = named("checks").encode(
        x=alt.X(
            "check:N",
            sort=columns,
            axis=alt.Axis(title=None, orient="top", labelAngle=-40, domain=False, ticks=False, grid=True),
        ),
        y=alt.Y("row:N", sort=rows, axis=alt.Axis(title=None, grid=True)),
        color=alt.Color(
            "verdict:N", scale=alt.Scale(domain=kinds, range=[theme.VERDICTS[k] for k in kinds]), title=None
        ),
        shape=alt.Shape("verdict:N", scale=alt.Scale(domain=kinds, range=[_MARKS[k] for k in kinds]), title=None),
    )
    passed = base.transform_filter("datum.verdict === 'valid'").mark_point(filled=True, opacity=1, size=20)
    others = base.transform_filter("datum.verdict !== 'valid'").mark_point(
        filled=True, opacity=1, size=80, strokeWidth=2, aria=True
    )
    return layer(passed, others.encode(description=TIP), width={"step": 30}, height={"step": 17})


def _cell(row: str, name: str, views: list[TrialView]) -> dict[str, Any] | None:
    """The worst verdict of one check over the trials of a row."""
    found = [check for view in views for check in view.checks if check.name == name]
    if not found:
        return None
    worst: CheckResult = max(found, key=lambda check: _SEVERITY.index(check.verdict))
    cell = {"row": row, "check": check_title(name), "verdict": worst.verdict}
    if worst.verdict == "valid":
        return cell
    why = "" if worst.verdict == "unknown" else f"\n{fmt.sentence(worst.reason)}"
    return {**cell, "tip": f"{row}\n{cell['check']}: {translated(worst.verdict)}, {figure(worst)}{why}"}
