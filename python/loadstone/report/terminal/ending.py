"""The end of a run on a terminal, at most 25 lines: what is the case, how far to trust it, what to do next."""

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from loadstone.judge.analysis.analysis import Analysis, Comparison, Row
from loadstone.judge.verdict import DECIDED
from loadstone.machine.installation import own_command
from loadstone.report import figure_format as fmt
from loadstone.report import summary, verdicts
from loadstone.report.figure_quality import different_rows, trust_text
from loadstone.report.sections.effects import effect_text
from loadstone.report.sections.of_analysis import document_of
from loadstone.report.summary import example_lines, failure_lines, stall_lines
from loadstone.report.tables.column import STALLED, Column
from loadstone.report.tables.columns import (
    TPS,
    end_columns,
    is_at_rate,
    most_telling,
    rate_of_run,
    suspect_lines,
    told_apart_lines,
)
from loadstone.report.tables.figure_table import figure_table
from loadstone.report.terminal.sections import findings, sections
from loadstone.report.terminal.tables import VERDICT_STYLES, grid_of
from loadstone.run_folder.earlier_runs import NEVER_TAKEN, OF_ONE_START, hides_secret, options_given
from loadstone.text.language import _, plural
from loadstone.text.message import Message, message

LINES_MAX = 25
ROWS_MAX = 12
VERDICT_LINES_MIN = 7
"""Number of lines that the verdicts may have where there is little room; rows of the table give way first."""
_SECTION_LINES_MIN = 6
FAILURES_MAX = 3
"""Lines of errors by kind, and of examples of replies."""
_MEANINGS_MAX = 4
"""Sentences about what figures mean, before the verdicts."""
_ROWS_MIN = 3
_QUESTION_LINES = 2
"""Parts of the head that ask: an empty line, and the question."""
_TITLE_MIN = 24
_WITH_VALUE = {"--resume", "--budget", "--out", "--prometheus"}
"""Options of the run that the next one has otherwise, or not."""


class _Whole(Text):
    """A line that is printed unbroken, however long."""


def print_ending(
    console: Console, analysis: Analysis, report: Path | None, folder: Path | None, *, typed: bool = False
) -> None:
    """Print it. Commands and paths are not broken, so that they can be pasted. `typed`: the command was the question,
    which is not repeated."""
    for part in outcome_lines(console, analysis, report, folder)[_QUESTION_LINES if typed else 0 :]:
        console.print(part, soft_wrap=isinstance(part, _Whole))


def outcome_lines(
    console: Console, analysis: Analysis, report: Path | None, folder: Path | None
) -> list[RenderableType]:
    """Question, headline, verdicts, one table, trust, next step, report; shortened so that it has `LINES_MAX` lines."""
    width = console.width
    head, foot = _head(analysis), _foot(analysis, report, folder)
    room = LINES_MAX - sum(_height(console, part) for part in [*head, *foot])
    most = min(room - 3, max(_SECTION_LINES_MIN, room - VERDICT_LINES_MIN))
    document = document_of(analysis).of("terminal")
    others = _fitting(list(sections(document, width, short=True)), console, most)
    room -= sum(_height(console, part) for part in others)
    effects = _fitting(_effects(analysis), console, room - _table_lines_min(analysis))
    room -= sum(_height(console, part) for part in effects)
    found = _fitting(list(findings(document)), console, room)
    room -= sum(_height(console, part) for part in found)
    # The pairs that effects rest on stand in the report.
    pairs = (
        comparison
        for comparison in verdicts.all_comparisons(analysis)
        if comparison.name not in {e.name for e in analysis.effects}
    )
    judged = sorted(pairs, key=says_little)
    compared = _verdicts(judged, console, max(3, min(room, VERDICT_LINES_MIN), room - _table_lines_min(analysis)), room)
    floors = filter(None, map(verdicts.noise_floor, analysis.families))
    compared += [Text(f"  {floor}", style="dim") for floor in floors]
    room -= sum(_height(console, part) for part in compared)
    failed = _failed(analysis, console, max(0, room - _table_lines_min(analysis)))
    figures = _figures(analysis, width, room - sum(_height(console, part) for part in failed))
    return [*head, *effects, *found, *compared, *others, *figures, *failed, *foot]


