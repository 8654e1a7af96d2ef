"""What the commands that measure have in common: an experiment is checked, run, and its outcome shown."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from loadstone.report.write import DEFAULT_FORMATS
from loadstone.safety import terminal
from loadstone.text.language import _

if TYPE_CHECKING:
    from loadstone.cli.options import Results
    from loadstone.judge.analysis.objectives import FailIfObjective
    from loadstone.run.request import RunRequest
    from loadstone.run.run import RunResult, Show


_INSTEAD: list[Callable[["RunRequest"], NoReturn]] = []


@contextmanager
def describe_or_measure(take: Callable[["RunRequest"], NoReturn]) -> Iterator[None]:
    """Within, a command that would measure gives `take` what it would carry out; `take` leaves it by an error."""
    _INSTEAD.append(take)
    try:
        yield
    finally:
        _INSTEAD.pop()


def carried_out(
    options: "RunRequest",
    objectives: Sequence["FailIfObjective"],
    results: "Results",
    *,
    formats: Sequence[str] = DEFAULT_FORMATS,
    show_result: "Show | None" = None,
) -> "RunResult":
    """Check all that can be checked at once, and only then load what measures.

    `formats` are those of the report; `show_result` shows the outcome in place of the usual ending.
    """
    if _INSTEAD:
        _INSTEAD[-1](options)
    from loadstone.run.prepare import prepare

    prepared = prepare(options)
    if objectives:
        from loadstone.judge.analysis.objectives import require_measured

        planned = prepared.run_plan
        require_measured(objectives, rows=bool(planned.trials), points=planned.search is not None)
    from loadstone.run.run import run as run_experiment
    from loadstone.safety import console

    run = partial(
        run_experiment,
        prepared=prepared,
        results=console.results(beside_json=results.json, quiet=options.quiet),
        remarks=console.remarks(quiet=options.quiet),
        objectives=objectives,
        formats=formats,
        show_result=show_result,
    )
    return _in_turn(options, run) if options.wait and not options.share_machine else run(options)


def _in_turn(options: "RunRequest", run: Callable[["RunRequest"], "RunResult"]) -> "RunResult":
    """What `run` returns, once no other run measures here. Of several that wait one begins; the others wait on."""
    from loadstone.measure.machine_lock import AnotherRunMeasures, wait_for_others

    while True:
        wait_for_others(lambda _: None if options.quiet else terminal.remark(_))
        with suppress(AnotherRunMeasures):  # it was faster
            return run(replace(options, began_s=time.monotonic()))


def objectives_of(texts: Sequence[str]) -> list["FailIfObjective"]:
    """What `--fail-if` states, before anything is measured. Raises UserError."""
    if not texts:
        return []
    from loadstone.judge.analysis.objectives import parse_objective, require_absolute

    objectives = [parse_objective(text) for text in texts]
    require_absolute(objectives)
    return objectives


def show_outcome(outcome: "RunResult", results: "Results") -> None:
    """What follows the result: the JSON, what was missed, what is not written; and the exit status."""
    if results.json:
        from loadstone.report.json_report import with_texts
        from loadstone.run_folder.lines import dump_document

        terminal.result_json(dump_document(with_texts(outcome.analysis)).decode())
    if outcome.missed:
        from loadstone.text.sentences import render_message

        for line in outcome.missed:
            terminal.remark(f"--fail-if: {render_message(line)}")
    if outcome.unwritten:
        terminal.remark(f"loadstone: {outcome.unwritten}")
    if results.open:
        _open(outcome.folder)
    if outcome.status:
        raise typer.Exit(outcome.status)


def _open(folder: Path) -> None:
    """Open the report in the browser; without one a line says where it is."""
    import webbrowser

    from loadstone.safety.bounds.folder_files import is_file

    page = folder.resolve() / "report.html"
    there = is_file(page)
    if not there or not webbrowser.open(page.as_uri()):
        no_browser, no_page = (
            _("--open: no browser was found; open {page}", page=page),
            _("--open: there is no {page}", page=page),
        )
        terminal.remark(no_browser if there else no_page)
