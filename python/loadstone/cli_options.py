"""The options that several commands of the command line share."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.exceptions import TyperException

from loadstone.errors import UserError

_TYPE = re.compile(r" <(?:str|path|int|float|list\[\w+\])>$")
"""What is put behind the name of an argument: it says nothing to who does not know Python."""
EXPERIMENT = "What is measured"
PARTS = "Servers and applications"
LOAD = "The load"
SEARCH = "The search"
LENGTH = "How long, and how often"
PLACE = "Where it runs, and where it is kept"
RESULTS = "What is printed, and the exit status"


def whole(option: str, wrong: str, lowest: int, highest: int | None = None) -> Callable[[str], int]:
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


def threads_of(*names: str, panel: str | None = None) -> "typer.models.OptionInfo":
    """Threads of the generator; `panel`: of which part of the help."""
    found: typer.models.OptionInfo = typer.Option(
        *names,
        metavar="NUMBER",
        parser=whole("--threads", "not a number of threads", 1, 256),
        help="Threads of the generator; without it as many as the CPUs allow.",
        rich_help_panel=panel,
    )
    return found


Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="FACTOR=LEVEL[,LEVEL]",
        help="Run only these levels of a factor, also of those off by default. Repeatable.",
        rich_help_panel=EXPERIMENT,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a setting, e.g. workload.pool.connections=8. Repeatable.",
        rich_help_panel=EXPERIMENT,
    ),
]
Server = Annotated[
    list[str] | None,
    typer.Option(
        "--server",
        metavar="NAME=URL",
        help="Use this server, e.g. redis=redis://host:6379/0. Repeatable.",
        rich_help_panel=PARTS,
    ),
]
Subject = Annotated[
    list[str] | None,
    typer.Option(
        "--subject",
        metavar="[NAME=]URL[,URL]|PATH",
        help="Use this application: of yours by URL, or started by a manifest. Repeatable.",
        rich_help_panel=PARTS,
    ),
]
Driver = Annotated[
    str | None,
    typer.Option(
        "--driver",
        metavar="NAME[:OPTION=VALUE]|PATH",
        help="What makes the load: native, or a client library's program, e.g. go-redis.",
        rich_help_panel=PARTS,
    ),
]
SecretFile = Annotated[
    list[str] | None,
    typer.Option(
        "--secret-file",
        metavar="NAME=PATH",
        help="A secret from a file: ${secret:NAME}. Repeatable.",
        rich_help_panel=PARTS,
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        "--scale", metavar="SHARE", help="Make users and rows smaller, e.g. 0.1 or '10 %'.", rich_help_panel=EXPERIMENT
    ),
]
AllowAnyCommand = Annotated[
    bool,
    typer.Option(
        "--allow-any-command",
        help="DANGER: let an experiment send any command and any SQL to your servers. It may change or delete, for "
        "good, all that they hold, and their settings.",
        rich_help_panel=PARTS,
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Run a file of someone else's that you read: what it starts, connects to and sends stands in `show`. "
        "Remembered until one of its bytes changes.",
        rich_help_panel=PARTS,
    ),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Short trials; the verdicts are marked as quick.", rich_help_panel=LENGTH)
]
AsPublished = Annotated[
    bool, typer.Option("--as-published", help="Use the original counts, however few.", rich_help_panel=EXPERIMENT)
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="NUMBER",
        parser=whole("--seed", "not a seed", 0),
        help="Seed of the order, the keys and the documents; a fresh one if not given.",
        rich_help_panel=LENGTH,
    ),
]
Budget = Annotated[
    str | None,
    typer.Option("--budget", metavar="TIME", help="How long the whole run may last, e.g. 20m.", rich_help_panel=LENGTH),
]
AtRate = Annotated[
    str | None,
    typer.Option(
        "--at-rate",
        metavar="RATE",
        help="Measure rows of tables at a fixed rate, too: 50% of what each can do, 5000/s, or never.",
        rich_help_panel=EXPERIMENT,
    ),
]
Blocks = Annotated[
    int | None,
    typer.Option(
        "--blocks",
        metavar="NUMBER",
        parser=whole("--blocks", "not a number of blocks", 1, 1000),
        help="Measure this number of blocks, and compare once at the end.",
        rich_help_panel=LENGTH,
    ),
]
Prometheus = Annotated[
    int | None,
    typer.Option(
        "--prometheus",
        metavar="PORT",
        parser=whole("--prometheus", "not a port", 1, 65535),
        help="Offer live figures to Prometheus there.",
        rich_help_panel=PLACE,
    ),
]
FailIf = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="OBJECTIVE",
        help="Status 1 if it holds or cannot be decided, e.g. 'p99 > 5ms'. Repeatable.",
        rich_help_panel=RESULTS,
    ),
]
FailIfRatio = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="OBJECTIVE",
        help="Status 1 if it holds or cannot be decided, e.g. 'goodput < -5%' (B against A). Repeatable.",
        rich_help_panel=RESULTS,
    ),
]
FailIfPoint = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="OBJECTIVE",
        help="Status 1 if it holds or cannot be decided, e.g. 'saturation < 20' (users) or 'capacity < 50k/s'. "
        "Repeatable.",
        rich_help_panel=RESULTS,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print analysis.json alone to stdout when done.", rich_help_panel=RESULTS)
]
CompareJson = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON alone to stdout.")]
ShareMachine = Annotated[
    bool,
    typer.Option(
        "--share-machine",
        help="Measure while another run measures on this machine; the figures of both suffer.",
        rich_help_panel=PLACE,
    ),
]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Where the run's folder is made.", rich_help_panel=PLACE)
]
Wait = Annotated[
    bool,
    typer.Option(
        "--wait",
        help="Where another run measures on this machine, begin when it ends; the budget counts from there.",
        rich_help_panel=PLACE,
    ),
]
Open = Annotated[
    bool, typer.Option("--open", help="Open the report in the browser when done.", rich_help_panel=RESULTS)
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="No progress and no remarks, only the results.", rich_help_panel=RESULTS)
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", help="Print each trial while it runs, and every table at the end.", rich_help_panel=RESULTS
    ),
]
VerboseReport = Annotated[bool, typer.Option("--verbose", help="Print every table, not the outcome alone.")]
Levels = partial(typer.Option, metavar="FACTOR=LEVEL[,FACTOR=LEVEL]")


class GroupedCommand(TyperCommand):
    """Prints its options in the groups that they name (`rich_help_panel`), in the order of their first ones."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments first, and what names no group last."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        ungrouped: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx)
            if line is None:
                continue
            line = (_TYPE.sub("", line[0]), line[1])
            if parameter.param_type_name == "argument":
                groups["Arguments"].append(line)
            elif (group := getattr(parameter, "rich_help_panel", None)) is not None:
                groups.setdefault(group, []).append(line)
            else:
                ungrouped.append(line)
        rest = "Help" if len(groups) > 1 else "Options"
        for title, lines in {**groups, rest: ungrouped}.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


EXAMPLES = {"URL": "for example http://127.0.0.1:8080/", "RUN": "`latest` is the newest"}
"""Of arguments that a newcomer leaves out."""


def usage_error(error: TyperException) -> str:
    """What is wrong with a command line as one line, with what helps."""
    said = error.format_message().removesuffix(".").replace("Value error, ", "")
    context: Any = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "loadstone COMMAND")
    if near := getattr(error, "possibilities", None):
        return f"{error.message}; did you mean {near[0]}? `{command} --help` lists the options"
    parameter: Any = getattr(error, "param", None)
    if said.startswith("Missing argument") and parameter is not None:
        form = parameter.metavar or parameter.name.upper()
        example = f", {EXAMPLES[form.split()[0]]}" if form.split()[0] in EXAMPLES else ""
        return f"{said}: write `{command} {form}`{example}"
    lists = "the commands" if "command" in said else "what it takes"
    return f"{said}{'' if said.endswith('?') else ';'} `{command} --help` lists {lists}"
