"""What a report shows of crashes: what servers that were killed under load had acknowledged, and lost."""

from collections.abc import Sequence

from loadstone.judge.analysis.crashes import CrashRow, CrashTable
from loadstone.report.document import Paragraph, Section, SectionCell, SectionColumn, SectionTable, TableRow
from loadstone.text.message import Message, message

_COLUMNS = (
    SectionColumn(message("crash_condition"), message("crash_condition_meaning")),
    SectionColumn(message("crash_tries"), message("crash_tries_meaning")),
    SectionColumn(message("crash_lost"), message("crash_lost_meaning")),
    SectionColumn(message("crash_present"), message("crash_present_meaning")),
    SectionColumn(message("crash_unacknowledged"), message("crash_unacknowledged_meaning")),
    SectionColumn(message("crash_worst"), message("crash_worst_meaning")),
    SectionColumn(message("crash_restart"), message("crash_restart_meaning")),
)


def crash_section(tables: Sequence[CrashTable]) -> Section:
    """What was lost when servers were killed."""
    return Section(
        name="crashes",
        heading=message("crash_heading"),
        blocks=(
            *(SectionTable(table.title, _COLUMNS, tuple(map(_line, table.rows)), table.note) for table in tables),
            Paragraph(message("crash_reading"), "note"),
        ),
        alarms=tuple(_alarm(row) for table in tables for row in table.rows if row.broken),
    )


def _line(row: CrashRow) -> TableRow:
    """Dashes where nothing is known."""
    lost = _lost(row) if row.acknowledged else None
    short = message("crash_short", lost=lost, tries=row.times)
    figures: tuple[SectionCell, ...] = (SectionCell(None),) * (len(_COLUMNS) - 2)
    if lost is not None:
        looked_up = (row.present, row.unacknowledged_present) if row.looked_up else (None, None)
        figures = (
            SectionCell(row.lost_min, said=lost, alarm=row.lost_min > 0),
            *map(SectionCell, looked_up),
            SectionCell(row.lost_worst, alarm=row.lost_worst > 0),
            SectionCell(row.restart_s or None, "seconds"),
        )
    return TableRow(row.label, (SectionCell(row.times), *figures), short, tuple(row.problems))


def _lost(row: CrashRow) -> Message:
    """`0 of 1,000`, `20 of 1,000 (2 %)` or `0 to 5 of 1,000 (bounds)`; of overwritten keys `of 1,000 keys`."""
    return message(
        "crash_lost_of",
        least=row.lost_min,
        most=row.lost_max,
        acknowledged=row.acknowledged,
        overwritten=row.writes > row.acknowledged,
        counted=not row.looked_up,
    )


def _alarm(row: CrashRow) -> Message:
    promised = row.promised or 0
    return message("crash_alarm", label=row.label, promised=promised, lost=_lost(row), keys=list(row.lost_keys))