def _failed(analysis: Analysis, console: Console, lines_max: int) -> list[RenderableType]:
    """Errors by kind, and what was answered: examples of the first kinds, as many as fit, cut if need be."""
    examples = list(islice(example_lines(different_rows(analysis)), FAILURES_MAX))
    failures = failure_lines(different_rows(analysis), FAILURES_MAX)[: max(0, lines_max - bool(examples))]
    kept: list[RenderableType] = [Text(line, "yellow", overflow="ellipsis", no_wrap=True) for line in failures]
    lines_max -= len(kept)
    for line in examples:
        part: Text = _Whole(line, style="yellow")
        if _height(console, part) > lines_max:
            part = Text(line, style="yellow")
            part.truncate(console.width, overflow="ellipsis")
        lines_max -= _height(console, part)
        if lines_max < 0:
            break
        kept.append(part)
    return kept


def _table_lines_min(analysis: Analysis) -> int:
    """An empty line, the head, a few rows, and how many there are more."""
    rows = different_rows(analysis)
    return 1 + _head_lines(rows) + min(_ROWS_MIN, len(rows)) + 1


def _head_lines(rows: Sequence[Row]) -> int:
    """Lines of a table's head, and of the rule below it: columns at a fixed rate have two."""
    return 3 if is_at_rate(rows) else 2


def _fitting(parts: list[RenderableType], console: Console, lines_max: int) -> list[RenderableType]:
    """As many of the parts as fit, and that there are more."""
    kept: list[RenderableType] = []
    lines = 0
    for place, part in enumerate(parts):
        lines += _height(console, part)
        if lines > lines_max - (place < len(parts) - 1):
            return [*kept, Text(_("  … more in the report"), style="dim")]
        kept.append(part)
    return kept


