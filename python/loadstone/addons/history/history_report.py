"""A figure across runs for a terminal, and as CSV: a line a run with its interval, and hints where it changed."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rich.cells import cell_len

from loadstone.addons.history.aligned import aligned
from loadstone.addons.history.changes import FigureHistory, Hint, History
from loadstone.addons.history.trends import RunSeries, TrendFigure, TrendPoint, is_answered
from loadstone.addons.history.trends_text import differs_text, figure_name, figure_text, hint_text, interval_text
from loadstone.report import figure_format as fmt
from loadstone.text.language import _, plural

_BARS = "▁▂▃▄▅▆▇█"
_SPARK_RUNS = 40
"""Number of the newest runs that stand in a row of the overview."""
_BEYOND = 1.3
"""Most times that the scale reaches beyond the figures themselves."""
_DRAWN_MIN = 24
"""Columns for intervals: with fewer they are left out."""
_HEAD_MAX = 24
"""Letters of a gate's head."""
_NAMED_MAX = 5
"""More runs without a figure are counted."""
CSV_COLUMNS = ("time", "number", "run", "branch", "line", "condition", "metric", "value", "low", "high", "head")
"""`branch` numbers the courses, that of the newest run is 1: apache-otava reads such a file, a branch at a time."""


def overview_lines(history: History) -> list[str]:
    """A line a condition: its runs, their course, the newest figure, and the hint."""
    cells = [
        (
            fmt.plain(one.over.label),
            figure_name(one.over.metric),
            _number_of_runs(one),
            _spark([point.figure for point in _course(one)][-_SPARK_RUNS:]),
            interval_text(one.over.metric, one.over.lines[0].points[-1]),
        )
        for one in history.figures
    ]
    lines = [_heading(history)]
    for one, row in zip(history.figures, aligned(cells, cell_len), strict=True):
        lines.append(row.rstrip())
        lines += [f"  ↕ {line}" for hint in one.hints for line in _hint_lines(hint)]
    if any(len(one.courses) > 1 for one in history.figures):
        lines.append(_("2/3: of 3 runs 2 are drawn; the others are of another load, machine or version of loadstone."))
    return [*lines, *_ending(history)]


def figure_lines(history: History, width: int) -> list[str]:
    """One figure: each run with its interval drawn, oldest first, and the hints where they belong."""
    (figure,) = history.figures
    metric = figure.over.metric
    lines = [_heading(history), f"{fmt.plain(figure.over.label)}: {figure_name(metric)}"]
    rows = _rows(history, figure)
    head = (_("head"),) if is_answered(figure.over.metric) else ()
    heads = (_("no."), _("began (UTC)"), _("line"), *head, _("figure and 95 % interval"))
    top, *texts = aligned([heads, *(row for row, _point in rows)], cell_len)
    room = width - cell_len(top) - 3
    drawing = _Drawing([point.figure for _row, point in rows], min(room, 60)) if room >= _DRAWN_MIN else None
    scale = "" if drawing is None else drawing.scale(metric)
    lines += ["", f"{top}  {scale}".rstrip()]
    hints = {hint.after.number: hint for hint in figure.hints}
    for text, (row, point) in zip(texts, rows, strict=True):
        if (hint := hints.get(int(row[0]))) is not None:
            lines += [f"  ↕ {line}" for line in _hint_lines(hint)]
        drawn = "" if drawing is None else drawing.of(point.figure)
        lines.append(f"{text}  {drawn}".rstrip())
    lines += [""] if any(line.unlike for line in figure.over.lines) else []
    lines += [_unlike(line) for line in figure.over.lines if line.unlike]
    if (number := len(figure.over.without)) > _NAMED_MAX:
        lines.append(_("Without this figure: {number} runs, those whose numbers are missing", number=number))
    elif number:
        lines.append(_("Without this figure: {runs}", runs=fmt.plain(", ".join(figure.over.without))))
    if figure.others:
        lines.append(_("Other figures of it: --metric {metrics}", metrics=fmt.plain(", ".join(figure.others))))
    return [*lines, *_ending(history)]


