"""The report for a repository or a wiki: tables as text, pictures as SVG beside it."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from loadstone.judge.analysis.analysis import (
    Analysis,
    CheckSummary,
    Comparison,
    EffectsAnswer,
    Family,
    ResultTable,
    Row,
    TrialView,
)
from loadstone.judge.verdict import Verdict
from loadstone.report import effects as effect_lines
from loadstone.report import figure_format as fmt
from loadstone.report import glossary, summary, verdicts
from loadstone.report.charts.pictures import NOT_DRAWN, pictures_of, without_pictures
from loadstone.report.document import Grid, Section
from loadstone.report.figure_quality import trust_text
from loadstone.report.sections.of_analysis import findings_of, sections_of
from loadstone.report.summary import Anchors, example_lines
from loadstone.report.tables.column import Column
from loadstone.report.tables.columns import (
    FULL_LOAD,
    FULL_LOAD_READING,
    MARKS,
    columns_for,
    full_load_columns,
    goodput_name,
)
from loadstone.report.tables.observed import HEADING, READING, ObservedTable, observed_in
from loadstone.text.english.figures import metric_text
from loadstone.text.language import _, translated
from loadstone.text.message import Message

if TYPE_CHECKING:  # what draws may be missing
    from loadstone.report.charts.chart import Chart

_RULE = "|---:|---:|---:|---|---:|---:|---:|"
_MARKUP = re.compile(r"([\\`*_{}\[\]|~#])")


def render(analysis: Analysis) -> dict[str, bytes]:
    """`report.md`, and `charts/<name>.svg` which it shows."""
    charts = pictures_of(analysis)
    whole = "\n".join(_lines(analysis, charts)).rstrip() + "\n"
    return {
        "report.md": whole.encode(),
        **{f"charts/{chart.name}.svg": chart.svg() for chart in charts if chart.is_drawn()},
    }


def _lines(analysis: Analysis, charts: "list[Chart]") -> Iterator[str]:
    anchors = Anchors(analysis)
    yield from (f"# {text(analysis.question)}", "", f"**{sentence(analysis.answer)}**", "")
    if scaled := summary.scaled(analysis):
        yield from (f"*{scaled}*", "")
    badges = [badge for badge, _ in summary.status_marks(analysis)]
    yield from (f"{text(trust_text(analysis))}. {summary.trials(analysis)}.", "")
    yield from (f"{text(', '.join(badges))}. {summary.time_used(analysis)}".strip(), "")
    for note in analysis.notes:
        yield from (sentence(note), "")
    if why := without_pictures():
        yield from (f"*{text(why)}*", "")
    yield from (line for section in findings_of(analysis) for line in _findings(section, charts))
    yield from (line for section in sections_of(analysis) if section.leads for line in _section(section))
    if analysis.families:
        yield from (_("## Verdicts"), "")
    for answer in analysis.effects:
        yield from _effect_tables(answer)
        yield from (line for chart in charts if _is_of_effects(chart, answer.name) for line in picture(chart))
    for family in analysis.families:
        yield from _family(
            family, [chart for chart in charts if chart.family == family.name and chart.kind != "effects"], anchors
        )
    for chart in charts:
        if chart.kind == "cost":
            yield from (f"## {chart.heading}", "", *picture(chart))
    yield from (_("## Results"), "")
    if analysis.published_source:
        yield from (
            _(
                "Published figures: {sentence}. They are context, not a target.",
                sentence=sentence(analysis.published_source),
            ),
            "",
        )
    for table in analysis.tables:
        yield from _table(table, [chart for chart in charts if chart.table == table.name], anchors)
    yield from (line for section in sections_of(analysis) if not section.leads for line in _section(section))
    yield from _observed_lines(analysis, anchors)
    for chart in charts:
        if chart.kind == "timeline":
            yield from (_("## Time line"), "", *picture(chart))
    yield from _checks(analysis, anchors)
    yield from (line for chart in charts if chart.kind == "checks" for line in picture(chart))
    yield from _trial_lines(analysis, anchors)
    yield from _glossary_lines(analysis)
    yield from (_("## How to reproduce"), "", "```sh", *summary.reproduce(analysis), "```", "")


def _is_of_effects(chart: "Chart", name: str) -> bool:
    return chart.kind == "effects" and chart.family == name


def _family(family: Family, charts: "list[Chart]", anchors: Anchors) -> Iterator[str]:
    yield from (f"### {text(family.question)}", "", sentence(family.answer), "")
    yield from (text(f"{verdicts.margin_text(family)} {fmt.plain(family.note)}"), "")
    for chart in charts:
        if chart.kind == "forest":
            yield from picture(chart)
    yield from _family_lines(family, anchors)
    for chart in charts:
        if chart.kind == "blocks":
            yield from picture(chart)


def _table(table: ResultTable, charts: "list[Chart]", anchors: Anchors) -> Iterator[str]:
    yield from (f"### {text(table.title)}", "")
    if table.note:
        yield from (text(table.note), "")
    for chart in charts:
        if chart.kind == "rps":
            yield from picture(chart)
    yield from _rows(columns_for(table), table.rows, anchors)
    trouble = [row for row in table.rows if row.reasons and row.verdict != "valid"]
    for row in trouble:
        why = " ".join(map(sentence, row.reasons))
        yield f"- {MARKS[row.verdict]} {text(row.label)}: {translated(row.verdict)}. {why}"
    answers = [f"- {text(line)}" for line in example_lines(table.rows)]
    latency = [f"- {text(line)}" for line in summary.latency_lines(table)]
    yield from (*answers, *latency)
    if trouble or answers or latency:
        yield ""
    for chart in charts:
        if chart.kind == "latency":
            yield from picture(chart)
    if full_load := full_load_columns(table):
        yield from (f"#### {translated(FULL_LOAD)}", "", translated(FULL_LOAD_READING), "")
        yield from _rows(full_load, [row for row in table.rows if row.response_ns], anchors)


def _rows(columns: list[Column], rows: list[Row], anchors: Anchors) -> Iterator[str]:
    yield _("| | condition | {columns} |", columns=" | ".join(column.title for column in columns))
    yield f"|---|---|{'---:|' * len(columns)}"
    for row in rows:
        cells = [_figure(column, row) for column in columns]
        yield f"| {MARKS[row.verdict]} | {link(anchors.condition(row.trials), row.label)} | {' | '.join(cells)} |"
    yield ""


def _figure(column: Column, row: Row) -> str:
    """A figure, struck out where it was refused."""
    figure = column.cell(row)
    return f"~~{text(figure)}~~" if column.is_struck(row) and figure != fmt.NONE else text(figure)


def _checks(analysis: Analysis, anchors: Anchors) -> Iterator[str]:
    yield from (_("## Checks"), "")
    if not analysis.checks:
        yield from (_("No check was made."), "")
        return
    yield _("| check | what it looks for | valid | suspect | invalid | unknown | worst figure |")
    yield "|---|---|---:|---:|---:|---:|---|"
    for check in summary.failing_first(analysis.checks):
        worst = _worst(check, anchors)
        counts = " | ".join(fmt.count(n) for n in (check.valid, check.suspect, check.invalid, check.unknown))
        yield f"| {text(summary.check_title(check.name))} | {sentence(check.explanation)} | {counts} | {worst} |"
    yield ""


def _worst(check: CheckSummary, anchors: Anchors) -> str:
    """The worst figure, and the trial that has it."""
    if check.worst is None:
        return fmt.NONE
    trial = link(anchors.trial(check.worst_trial), check.worst_trial) if check.worst_trial else ""
    return f"{text(summary.figure(check.worst))} {trial}".rstrip()


def _observed_lines(analysis: Analysis, anchors: Anchors) -> Iterator[str]:
    """What the monitors observed, table by table."""
    found = [(table.title, observed_in(analysis, table)) for table in analysis.tables]
    if not any(tables for _, tables in found):
        return
    yield from (f"## {translated(HEADING)}", "", translated(READING), "")
    for title, tables in found:
        if tables:
            yield from (f"### {text(title)}", "")
        for table in tables:
            yield from _observed(table, anchors)


def _observed(table: ObservedTable, anchors: Anchors) -> Iterator[str]:
    part = [_("part")] if table.of_parts else []
    yield from (f"#### {text(table.title)}", "")
    yield f"| {' | '.join([_('condition'), *part, *(text(translated(column.header)) for column in table.columns)])} |"
    yield f"|{'---|' * (1 + len(part))}{'---:|' * len(table.columns)}"
    for line in table.lines:
        names = [link(anchors.condition(line.row.trials), line.row.label)]
        names += [text(fmt.part_name(line.part))] if part else []
        yield f"| {' | '.join([*names, *(text(str(cell)) for cell in line.cells)])} |"
    yield ""


def _section(section: Section) -> Iterator[str]:
    """What a goal found: its alarms, and a table with what could not be measured below it."""
    yield from (f"## {sentence(section.heading)}", "")
    yield from (line for alarm in section.alarms for line in (f"**{sentence(alarm)}**", ""))
    for table in section.tables:
        if table.title:
            yield from (f"### {text(table.title)}", "")
        if table.note:
            yield from (text(table.note), "")
        yield f"| {' | '.join(sentence(column.head) for column in table.columns)} |"
        yield f"|---|{'---:|' * (len(table.columns) - 1)}"
        for line in table.lines:
            yield f"| {' | '.join(map(text, (line.label, *map(fmt.cell, line.cells))))} |"
        yield ""
        problems = [f"- {text(line.label)}: {sentence(said)}" for line in table.lines for said in line.problems]
        yield from (*problems, "") if problems else ()
    if section.claims:
        yield from _claims(section)
    if section.reading is not None:
        yield from (sentence(section.reading), "")


def _claims(section: Section) -> Iterator[str]:
    """A list with what each answer rests on, or a table of what was and what is."""
    if section.then_and_now:
        yield from (_("| then | now | verdict |"), "|---|---|---|")
        for claim in section.claims:
            yield f"| {text(claim.text)} | {sentence(claim.answer)} | **{sentence(claim.verdict)}** |"
    else:
        for number, claim in enumerate(section.claims, 1):
            yield f"{number}. {text(claim.text)} **{sentence(claim.verdict)}**: {sentence(claim.answer)}"
            yield from (f"   - {sentence(line)}" for line in claim.evidence)
    yield ""


def _findings(section: Section, charts: "Sequence[Chart]") -> Iterator[str]:
    """For each condition what was found, its pictures, and what that rests on."""
    yield from (f"## {sentence(section.heading)}", "")
    for one in section.findings:
        own: dict[str, Chart] = {chart.kind: chart for chart in charts if chart.condition == one.condition}
        yield from (f"### {text(one.title)}", "", f"**{sentence(one.verdict)}**", "")
        yield from (f"- {sentence(name)}: {sentence(said)}" for name, said in one.facts)
        yield ""
        for shown in one.shown:
            yield from picture(own.get(shown.kind))
            if shown.remarks:
                yield from (" ".join(map(sentence, shown.remarks)), "")
        yield from (line for grid in one.grids for line in _grid(grid))
        if one.note is not None:
            yield from (sentence(one.note), "")


def _grid(grid: Grid) -> Iterator[str]:
    if not grid.rows:
        return
    yield f"| {' | '.join(map(text, grid.heads))} |"
    yield f"|{'---:|' * len(grid.heads)}"
    yield from (f"| {' | '.join(map(text, row.cells))} |" for row in grid.rows)
    yield ""


def _effect_tables(answer: EffectsAnswer) -> Iterator[str]:
    """The question, the answer, both tables."""
    yield from (f"### {text(answer.question)}", "", sentence(answer.answer), "")
    yield from (_("| | effect | against each other | ratio | what it says | based on |"), "|---|---|---|---|---|---|")
    for line in effect_lines.lines(answer):
        cells = (line.mark, line.kind, line.name, line.ratio, line.said, line.rounds)
        yield f"| {' | '.join(map(text, cells))} |"
    yield from ("", f"| {' | '.join(map(text, answer.factors))} | {text(_('figure'))} |")
    yield f"|{'---|' * (len(answer.factors) + 1)}"
    for cell in answer.cells:
        yield f"| {' | '.join(map(text, (*cell.levels, effect_lines.cell_text(answer, cell))))} |"
    yield from ("", text(f"{effect_lines.basis(answer)} {fmt.plain(answer.note)}".strip()), "")


def _head(first: str, family: Family) -> Iterator[str]:
    a, b, ratio = map(text, verdicts.side_headings(family.comparisons))
    rest = _("verdict | {units} | stalls of both | minimum detectable effect", units=verdicts.units(family.comparisons))
    yield _("| {first} | {a} | {b} | {ratio} [interval] | {rest} |", first=first, a=a, b=b, ratio=ratio, rest=rest)
    yield f"|---{_RULE}"


def _family_lines(family: Family, anchors: Anchors) -> Iterator[str]:
    """A family's verdicts, beneath its heading and its picture."""
    yield from _head(_("pair"), family)
    for comparison in family.comparisons:
        yield f"| {text(verdicts.title(comparison))} | {_cells(comparison.primary, comparison, anchors)} |"
        for cost in comparison.costs:
            yield f"| {text(metric_text(cost.metric))} | {_cells(cost, comparison, anchors)} |"
    yield ""
    for comparison in family.comparisons:
        yield f"- **{text(verdicts.title(comparison))}**: {text(' '.join(verdicts.basis(comparison)))}"
        yield from (f"  - ! {sentence(warning)}" for warning in comparison.warnings)
        yield from (f"  - {sentence(note)}" for note in comparison.notes)
        yield from (
            f"  - {MARKS[check.verdict]} {text(summary.check_title(check.name))} {text(summary.figure(check))}"
            f"{': ' + sentence(check.reason) if check.reason else ''}"
            for check in comparison.checks
            if check.verdict != "valid"
        )
        yield _("  - blocks: {blocks}", blocks=_blocks(comparison, anchors))
    yield ""
    exploratory = [(one, verdict) for one in family.comparisons for verdict in one.exploratory]
    if exploratory:
        yield from (_("Exploratory. {text}", text=text(glossary.meaning("exploratory"))), "")
        yield from _head(_("pair and metric"), family)
        for one, verdict in exploratory:
            name = f"{verdicts.title(one)}: {metric_text(verdict.metric)}"
            yield f"| {text(name)} | {_cells(verdict, one, anchors)} |"
        yield ""


