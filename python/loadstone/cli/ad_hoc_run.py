"""An ad-hoc load is carried out: the same way as any experiment, then printed in one of the usual forms."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from loadstone.cli.carry_out import carried_out, objectives_of, show_outcome
from loadstone.cli.options import OutputOptions
from loadstone.report.write import DEFAULT_FORMATS
from loadstone.run.request import RunRequest
from loadstone.run_folder.earlier_runs import LATEST, RUNS, folder_to_resume
from loadstone.safety import terminal
from loadstone.safety.errors import NoPlace, UserError
from loadstone.text.language import _
from loadstone.text.message import AnyText

if TYPE_CHECKING:
    from rich.console import Console

    from loadstone.cli.ad_hoc_experiment import AdHocLoad, Capacities
    from loadstone.judge.analysis.analysis import Analysis
    from loadstone.judge.analysis.objectives import FailIfObjective
    from loadstone.run.run import RunResult, Show


_TEMPORARY = "loadstone-"


@dataclass(frozen=True)
class _MeasuredRun:
    outcome: "RunResult"
    refused: AnyText = ""
    """Why its folder could not be made in `runs`, and so goes at the end; empty if it could."""


def run_ad_hoc(ad_hoc: "AdHocLoad", run: RunRequest, output: OutputOptions) -> None:
    """Measure, print, and end with the status that the data deserve. Raises LoadstoneError."""
    output.check()
    objectives = objectives_of(output.fail_if)
    from loadstone.cli.ad_hoc_experiment import ad_hoc_source

    if ad_hoc.load.needs_capacity and run.resume is not None:
        raise UserError("--resume: rates that are shares of a capacity were measured then; begin again")
    options = _options(ad_hoc, run, output)
    options.check()
    capacities = _capacities(ad_hoc, options, output) if ad_hoc.load.needs_capacity else None
    options = replace(options, described=ad_hoc_source(ad_hoc, capacities))
    formats = DEFAULT_FORMATS if output.out is not None or output.open else ()
    measured = _measured(options, output, objectives, formats, _Shown(output, run.verbose).show)
    _write_files(measured.outcome, output)
    try:
        show_outcome(measured.outcome, output)
    finally:
        line = _settled(measured, options, output)
        if line and not output.quiet:
            terminal.remark(line)


@dataclass(frozen=True)
class _Shown:
    """Prints the outcome as requested."""

    output: OutputOptions
    verbose: bool = False
    """Whether all of the report is printed."""

    def show(self, analysis: "Analysis", report: Path | None, folder: Path, results: "Console") -> None:  # noqa: ARG002
        from loadstone.cli import result_lines
        from loadstone.report.summary import stall_lines

        if self.output.json and self.output.quiet:
            return
        if not self.verbose and (lines := self.output.lines(analysis)) is not None:
            for line in lines:
                results.print(line, markup=False, highlight=False, soft_wrap=True)
        elif self.output.csv:
            terminal.result(result_lines.csv_text(analysis))
            for line in () if self.output.quiet else (*result_lines.verdict_lines(analysis), *stall_lines(analysis)):
                terminal.remark(line)
        elif self.output.quiet:
            terminal.result("".join(f"{line}\n" for line in result_lines.quiet_lines(analysis)))
        else:
            self._table(analysis, report, results)

    def _table(self, analysis: "Analysis", report: Path | None, results: "Console") -> None:
        from loadstone.cli import result_lines
        from loadstone.report.terminal.outcome import show
        from loadstone.report.terminal.short import print_short

        if not self.verbose:
            print_short(results, analysis)
        else:
            show(analysis, report, results, verbose=True)
        for table in analysis.tables:
            for line in result_lines.further_lines(analysis, table):
                results.print(line, markup=False, soft_wrap=True)


def _measured(
    options: RunRequest,
    output: OutputOptions,
    objectives: Sequence["FailIfObjective"],
    formats: Sequence[str],
    show: "Show",
) -> _MeasuredRun:
    """Carry it out; where `runs` takes no folder, in a temporary one of the system's. Raises LoadstoneError."""

    def carry(options: RunRequest) -> "RunResult":
        return carried_out(options, objectives, output, formats=formats, show_result=show)

    try:
        return _MeasuredRun(carry(options))
    except NoPlace as error:
        if output.out is not None or options.resume is not None:
            raise
        refused = error.message
    elsewhere = Path(tempfile.mkdtemp(prefix=_TEMPORARY))
    try:
        return _MeasuredRun(carry(replace(options, out=elsewhere, newest_kept=False)), refused)
    finally:
        with contextlib.suppress(OSError):  # it holds the run
            elsewhere.rmdir()


