"""An ad-hoc load is carried out: the same way as any experiment, then printed in one of the usual forms."""

import contextlib
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from loadstone.cli_run import carried_out, objectives_of, show_outcome
from loadstone.errors import NoPlace, UserError
from loadstone.output import terminal
from loadstone.report.formats import DEFAULT_FORMATS
from loadstone.runs import LATEST, RUNS, folder_to_resume
from loadstone.secrecy.text import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from loadstone.analyse.model import Analysis
    from loadstone.analyse.objectives import Objective
    from loadstone.commands.ad_hoc_load import AdHoc, Capacities
    from loadstone.options import RunOptions
    from loadstone.run import Outcome, Show


_TEMPORARY = "loadstone-"


@dataclass(frozen=True)
class AdHocOutput:
    """How the run is kept and its outcome printed, as both commands take it."""

    out: Path | None = None
    """Where the run's folder is kept, with the usual reports; None: among the newest of `runs`."""
    resume: Path | None = None
    secret_files: tuple[str, ...] = ()
    allow_any_command: bool = False
    seed: int | None = None
    share_machine: bool = False
    prometheus: int | None = None
    fail_if: tuple[str, ...] = ()
    quiet: bool = False
    verbose: bool = False
    json: bool = False
    csv: bool = False
    json_file: Path | None = None
    hdr_prefix: str | None = None
    open: bool = False
    command: tuple[str, ...] = ()
    """The arguments as they may be recorded."""
    wait: bool = False
    """Until no other run measures on this machine."""
    keep: bool = True
    """Whether the run's folder stays."""


def check_output(output: AdHocOutput) -> None:
    """Before anything is started. Raises UserError."""
    for one, other in (("quiet", "verbose"), ("json", "csv")):
        if getattr(output, one) and getattr(output, other):
            raise UserError(f"--{one}, --{other}: leave one of them out")
    for option, given in (("--out", output.out is not None), ("--open", output.open)):
        if given and not output.keep:
            raise UserError(f"--no-keep, {option}: leave one of them out")
    for option, path in (("--json-out-file", output.json_file), ("--hdr-file-prefix", output.hdr_prefix)):
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise UserError(f"{option} {path}: there is no folder {Path(path).parent}; make it, or name another")


@dataclass(frozen=True)
class _Measured:
    outcome: "Outcome"
    refused: str = ""
    """Why its folder could not be made in `runs`, and so goes at the end; empty if it could."""


def carry_out(ad_hoc: "AdHoc", output: AdHocOutput) -> None:
    """Measure, print, and end with the status that the data deserve. Raises LoadstoneError."""
    check_output(output)
    objectives = objectives_of(list(output.fail_if))
    from loadstone.commands.ad_hoc_load import experiment_of

    if ad_hoc.load.needs_capacity and output.resume is not None:
        raise UserError("--resume: rates that are shares of a capacity were measured then; begin again")
    options = _options(ad_hoc, output)
    capacities = _capacities(ad_hoc, options, output) if ad_hoc.load.needs_capacity else None
    options = replace(options, built=experiment_of(ad_hoc, capacities))
    formats = DEFAULT_FORMATS if output.out is not None or output.open else ()
    measured = _measured(options, output, objectives, formats, _Shown(output).show)
    _write_files(measured.outcome, output)
    try:
        show_outcome(measured.outcome, json_=output.json, open_=output.open)
    finally:
        line = _settled(measured, output)
        if line and not output.quiet:
            terminal.remark(line)


@dataclass(frozen=True)
class _Shown:
    """Prints the outcome as requested."""

    output: AdHocOutput

    def show(self, analysis: "Analysis", report: Path | None, folder: Path, results: "Console") -> None:  # noqa: ARG002
        from loadstone.commands import result_lines
        from loadstone.report.summary import stall_lines

        if self.output.json and self.output.quiet:
            return
        if self.output.csv:
            terminal.result(result_lines.csv_text(analysis))
            for line in () if self.output.quiet else (*result_lines.verdict_lines(analysis), *stall_lines(analysis)):
                terminal.remark(line)
        elif self.output.quiet:
            terminal.result("".join(f"{line}\n" for line in result_lines.quiet_lines(analysis)))
        else:
            self._table(analysis, report, results)

    def _table(self, analysis: "Analysis", report: Path | None, results: "Console") -> None:
        from loadstone.commands import result_lines
        from loadstone.report.terminal.terminal_report import show

        show(analysis, report, results, verbose=True)
        for table in analysis.tables:
            for line in result_lines.further_lines(analysis, table):
                results.print(line, markup=False, soft_wrap=True)


def _measured(
    options: "RunOptions",
    output: AdHocOutput,
    objectives: "Sequence[Objective]",
    formats: "Sequence[str]",
    show: "Show",
) -> _Measured:
    """Carry it out; where `runs` takes no folder, in a temporary one of the system's. Raises LoadstoneError."""

    def carry(options: "RunOptions") -> "Outcome":
        return carried_out(options, objectives, json_=output.json, formats=formats, show_result=show)

    try:
        return _Measured(carry(options))
    except NoPlace as error:
        if output.out is not None or output.resume is not None:
            raise
        refused = str(error)
    elsewhere = Path(tempfile.mkdtemp(prefix=_TEMPORARY))
    try:
        return _Measured(carry(replace(options, out=elsewhere, newest_kept=False)), refused)
    finally:
        with contextlib.suppress(OSError):  # it holds the run
            elsewhere.rmdir()


