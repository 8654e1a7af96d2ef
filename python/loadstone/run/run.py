"""The run of an experiment: its top function is the design, the eight stages in a line each."""

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.analysis.analysis import Analysis
from loadstone.judge.analysis.looks import look_at
from loadstone.judge.analysis.objectives import FailIfObjective, missed
from loadstone.machine.start_context import Step
from loadstone.measure.goals.goal import GoalContext
from loadstone.measure.loop import RunLoop
from loadstone.report.json_report import with_texts
from loadstone.report.live.progress import RunProgress
from loadstone.report.sections.of_analysis import document_of
from loadstone.report.terminal.outcome import show
from loadstone.report.write import DEFAULT_FORMATS, begin_report, undrawn, writable_formats, write_report
from loadstone.run.describe import print_announcement
from loadstone.run.opening import REAL, Dependencies, OpenRun, open_run
from loadstone.run.prepare import Prepared
from loadstone.run.request import RunRequest
from loadstone.run_folder.reading import read_histogram, read_round_histograms
from loadstone.safety import defect
from loadstone.safety.bounds.folder_files import NotOfFolder
from loadstone.safety.errors import LoadstoneError
from loadstone.safety.secrets.command_line import hidden_arguments
from loadstone.safety.secrets.in_texts import REDACTED
from loadstone.text.language import _, in_language
from loadstone.text.message import Message

Show = Callable[[Analysis, Path | None, Path, Console], None]
"""Shows the outcome: the analysis, the page that was written, the run's folder, and where results are printed."""
MISSED_STATUS, UNWRITTEN_STATUS = 1, 2
INVALID_STATUS = 3
REPORT = "report.html"


@dataclass(frozen=True)
class RunResult:
    """What became of a run that was shown."""

    folder: Path
    analysis: Analysis
    missed: tuple[Message, ...]
    """The objectives that were missed, in a line each."""
    status: int
    """The exit status that the data deserve; `UNWRITTEN_STATUS` where that is 0 and a report could not be written."""
    unwritten: str = ""
    """Why a report could not be written, and what helps; empty if all were."""


def run(
    options: RunRequest,
    prepared: Prepared,
    results: Console,
    remarks: Console,
    objectives: Sequence[FailIfObjective] = (),
    seams: Dependencies = REAL,
    formats: Sequence[str] = DEFAULT_FORMATS,
    show_result: Show | None = None,
) -> RunResult:
    """Run a prepared experiment up to its report. Raises LoadstoneError; what was finished is kept.

    The outcome is printed on `results`, and all else on `remarks`. `formats` are those of the report; `show_result`
    shows the outcome in place of the usual ending.
    """
    experiment = prepared.experiment  # 1. spec: what the user wrote
    run_plan = prepared.run_plan  # 2. plan: its conditions, blocks and trials
    announced = () if options.quiet else print_announcement(run_plan, experiment, report=bool(formats))
    # Each is a part of a text, of which two may be equal: none is left out as one that was said.
    lines = [Step(line, f"announced {number}") for number, line in enumerate(announced)]
    announcement = () if options.quiet else (*map(in_language, prepared.remarks), *lines)
    progress = RunProgress(remarks, seams.monotonic_s, verbose=options.verbose, quiet=options.quiet)
    with progress.events as events:
        with progress, open_run(options, prepared, progress, announcement, seams) as parts:  # 3. deploy
            defect.write_tracebacks_to(parts.folder.path)
            try:
                # 4. drive, 5. observe, 6. record: trial after trial
                _loop(parts, prepared, progress, options, seams).run()
                ended = None
            except LoadstoneError as error:
                ended = error
            progress.last_step(_("writing the report"))
            begin_report(formats)
            analysis = analyse(parts.folder.path)  # 7. judge and analyse: from the folder alone
            kept = _attempt(lambda: parts.folder.write_analysis(with_texts(analysis)))
        shown = show_result or partial(_show, verbose=options.verbose)
        unwritten = _report(analysis, parts.folder.path, kept, results, formats, shown)  # 8. report
        if ended is not None:
            raise _advised(ended, parts.folder.path, options, prepared, unwritten)
        outcome = _outcome(parts.folder.path, analysis, objectives, unwritten)
        events.status = outcome.status
    return outcome


def report_run(
    folder: Path,
    formats: tuple[str, ...],
    results: Console,
    remarks: Console,
    objectives: Sequence[FailIfObjective] = (),
    *,
    verbose: bool = False,
) -> RunResult:
    """Analyse a run's folder, show it, and write its reports. Raises UserError.

    Its `status` is that of the objectives alone: whether the run was valid is said by the run.
    """
    defect.write_tracebacks_to(folder)
    formats = writable_formats(formats)
    begin_report(formats)
    analysis = analyse(folder)
    files: list[Path] = []
    written = _attempt(lambda: files.extend(write_report(analysis, folder, ("json", *formats))))
    report = folder / REPORT if "html" in formats and written is None else None
    show(analysis, report, results, folder=folder, verbose=verbose)
    unwritten = _unwritten(written, folder)
    if written is None:
        _say(remarks, f"Written to {folder}: {_named(files, folder)}")
    lines = tuple(missed(objectives, analysis))
    status = MISSED_STATUS if lines else UNWRITTEN_STATUS if unwritten else 0
    return RunResult(folder, analysis, lines, status, unwritten)


