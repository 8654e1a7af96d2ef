"""`loadstone saturate redis [URL]` and `loadstone saturate http URL`: where does it break, and which part breaks?"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadstone.addons.saturation.options import OneCommand, PointResults, SearchOptions
from loadstone.cli.carry_out import carried_out, objectives_of, show_outcome
from loadstone.cli.command import OptionBinding, PeerOptions, command
from loadstone.cli.http_options import HttpWork
from loadstone.cli.options import BEHIND, MEASURES
from loadstone.cli.redis_options import Login
from loadstone.run.request import RunRequest

if TYPE_CHECKING:
    from rich.console import Console

    from loadstone.experiment.spec.problems import ExperimentSource
    from loadstone.judge.analysis.analysis import Analysis

TAKEN = (*MEASURES, "quick", "budget", "out", "quiet")
"""Options of a run that the command takes."""
_REDIS_NAMES = PeerOptions(names={"connections": ("--pool",), "keys": ("--keyspace",), "size": ("--value-size",)})
_HTTP_NAMES = PeerOptions(names={**_REDIS_NAMES.names, "numbers": ("--keyspace",), "threads": ("-t",)})

saturate_app = typer.Typer(
    help="Find where a Redis or a service saturates.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@command(saturate_app, "redis", _REDIS_NAMES)
def saturate_redis(
    *,
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", show_default=False, help="Yours; without it one is started.")
    ] = None,
    work: OneCommand,
    search: SearchOptions,
    login: Login,
    run: Annotated[RunRequest, OptionBinding(*TAKEN, "allow_any_command")],
    results: PointResults,
) -> None:
    """Where does a Redis saturate?

    Users are doubled until more of them bring no more; then all numbers of users are measured again and again in random
    order. Only keys that begin with loadstone: are written, and they are removed. Sends full load; never use it on
    production.
    """
    from loadstone.addons.saturation.experiment import redis_source

    _saturate(redis_source(url, work, search, login), run, results)


@command(saturate_app, "http", _HTTP_NAMES)
def saturate_http(
    *,
    url: Annotated[str, typer.Argument(metavar="URL", show_default=False)],
    work: HttpWork,
    search: SearchOptions,
    run: Annotated[RunRequest, OptionBinding(*TAKEN, *BEHIND)],
    results: PointResults,
) -> None:
    """Where does an HTTP service saturate?

    It must run already. Sends full load; never use it on production.
    """
    from loadstone.addons.saturation.experiment import http_source

    _saturate(http_source(url, work, search), run, results)


def _saturate(described: "ExperimentSource", run: RunRequest, results: PointResults) -> None:
    """Measure in the way that `loadstone run` does."""
    run.check()
    objectives = objectives_of(results.fail_if)
    from loadstone.run_folder.earlier_runs import folder_to_resume

    resume = None if run.resume is None else folder_to_resume(run.resume, run.out)
    options = replace(run, described=described, resume=resume)
    outcome = carried_out(options, objectives, results, show_result=partial(_show, verbose=options.verbose))
    show_outcome(outcome, results)


def _show(analysis: "Analysis", report: Path | None, folder: Path, results: "Console", *, verbose: bool) -> None:
    from loadstone.report.terminal.outcome import show

    show(analysis, report, results, folder=folder, verbose=verbose, typed=True)
