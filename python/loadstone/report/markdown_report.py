"""The report for a repository or a wiki: tables as text, pictures as SVG beside it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from loadstone.judge.analysis.analysis import (
    Analysis,
    ResultTable,
    Row,
)
from loadstone.report import figure_format as fmt
from loadstone.report import glossary, summary, written
from loadstone.report.charts.chart import NOT_DRAWN, Chart
from loadstone.report.charts.chart_list import chart_of, charts_of, drawn
from loadstone.report.document import (
    Block,
    Bullet,
    Bullets,
    Claims,
    Effects,
    Finding,
    Fold,
    Grid,
    JudgedPair,
    Only,
    PairBlock,
    Paragraph,
    Part,
    Phrase,
    Picture,
    Pictures,
    Section,
    SectionCell,
    SectionTable,
    Shares,
    TrialLine,
    Trials,
    VerdictLine,
    Verdicts,
    Words,
)
from loadstone.report.figure_quality import trust_text
from loadstone.report.sections.of_analysis import findings_of, sections_of
from loadstone.report.sections.verdicts import verdicts_section
from loadstone.report.summary import Anchors, example_lines
from loadstone.report.tables.column import Column
from loadstone.report.tables.columns import (
    FULL_LOAD,
    FULL_LOAD_READING,
    MARKS,
    columns_for,
    full_load_columns,
)
from loadstone.report.written import phrase_text, words
from loadstone.text.language import _, translated
from loadstone.text.message import Message

_RULE = "|---:|---:|---:|---|---:|---:|---:|"
_MARKUP = re.compile(r"([\\`*_{}\[\]|~#])")


def render(analysis: Analysis) -> dict[str, bytes]:
    """`report.md`, and `charts/<name>.svg` which it shows."""
    charts = charts_of(analysis)
    whole = "\n".join(_lines(analysis, charts)).rstrip() + "\n"
    return {
        "report.md": whole.encode(),
        **{f"charts/{chart.name}.svg": chart.svg() for chart in drawn(charts)},
    }


def _lines(analysis: Analysis, charts: list[Chart]) -> Iterator[str]:
    anchors = Anchors(analysis)
    yield from (f"# {text(analysis.question)}", "", f"**{sentence(analysis.answer)}**", "")
    if scaled := summary.scaled(analysis):
        yield from (f"*{scaled}*", "")
    badges = [badge for badge, _ in summary.status_marks(analysis)]
    yield from (f"{text(trust_text(analysis))}. {summary.trials(analysis)}.", "")
    yield from (f"{text(', '.join(badges))}. {summary.time_used(analysis)}".strip(), "")
    for note in analysis.notes:
        yield from (sentence(note), "")
    yield from (line for section in findings_of(analysis) for line in _section(section, charts))
    yield from (line for section in sections_of(analysis) if section.leads for line in _section(section, charts))
    if (section := verdicts_section(analysis)) is not None:
        yield from _section(section, charts)
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
    yield from (line for section in sections_of(analysis) if not section.leads for line in _section(section, charts))
    yield from _glossary_lines(analysis)
    yield from (_("## How to reproduce"), "", "```sh", *summary.reproduce(analysis), "```", "")


def _table(table: ResultTable, charts: list[Chart], anchors: Anchors) -> Iterator[str]:
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


def _section(section: Section, charts: Sequence[Chart]) -> Iterator[str]:
    if "markdown" in section.layouts:
        yield from (f"## {text(section.heading)}", "")
        yield from (line for alarm in section.alarms for line in (f"**{text(alarm)}**", ""))
        yield from _blocks(section.blocks, charts, 3)


def _blocks(blocks: Iterable[Block], charts: Sequence[Chart], level: int) -> Iterator[str]:
    """Lines of blocks below a heading of the level before; empty ones between blocks."""
    for block in blocks:
        match block:
            case Only():
                if "markdown" in block.layouts:
                    yield from _blocks(block.blocks, charts, level)
            case Part() | Fold():
                yield from (f"{'#' * level} {text(block.heading)}", "")
                yield from _blocks(block.blocks, charts, level + 1)
            case Finding():
                yield from _finding(block, charts)
            case Picture():
                yield from picture(chart_of(charts, block))
            case SectionTable():
                yield from _table_lines(block, level)
            case Paragraph():
                yield from (text(block.text), "")
            case Phrase():
                yield from (text(phrase_text(block)), "")
            case Bullets():
                yield from (*map(_bullet, block.items), "")
            case Claims():
                yield from _claims(block)
            case Trials():
                yield from _trials(block)
            case Effects():
                yield from _effects(block)
                yield from picture(chart_of(charts, Picture("effects", block.name)))
            case Verdicts():
                yield from _verdicts(block, charts)
            case Pictures():
                for _heading, one in block.parts:
                    yield from picture(chart_of(charts, one))
            case Shares():
                yield from (text(", ".join(f"{number} {translated(kind)}" for kind, number in block.shares)), "")
            case _:
                assert_never(block)


def _table_lines(table: SectionTable, level: int) -> Iterator[str]:
    """What could not be measured stands below the table."""
    if table.title:
        yield from (f"{'#' * level} {text(table.title)}", "")
    if table.note:
        yield from (text(table.note), "")
    yield f"| {' | '.join(text(column.head) for column in table.columns)} |"
    yield f"|---|{''.join('---:|' if column.kind == 'figures' else '---|' for column in table.columns[1:])}"
    for line in table.lines:
        yield f"| {' | '.join([link(line.anchor, line.label), *map(_cell, line.cells)])} |"
    yield ""
    problems = [f"- {text(line.label)}: {text(said)}" for line in table.lines for said in line.problems]
    yield from (*problems, "") if problems else ()


def _cell(cell: SectionCell) -> str:
    parts = [text(written.cell(cell))]
    if cell.aside:
        parts.append(f"({text(cell.aside)})")
    if cell.link is not None:
        parts.append(link(cell.link.anchor, cell.link.text))
    if cell.reason:
        parts[-1] += f": {text(cell.reason)}"
    return " ".join(parts)


def _bullet(bullet: Bullet) -> str:
    mark = f"{MARKS[bullet.verdict]} " if bullet.verdict else ""
    name = f"**{text(bullet.name)}**: " if bullet.name else ""
    return f"- {mark}{name}{text(bullet.text)} {text(bullet.aside)}".rstrip()


def _claims(found: Claims) -> Iterator[str]:
    """A list with what each answer rests on, or a table of what was and what is."""
    if found.then_and_now:
        yield from (_("| then | now | verdict |"), "|---|---|---|")
        for claim in found.claims:
            yield f"| {text(claim.text)} | {text(claim.answer)} | **{text(claim.verdict)}** |"
    else:
        for number, claim in enumerate(found.claims, 1):
            yield f"{number}. {text(claim.text)} **{text(claim.verdict)}**: {text(claim.answer)}"
            yield from (f"   - {text(line)}" for line in claim.evidence)
    yield ""


def _finding(one: Finding, charts: Sequence[Chart]) -> Iterator[str]:
    """For each condition what was found, its pictures, and what that rests on."""
    own = {chart.kind: chart for chart in charts if chart.condition == one.condition}
    yield from (f"### {text(one.title)}", "", f"**{text(one.verdict)}**", "")
    yield from (f"- {text(name)}: {text(said)}" for name, said in one.facts)
    yield ""
    for shown in one.shown:
        yield from picture(own.get(shown.kind))
        if shown.remarks:
            yield from (" ".join(map(text, shown.remarks)), "")
    yield from (line for grid in one.grids for line in _grid(grid))
    if one.note is not None:
        yield from (text(one.note), "")


def _grid(grid: Grid) -> Iterator[str]:
    if not grid.rows:
        return
    yield f"| {' | '.join(map(text, grid.heads))} |"
    yield f"|{'---:|' * len(grid.heads)}"
    yield from (f"| {' | '.join(map(text, row.cells))} |" for row in grid.rows)
    yield ""


def _trials(found: Trials) -> Iterator[str]:
    """Each with the checks that it did not pass."""
    yield _(
        "| trial | group | block | order | attempt | verdict | {goodput_name} | P99 | checks not passed |",
        goodput_name=text(found.rate),
    )
    yield "|---|---|---:|---:|---:|---|---:|---:|---|"
    for condition in found.conditions:
        yield f"| {target(condition.anchor)}**{text(condition.label)}** | | | | | | | | |"
        yield from map(_trial, condition.lines)
    yield ""


def _trial(line: TrialLine) -> str:
    checks = (check for check in line.checks if check.verdict != "valid")
    failed = (f"{MARKS[check.verdict]} {check.name} {check.figure}" for check in checks)
    figures = [fmt.NONE, fmt.NONE] if line.verdict == "invalid" else [line.rate, line.p99]
    counts = map(str, (line.block, line.order, line.attempt))
    rest = (line.group, *counts, translated(line.verdict), *figures, "; ".join(failed) or fmt.NONE)
    return f"| {target(line.anchor)}{' | '.join(map(text, (line.trial, *rest)))} |"


def _effects(found: Effects) -> Iterator[str]:
    """The question, the answer, both tables."""
    yield from (f"### {text(found.question)}", "", text(found.answer), "")
    yield from (_("| | effect | against each other | ratio | what it says | based on |"), "|---|---|---|---|---|---|")
    for line in found.lines:
        cells = (line.mark, line.kind, line.name, line.ratio, line.said, line.rounds)
        yield f"| {' | '.join(map(text, cells))} |"
    yield from ("", f"| {' | '.join(map(text, (*found.factors, _('figure'))))} |")
    yield f"|{'---|' * (len(found.factors) + 1)}"
    for one in found.combinations:
        yield f"| {' | '.join(map(text, (*one.levels, one.figure)))} |"
    yield from ("", f"{text(found.basis)} {text(found.note)}".strip(), "")


def _verdicts(family: Verdicts, charts: Sequence[Chart]) -> Iterator[str]:
    """The pairs in a table, and below it what each verdict rests on."""
    yield from (f"### {text(family.question)}", "", text(family.answer), "")
    yield from (f"{text(family.margin)} {text(family.note)}".strip(), "")
    yield from picture(chart_of(charts, Picture("forest", family.name)))
    yield from _heads(_("pair"), family)
    for pair in family.pairs:
        yield from map(_verdict_line, (pair.line, *pair.costs))
    yield ""
    yield from (line for pair in family.pairs for line in _basis(pair))
    yield ""
    if family.exploratory:
        yield from (_("Exploratory. {text}", text=text(glossary.meaning("exploratory"))), "")
        yield from _heads(_("pair and metric"), family)
        yield from map(_verdict_line, family.exploratory)
        yield ""
    yield from picture(chart_of(charts, Picture("blocks", family.name)))


def _heads(first: str, family: Verdicts) -> Iterator[str]:
    a, b, ratio = map(text, family.heads)
    rest = _("verdict | {units} | stalls of both | minimum detectable effect", units=family.units)
    yield _("| {first} | {a} | {b} | {ratio} [interval] | {rest} |", first=first, a=a, b=b, ratio=ratio, rest=rest)
    yield f"|---{_RULE}"


def _verdict_line(line: VerdictLine) -> str:
    sides = (link(side.anchor, f"{side.name} {side.figure}") for side in (line.a, line.b))
    rest = (line.ratio, f"{line.mark} {line.said}", str(line.blocks), line.stalls, line.detectable)
    return f"| {' | '.join([text(line.name), *sides, *map(text, rest)])} |"


def _basis(pair: JudgedPair) -> Iterator[str]:
    yield f"- **{text(pair.line.name)}**: {text(' '.join(pair.basis))}"
    yield from (f"  - ! {text(warning)}" for warning in pair.warnings)
    yield from (f"  - {text(note)}" for note in pair.notes)
    yield from (
        f"  - {MARKS[check.verdict]} {text(check.name)} {text(check.figure)}"
        f"{': ' + text(check.reason) if check.reason else ''}"
        for check in pair.checks
        if check.verdict != "valid"
    )
    blocks = "; ".join(_pair_block(block, pair.line) for block in pair.blocks) or fmt.NONE
    yield _("  - blocks: {blocks}", blocks=blocks)


def _pair_block(block: PairBlock, line: VerdictLine) -> str:
    """A block's ratio with its two trials; what was not used in brackets, with the reason."""
    trials = " ".join(link(trial.anchor, side.name) for trial, side in ((block.a, line.a), (block.b, line.b)))
    part = f"{block.block}: {text(block.ratio)} {trials}"
    return part if block.used else _("({part}, not used: {sentence})", part=part, sentence=text(block.why))


