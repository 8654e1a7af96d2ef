"""What a report shows of the figures: the rows that say most, and every table with its pictures."""

from collections.abc import Iterator, Sequence

from loadstone.judge.analysis.analysis import Analysis, ResultTable, Row
from loadstone.report import figure_format as fmt
from loadstone.report import summary
from loadstone.report.document import (
    Block,
    Bullet,
    Bullets,
    FigureRow,
    Figures,
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
from loadstone.report.summary import anchors_of, example_lines, failure_lines, stall_lines
from loadstone.report.tables import observed
from loadstone.report.tables.columns import (
    FULL_LOAD,
    FULL_LOAD_READING,
    MARKS,
    TPS,
    columns_for,
    end_columns,
    full_load_columns,
    full_load_line,
    most_telling,
    rate_of_run,
)
from loadstone.text.language import _, plural, translatable, translated

_WIDE_FROM = 10
"""A table with more columns is set closer."""
_MAIN_ROWS_MAX = 20
"""More conditions than this stand in the folded tables alone."""
ROWS_MAX = 36
"""A longer table is shortened on a terminal."""
ROWS_KEPT = 24


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
        Figures(tuple(columns), _rows(analysis, rows), anchor),
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
    columns, anchor = columns_for(table), f"table-{number}"
    latency = summary.latency_lines(table)
    figures = Figures(
        tuple(columns),
        _rows(analysis, table.rows),
        anchor,
        is_wide=len(columns) > _WIDE_FROM,
        has_reasons=True,
        has_busiest=any(row.cpu_share for row in table.rows) and not any(row.bottleneck for row in table.rows),
    )
    known = tuple(map(Bullet, (*_troubles(table), *example_lines(table.rows), *latency)))
    blocks: tuple[Block, ...] = (
        *([Only(("page", "markdown"), (Paragraph(table.note, "note"),))] if table.note else []),
        Picture("rps", table.name),
        Only(("page", "markdown"), (figures,)),
        Only(("terminal",), tuple(_shortened(table))),
        *([Only(("markdown",), (Bullets(known),))] if known else []),
        Only(("page",), tuple(Paragraph(line, "note") for line in latency)),
        Picture("latency", table.name),
        Only(("page", "markdown"), tuple(_full_load(analysis, table, number))),
        Only(("page",), tuple(_observed(analysis, table))),
    )
    return Part(table.title, blocks, anchor)


def _rows(analysis: Analysis, rows: Sequence[Row]) -> tuple[FigureRow, ...]:
    anchors = anchors_of(analysis)
    return tuple(FigureRow(row, anchors.condition(row.trials)) for row in rows)


def _troubles(table: ResultTable) -> Iterator[str]:
    """What checks say of rows that are not valid."""
    for row in table.rows:
        if row.reasons and row.verdict != "valid":
            why = " ".join(map(fmt.sentence, row.reasons))
            yield f"{MARKS[row.verdict]} {fmt.plain(row.label)}: {translated(row.verdict)}. {why}"


def _full_load(analysis: Analysis, table: ResultTable, number: int) -> Iterator[Fold]:
    """The latencies under full load, in a table that is folded."""
    columns = full_load_columns(table)
    if not columns:
        return
    anchor = f"full-load-{number}"
    figures = Figures(
        tuple(columns),
        _rows(analysis, [row for row in table.rows if row.response_ns]),
        f"{anchor}-heading",
        is_wide=len(columns) > _WIDE_FROM,
        has_bars=False,
    )
    lines = (Paragraph(line, "note") for line in summary.unmeasurable_lines(columns, table.rows))
    blocks = (figures, Only(("page",), tuple(lines)))
    yield Fold(translated(FULL_LOAD), translated(FULL_LOAD_READING), blocks, anchor)


def _observed(analysis: Analysis, table: ResultTable) -> Iterator[Fold]:
    if tables := observed_tables(analysis, table):
        yield Fold(translated(observed.HEADING), translated(observed.READING), tables)


def rows_of_table(table: ResultTable, rows: Sequence[Row]) -> Figures:
    """Some of its rows, for a terminal, which follows no links."""
    shown = tuple(FigureRow(row, None) for row in rows)
    return Figures(tuple(columns_for(table)), shown, every=tuple(table.rows), vary=table.vary)


def _shortened(table: ResultTable) -> Iterator[Block]:
    """As many rows as a terminal has room for, and what is to be known of them."""
    shown = shortened(table.rows)
    yield rows_of_table(table, shown)
    if left := len(table.rows) - len(shown):
        yield Paragraph(_("… {left} more rows in the report", left=left), "note")
    yield from (Paragraph(line, "doubt") for line in (*failure_lines(shown), *example_lines(shown)))
    for line in filter(None, (*summary.latency_lines(table), full_load_line(table.rows))):
        yield Paragraph(line, "note")


def shortened(rows: list[Row]) -> list[Row]:
    """All rows of a table that fits a screen, else some of every part of it, evenly spread."""
    if len(rows) <= ROWS_MAX:
        return rows
    step = len(rows) / ROWS_KEPT
    regular = {int(place * step) for place in range(ROWS_KEPT)}
    return [row for place, row in enumerate(rows) if place in regular]


def _on_terminal(analysis: Analysis) -> Iterator[Block]:
    """What bounds the figures, and what stands in the report alone."""
    yield from map(Paragraph, (*bound_lines(analysis), *stall_lines(analysis)))
    if observed.has_application(analysis):
        yield Paragraph(_("vmstat's columns, and CPU, memory and connections of each part: in the report."), "note")
    rows = [row for table in analysis.tables for row in table.rows]
    if analysis.published_source and any(row.published or row.published_columns for row in rows):
        source = fmt.sentence(analysis.published_source)
        yield Paragraph(_("Published: {sentence}; context, not a target.", sentence=source), "note")
