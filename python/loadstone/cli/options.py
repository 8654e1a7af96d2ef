"""The options of the command line: each is declared once, beside the field of the dataclass that it fills.

    budget: Annotated[str | None, Option("--budget", metavar="TIME", help="How long the whole run may last.")] = None

Those of a run and those that several commands share stand here, others with their command. `cli/command.py` makes
the options of a command out of the fields of its dataclasses.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from loadstone.addons.fleet.spec import LostAgent
from loadstone.run.command_line import are_of_folder, without_password
from loadstone.safety.errors import UserError
from loadstone.text.language import marked, said

if TYPE_CHECKING:
    from loadstone.experiment.spec.experiment import Experiment

EXPERIMENT = "What is measured"
PARTS = "Servers and applications"
LOAD = "The load"
REQUESTS = "What is sent"
SEARCH = "The search"
LENGTH = "How long, and how often"
PLACE = "Where it runs, and where it is kept"
RESULTS = "What is printed, and the exit status"
PANELS = (EXPERIMENT, REQUESTS, LOAD, SEARCH, LENGTH, PARTS, PLACE, RESULTS)
"""The headings of the help, in their order."""
LEVELS = "FACTOR=LEVEL[,FACTOR=LEVEL]"
Read = Callable[[str, str], Any]
"""Takes an option's name and its text. Raises UserError that names both, and what to write."""


@dataclass(frozen=True)
class Option:
    """An option. The first of its names is the one that messages use; where a user wrote another, they use that."""

    name: str
    also: tuple[str, ...] = ()
    """Other names. Those that other programs have for it stand at the command (`Peers`)."""
    metavar: str | None = None
    help: str = ""
    panel: str | None = None
    """The heading of the help under which it stands."""
    read: Read | None = None
    case_sensitive: bool = True


