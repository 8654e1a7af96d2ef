"""What a report shows of a gate: its figures, of which the verdict opens the report."""

from loadstone.addons.gate.result import GateFigure, GateResult
from loadstone.report.document import Paragraph, Section, SectionCell, SectionColumn, SectionTable, TableRow, Unit
from loadstone.text.language import author_text
from loadstone.text.message import Message, message

NAMES = {
    "rate": author_text("requests a second"),
    "cpu": author_text("CPU per request"),
    "p99": author_text("P99 at the same rate"),
    "memory": author_text("memory"),
}
_UNITS: dict[str, Unit] = {"/s": "per_s", "ns": "ns", "bytes": "bytes"}


_COLUMNS = (
    SectionColumn(message("gate_column_figure"), message("gate_column_figure_meaning")),
    SectionColumn(message("gate_column_verdict"), message("gate_column_verdict_meaning"), kind="names"),
    SectionColumn(message("gate_column_change"), message("gate_column_change_meaning")),
    SectionColumn(message("gate_column_base"), message("gate_column_base_meaning")),
    SectionColumn(message("gate_column_head"), message("gate_column_head_meaning")),
    SectionColumn(message("gate_column_visible"), message("gate_column_visible_meaning")),
    SectionColumn(message("gate_column_twin"), message("gate_column_twin_meaning")),
)
"""The last one where there is a twin; on a narrow screen the first ones are seen."""


def gate_section(result: GateResult) -> Section:
    """A line a figure, with the noise floor where a twin showed it."""
    columns = _COLUMNS if result.twin else _COLUMNS[:-1]
    twins = {one.name: one for one in result.twin}
    lines = tuple(_line(one, [twins.get(one.name)] if result.twin else []) for one in result.figures)
    return Section(
        name="gate",
        heading=message("gate_heading"),
        blocks=(
            SectionTable("", columns, lines),
            *([] if result.advice is None else [Paragraph(result.advice, "note")]),
        ),
        in_outcome=False,
        leads=True,
    )


def _line(figure: GateFigure, twin: list[GateFigure | None]) -> TableRow:
    unit = _UNITS[figure.unit]
    standing = message("gate_standing", standing=figure.verdict, figure=figure.name)
    cells = (
        SectionCell(None, said=standing, alarm=figure.verdict == "slower"),
        _change(figure),
        SectionCell(figure.base, unit),
        SectionCell(figure.head, unit),
        SectionCell(figure.visible, "share", None if figure.visible is None else _visible(figure.visible)),
        *(_change(one) if one is not None else SectionCell(None) for one in twin),
    )
    why = () if figure.why is None or figure.verdict != "undecided" else (figure.why,)
    return TableRow(NAMES[figure.name], cells, standing, why)


def _visible(share: float) -> Message:
    return message("gate_visible", share=share)


def _change(figure: GateFigure) -> SectionCell:
    said = None if None in figure.change else message("gate_change", change=figure.change)
    return SectionCell(None if figure.ratio is None else figure.ratio - 1, "share", said)