def _settled(measured: _MeasuredRun, options: RunRequest, output: OutputOptions) -> str:
    """What becomes of the run's folder, and the line that says so; empty where nothing need be said."""
    folder = measured.outcome.folder
    if output.out is not None:
        return ""
    if measured.refused or output.no_keep:
        _remove(folder)
        return _("this run is not kept: {why}", why=measured.refused) if measured.refused else ""
    from loadstone.run_folder.newest_runs import NEWEST, remove_old

    remove_old(RUNS, folder)
    if options.resume is not None:
        return _("kept: {folder}", folder=folder)
    report = f"loadstone report {LATEST}"
    return _("kept: {folder} (the newest {n} are); its report: {report}", folder=folder, n=NEWEST, report=report)


def _options(ad_hoc: "AdHocLoad", run: RunRequest, output: OutputOptions) -> RunRequest:
    out = RUNS if output.out is None else output.out
    return replace(
        run,
        blocks=ad_hoc.load.repeat if ad_hoc.compares else None,
        out=out,
        newest_kept=output.out is None and not output.no_keep,
        resume=None if run.resume is None else folder_to_resume(run.resume, out),
        quiet=output.quiet,
    )


def _capacities(ad_hoc: "AdHocLoad", options: RunRequest, output: OutputOptions) -> "Capacities":
    """What each row of each target does at full speed, measured now. Raises UserError where one is not known."""
    from loadstone.cli.ad_hoc_experiment import FACTOR, TARGET_FACTOR, ad_hoc_source

    if not options.quiet:
        terminal.remark(_("measuring full speed, of which the rates are shares"))
    measured = replace(options, described=ad_hoc_source(ad_hoc), newest_kept=False, quiet=True)
    outcome = _measured(measured, replace(output, json=False), (), (), lambda *_whatever: None).outcome
    _remove(outcome.folder)
    capacities: dict[tuple[str, str], float] = {}
    for row in (row for table in outcome.analysis.tables for row in table.rows):
        trials = [trial for trial in outcome.analysis.trials if trial.trial in row.trials]
        # Rates need no bound: also those of doubtful trials.
        rates = [trial.goodput_per_s for trial in trials if trial.goodput_per_s]
        if not rates:
            raise UserError(
                "--rates: what {row_label} does at full speed is not known; write rates, as 1000..9000",
                row_label=row.label,
            )
        capacities[str(row.condition[FACTOR]), str(row.condition.get(TARGET_FACTOR, ""))] = median(rates)
        if not options.quiet:
            terminal.remark(_("full speed of {label}: {rate:,.0f} a second", label=row.label, rate=median(rates)))
    return capacities


def _write_files(outcome: "RunResult", output: OutputOptions) -> None:
    """What is requested beside the report. Raises LoadstoneError where it cannot be written."""
    output.write(outcome.analysis)
    if output.json_file is not None:
        from loadstone.report.json_report import with_texts
        from loadstone.run_folder.lines import dump_document, write_file

        write_file(output.json_file, dump_document(with_texts(outcome.analysis)))
    if output.hdr_prefix is not None:
        from loadstone.run_folder.files import LATENCY
        from loadstone.run_folder.lines import write_file
        from loadstone.safety.bounds.folder_files import names, open_file

        latency = outcome.folder / LATENCY
        for name in (name for name in names(latency, outcome.folder) if name.endswith(".hlog")):
            with os.fdopen(open_file(latency / name, folder=outcome.folder), "rb") as log:
                write_file(Path(f"{output.hdr_prefix}_{name}"), log.read())


def _remove(folder: Path) -> None:
    """A run that is not kept; unless its ledger names what is still on a server: `loadstone clean` needs it."""
    from loadstone.run_folder.ledger_file import is_needed

    if is_needed(folder):
        terminal.remark(_("something is left on a server; remove it by: loadstone clean {folder}", folder=folder))
        return
    shutil.rmtree(folder, ignore_errors=True)
    from loadstone.run_folder.folder import remove_root

    with contextlib.suppress(OSError, ValueError):  # it holds other runs, or is not ours
        if folder.parent == RUNS or folder.parent.name.startswith(_TEMPORARY):
            remove_root(folder.parent)
