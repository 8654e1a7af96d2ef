"""`loadstone compare` as a command; `compare_command.py` carries it out."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from loadstone.addons.history.compare_options import CompareOptions
from loadstone.cli.options import EXPERIMENT, RESULTS, Option
from loadstone.run_folder.files import MAIN
from loadstone.safety import terminal
from loadstone.safety.bounds.describe_only import forbid_connections
from loadstone.safety.errors import UserError


@forbid_connections()
def compare_command(
    *,
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN [RUN]", show_default=False, help="A run's folder, or two: A and B."),
    ] = None,
    options: CompareOptions,
    baseline: Annotated[
        bool,
        Option(
            "--baseline",
            help="Against the experiment's baseline (`loadstone baseline`): RUN, or the newest.",
            panel=EXPERIMENT,
        ),
    ] = False,
    branch: Annotated[
        str, Option("--branch", metavar="NAME", help="With --baseline: that of this branch.", panel=EXPERIMENT)
    ] = MAIN,
    json: Annotated[bool, Option("--json", help="Print the outcome as JSON alone to stdout.", panel=RESULTS)] = False,
) -> None:
    """Compare two runs, or conditions of one."""
    from loadstone.run_folder.earlier_runs import run_folder
    from loadstone.run_folder.files import require_run

    if baseline:
        from loadstone.addons.history.baseline_command import runs_to_compare

        runs = runs_to_compare(runs, branch, across=options.across)
    elif branch != MAIN:
        raise UserError("--branch {branch}: is for --baseline; add it, or leave it out", branch=branch)
    if not runs:
        raise UserError("compare: name a run, two runs, or --baseline; `loadstone runs` lists them")
    folders = tuple(run_folder(word) for word in runs)
    for folder in folders:
        require_run(folder)
    from loadstone.addons.history.compare_command import compare as compare_runs
    from loadstone.safety import console

    outcome = compare_runs(replace(options, runs=folders), console.results(beside_json=json))
    if json:
        terminal.result_json(outcome.json_text)
    if outcome.status:
        raise typer.Exit(outcome.status)
