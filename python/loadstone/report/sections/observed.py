"""What a report shows of the machine and of each part while a table was measured."""

from loadstone.judge.analysis.analysis import Analysis, ResultTable
from loadstone.report import figure_format as fmt
from loadstone.report.document import Paragraph, Part, Section, SectionCell, SectionColumn, SectionTable, TableRow
from loadstone.report.summary import Anchors, anchors_of
from loadstone.report.tables.observed import HEADING, READING, ObservedCell, ObservedTable, observed_in
from loadstone.text.language import _, translated


def observed_section(analysis: Analysis) -> Section | None:
    """All tables in one section: on the page they stand with the figures. None where nothing is to be shown."""
    parts = [(table, observed_tables(analysis, table)) for table in analysis.tables]
    blocks = tuple(Part(table.title, tables) for table, tables in parts if tables)
    if not blocks:
        return None
    heading, reading = translated(HEADING), Paragraph(translated(READING), "note")
    return Section("observed", heading, (reading, *blocks), layouts=("markdown",))


def observed_tables(analysis: Analysis, table: ResultTable) -> tuple[SectionTable, ...]:
    """Maxima and averages, a table a kind of figures."""
    anchors = anchors_of(analysis)
    return tuple(_table(found, table, anchors) for found in observed_in(analysis, table))


def _table(found: ObservedTable, table: ResultTable, anchors: Anchors) -> SectionTable:
    part = [SectionColumn(_("part"), kind="parts")] if found.of_parts else []
    figures = (SectionColumn(translated(one.header), translated(one.explanation)) for one in found.columns)
    lines = (
        TableRow(
            line.row.label,
            (
                *([SectionCell(None, said=fmt.part_name(line.part))] if part else []),
                *map(_cell, line.cells),
            ),
            anchor=anchors.condition(line.row.trials),
        )
        for line in found.lines
    )
    return SectionTable(
        found.title,
        (SectionColumn(_("condition")), *part, *figures),
        tuple(lines),
        style="wide" if found.of_parts else "wide stacked",
        label=f"{fmt.plain(table.title)}: {found.title}",
    )


def _cell(cell: ObservedCell) -> SectionCell:
    return SectionCell(None, said=cell.highest, aside=cell.average) if cell.highest else SectionCell(None, faint=True)
