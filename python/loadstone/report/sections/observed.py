"""What a report shows of the machine and of each part while a table was measured."""

from collections.abc import Sequence

from loadstone.judge.analysis.analysis import Analysis, ResultTable
from loadstone.monitors import catalogue
from loadstone.monitors.metric import MetricTable
from loadstone.report import figure_format as fmt
from loadstone.report.document import Paragraph, Part, Section, SectionCell, SectionColumn, SectionTable, TableRow
from loadstone.report.summary import Anchors, anchors_of
from loadstone.report.tables.observed import (
    HEADING,
    READING,
    Figures,
    ObservedColumn,
    columns_of,
    has_application,
    kinds_in,
    parts,
)
from loadstone.run_folder.facts import HOST
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
    """Maxima and averages, a table a kind of figures; none where no application was under test."""
    if not has_application(analysis):
        return ()
    columns = (metric.column for metric in catalogue.METRICS.values() if metric.column is not None)
    made = (_table(kind, table, anchors_of(analysis)) for kind in dict.fromkeys(column.table for column in columns))
    return tuple(one for one in made if one is not None)


def _table(kind: MetricTable, table: ResultTable, anchors: Anchors) -> SectionTable | None:
    """Columns and lines with something to say, row by row, in the order of its kinds; None where there is nothing."""
    seen = [
        (row, part, figures) for row in table.rows for one in kinds_in(*kind.kinds) for part, figures in parts(row, one)
    ]
    columns = [one for one in columns_of(kind) if _says_something(one, [figures for _, _, figures in seen])]
    known = [
        (row, part, figures) for row, part, figures in seen if any(one.figure(figures) is not None for one in columns)
    ]
    if not known:
        return None
    of_parts = any(part != HOST for _, part, _ in known)
    heads = (SectionColumn(translated(one.header), translated(one.explanation)) for one in columns)
    named = [SectionColumn(_("part"), kind="parts")] if of_parts else []
    lines = (
        TableRow(
            row.label,
            (
                *([SectionCell(None, said=fmt.part_name(part))] if of_parts else []),
                *(_cell(one, figures) for one in columns),
            ),
            target=anchors.condition(row.trials),
        )
        for row, part, figures in known
    )
    title = translated(kind.title)
    return SectionTable(
        title,
        (SectionColumn(_("condition")), *named, *heads),
        tuple(lines),
        style="wide" if of_parts else "wide stacked",
        label=f"{fmt.plain(table.title)}: {title}",
    )


def _says_something(column: ObservedColumn, figures_of_parts: Sequence[Figures]) -> bool:
    found = [figure for figures in figures_of_parts if (figure := column.figure(figures)) is not None]
    return any(figure.max for figure in found) or (bool(found) and column.always)


def _cell(column: ObservedColumn, figures: Figures) -> SectionCell:
    figure = column.figure(figures)
    if figure is None:
        return SectionCell(None, faint=True)
    return SectionCell(None, said=column.text(figure.max), aside=column.text(figure.avg))
