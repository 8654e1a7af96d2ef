"""`loadstone history NAME`: a figure over the runs of an experiment, and where it changed."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadstone.cli.options import EXPERIMENT, PLACE, RESULTS, Option, require_place, whole
from loadstone.machine.extras import require
from loadstone.run_folder.earlier_runs import RUNS, require_folder_of_runs
from loadstone.safety import terminal
from loadstone.safety.bounds.describe_only import forbid_connections
from loadstone.safety.errors import UserError
from loadstone.text.language import translatable

if TYPE_CHECKING:
    from loadstone.addons.history.changes import History
    from loadstone.addons.history.trends import RunFigures

NEWEST = 100
"""Number of runs that are read, unless `--newest` says otherwise."""
_PIPE_COLUMNS = 120


def history_command(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="An experiment; redis, http.")],
    condition: Annotated[
        str | None,
        Option("--condition", metavar="WORDS", help="One condition or pair, by words of its name.", panel=EXPERIMENT),
    ] = None,
    metric: Annotated[
        str | None,
        Option("--metric", metavar="METRIC", help="For example goodput, p99 or cpu_ns.redis.", panel=EXPERIMENT),
    ] = None,
    runs: Annotated[Path, Option("--runs", metavar="DIR", help="The folder of the runs.", panel=PLACE)] = RUNS,
    newest: Annotated[
        int,
        Option(
            "--newest",
            metavar="NUMBER",
            help="So many runs.",
            panel=EXPERIMENT,
            read=whole(translatable("not a number of runs"), 1, 10_000),
        ),
    ] = NEWEST,
    svg: Annotated[
        Path | None, Option("--svg", metavar="FILE", help="Write a picture of one condition.", panel=RESULTS)
    ] = None,
    csv: Annotated[
        Path | None, Option("--csv", metavar="FILE", help="Write a line a run, as apache-otava reads.", panel=RESULTS)
    ] = None,
    json: Annotated[bool, Option("--json", help="Print JSON alone to stdout.", panel=RESULTS)] = False,
) -> None:
    """Show a figure over runs, and hints where it changed."""
    for option, file in (("--svg", svg), ("--csv", csv)):
        if file is not None:
            require_place(option, file)
    require_folder_of_runs(runs, "--runs ")
    with forbid_connections():
        history = history_asked(runs, name, condition, metric, newest)
    if not history.runs:
        raise UserError("there is no run in {folder}; `loadstone run EXPERIMENT` makes one", folder=runs)
    if csv is not None:
        from loadstone.addons.history.history_report import csv_text

        csv.write_text(csv_text(history))
    if svg is not None:
        _draw(history, svg)
    if json:
        from loadstone.report.json_report import json_text

        terminal.result_json(json_text(history))
    else:
        terminal.result("".join(f"{line}\n" for line in _lines(history)))


def history_asked(runs: Path, name: str, condition: str | None, metric: str | None, newest: int = NEWEST) -> "History":
    """The history of one condition, or of the main figure of each. Raises UserError."""
    from loadstone.addons.history.changes import first_figures, history_of
    from loadstone.addons.history.index import Index, Query, collect
    from loadstone.addons.history.run_row import words_of

    index = Index(runs)
    index.renew(words_of=words_of)
    known = [one for one, _ in index.counts("experiment") if one]
    if not known:
        return history_of(name, [], [], {})
    if name not in known:
        raise _unknown(name, known, runs)
    rows = index.find(Query(experiment=name), newest).rows
    found = collect(index, [row for row in rows if row.state in ("complete", "part")])
    chosen = first_figures(found.runs, None if metric is None else _metric(found.runs, metric))
    if condition is not None:
        chosen = _of_condition(found.runs, chosen, condition)
    unread = {row.name: row.why for row in rows if row.why} | found.unread
    if not chosen and unread and not found.runs:
        run = max(unread)
        raise UserError(
            "history {name}: none of its runs in {runs} can be read; the newest, {run}: {why}",
            name=name,
            runs=runs,
            run=run,
            why=unread[run],
        )
    if not chosen:
        raise UserError("history {name}: none of its runs in {runs} has a figure yet", name=name, runs=runs)
    return history_of(name, found.runs, chosen, found.unread)


def _unknown(name: str, known: Sequence[str], runs: Path) -> UserError:
    from loadstone.text.wording import listed, nearest, shown

    return UserError(
        "history {name}: no run in {runs} is of it; {nearest}there are runs of: {known}",
        name=shown(name),
        runs=runs,
        nearest=nearest(name, known),
        known=listed(known),
    )


def _metric(runs: Sequence["RunFigures"], text: str) -> str:
    """A metric that a run has, by its name or the words of `compare --metric`. Raises UserError."""
    from loadstone.addons.history.trends import is_answered
    from loadstone.judge.analysis.objectives import metric_of
    from loadstone.text.wording import listed

    known = list(dict.fromkeys(name for run in runs for place in run.places for name in place.figures))
    answered = [one for one in known if is_answered(one) and one.partition(".")[2] == text]
    found = next((one for one in (text, *answered, metric_of(text)) if one in known), None)
    if found is None:
        raise UserError("--metric {text}: no run has it; there are: {known}", text=text, known=listed(known) or "none")
    return found


def _of_condition(runs: Sequence["RunFigures"], chosen: Sequence[tuple[str, str]], words: str) -> list[tuple[str, str]]:
    """The one whose name is this, or has all of these words. Raises UserError where none is, or several."""
    from loadstone.addons.history.trends import places_of
    from loadstone.text.wording import listed

    labels = places_of(runs)
    exact = [one for one in chosen if labels[one[0]] == words]
    wanted = words.casefold().split()
    found = exact or [one for one in chosen if all(word in labels[one[0]].casefold() for word in wanted)]
    if len(found) != 1:
        names = [labels[key] for key, _ in found or chosen]
        raise UserError(
            "--condition {words}: {number} have these words; there are: {names}",
            words=words,
            number=len(found),
            names=listed(names),
        )
    return found


def _draw(history: "History", file: Path) -> None:
    if len(history.figures) != 1:
        raise UserError(
            "--svg: is a picture of one condition, and there are {number}; add --condition WORDS",
            number=len(history.figures),
        )
    require("charts", "--svg")
    from loadstone.addons.history.trends_chart import over_runs_chart

    (figure,) = history.figures
    chart = over_runs_chart(figure.over, figure.hints)
    assert chart is not None
    file.write_bytes(chart.svg())


def _lines(history: "History") -> list[str]:
    if not history.figures:
        return []
    from loadstone.addons.history.history_report import figure_lines, overview_lines

    if len(history.figures) > 1:
        return overview_lines(history)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_COLUMNS
    return figure_lines(history, width)