def _glossary_lines(analysis: Analysis) -> Iterator[str]:
    """What the terms mean."""
    yield from (_("## What the terms mean"), "")
    for terms in glossary.groups_of(analysis).values():
        yield from (f"- **{term}**: {text(meaning)}" for term, meaning in terms.items())
    yield ""


def text(said: Words | None) -> str:
    """What may stand anywhere in the document: no markup, no HTML. Everything that is not ours passes here."""
    escaped = _MARKUP.sub(r"\\\1", words(said))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def sentence(message: Message | None) -> str:
    """The sentence of a message as plain text; empty for none."""
    return text(fmt.sentence(message))


def link(anchor: str | None, raw: Words) -> str:
    """Text that leads to an anchor of the document; without one, the text."""
    return f"[{text(raw)}](#{anchor})" if anchor else text(raw)


def target(anchor: str) -> str:
    """The place that links to `anchor` lead to."""
    return f'<a id="{anchor}"></a>'


def picture(chart: Chart | None) -> Iterator[str]:
    """The picture's file beside the report, and how to read it; nothing if there is none."""
    if chart is not None:
        shown = f"![{text(chart.alt_text)}](charts/{chart.name}.svg)" if chart.is_drawn() else f"*{NOT_DRAWN}*"
        yield from (shown, "", text(chart.caption), "")