def _named(files: Sequence[Path], folder: Path) -> str:
    """The files by their names; of a folder in it, how many: `analysis.json, report.md, charts/ (12 files)`."""
    relative = [path.relative_to(folder) for path in files]
    alone = [path.name for path in relative if len(path.parts) == 1]
    within = Counter(path.parts[0] for path in relative if len(path.parts) > 1)
    folders = [f"{name}/ ({count} {'file' if count == 1 else 'files'})" for name, count in within.items()]
    return ", ".join([*alone, *folders])


def _attempt(write: Callable[[], object]) -> Exception | None:
    """Write; what went wrong is kept until the result was shown: that stands for the terminal, and must not be lost."""
    try:
        write()
    except Exception as error:
        return error
    return None


def _unwritten(error: Exception | None, folder: Path) -> str:
    """Why a report could not be written, or lacks pictures, and what helps. Raises what is a defect."""
    again = shlex.join(["loadstone", "report", str(folder)])
    if error is None:
        why = undrawn()
        return f"{why}; the rest of the report is written: give it more memory, and then {again}" if why else ""
    if not isinstance(error, LoadstoneError | OSError):
        raise error
    why, _, remedy = str(error).partition("; ")
    remedy = remedy if isinstance(error.__cause__, NotOfFolder) else "free some space there"
    return f"the report is not written: {why}; what was measured is kept: {remedy}, and then {again}"


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, soft_wrap=True)


def _loop(
    parts: OpenRun, prepared: Prepared, progress: RunProgress, options: RunRequest, seams: Dependencies
) -> RunLoop:
    """What measures all that the goals of the run ask for."""
    path = parts.folder.path
    look = partial(
        look_at,
        quick=options.quick,
        histograms=partial(read_histogram, path),
        round_histograms=partial(read_round_histograms, path),
    )
    histogram = partial(read_histogram, path, kind="response")
    asked = GoalContext(prepared.experiment, prepared.run_plan, look, histogram)
    return RunLoop(
        asked,
        parts.conductor,
        parts.crashes,
        parts.folder,
        progress,
        clock=seams.monotonic_s,
        unix_s=lambda: seams.unix_ns() / 1e9,
        began_s=options.began_s,
    )


def _report(
    analysis: Analysis, folder: Path, kept: Exception | None, results: Console, formats: Sequence[str], shown: Show
) -> str:
    """Write the report, and show the result whatever became of that; why it is not written, or empty.

    `kept`: why the analysis could not be written, if it could not.
    """
    written = kept or _attempt(lambda: write_report(analysis, folder, formats))
    shown(analysis, folder / REPORT if "html" in formats and written is None else None, folder, results)
    return _unwritten(written, folder)


def _show(analysis: Analysis, report: Path | None, folder: Path, results: Console, *, verbose: bool) -> None:
    show(analysis, report, results, folder=folder, verbose=verbose)


def _advised(
    error: LoadstoneError, folder: Path, options: RunRequest, prepared: Prepared, unwritten: str
) -> LoadstoneError:
    """Return the error with the command that goes on where it ended, and what could not be written."""
    if options.described is not None and not prepared.experiment.goes_on:  # what it started is gone
        return type(error).of(f"{error} ({unwritten})") if unwritten else error
    command = ["loadstone", "run", "--resume", str(folder)]
    for server in (*options.servers, *options.asked):
        if REDACTED in hidden_arguments(["--server", server])[1]:  # the folder keeps no password
            command += ["--server", f"{server.partition('=')[0]}=URL"]
    if options.allow_any_command:  # it is never taken from a folder
        command.append("--allow-any-command")
    if options.fleet is not None:  # nor are these
        command += ["--fleet", options.fleet]
        command += [] if options.lost_agent == "go-on" else ["--lost-agent", options.lost_agent]
    also = f" ({unwritten})" if unwritten else ""
    return type(error)(f"{error}; continue with: {shlex.join(command)}{also}")


def _outcome(folder: Path, analysis: Analysis, objectives: Sequence[FailIfObjective], unwritten: str = "") -> RunResult:
    """Status 1 if an objective was missed, else 3 if something could not be measured or broke its promise, else 0.

    What an add-on answers may have a status of its own, which comes first. Where that is 0 and a report could not be
    written, it is 2.

    A row whose bound is far away has its figure, with the bound: that is no failure.
    """
    lines = tuple(missed(objectives, analysis))
    decided = (answer.exit_status() for answer in analysis.parts.values())
    if (status := next((one for one in decided if one is not None), None)) is not None:
        status = status or (MISSED_STATUS if lines else UNWRITTEN_STATUS if unwritten else 0)
        return RunResult(folder, analysis, lines, status, unwritten)
    rows = [row for table in analysis.tables for row in table.rows]
    compared = [comparison for family in analysis.families for comparison in family.comparisons]
    answered = analysis.is_answered_beside_tables  # then the budget did not reach some rows
    nothing = not answered and bool(rows) and all(row.verdict == "missing" for row in rows)
    refused = [row for row in rows if row.verdict == "invalid"]
    broken = any(section.alarms for section in document_of(analysis).sections)
    pointless = any(answer.is_refused() for answer in analysis.parts.values())
    nothing = nothing or analysis.unanswered is not None
    invalid = bool(refused) or pointless or broken or any(pair.primary.kind == "invalid" for pair in compared)
    status = MISSED_STATUS if lines else INVALID_STATUS if invalid or nothing else UNWRITTEN_STATUS if unwritten else 0
    return RunResult(folder, analysis, lines, status, unwritten)