def _settled(measured: _Measured, output: AdHocOutput) -> str:
    """What becomes of the run's folder, and the line that says so; empty where nothing need be said."""
    folder = measured.outcome.folder
    if output.out is not None:
        return ""
    if measured.refused or not output.keep:
        _remove(folder)
        return f"this run is not kept: {measured.refused}" if measured.refused else ""
    from loadstone.record.newest_runs import NEWEST, remove_old

    remove_old(RUNS, folder)
    if output.resume is not None:
        return f"kept: {folder}"
    return f"kept: {folder} (the newest {NEWEST} are); its report: loadstone report {LATEST}"


def _options(ad_hoc: "AdHoc", output: AdHocOutput) -> "RunOptions":
    from loadstone.options import RunOptions

    out = RUNS if output.out is None else output.out
    return RunOptions(
        experiment=ad_hoc.command,
        secret_files=output.secret_files,
        blocks=ad_hoc.load.repeat if ad_hoc.compares else None,
        seed=output.seed,
        out=out,
        newest_kept=output.out is None and output.keep,
        resume=None if output.resume is None else folder_to_resume(output.resume, out),
        allow_any_command=output.allow_any_command,
        prometheus=output.prometheus,
        share_machine=output.share_machine,
        wait=output.wait,
        quiet=output.quiet,
        verbose=output.verbose,
        command=output.command,
    )


def _capacities(ad_hoc: "AdHoc", options: "RunOptions", output: AdHocOutput) -> "Capacities":
    """What each row of each target does at full speed, measured now. Raises UserError where one is not known."""
    from loadstone.commands.ad_hoc_load import FACTOR, TARGET_FACTOR, experiment_of

    if not options.quiet:
        terminal.remark("measuring full speed, of which the rates are shares")
    measured = replace(options, built=experiment_of(ad_hoc), newest_kept=False, quiet=True)
    outcome = _measured(measured, replace(output, json=False), (), (), lambda *_: None).outcome
    _remove(outcome.folder)
    found: dict[tuple[str, str], float] = {}
    for row in (row for table in outcome.analysis.tables for row in table.rows):
        trials = [one for one in outcome.analysis.trials if one.trial in row.trials]
        rates = [one.goodput_per_s for one in trials if one.goodput_per_s]  # rates need no bound: also of doubtful ones
        if not rates:
            raise UserError(f"--rates: what {row.label} does at full speed is not known; write rates, as 1000..9000")
        found[str(row.condition[FACTOR]), str(row.condition.get(TARGET_FACTOR, ""))] = median(rates)
        if not options.quiet:
            terminal.remark(f"full speed of {row.label}: {median(rates):,.0f} a second")
    return found


def _write_files(outcome: "Outcome", output: AdHocOutput) -> None:
    """What is requested beside the report. Raises LoadstoneError where it cannot be written."""
    if output.json_file is not None:
        from loadstone.record.lines import dump_document, write_file
        from loadstone.report.json_report import with_texts

        write_file(output.json_file, dump_document(with_texts(outcome.analysis)))
    if output.hdr_prefix is not None:
        from loadstone.bounds.beneath import names, open_file
        from loadstone.record.file_names import LATENCY

        latency = outcome.folder / LATENCY
        for name in (one for one in names(latency, outcome.folder) if one.endswith(".hlog")):
            with (
                os.fdopen(open_file(latency / name, folder=outcome.folder), "rb") as log,
                Path(f"{output.hdr_prefix}_{name}").open("wb") as copy,
            ):
                shutil.copyfileobj(log, copy)


def _remove(folder: Path) -> None:
    """A run that is not kept; unless its ledger names what is still on a server: `loadstone clean` needs it."""
    from loadstone.record.ledger_reading import is_needed

    if is_needed(folder):
        terminal.remark(f"something is left on a server; remove it by: loadstone clean {folder}")
        return
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # it holds other runs, or is not ours
        if folder.parent == RUNS or folder.parent.name.startswith(_TEMPORARY):
            folder.parent.rmdir()


def without_password(arguments: tuple[str, ...], option: str, switches: str) -> tuple[str, ...]:
    """The arguments as they may be recorded: without the value of this short option, beside it or attached to it.

    `switches`: letters that may stand before it in one word, as in `-qaPASSWORD`.
    """
    attached = re.compile(rf"(?P<head>-[{switches}]*{option[1:]})(?P<value>.*)", re.DOTALL)
    found: list[str] = []
    awaited = False
    for word in arguments:
        here = attached.fullmatch(word)
        if awaited:
            found.append(HIDDEN)
        elif here is not None:
            found.append(f"{here['head']}{HIDDEN}" if here["value"] else word)
        else:
            found.append(word)
        awaited = not awaited and here is not None and not here["value"]
    return tuple(found)
