"""The `loadstone` command. Human text goes to stderr, `--json` alone to stdout; only this file exits.

Exit status: 0 done; 1 a --fail-if objective was missed; 2 bad input; 3 measured, but invalid; 130 interrupted (what
was finished is kept).
"""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from typer.exceptions import TyperException

from loadstone import __version__
from loadstone.errors import LoadstoneError, UserError

if TYPE_CHECKING:
    from loadstone.analyse.objectives import Objective

app = typer.Typer(
    name="loadstone",
    help="The load laboratory for Redis and the applications around it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _whole(option: str, wrong: str, lowest: int, highest: int | None = None) -> Callable[[str], int]:
    """Reads an option's whole number; what is none raises UserError, e.g. `--blocks 0: no number of blocks; ...`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = lowest - 1
        if number < lowest or (highest is not None and number > highest):
            allowed = f"from {lowest} to {highest}" if highest is not None else f"from {lowest} on"
            raise UserError(f"{option} {text}: {wrong}; write a number {allowed}")
        return number

    return read


err = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else 120)

Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="FACTOR=LEVEL[,LEVEL]", help="Run only these levels of a factor. Repeatable."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change a setting, e.g. workload.pool.connections=8. Repeatable."),
]
Server = Annotated[
    list[str] | None,
    typer.Option("--server", metavar="NAME=URL", help="Use this server, e.g. redis=redis://host:6379/0. Repeatable."),
]
Subject = Annotated[
    list[str] | None,
    typer.Option(
        "--subject",
        metavar="[NAME=]URL[,URL]|PATH",
        help="Use this application: of yours by URL, or started by a manifest. Repeatable.",
    ),
]
Scale = Annotated[
    str | None,
    typer.Option("--scale", metavar="SHARE", help="Make users and rows smaller, e.g. 0.1 or '10 %'."),
]
Quick = Annotated[bool, typer.Option("--quick", help="Short trials; the verdicts say that it was quick.")]
AsPublished = Annotated[
    bool, typer.Option("--as-published", help="The original's own counts, and what they cannot tell.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="NUMBER",
        parser=_whole("--seed", "not a seed", 0),
        help="Seed of the order, the keys and the documents; a fresh one if not given.",
    ),
]
Budget = Annotated[
    str | None,
    typer.Option("--budget", metavar="TIME", help="How long the run may last, e.g. 20m."),
]
Blocks = Annotated[
    int | None,
    typer.Option(
        "--blocks",
        metavar="NUMBER",
        parser=_whole("--blocks", "not a number of blocks", 1, 1000),
        help="Measure so often, and compare once at the end.",
    ),
]
FailIf = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if", metavar="OBJECTIVE", help="Status 1 if it holds or cannot be told, e.g. 'p99 > 5ms'. Repeatable."
    ),
]
FailIfRatio = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="OBJECTIVE",
        help="Status 1 if it holds or cannot be told, e.g. 'goodput < -5%' (B against A). Repeatable.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print analysis.json to stdout when done.")]
CompareJson = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON to stdout.")]
Levels = partial(typer.Option, metavar="FACTOR=LEVEL[,FACTOR=LEVEL]")


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"loadstone {__version__}")
        raise typer.Exit


@app.command("list")
def list_command() -> None:
    """The built-in experiments, a line each."""
    from loadstone.overview import list_experiments

    for name, question in list_experiments():
        typer.echo(f"{name:<20} {question}")


@app.command()
def show(
    experiment: Annotated[str, typer.Argument(metavar="EXPERIMENT|FILE.yaml")],
    only: Only = None,
    set_: Set = None,
    server: Server = None,
    subject: Subject = None,
    quick: Quick = False,
    as_published: AsPublished = False,
    scale: Scale = None,
    budget: Budget = None,
    blocks: Blocks = None,
) -> None:
    """What an experiment would do, and how long it takes."""
    from loadstone.options import RunOptions
    from loadstone.overview import describe_experiment

    options = RunOptions(
        experiment=experiment,
        only=tuple(only or ()),
        set=tuple(set_ or ()),
        servers=tuple(server or ()),
        subjects=tuple(subject or ()),
        quick=quick,
        as_published=as_published,
        scale=scale,
        budget=budget,
        blocks=blocks,
    )
    typer.echo(describe_experiment(options))


@app.command()
def run(
    experiment: Annotated[str, typer.Argument(metavar="EXPERIMENT|FILE.yaml")],
    only: Only = None,
    set_: Set = None,
    server: Server = None,
    subject: Subject = None,
    quick: Quick = False,
    as_published: AsPublished = False,
    scale: Scale = None,
    budget: Budget = None,
    blocks: Blocks = None,
    seed: Seed = None,
    out: Annotated[Path, typer.Option("--out", help="Where the run's folder is made.")] = Path("runs"),
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="DIR", help="Go on with this run's folder.")
    ] = None,
    prometheus: Annotated[
        int | None,
        typer.Option(
            "--prometheus",
            metavar="PORT",
            parser=_whole("--prometheus", "not a port", 1, 65535),
            help="Offer live figures to Prometheus there.",
        ),
    ] = None,
    fail_if: FailIf = None,
    json_: Json = False,
) -> None:
    """Run an experiment and print what the data say."""
    from loadstone.options import RunOptions
    from loadstone.run import run as run_experiment

    objectives = _objectives(fail_if)
    options = RunOptions(
        experiment=experiment,
        only=tuple(only or ()),
        set=tuple(set_ or ()),
        servers=tuple(server or ()),
        subjects=tuple(subject or ()),
        quick=quick,
        as_published=as_published,
        scale=scale,
        budget=budget,
        blocks=blocks,
        seed=seed,
        out=out,
        resume=resume,
        prometheus=prometheus,
    )
    outcome = run_experiment(options, err, objectives)
    if json_:
        sys.stdout.write((outcome.folder / "analysis.json").read_text())
    _tell_missed(outcome.missed)
    if outcome.status:
        raise typer.Exit(outcome.status)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN")],
    format_: Annotated[
        str, typer.Option("--format", help="Comma-separated: html, md, csv, json, svg, png.")
    ] = "html,md,csv,json,svg",
    fail_if: FailIf = None,
    json_: Json = False,
) -> None:
    """Write a run's reports again, from its folder."""
    from loadstone.run import report_run

    objectives = _objectives(fail_if)
    formats = tuple(part.strip() for part in format_.split(",") if part.strip())
    missed = report_run(folder, formats, err, objectives)
    if json_:
        sys.stdout.write((folder / "analysis.json").read_text())
    _tell_missed(missed)
    if missed:
        raise typer.Exit(1)


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN [RUN]", help="A run's folder, or two: A and B.")],
    a: Annotated[str | None, Levels("--a", help="One run: the conditions A.")] = None,
    b: Annotated[str | None, Levels("--b", help="One run: the conditions B.")] = None,
    metric: Annotated[str | None, typer.Option("--metric", help="What decides, e.g. goodput or p99.")] = None,
    margin: Annotated[str | None, typer.Option("--margin", help="A difference below it does not matter.")] = None,
    across: Annotated[bool, typer.Option("--across", help="Two runs, though machine or versions differ.")] = False,
    fail_if: FailIfRatio = None,
    json_: CompareJson = False,
) -> None:
    """Compare two runs, or conditions of one."""
    from loadstone.compare import CompareOptions
    from loadstone.compare import compare as compare_runs

    options = CompareOptions(
        runs=tuple(runs),
        a=a,
        b=b,
        metric=metric,
        margin=margin,
        across=across,
        fail_if=tuple(fail_if or ()),
    )
    outcome = compare_runs(options, err)
    if json_:
        sys.stdout.write(outcome.json_text)
    if outcome.status:
        raise typer.Exit(outcome.status)


