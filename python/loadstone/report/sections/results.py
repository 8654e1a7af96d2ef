"""What a report shows of the figures: the rows that say most, and every table with its pictures."""

from collections.abc import Iterator

from loadstone.judge.analysis.analysis import Analysis, ResultTable
from loadstone.report import figure_format as fmt
from loadstone.report import summary
from loadstone.report.charts.shape import shape_of, shape_of_run
from loadstone.report.document import (
    Block,
    Fold,
    Only,
    Paragraph,
    Part,
    Phrase,
    Picture,
    Section,
    Term,
)
from loadstone.report.figure_quality import bound_lines, different_rows
from loadstone.report.sections.observed import observed_tables
from loadstone.report.summary import anchors_of, stall_lines
from loadstone.report.tables import observed
from loadstone.report.tables.columns import (
    FULL_LOAD,
    FULL_LOAD_READING,
    TPS,
    columns_for,
    end_columns,
    full_load_columns,
    full_load_line,
    most_telling,
    rate_of_run,
)
from loadstone.report.tables.figure_table import figure_table
from loadstone.text.language import _, plural, translatable, translated

_MAIN_ROWS_MAX = 20
"""More conditions than this stand in the folded tables alone."""


def main_section(analysis: Analysis) -> Section | None:
    """The one table of the page that is not folded: the rows that say most, of all tables; None without a figure."""
    every = different_rows(analysis)
    if not any(row.goodput_per_s is not None for row in every):
        return None
    rows = most_telling(analysis, _MAIN_ROWS_MAX)
    columns = end_columns(rows, tps=rate_of_run(analysis) is TPS)
    anchor = "main-figures"
    left = len(every) - len(rows)
    more = plural(left, "{n} more condition, and all columns", "{n} more conditions, and all columns")
    blocks: tuple[Block, ...] = (
        *([] if any(family.comparisons for family in analysis.families) else [Picture("rps")]),
        figure_table(columns, rows, anchors_of(analysis), label=_("Main figures"), shape=shape_of_run(analysis)),
        *(Paragraph(f"{one.title}: {one.meaning}", "note") for one in columns if one.ranks),
        Picture("cost"),
        *([Paragraph(more, "note", target="results")] if left else []),
    )
    return Section("figures", _("Main figures"), blocks, anchor=anchor, layouts=("page",), is_open=True)


def cost_picture(analysis: Analysis) -> Section | None:
    """What a request costs, under the heading of the picture; on the page it stands with the main figures."""
    if not analysis.tables:
        return None
    return Section("cost-picture", "", (Picture("cost", is_titled=True),), layouts=("markdown",))


def results_section(analysis: Analysis) -> Section:
    """Every table, and what is to be known of its figures."""
    rows = len(different_rows(analysis))
    counted = plural(rows, "{rows} condition", "{rows} conditions", rows=fmt.count(rows))
    blocks: tuple[Block, ...] = (
        *_source(analysis),
        *(_table(analysis, table, number) for number, table in enumerate(analysis.tables, 1)),
        *([] if analysis.tables else [Only(("page",), (Paragraph(_("There are no results.")),))]),
        Only(("terminal",), tuple(_on_terminal(analysis))),
    )
    hint = _("{counted}: rates, response times, usage", counted=counted)
    return Section("results", _("Results"), blocks, hint=hint, in_outcome=False, is_part=True)


def _source(analysis: Analysis) -> Iterator[Block]:
    """Where published figures are from."""
    if not analysis.published_source:
        return
    source = fmt.sentence(analysis.published_source)
    terms = (("published", Term("published", _("Published"))), ("source", Term("", source)))
    yield Only(("page",), (Phrase(translatable("{published} figures: {source}."), terms, tone="source"),))
    said = _("Published figures: {sentence}. They are context, not a target.", sentence=source)
    yield Only(("markdown",), (Paragraph(said),))


def _table(analysis: Analysis, table: ResultTable, number: int) -> Part:
    busiest = any(row.cpu_share for row in table.rows) and not any(row.bottleneck for row in table.rows)
    figures = figure_table(
        columns_for(table),
        table.rows,
        anchors_of(analysis),
        label=table.title,
        vary=table.vary,
        shape=shape_of(table, analysis),
        has_reasons=True,
        has_busiest=busiest,
    )
    on_terminal = filter(None, [full_load_line(table.rows)])
    blocks: tuple[Block, ...] = (
        *([Only(("page", "markdown"), (Paragraph(table.note, "note"),))] if table.note else []),
        Picture("rps", table.name),
        figures,
        *(Paragraph(line, "note") for line in summary.latency_lines(table)),
        Only(("terminal",), tuple(Paragraph(line, "note") for line in on_terminal)),
        Picture("latency", table.name),
        Only(("page", "markdown"), tuple(_full_load(analysis, table, number))),
        Only(("page",), tuple(_observed(analysis, table))),
    )
    return Part(table.title, blocks, f"table-{number}")


def _full_load(analysis: Analysis, table: ResultTable, number: int) -> Iterator[Fold]:
    """The latencies under full load, in a table that is folded."""
    columns = full_load_columns(table)
    if not columns:
        return
    rows = [row for row in table.rows if row.response_ns]
    heading = translated(FULL_LOAD)
    figures = figure_table(columns, rows, anchors_of(analysis), label=heading, has_bars=False)
    lines = (Paragraph(line, "note") for line in summary.unmeasurable_lines(columns, table.rows))
    blocks = (figures, Only(("page",), tuple(lines)))
    yield Fold(heading, translated(FULL_LOAD_READING), blocks, f"full-load-{number}")


def _observed(analysis: Analysis, table: ResultTable) -> Iterator[Fold]:
    if tables := observed_tables(analysis, table):
        yield Fold(translated(observed.HEADING), translated(observed.READING), tables)


def _on_terminal(analysis: Analysis) -> Iterator[Block]:
    """What bounds the figures, and what stands in the report alone."""
    yield from map(Paragraph, (*bound_lines(analysis), *stall_lines(analysis)))
    if observed.has_application(analysis):
        yield Paragraph(_("vmstat's columns, and CPU, memory and connections of each part: in the report."), "note")
    rows = [row for table in analysis.tables for row in table.rows]
    if analysis.published_source and any(row.published or row.published_columns for row in rows):
        source = fmt.sentence(analysis.published_source)
        yield Paragraph(_("Published: {sentence}; context, not a target.", sentence=source), "note")
