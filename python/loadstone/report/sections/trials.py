"""What a report shows of the trials behind its figures: each with its checks."""

from collections.abc import Iterator

from loadstone.judge.analysis.analysis import Analysis, TrialView
from loadstone.report import figure_format as fmt
from loadstone.report import summary
from loadstone.report.document import (
    Only,
    Phrase,
    RowVerdict,
    Section,
    SectionCell,
    SectionColumn,
    SectionTable,
    TableRow,
    Term,
    Words,
)
from loadstone.report.summary import Anchors, anchors_of
from loadstone.report.tables.columns import MARKS, goodput_name
from loadstone.run_folder.trial import CheckResult
from loadstone.text.language import _, plural, translatable, translated

_TRIALS_WITH_ALL_MAX = 60
"""With more trials than this a valid one has no line of its own for what it passed: `trials.jsonl` has that."""


def trials_section(analysis: Analysis) -> Section | None:
    """Every trial, under its condition; None without one."""
    anchors = anchors_of(analysis)
    if not anchors.conditions:
        return None
    columns = (
        SectionColumn(_("trial")),
        SectionColumn(_("group"), kind="names"),
        *map(SectionColumn, (_("block"), _("order"), _("attempt"))),
        SectionColumn(_("verdict"), kind="names"),
        *map(SectionColumn, (goodput_name(analysis), "P99")),
        SectionColumn(_("checks not passed"), kind="words"),
    )
    terms = (("trials", Term("trial", _("trials"))), ("check", Term("check")))
    how = Phrase(translatable("The {trials} behind each figure, with what did not pass of each {check}."), terms)
    table = SectionTable("", columns, tuple(_lines(analysis, anchors)), style="trials", label=_("Trials"))
    hint = _("{trials}, each with its checks", trials=summary.trials(analysis))
    return Section("trials", _("Trials"), (Only(("page",), (how,)), table), hint=hint, layouts=("page", "markdown"))


def _lines(analysis: Analysis, anchors: Anchors) -> Iterator[TableRow]:
    """Under a line for each condition, which has the mark that its figures have."""
    rows = {name: row for table in reversed(analysis.tables) for row in table.rows for name in row.trials}
    every_check = len(analysis.trials) <= _TRIALS_WITH_ALL_MAX
    for anchor, label, views in anchors.conditions:
        row = next((rows[view.trial] for view in views if view.trial in rows), None)
        bottleneck: Words = row.bottleneck.message if row is not None and row.bottleneck else ""
        verdict: RowVerdict = views[0].verdict if row is None else row.verdict
        yield TableRow(label, (), verdict=verdict, anchor=anchor, note=bottleneck)
        yield from (_line(view, anchors.view(view), every_check) for view in views)


def _line(view: TrialView, anchor: str, every_check: bool) -> TableRow:
    failed = [check for check in view.checks if check.verdict != "valid"]
    refused = view.verdict == "invalid"
    checks = "; ".join(f"{MARKS[check.verdict]} {_figure(check)}" for check in failed)
    cells = (
        SectionCell(None, said=view.group),
        *map(SectionCell, (view.block, view.order, view.attempt)),
        SectionCell(None, said=translated(view.verdict)),
        SectionCell(view.goodput_per_s, "per_s", struck=refused),
        SectionCell(view.p99_ns, "ns", struck=refused),
        SectionCell(None, said=checks or fmt.NONE),
    )
    return TableRow(view.trial, cells, anchor=anchor, note=_note(view, failed, every_check))


def _figure(check: CheckResult) -> str:
    return f"{summary.check_title(check.name)} {summary.figure(check)}"


def _note(view: TrialView, failed: list[CheckResult], every_check: bool) -> str:
    """Why checks did not pass, and which did."""
    if view.verdict == "valid" and not every_check:
        return ""
    why = [f"{summary.check_title(check.name)}: {fmt.sentence(check.reason)}" for check in failed if check.reason]
    passed = [check for check in view.checks if check.verdict == "valid"]
    counted = plural(len(passed), "{n} further check", "{n} further checks")
    said = " · ".join(map(_figure, passed)) if every_check else counted
    return " ".join([*why, *([f"{_('passed:')} {said}"] if passed else [])])