@app.command()
def doctor() -> None:
    """Whether this machine can measure well."""
    from loadstone.overview import examine

    if not examine(err):
        raise typer.Exit(1)


def main() -> None:
    """Entry point: every error becomes one line and its exit status."""
    try:
        status = app(standalone_mode=False)
    except typer.Abort:
        _exit(130, "interrupted")
    except TyperException as error:
        _exit(UserError.exit_status, error.format_message())
    except LoadstoneError as error:
        _exit(error.exit_status, str(error))
    except KeyboardInterrupt:
        _exit(130, "interrupted")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        _exit(UserError.exit_status, f"{error.strerror or error}{place}")
    sys.exit(status if isinstance(status, int) else 0)


def _objectives(texts: list[str] | None) -> list["Objective"]:
    """What `--fail-if` states, before anything is measured. Raises UserError."""
    from loadstone.analyse.objectives import parse_objective, require_absolute

    objectives = [parse_objective(text) for text in texts or ()]
    require_absolute(objectives)
    return objectives


def _tell_missed(missed: Sequence[str]) -> None:
    for line in missed:
        err.print(f"--fail-if: {line}", markup=False, soft_wrap=True)


def _exit(status: int, message: str) -> None:
    err.print(f"loadstone: {message}", markup=False, soft_wrap=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