def _height(console: Console, part: RenderableType) -> int:
    """Return how many lines a part takes on this console; a line that is not broken takes as many as the terminal
    breaks it into."""
    if isinstance(part, _Whole):
        return max(1, -(-cell_len(part.plain) // console.width))
    return len(console.render_lines(part, console.options, pad=False))


def _head(analysis: Analysis) -> list[RenderableType]:
    """The question, and what the run answers in figures; the verdicts follow in lines of their own."""
    parts: list[RenderableType] = [Text(), Text(fmt.plain(analysis.question), style="bold")]
    if analysis.tables or not analysis.is_answered_beside_tables:  # else its findings say it, each in its line
        parts.append(Text(fmt.sentence(analysis.headline) or fmt.sentence(analysis.answer), style="bold cyan"))
        if analysis.costs is not None and not analysis.effects:  # whose lines need the room
            parts.append(Text(fmt.sentence(analysis.costs), style="cyan"))
    said = [fmt.sentence(one) for one in analysis.meanings]
    parts += [Text(one, style="yellow") for one in said[:_MEANINGS_MAX]]
    if left := len(said) - _MEANINGS_MAX:
        parts += [Text(_("… {left} more of these in the report", left=left), style="dim")] if left > 0 else []
    scaled = summary.scaled(analysis)
    return [*parts, Text(scaled, style="yellow")] if scaled else parts


def _foot(analysis: Analysis, report: Path | None, folder: Path | None) -> list[RenderableType]:
    said = [f"{trust_text(analysis)}."]
    said += [fmt.sentence(section.in_foot) for section in document_of(analysis).sections if section.in_foot is not None]
    stalls = stall_lines(analysis, most=1)
    still = [Text(line) for line in stalls[:1]]
    said += [summary.time_used(analysis), *stalls[1:]]
    parts: list[RenderableType] = [Text(), *still, Text(" ".join(said).rstrip())]
    if step := next_step(analysis, folder):
        parts += [Text(step.why), _Whole(f"  {step.command}", style="bold")]
    if report is not None:
        parts.append(_Whole(_("Report: {plain}", plain=fmt.plain(str(report)))))
    return parts


def _effects(analysis: Analysis) -> list[RenderableType]:
    """A line an effect, the main ones first, after an empty one."""
    lines: list[RenderableType] = [
        Text.assemble((f"{verdicts.MARKS[term.verdict.kind]} ", VERDICT_STYLES[term.verdict.kind]), effect_text(term))
        for answer in analysis.effects
        for term in answer.terms
    ]
    return [Text(), *lines] if lines else []


def says_little(comparison: Comparison) -> tuple[bool, bool]:
    """What is decided comes first, what is INVALID last; otherwise in their own order."""
    kind = comparison.leading.kind
    return kind not in DECIDED, kind == "invalid"


def _verdicts(judged: Sequence[Comparison], console: Console, lines_max: int, room: int) -> list[RenderableType]:
    """A line a comparison, after an empty one; those for which there is no room are counted by their verdicts.

    `room`: so many lines they may have together with what is to be known beside them.
    """
    if not judged:
        return []
    width = console.width
    placed = _placed(judged)
    if placed is not None and (height := _height(console, placed)) <= room - 3:
        lines_max, room = min(lines_max, room - height), room - height
    else:
        placed = None
    shown = judged if len(judged) < lines_max else judged[: lines_max - 2]
    lines: list[RenderableType] = [Text(), *(verdict_line(one, width) for one in shown)]
    left: list[RenderableType] = []
    if rest := judged[len(shown) :]:
        kinds = Counter(one.leading.kind.replace("_", " ") for one in rest)
        counted = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
        left = [
            Text(
                _("… {rest} more comparisons in the report: {counted}", rest=len(rest), counted=counted)[:width],
                style="dim",
            )
        ]
    room -= len(lines) + len(left)
    for why in (_why_open(shown, width), _contrary(shown)):
        if why is not None and _height(console, why) <= room:
            lines.append(why)
            room -= _height(console, why)
    return [*lines, *([] if placed is None else [placed]), *left]


def _placed(judged: Sequence[Comparison]) -> Text | None:
    """That nothing but the placement on CPUs was compared, or one process with itself."""
    warnings = (warning for one in judged for warning in one.warnings)
    placed = next((warning for warning in warnings if warning.kind in ("one_process", "bound_by_shared_cpu")), None)
    return None if placed is None else Text(f"  {fmt.sentence(placed)}", "yellow")


def _contrary(shown: Sequence[Comparison]) -> Text | None:
    """Where the faster side is the dearer one: the first such pair."""
    for one in shown:
        if (
            said := next((warning for warning in one.warnings if warning.kind == "rate_against_cost"), None)
        ) is not None:
            return Text(f"  {verdicts.pair_name(one)}: {fmt.sentence(said)}", "yellow")
    return None


def _why_open(shown: Sequence[Comparison], width: int) -> Text | None:
    """Why one is undecided though its interval holds no 0, where its line has no room for it: the first such one."""
    for one in shown:
        why = "" if one.primary.unsteady is None else fmt.sentence(one.primary.unsteady)
        if why and why not in verdict_line(one, width).plain:
            return Text(f"  {verdicts.pair_name(one)}: {why}", "yellow")
    return None


def verdict_line(comparison: Comparison, width: int) -> Text:
    """`▲ string against json, 1 kB  string FASTER by 12 % [9, 15]`, in one line; what is too long is cut.

    What a request costs stands behind it where there is room, and in its place where that alone is decided.
    """
    leading = comparison.leading
    style = VERDICT_STYLES[leading.kind]
    by = verdicts.by_latency(leading)
    said = by + verdicts.verdict_text(leading, quick=False)
    name = verdicts.title(comparison)
    room = width - len("▲ ") - len("  ")
    if cell_len(name) + cell_len(said) > room:
        said = by + verdicts.short_text(leading)
    costs = (cost for cost, _ in verdicts.cost_lines(comparison))
    contrary = comparison.contrary
    beside = comparison.primary if leading is not comparison.primary else contrary or next(costs, None)
    if beside is not None:
        more = f"; {_('but ') if contrary else ''}{verdicts.short_text(beside)}"
        said += more if cell_len(name) + cell_len(said + more) <= room else ""
    title = Text(name)
    title.truncate(max(_TITLE_MIN, room - cell_len(said)), overflow="ellipsis")
    line = Text.assemble((f"{verdicts.MARKS[leading.kind]} ", style), title, "  ", (said, style))
    line.truncate(width, overflow="ellipsis")
    return line


def _figures(analysis: Analysis, width: int, room: int) -> list[RenderableType]:
    """One table of figures with their intervals and bounds, after an empty line."""
    rows = different_rows(analysis)
    space = min(ROWS_MAX, room - _head_lines(rows) - 1)
    if space < min(2, len(rows)) or not any(row.goodput_per_s is not None for row in rows):
        return []
    shown = _telling(analysis, rows, space)
    columns = end_columns(shown, tps=rate_of_run(analysis) is TPS)
    doubts: Iterator[str] = iter(())
    if space > 2 and any(_doubts(shown, columns)):
        shown = _telling(analysis, rows, space - 1)
        doubts = _doubts(shown, columns)
    parts: list[RenderableType] = [Text(), grid_of(figure_table(columns, shown), width, cuts=True)]
    for line in islice(doubts, 1):
        reason = Text(line if line.startswith(STALLED) else f"! {line}", style="dim")
        reason.truncate(width, overflow="ellipsis")
        parts.append(reason)
    if left := len(rows) - len(shown):
        parts.append(
            Text(
                plural(left, "… {n} more row in the report", "… {n} more rows in the report"),
                style="dim",
            )
        )
    return parts


def _doubts(rows: Sequence[Row], columns: Sequence[Column]) -> Iterator[str]:
    """What is to be known of these latencies, what doubts them first."""
    yield from suspect_lines(rows, columns)
    yield from told_apart_lines(rows, columns)


def _telling(analysis: Analysis, rows: Sequence[Row], space: int) -> list[Row]:
    """As many rows as there are lines for, one less where a line says how many there are more."""
    return most_telling(analysis, space if len(rows) <= space else max(1, space - 1))


class NextStep(NamedTuple):
    """Why, in short, and the command."""

    why: str
    command: str


def next_step(analysis: Analysis, folder: Path | None) -> NextStep | None:
    """The command that helps most after this run; None where none is known that would work as it stands."""
    given = _given(analysis)
    if given is None:
        return None
    if analysis.needed_budget_s:
        why = _why(message("next_longer_budget"))
        return NextStep(why, _command(given, budget=_time(analysis.needed_budget_s)))
    figures = analysis.is_answered_beside_tables or any(row.goodput_per_s for row in different_rows(analysis))
    if analysis.complete and not figures:
        return NextStep(_why(message("next_doctor")), f"{own_command()} doctor")
    open_ones = [
        comparison for comparison in verdicts.all_comparisons(analysis) if comparison.leading.kind == "undecided"
    ]
    if folder is not None and not analysis.complete:
        return NextStep(_why(message("next_resume")), _command(given, resume=folder))
    if folder is not None and (minutes := _more_minutes(analysis, open_ones)) is not None:
        why = _why(message("next_more_time", undecided=len(open_ones)))
        return NextStep(why, _command(given, resume=folder, budget=f"{minutes}m"))
    if analysis.quick:
        why = _why(message("next_full", undecided=len(open_ones)))
        return NextStep(why, _command(argument for argument in given if argument != "--quick"))
    return None


def _more_minutes(analysis: Analysis, undecided: Sequence[Comparison]) -> int | None:
    """The whole budget with which what the time left undecided may be decided; None if no time would help."""
    waiting = [one for one in undecided if one.ended == "out of budget" and one.primary.more_minutes is not None]
    if not waiting:
        return None
    each: dict[str, float] = {}
    for one in waiting:
        each[one.name] = max(each.get(one.name, 0.0), one.primary.more_minutes or 0.0)
    return math.ceil(max(analysis.elapsed_s, analysis.budget_s) / 60 + sum(each.values()))


def _time(seconds: float) -> str:
    """As `--budget` takes it: `35s`, `5m`."""
    return f"{seconds:.0f}s" if seconds < 120 else f"{math.ceil(seconds / 60)}m"


def _why(reason: Message) -> str:
    return fmt.sentence(message("next_step", why=reason))


def _given(analysis: Analysis) -> list[str] | None:
    """The words behind `loadstone` that made the run, without options that the next one has otherwise.

    None if they cannot be given again.

    A secret in it was replaced when it was recorded: then it does not work as it stands.
    """
    arguments = options_given(analysis.environment.get("command"))
    return None if not arguments or hides_secret(arguments) else list(_kept(arguments))


def _kept(arguments: Sequence[str]) -> Iterator[str]:
    passed_over = False
    for argument in arguments:
        if passed_over or argument in OF_ONE_START | NEVER_TAKEN or argument.partition("=")[0] in _WITH_VALUE:
            passed_over = not passed_over and argument in _WITH_VALUE
        else:
            yield argument


def _command(arguments: Iterable[str], resume: Path | None = None, budget: str = "") -> str:
    added = [*(["--budget", budget] if budget else []), *(["--resume", str(resume)] if resume is not None else [])]
    return _pasted([*arguments, *added])


def _pasted(arguments: Sequence[str]) -> str:
    """The whole line, as it can be given from the current folder."""
    return fmt.plain(f"{own_command()} {shlex.join(arguments)}")