def _cells(verdict: Verdict, comparison: Comparison, anchors: Anchors) -> str:
    points = comparison.primary.points
    sides = (
        (verdict.a, [point.trial_a for point in points]),
        (verdict.b, [point.trial_b for point in points]),
    )
    figures = [
        link(anchors.condition(trials), f"{fmt.plain(side.name)} {verdicts.typical(verdict, side)}")
        for side, trials in sides
    ]
    said = f"{verdicts.MARKS[verdict.kind]} {verdicts.verdict_text(verdict)}"
    rest = (verdicts.ratio(verdict), said, str(verdict.blocks), verdicts.stalls(verdict))
    return " | ".join([*figures, *(text(cell) for cell in rest), text(fmt.plus_minus(verdict.detectable))])


def _blocks(comparison: Comparison, anchors: Anchors) -> str:
    """Each block's ratio with its two trials; what was not used in brackets, with the reason."""
    primary = comparison.primary
    parts = []
    for point in primary.points:
        sides = ((point.trial_a, primary.a.name), (point.trial_b, primary.b.name))
        trials = " ".join(link(anchors.trial(trial), name) for trial, name in sides)
        ratio = text(verdicts.blocks_ratio(primary, point.log_ratio))
        part = f"{point.block}: {ratio} {trials}"
        parts.append(
            part if point.used else _("({part}, not used: {sentence})", part=part, sentence=sentence(point.why))
        )
    return "; ".join(parts) or fmt.NONE


