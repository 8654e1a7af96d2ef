"""`loadstone saturate redis [URL]` and `loadstone saturate http URL`: where does it break, and which part breaks?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from loadstone import cli_options as opt
from loadstone.cli_options import LOAD, PLACE, SEARCH, GroupedCommand
from loadstone.cli_run import carried_out, objectives_of, show_outcome
from loadstone.errors import UserError

if TYPE_CHECKING:
    from loadstone.spec.experiment import Experiment

saturate_app = typer.Typer(
    help="Find where a Redis or a service saturates.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Model = Annotated[
    Literal["closed", "open"],
    typer.Option(
        "--model",
        help="closed: users wait for their replies, the answer is a number of users. open: requests come at a rate, "
        "the answer is the highest rate that keeps --objective.",
        rich_help_panel=SEARCH,
    ),
]
UsersMax = Annotated[
    int | None,
    typer.Option(
        "--users-max",
        metavar="NUMBER",
        parser=opt.whole("--users-max", "not a number of users", 1, 65_536),
        help="The most users that are tried (4096).",
        rich_help_panel=SEARCH,
    ),
]
Think = Annotated[
    str | None,
    typer.Option("--think", metavar="TIME", help="Users pause between two requests, e.g. 50ms.", rich_help_panel=LOAD),
]
Objective = Annotated[
    str | None,
    typer.Option(
        "--objective",
        metavar="OBJECTIVE",
        help="Up to which rate is it kept, e.g. 'p99 < 10 ms'?",
        rich_help_panel=SEARCH,
    ),
]
Sweeps = Annotated[
    int | None,
    typer.Option(
        "--sweeps",
        metavar="NUMBER",
        parser=opt.whole("--sweeps", "not a number of sweeps", 6, 100),
        help="Measure every number of users so often; without it from 6 on until the interval is narrow.",
        rich_help_panel=SEARCH,
    ),
]
Connections = Annotated[
    int | None,
    typer.Option(
        "--connections",
        "-c",
        "--pool",
        metavar="NUMBER",
        parser=opt.whole("--connections", "not a number of connections", 1, 100_000),
        help="All users share so many connections; without it each has its own.",
        rich_help_panel=LOAD,
    ),
]
Ramp = Annotated[
    str | None,
    typer.Option(
        "--ramp",
        metavar="'USERS over TIME'",
        help="Drive a classical ramp, too, e.g. '1000 over 10 min', and report what is read off its chart.",
        rich_help_panel=SEARCH,
    ),
]
Keys = Annotated[
    int,
    typer.Option(
        "--keys",
        "-r",
        "--keyspace",
        metavar="NUMBER",
        parser=opt.whole("--keys", "not a number of keys", 1, 1_000_000_000),
        help="How many keys {key}, or numbers {number}, there are.",
        rich_help_panel=LOAD,
    ),
]
Resume = Annotated[
    Path | None, typer.Option("--resume", metavar="RUN", help="Continue this run.", rich_help_panel=PLACE)
]


@saturate_app.command("redis", cls=GroupedCommand)
def saturate_redis(
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", show_default=False, help="Yours; without it one is started.")
    ] = None,
    command: Annotated[
        str,
        typer.Option(
            "--command",
            "-t",
            "--tests",
            metavar="COMMAND",
            help="get, set, incr, hget, hset, sadd, zadd, json-get, json-set; or a whole command with placeholders, "
            "as 'GETRANGE {key} 0 9'.",
            rich_help_panel=LOAD,
        ),
    ] = "get",
    load: Annotated[
        str | None,
        typer.Option(
            "--load", metavar="COMMAND", help="Stores every key before, as 'SET {key} {value}'.", rich_help_panel=LOAD
        ),
    ] = None,
    value_size: Annotated[
        str,
        typer.Option(
            "--value-size", "-d", "--data-size", metavar="SIZE", help="Of {value}, e.g. '1 kB'.", rich_help_panel=LOAD
        ),
    ] = "100 B",
    keys: Keys = 1000,
    pipeline: Annotated[
        int,
        typer.Option(
            "--pipeline",
            "-P",
            metavar="NUMBER",
            parser=opt.whole("--pipeline", "not a pipeline depth", 1, 10_000),
            help="Requests that a user sends at once.",
            rich_help_panel=LOAD,
        ),
    ] = 1,
    model: Model = "closed",
    users_max: UsersMax = None,
    think: Think = None,
    objective: Objective = None,
    sweeps: Sweeps = None,
    ramp: Ramp = None,
    connections: Connections = None,
    threads: Annotated[int | None, opt.threads_of("--threads", panel=LOAD)] = None,
    secret_file: opt.SecretFile = None,
    allow_any_command: opt.AllowAnyCommand = False,
    quick: opt.Quick = False,
    budget: opt.Budget = None,
    seed: opt.Seed = None,
    out: opt.Out = Path("runs"),
    resume: Resume = None,
    share_machine: opt.ShareMachine = False,
    wait: opt.Wait = False,
    fail_if: opt.FailIfPoint = None,
    open_: opt.Open = False,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    json_: opt.Json = False,
) -> None:
    """Where does a Redis saturate?

    Users are doubled until more of them bring no more; then all numbers of users are measured again and again in random
    order. Only keys that begin with loadstone: are written, and they are removed. It is full load: not for production.
    """
    from loadstone.commands.saturate_operations import redis_operation
    from loadstone.saturate import SearchOptions, redis_experiment

    search = SearchOptions(model, users_max, think, objective, sweeps, ramp, connections, threads)
    built = redis_experiment(
        url, redis_operation(command, load), search, value_size=value_size, keys=keys, pipeline=pipeline
    )
    _saturate(
        built, tuple(secret_file or ()), fail_if,
        allow_any_command=allow_any_command, quick=quick, budget=budget, seed=seed, out=out, resume=resume,
        share_machine=share_machine, wait=wait, open_=open_, quiet=quiet, verbose=verbose, json_=json_,
    )  # fmt: skip


@saturate_app.command("http", cls=GroupedCommand)
def saturate_http(
    url: Annotated[str, typer.Argument(metavar="URL", show_default=False)],
    path: Annotated[
        list[str] | None,
        typer.Option(
            "--path",
            metavar="PATH",
            help="Below the URL, e.g. '/post/{number}'; several are requested equally often.",
            rich_help_panel=LOAD,
        ),
    ] = None,
    method: Annotated[
        Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
        typer.Option("--method", "-m", case_sensitive=False, help="Of all requests.", rich_help_panel=LOAD),
    ] = "GET",
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header", "-H", metavar="'NAME: VALUE'", help="Repeatable; a secret as ${env:NAME}.", rich_help_panel=LOAD
        ),
    ] = None,
    body: Annotated[
        str | None, typer.Option("--body", metavar="TEXT|@FILE", help="Of all requests.", rich_help_panel=LOAD)
    ] = None,
    expect: Annotated[
        str,
        typer.Option("--expect", metavar="STATUS", help="What is correct: 200, 2xx, or 200,404.", rich_help_panel=LOAD),
    ] = "2xx",
    expect_text: Annotated[
        str | None,
        typer.Option("--expect-text", metavar="TEXT", help="A correct reply holds this text.", rich_help_panel=LOAD),
    ] = None,
    keys: Keys = 1000,
    model: Model = "closed",
    users_max: UsersMax = None,
    think: Think = None,
    objective: Objective = None,
    sweeps: Sweeps = None,
    ramp: Ramp = None,
    connections: Connections = None,
    threads: Annotated[int | None, opt.threads_of("-t", "--threads", panel=LOAD)] = None,
    secret_file: opt.SecretFile = None,
    quick: opt.Quick = False,
    budget: opt.Budget = None,
    seed: opt.Seed = None,
    out: opt.Out = Path("runs"),
    resume: Resume = None,
    share_machine: opt.ShareMachine = False,
    wait: opt.Wait = False,
    fail_if: opt.FailIfPoint = None,
    open_: opt.Open = False,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    json_: opt.Json = False,
) -> None:
    """Where does an HTTP service saturate?

    It must run already. It is full load: not for production.
    """
    from loadstone.commands.saturate_operations import http_operations, http_target
    from loadstone.saturate import SearchOptions, http_experiment

    search = SearchOptions(model, users_max, think, objective, sweeps, ramp, connections, threads)
    paths = tuple(path or ())
    requested = http_target(url, paths).paths
    operations = http_operations(requested, method, header or (), body, expect, expect_text)
    built = http_experiment(url, paths, operations, search, keys=keys)
    _saturate(
        built, tuple(secret_file or ()), fail_if,
        allow_any_command=False, quick=quick, budget=budget, seed=seed, out=out, resume=resume,
        share_machine=share_machine, wait=wait, open_=open_, quiet=quiet, verbose=verbose, json_=json_,
    )  # fmt: skip


def _saturate(
    built: "Experiment",
    secret_files: tuple[str, ...],
    fail_if: list[str] | None,
    *,
    allow_any_command: bool,
    quick: bool,
    budget: str | None,
    seed: int | None,
    out: Path,
    resume: Path | None,
    share_machine: bool,
    wait: bool,
    open_: bool,
    quiet: bool,
    verbose: bool,
    json_: bool,
) -> None:
    """The same way as `loadstone run`."""
    if quiet and verbose:
        raise UserError("--quiet, --verbose: leave one of them out")
    objectives = objectives_of(fail_if)
    from loadstone.options import RunOptions
    from loadstone.runs import folder_to_resume

    options = RunOptions(
        experiment=built.name,
        built=built,
        secret_files=secret_files,
        quick=quick,
        budget=budget,
        seed=seed,
        out=out,
        resume=None if resume is None else folder_to_resume(resume, out),
        allow_any_command=allow_any_command,
        share_machine=share_machine,
        wait=wait,
        quiet=quiet,
        verbose=verbose,
    )
    show_outcome(carried_out(options, objectives, json_=json_), json_=json_, open_=open_)
