"""The report for a repository or a wiki: tables as text, pictures as SVG beside it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, assert_never

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import summary, written
from loadstone.report.charts.pictures import NOT_DRAWN, chart_of, pictures_of, without_pictures
from loadstone.report.document import (
    Block,
    Bullet,
    Bullets,
    Code,
    FactsBlock,
    Finding,
    Fold,
    Only,
    Paragraph,
    Part,
    Phrase,
    Picture,
    Pictures,
    Section,
    SectionCell,
    SectionTable,
    Shares,
    Words,
)
from loadstone.report.sections.of_analysis import document_of
from loadstone.report.sections.opening import opening_blocks
from loadstone.report.tables.columns import MARKS
from loadstone.report.written import phrase_text, words
from loadstone.text.language import translated

if TYPE_CHECKING:  # what draws may be missing
    from loadstone.report.charts.chart import Chart

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
    yield from (f"# {text(analysis.question)}", "")
    yield from _blocks(opening_blocks(analysis), charts, 2)
    badges = [badge for badge, _ in summary.status_marks(analysis)]
    said = "; ".join([summary.trials(analysis), *badges])
    yield from (f"{text(said)}. {summary.time_used(analysis)}".strip(), "")
    for note in analysis.notes:
        yield from (text(note), "")
    if why := without_pictures():
        yield from (f"*{text(why)}*", "")
    for section in document_of(analysis).of("markdown"):
        yield from _section(section, charts)


def _section(section: Section, charts: "Sequence[Chart]") -> Iterator[str]:
    if section.heading:
        yield from (f"## {text(section.heading)}", "")
    yield from (line for alarm in section.alarms for line in (f"**{text(alarm)}**", ""))
    yield from _blocks(section.blocks, charts, 3)


def markdown_blocks(blocks: Iterable[Block]) -> list[str]:
    """Lines of blocks for a text of another kind, without pictures."""
    return "\n".join(_blocks(blocks, [], 3)).rstrip().split("\n")


def _blocks(blocks: Iterable[Block], charts: "Sequence[Chart]", level: int) -> Iterator[str]:
    """Lines of blocks below a heading of the level before; empty ones between blocks."""
    for block in blocks:
        match block:
            case Only():
                if "markdown" in block.layouts:
                    yield from _blocks(block.blocks, charts, level)
            case Part() | Fold():
                place = target(block.anchor) if isinstance(block, Fold) and block.anchor else ""
                yield from (f"{'#' * level} {place}{text(block.heading)}", "")
                if isinstance(block, Fold):
                    yield from (text(block.reading), "")
                yield from _blocks(block.blocks, charts, level + 1)
            case FactsBlock():
                yield from (f"{'#' * level} {text(block.title)}", "")
                yield from (*(f"- **{text(name)}**: {text(value)}" for name, value in block.facts), "")
            case Code():
                yield from _code(block)
            case Finding():
                yield from _finding(block, charts)
            case Picture():
                chart = chart_of(charts, block)
                if chart is not None and block.is_titled:
                    yield from (f"## {text(chart.heading)}", "")
                yield from picture(chart)
            case SectionTable():
                yield from _table_lines(block, level)
            case Paragraph():
                bold = "**" if block.tone in ("answer", "banner") else ""
                yield from (f"{bold}{text(block.text)}{bold}", "")
            case Phrase():
                yield from (text(phrase_text(block)), "")
            case Bullets():
                numbered = enumerate(block.items, 1)
                signs = (f"{number}." if block.is_numbered else "-" for number, _one in numbered)
                yield from (line for sign, one in zip(signs, block.items, strict=True) for line in _bullet(sign, one))
                yield ""
            case Pictures():
                for _heading, one in block.parts:
                    yield from picture(chart_of(charts, one))
            case Shares():
                yield from (text(", ".join(f"{number} {translated(kind)}" for kind, number in block.shares)), "")
            case _:
                assert_never(block)


def _code(code: Code) -> Iterator[str]:
    """In a fence that is longer than any that stands within it."""
    lines = list(map(words, code.lines))
    ticks = max((len(found) for found in re.findall("`+", " ".join(lines))), default=0)
    fence = "`" * max(3, ticks + 1)
    yield from (f"{fence}sh", *lines, fence, "")


def _table_lines(table: SectionTable, level: int) -> Iterator[str]:
    """What is wrong with rows stands below the table."""
    if table.title:
        yield from (f"{'#' * level} {text(table.title)}", "")
    if table.note:
        yield from (text(table.note), "")
    yield f"| {' | '.join(text(column.head) for column in table.columns)} |"
    yield f"|---|{''.join('---:|' if column.kind == 'figures' else '---|' for column in table.columns[1:])}"
    for line in table.lines:
        label = link(line.target, line.label) if line.cells else f"**{text(line.label)}**"
        label = f"{MARKS[line.verdict]} {label}" if line.verdict else label
        label = f"{target(line.anchor)}{label}" if line.anchor else label
        cells = map(_cell, line.cells) if line.cells else [""] * (len(table.columns) - 1)
        yield f"| {' | '.join([label, *cells])} |"
    yield ""
    problems = [f"- {text(line.label)}: {text(said)}" for line in table.lines for said in line.problems]
    yield from (*problems, "") if problems else ()


def _cell(cell: SectionCell) -> str:
    figure = text(written.cell(cell))
    parts = [f"~~{figure}~~" if cell.struck else figure]
    if cell.aside:
        parts.append(f"({text(cell.aside)})")
    if cell.link is not None:
        parts.append(link(cell.link.anchor, cell.link.text))
    if cell.reason:
        parts[-1] += f": {text(cell.reason)}"
    return " ".join(parts)


def _bullet(sign: str, bullet: Bullet) -> Iterator[str]:
    mark = f"{MARKS[bullet.verdict]} " if bullet.verdict else ""
    name = f"**{text(bullet.name)}**: " if bullet.name else ""
    answer = f"**{text(bullet.answer.verdict)}**: {text(bullet.answer.text)} " if bullet.answer else ""
    yield f"{sign} {mark}{name}{text(bullet.text)} {answer}{text(bullet.aside)}".rstrip()
    yield from (f"   - {text(line)}" for line in bullet.below)


def _finding(one: Finding, charts: "Sequence[Chart]") -> Iterator[str]:
    """For each condition what was found, its pictures, and what that rests on."""
    own: dict[str, Chart] = {chart.kind: chart for chart in charts if chart.condition == one.condition}
    yield from (f"### {text(one.title)}", "", f"**{text(one.verdict)}**", "")
    yield from (f"- {text(name)}: {text(said)}" for name, said in one.facts)
    yield ""
    for shown in one.shown:
        yield from picture(own.get(shown.kind))
        if shown.remarks:
            yield from (" ".join(map(text, shown.remarks)), "")
    yield from _blocks(one.rests_on, charts, 4)
    if one.note is not None:
        yield from (text(one.note), "")


def text(said: Words | None) -> str:
    """What may stand anywhere in the document: no markup, no HTML. Everything that is not ours passes here."""
    escaped = _MARKUP.sub(r"\\\1", words(said))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def link(anchor: str | None, raw: Words) -> str:
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