def _trial_lines(analysis: Analysis, anchors: Anchors) -> Iterator[str]:
    """Every trial, under its condition, with the checks that it did not pass."""
    if not anchors.conditions:
        return
    yield from (_("## Trials"), "")
    yield _(
        "| trial | group | block | order | attempt | verdict | {goodput_name} | P99 | checks not passed |",
        goodput_name=goodput_name(analysis),
    )
    yield "|---|---|---:|---:|---:|---|---:|---:|---|"
    for anchor, label, views in anchors.conditions:
        yield f"| {target(anchor)}**{text(label)}** | | | | | | | | |"
        yield from (_trial(view, anchors) for view in views)
    yield ""


def _trial(view: TrialView, anchors: Anchors) -> str:
    failed = [
        f"{MARKS[check.verdict]} {summary.check_title(check.name)} {summary.figure(check)}"
        for check in view.checks
        if check.verdict != "valid"
    ]
    figures = [fmt.rate(view.goodput_per_s), fmt.duration(view.p99_ns)]
    if view.verdict == "invalid":
        figures = [fmt.NONE, fmt.NONE]
    cells = [
        target(anchors.view(view)) + text(view.trial), text(view.group), str(view.block), str(view.order),
        str(view.attempt), translated(view.verdict), *figures, text("; ".join(failed)) or fmt.NONE,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _glossary_lines(analysis: Analysis) -> Iterator[str]:
    """What the terms mean."""
    yield from (_("## What the terms mean"), "")
    for terms in glossary.groups_of(analysis).values():
        yield from (f"- **{term}**: {text(meaning)}" for term, meaning in terms.items())
    yield ""


def text(raw: str) -> str:
    """`raw` as plain text: no markup, no HTML."""
    escaped = _MARKUP.sub(r"\\\1", fmt.plain(raw))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def sentence(message: Message | None) -> str:
    """The sentence of a message as plain text; empty for none."""
    return text(fmt.sentence(message))


def link(anchor: str | None, raw: str) -> str:
    """Text that leads to an anchor of the document; without one, the text."""
    return f"[{text(raw)}](#{anchor})" if anchor else text(raw)


def target(anchor: str) -> str:
    """The place that links to `anchor` lead to."""
    return f'<a id="{anchor}"></a>'


def picture(chart: "Chart | None") -> Iterator[str]:
    """The picture's file beside the report, and how to read it; nothing if there is none."""
    if chart is not None:
        shown = f"![{text(chart.alt_text)}](charts/{chart.name}.svg)" if chart.is_drawn() else f"*{NOT_DRAWN}*"
        yield from (shown, "", text(chart.caption), "")
