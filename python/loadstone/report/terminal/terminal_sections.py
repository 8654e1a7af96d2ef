"""Sections of the terminal's report that only some studies have: lost writes, and lessons."""

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadstone.analyse.model import CrashRow, CrashTable, LessonAnswer
from loadstone.report import crashes as crash_text
from loadstone.report import format as fmt
from loadstone.report import lessons as lesson_text

_LABEL_MAX = 40
_LABEL_SHARE = 3
_VERDICTS = {"caught": "green", "did_not_happen": "green", "unknown": "yellow"}


def crashes(tables: Sequence[CrashTable], width: int, *, short: bool = False) -> Iterator[RenderableType]:
    """What was lost when a server was killed; `short`: a line a condition."""
    if not tables:
        return
    yield Text()
    yield Text(crash_text.heading(), style="bold")
    yield from (Text(fmt.plain(alarm), style="bold red") for alarm in crash_text.alarms(tables))
    for table in tables:
        if short:
            yield from map(_short, table.rows)
            continue
        yield Text(fmt.plain(table.title))
        yield _crashes(table.rows, width)
        for row in table.rows:
            yield from (
                Text(f"  ! {fmt.plain(row.label)}: {fmt.sentence(said)}", style="yellow") for said in row.problems
            )
    if not short:
        yield Text(crash_text.reading(), style="dim")


def _short(row: CrashRow) -> Text:
    return Text(f"  {fmt.plain(row.label)}: {crash_text.short(row)}")


def _crashes(rows: list[CrashRow], width: int) -> Table:
    """A line a condition; on a narrow terminal without the columns at the end."""
    longest = max((cell_len(fmt.plain(row.label)) for row in rows), default=0)
    label = max(len("condition"), min(_LABEL_MAX, longest, width // _LABEL_SHARE))
    columns = [
        [header, *(crash_text.cells(row)[place] for row in rows)]
        for place, header in enumerate(list(crash_text.headers())[1:])
    ]
    while len(columns) > 1 and label + sum(2 + max(map(cell_len, column)) for column in columns) > width:
        columns.pop()
    grid = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="dim")
    grid.add_column("condition", no_wrap=True, overflow="ellipsis", width=label)
    for column in columns:
        grid.add_column(column[0], justify="right", no_wrap=True)
    for number, row in enumerate(rows, 1):
        grid.add_row(Text(fmt.plain(row.label)), *(column[number] for column in columns))
    return grid


def lessons(answers: Sequence[LessonAnswer]) -> Iterator[RenderableType]:
    """What went wrong then, and below it what shows here."""
    if not answers:
        return
    yield Text()
    yield Text(lesson_text.heading(), style="bold")
    for lesson in answers:
        verdict = lesson_text.lesson_verdict(lesson.verdict)
        now = Text.assemble((verdict, _VERDICTS[lesson.verdict]), ": ", fmt.sentence(lesson.now))
        yield Padding(Group(Text(fmt.plain(lesson.then)), Padding(now, (0, 0, 0, 2))), (0, 0, 0, 2))