def csv_text(history: History) -> str:
    """A line a run and figure: plain numbers in the units of the metric's name."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    numbers = {run.run: run.number for run in history.runs}
    for one in history.figures:
        label = fmt.without_formula(fmt.plain(one.over.label))
        courses = {run: number for number, course in enumerate(one.courses, start=1) for run in course}
        for line, point in _in_order(one):
            course = str(courses.get(point.run, ""))
            branch = course if len(history.figures) == 1 else f"{label} {course}"
            figure = point.figure
            values = map(_number, (figure.value, figure.low, figure.high))
            began = datetime.fromtimestamp(point.began_unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            run, head = (fmt.without_formula(fmt.plain(text)) for text in (point.run, point.head))
            writer.writerow((began, numbers[point.run], run, branch, line.name, label, one.over.metric, *values, head))
    return text.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.12g}"


def _heading(history: History) -> str:
    runs = len(history.runs)
    said = plural(runs, "{n} run of {experiment}", "{n} runs of {experiment}", experiment=history.experiment)
    return fmt.plain(said)


def _ending(history: History) -> Iterator[str]:
    of_gates = all(is_answered(one.over.metric) for one in history.figures)
    if not sum(one.looked for one in history.figures):
        if of_gates:
            yield _("A change is looked for from {runs} gates of one base and load on.", runs=history.runs_min)
            return
        yield _(
            "Too few runs to look for a change: {runs} of one machine, load and version of loadstone.",
            runs=history.runs_min,
        )
        return
    if not any(one.hints for one in history.figures):
        yield _("No change is suspected.")
        return
    if of_gates:
        yield _(
            "A hint is no proof: gates of different times differ by the machine, too. Compare both heads now, in "
            "turns: `loadstone gate --base EARLIER --head LATER`"
        )
        return
    newest = max((hint for one in history.figures for hint in one.hints), key=lambda hint: hint.after.number)
    yield _(
        "A hint is no proof: runs of different times differ by the machine, too. Compare both versions now, in turns, "
        "under the load in question: `{command}`",
        command=newest.gate,
    )


def _hint_lines(hint: Hint) -> Iterator[str]:
    yield hint_text(hint)
    if differs := differs_text(hint):
        yield differs


def _unlike(line: RunSeries) -> str:
    more = [_("and {number} more differences", number=line.more)] if line.more else []
    return "; ".join([*map(fmt.sentence, line.unlike), *more])


def _in_order(figure: FigureHistory) -> list[tuple[RunSeries, TrendPoint]]:
    """The runs of all lines, the oldest first."""
    found = [(line, point) for line in figure.over.lines for point in line.points]
    return sorted(found, key=lambda one: (one[1].began_unix_s, one[1].run))


def _course(figure: FigureHistory) -> list[TrendPoint]:
    """The runs that are looked at with the newest one, in order."""
    points = [point for _line, point in _in_order(figure)]
    return [point for point in points if point.run in figure.courses[0]] if figure.courses else points


def _number_of_runs(figure: FigureHistory) -> str:
    """`7`; `5/7` where 5 of them are looked at with the newest one."""
    newest, runs = len(_course(figure)), sum(len(line.points) for line in figure.over.lines)
    return f"{runs}" if newest == runs else f"{newest}/{runs}"


_Row = tuple[str, ...]


def _rows(history: History, figure: FigureHistory) -> list[tuple[_Row, TrendPoint]]:
    numbers = {run.run: run.number for run in history.runs}
    digits = max(len(str(number)) for number in numbers.values())
    return [
        (
            (
                f"{numbers[point.run]:>{digits}}",
                datetime.fromtimestamp(point.began_unix_s, UTC).strftime("%Y-%m-%d %H:%M"),
                line.name,
                *([_end_of(point.head)] if is_answered(figure.over.metric) else []),
                interval_text(figure.over.metric, point),
            ),
            point,
        )
        for line, point in _in_order(figure)
    ]


def _end_of(head: str) -> str:
    """What a head is called: commands differ where they end."""
    text = fmt.plain(head)
    return text if len(text) <= _HEAD_MAX else f"…{text[1 - _HEAD_MAX :]}"


def _spark(figures: Sequence[TrendFigure]) -> str:
    values = [one.value for one in figures]
    low, high = min(values), max(values)
    steps = len(_BARS) - 1
    return "".join(_BARS[round(steps * (value - low) / (high - low)) if high > low else steps // 2] for value in values)


class _Drawing:
    """Intervals as text, all on one scale."""

    def __init__(self, figures: Sequence[TrendFigure], columns: int) -> None:
        ends = [end for one in figures for end in (one.value, one.low, one.high) if end is not None]
        finite = [end for end in ends if math.isfinite(end)]
        values = [one.value for one in figures]
        self._low = max(min(finite), min(values) / _BEYOND)  # one wild interval squeezes no other
        self._high = min(max(finite), max(values) * _BEYOND)
        self._columns = columns

    def scale(self, metric: str) -> str:
        """The figures at both ends."""
        low, high = figure_text(metric, self._low), figure_text(metric, self._high)
        return f"{low}{high:>{self._columns - len(low)}}"

    def of(self, figure: TrendFigure) -> str:
        """`  ├──●──┤   `."""
        drawn = [" "] * self._columns
        if figure.low is not None and figure.high is not None:
            begin, end = self._at(figure.low), self._at(figure.high)
            drawn[begin : end + 1] = "─" * (end + 1 - begin)
            drawn[begin], drawn[end] = "├", "┤"
        drawn[self._at(figure.value)] = "●"
        return "".join(drawn).rstrip()

    def _at(self, value: float) -> int:
        if self._high <= self._low:
            return self._columns // 2
        share = (min(max(value, self._low), self._high) - self._low) / (self._high - self._low)
        return round(share * (self._columns - 1))