def whole(wrong: str, lowest: int, highest: int | None = None) -> Read:
    """Reads a whole number; anything else is refused, e.g. `--blocks 0: not a number of blocks; ...`."""

    def read(option: str, text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = lowest - 1
        if number < lowest or (highest is not None and number > highest):
            allowed = (
                said("from {lowest} to {highest}", lowest=lowest, highest=highest)
                if highest is not None
                else said("from {lowest} on", lowest=lowest)
            )
            raise UserError(
                "{option} {text}: {wrong}; write a number {allowed}",
                option=option,
                text=text,
                wrong=said(wrong),
                allowed=allowed,
            )
        return number

    return read


def positive(wrong: str, most: float) -> Read:
    """Reads a number above 0."""

    def read(option: str, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if not 0 < number <= most:
            raise UserError(
                "{option} {text}: {wrong}; write a number above 0, at most {most:g}",
                option=option,
                text=text,
                wrong=said(wrong),
                most=most,
            )
        return number

    return read


def seconds(option: str, text: str) -> float:
    """Reads a time: `10` are seconds, as with the peers."""
    from loadstone.text.units import parse_duration_s  # only now: it takes time to load

    plain = text.replace(".", "", 1).isdecimal()
    return parse_duration_s(f"{text} s" if plain else text, option)


def one_of(words: Sequence[str]) -> Read:
    """Reads one of these words."""

    def read(option: str, text: str) -> str:
        if text not in words:
            raise UserError(
                "{option} {text}: write {others} or {last}",
                option=option,
                text=text,
                others=", ".join(words[:-1]),
                last=words[-1],
            )
        return text

    return read


def milliseconds(option: str, text: str) -> float:
    """The same in milliseconds, for times that are often short."""
    return 1000 * seconds(option, text)


def require_folder(option: str, path: Path) -> None:
    """Returns if there is the folder in which a path lies. Raises UserError."""
    if not path.absolute().parent.is_dir():
        raise UserError(
            "{option} {path}: there is no folder {parent}; make it, or name another",
            option=option,
            path=path,
            parent=path.parent,
        )


def require_place(option: str, path: Path) -> None:
    """Returns if a file may be written there, or replaced: a device or a pipe would be replaced, too. Raises
    UserError."""
    require_folder(option, path)
    if path.is_dir():
        raise UserError("{option} {path}: is a folder; name a file", option=option, path=path)
    if path.exists() and not path.is_file():
        raise UserError("{option} {path}: is a device or a pipe, and no file; name a file", option=option, path=path)
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise UserError("{option} {path}: you may not write there; name another file", option=option, path=path)


def given(*filled: Any) -> list[str]:
    """The options of these dataclasses whose values are not their defaults, in the order of their declaration."""
    return [
        option.name
        for group in filled
        for each in fields(group)
        for option in getattr(each.type, "__metadata__", ())
        if isinstance(option, Option) and getattr(group, each.name) != each.default
    ]


AtRate = Annotated[
    str | None,
    Option(
        "--at-rate",
        metavar="RATE",
        help="Measure rows of tables at a fixed rate, too: 50% of what each can do, 5000/s, or never.",
        panel=EXPERIMENT,
    ),
]
Budget = Annotated[
    str | None,
    Option("--budget", metavar="TIME", help="How long the whole run may last, e.g. 20m.", panel=LENGTH),
]
Threads = Annotated[
    int | None,
    Option(
        "--threads",
        metavar="NUMBER",
        help="Threads of the generator; without it as many as the CPUs allow.",
        panel=LOAD,
        read=whole(marked("not a number of threads"), 1, 256),
    ),
]
Think = Annotated[
    float | None,
    Option(
        "--think",
        metavar="TIME",
        help="Users pause between two requests, e.g. 50ms.",
        panel=LOAD,
        read=milliseconds,
    ),
]
Timeout = Annotated[
    float | None,
    Option(
        "--timeout",
        metavar="TIME",
        help="A reply that takes longer is counted as a timeout (5 s).",
        panel=LOAD,
        read=milliseconds,
    ),
]
Trust = Annotated[
    bool,
    Option(
        "--trust",
        help="Run a file of someone else's that you read: what it starts, connects to and sends stands in `show`. "
        "Remembered until one of its bytes changes.",
        panel=PARTS,
    ),
]
Quiet = Annotated[bool, Option("--quiet", help="No progress and no remarks, only the results.", panel=RESULTS)]
SecretFiles = Annotated[
    tuple[str, ...],
    Option("--secret-file", metavar="NAME=PATH", help="A secret from a file: ${secret:NAME}. Repeatable.", panel=PARTS),
]


@dataclass(frozen=True)
class RunOptions:
    """What the command line says of a run. A field without an option is set by the command itself."""

    experiment: str = ""
    only: Annotated[
        tuple[str, ...],
        Option(
            "--only",
            metavar="FACTOR=LEVEL[,LEVEL]",
            help="Run only these levels of a factor, also of those off by default. Repeatable.",
            panel=EXPERIMENT,
        ),
    ] = ()
    set: Annotated[
        tuple[str, ...],
        Option(
            "--set",
            metavar="PATH=VALUE",
            help="Change a setting, e.g. workload.pool.connections=8. Repeatable.",
            panel=EXPERIMENT,
        ),
    ] = ()
    servers: Annotated[
        tuple[str, ...],
        Option(
            "--server",
            metavar="NAME=URL",
            help="Use this server, e.g. redis=redis://host:6379/0. Repeatable.",
            panel=PARTS,
        ),
    ] = ()
    subjects: Annotated[
        tuple[str, ...],
        Option(
            "--subject",
            metavar="[NAME=]URL[,URL]|PATH",
            help="Use this application: of yours by URL, or started by a manifest. Repeatable.",
            panel=PARTS,
        ),
    ] = ()
    hosts: Annotated[
        tuple[str, ...],
        Option(
            "--host",
            metavar="NAME=HOST",
            help="Start this server or application on the machine of a monitor of the fleet. Repeatable.",
            panel=PARTS,
        ),
    ] = ()
    driver: Annotated[
        str | None,
        Option(
            "--driver",
            metavar="NAME[:OPTION=VALUE]|PATH",
            help="What makes the load: native, or a client library's program, e.g. go-redis.",
            panel=PARTS,
        ),
    ] = None
    secret_files: SecretFiles = ()
    quick: Annotated[bool, Option("--quick", help="Short trials; the verdicts are marked as quick.", panel=LENGTH)] = (
        False
    )
    as_published: Annotated[
        bool, Option("--as-published", help="Use the original counts, however few.", panel=EXPERIMENT)
    ] = False
    scale: Annotated[
        str | None,
        Option("--scale", metavar="SHARE", help="Make users and rows smaller, e.g. 0.1 or '10 %'.", panel=EXPERIMENT),
    ] = None
    budget: Budget = None
    blocks: Annotated[
        int | None,
        Option(
            "--blocks",
            metavar="NUMBER",
            help="Measure this number of blocks, and compare once at the end.",
            panel=LENGTH,
            read=whole(marked("not a number of blocks"), 1, 1000),
        ),
    ] = None
    """Of every group; None: the looks and the design decide."""
    at_rate: AtRate = None
    twin: Annotated[
        bool,
        Option("--twin", help="Compare one condition with itself, too: this machine's noise floor.", panel=LENGTH),
    ] = False
    seed: Annotated[
        int | None,
        Option(
            "--seed",
            metavar="NUMBER",
            help="Seed of the order, the keys and the documents; a fresh one if not given.",
            panel=LENGTH,
            read=whole(marked("not a seed"), 0),
        ),
    ] = None
    """None: a fresh one, or on `resume` the folder's."""
    out: Annotated[Path, Option("--out", metavar="DIR", help="Where the run's folder is made.", panel=PLACE)] = Path(
        "runs"
    )
    resume: Annotated[
        Path | None,
        Option(
            "--resume",
            metavar="RUN",
            help="Continue this run, which was interrupted; `loadstone run --resume RUN` needs no other option.",
            panel=PLACE,
        ),
    ] = None
    prometheus: Annotated[
        int | None,
        Option(
            "--prometheus",
            metavar="PORT",
            help="Offer live figures to Prometheus there.",
            panel=PLACE,
            read=whole(marked("not a port"), 1, 65535),
        ),
    ] = None
    fleet: Annotated[
        str | None,
        Option(
            "--fleet",
            metavar="FLEET",
            help="Make the load on several agents: local:NUMBER, ssh:HOST,HOST, ssh:@FILE or tls://HOST:PORT "
            "(see docs/fleet.md).",
            panel=PLACE,
        ),
    ] = None
    lost_agent: Annotated[
        LostAgent,
        Option(
            "--lost-agent",
            metavar="|".join(get_args(LostAgent)),
            help="When an agent of the fleet is lost, its trial does not count. Go on without it, wait for it, or end.",
            panel=PLACE,
            read=one_of(get_args(LostAgent)),
        ),
    ] = "go-on"
    trust: Trust = False
    allow_any_command: Annotated[
        bool,
        Option(
            "--allow-any-command",
            help="DANGER: let an experiment send any command and any SQL to your servers. It may change or delete, for "
            "good, all that they hold, and their settings.",
            panel=PARTS,
        ),
    ] = False
    share_machine: Annotated[
        bool,
        Option(
            "--share-machine",
            help="Measure while another run measures on this machine; the figures of both suffer.",
            panel=PLACE,
        ),
    ] = False
    wait: Annotated[
        bool,
        Option(
            "--wait",
            help="Where another run measures on this machine, begin when it ends; the budget counts from there.",
            panel=PLACE,
        ),
    ] = False
    watch: Annotated[
        bool, Option("--watch", help="Open a web page that follows this run, and stays for its report.", panel=RESULTS)
    ] = False
    quiet: Quiet = False
    verbose: Annotated[
        bool,
        Option("--verbose", help="Print each trial while it runs, and every table at the end.", panel=RESULTS),
    ] = False
    built: "Experiment | None" = None
    """What the command line itself describes (`loadstone saturate`); None: the experiment of this name."""
    typed: bool = False
    """Whether all that is started was typed, for this one time: nothing is asked of it, and no answer is kept."""
    newest_kept: bool = False
    """Whether the run is one of those of which the newest alone are kept, see `run_folder.newest_runs`."""
    of_folder: bool = field(default_factory=are_of_folder)
    began_s: float = field(default_factory=time.monotonic)
    """When the command began: the budget counts from there."""
    command: tuple[str, ...] = field(default_factory=lambda: without_password(sys.argv[1:]))

    def check(self) -> None:
        """Raises UserError where options contradict each other."""
        if self.quiet and self.verbose:
            raise UserError("--quiet, --verbose: leave one of them out")
        if self.fleet is None and self.lost_agent != "go-on":
            raise UserError(
                "--lost-agent {lost_agent}: there is no fleet; add --fleet, or leave it out", lost_agent=self.lost_agent
            )


MEASURES = (
    "secret_files",
    "seed",
    "resume",
    "prometheus",
    "fleet",
    "lost_agent",
    "share_machine",
    "wait",
    "watch",
    "verbose",
)
"""The options of `RunOptions` that every command takes that measures."""


@dataclass(frozen=True)
class Results:
    """What is printed at the end, and which exit status it gives."""

    fail_if: Annotated[
        tuple[str, ...],
        Option(
            "--fail-if",
            metavar="OBJECTIVE",
            help="Status 1 if it holds or cannot be decided, e.g. 'p99 > 5ms'. Repeatable.",
            panel=RESULTS,
        ),
    ] = ()
    open: Annotated[bool, Option("--open", help="Open the report in the browser when done.", panel=RESULTS)] = False
    json: Annotated[bool, Option("--json", help="Print analysis.json alone to stdout when done.", panel=RESULTS)] = (
        False
    )


@dataclass(frozen=True)
class Output(Results):
    """The same of `redis` and `http`, and whether the run is kept."""

    quiet: Annotated[
        bool, Option("--quiet", help="A line a row, as redis-benchmark -q; no progress.", panel=RESULTS)
    ] = False
    csv: Annotated[
        bool,
        Option("--csv", help="Print a line a row with redis-benchmark's columns, and ours.", panel=RESULTS),
    ] = False
    json_file: Annotated[
        Path | None,
        Option("--json-out-file", metavar="FILE", help="Write analysis.json there, too.", panel=RESULTS),
    ] = None
    hdr_prefix: Annotated[
        str | None,
        Option(
            "--hdr-file-prefix",
            metavar="PREFIX",
            help="Write HdrHistogram logs to PREFIX_<trial>.hlog.",
            panel=RESULTS,
        ),
    ] = None
    out: Annotated[
        Path | None,
        Option(
            "--out",
            metavar="DIR",
            help="Keep the run's folder there, with its reports; else the newest 20 are kept in ./runs.",
            panel=PLACE,
        ),
    ] = None
    no_keep: Annotated[bool, Option("--no-keep", help="Remove the run's folder at the end.", panel=PLACE)] = False

    def check(self) -> None:
        """Before anything is started. Raises UserError."""
        if self.json and self.csv:
            raise UserError("--json, --csv: leave one of them out")
        for option, given in (("--out", self.out is not None), ("--open", self.open)):
            if given and self.no_keep:
                raise UserError("--no-keep, {option}: leave one of them out", option=option)
        if self.hdr_prefix is not None:
            require_folder("--hdr-file-prefix", Path(self.hdr_prefix))
        if self.json_file is not None:
            require_place("--json-out-file", self.json_file)


@dataclass(frozen=True)
class CompareOptions:
    """What the command line says of a comparison."""

    runs: tuple[Path, ...] = ()
    a: Annotated[str | None, Option("--a", metavar=LEVELS, help="One run: the conditions A.", panel=EXPERIMENT)] = None
    """None: the declared comparisons, or two runs."""
    b: Annotated[str | None, Option("--b", metavar=LEVELS, help="One run: the conditions B.", panel=EXPERIMENT)] = None
    metric: Annotated[
        str | None, Option("--metric", metavar="METRIC", help="What decides, e.g. goodput or p99.", panel=EXPERIMENT)
    ] = None
    margin: Annotated[
        str | None, Option("--margin", metavar="SHARE", help="A difference below it does not matter.", panel=EXPERIMENT)
    ] = None
    across: Annotated[
        bool, Option("--across", help="Two runs, though machine, versions, placement or load differ.", panel=EXPERIMENT)
    ] = False
    fail_if: Annotated[
        tuple[str, ...],
        Option(
            "--fail-if",
            metavar="OBJECTIVE",
            help="Status 1 if it holds or cannot be decided, e.g. 'goodput < -5%' (B against A). Repeatable.",
            panel=RESULTS,
        ),
    ] = ()
