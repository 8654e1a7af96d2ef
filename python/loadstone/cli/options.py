"""The options of the command line: each is declared once, beside the field of the dataclass that it fills.

    open: Annotated[bool, Option("--open", help="Open the report in the browser when done.", panel=RESULTS)] = False

Those that fill a `RunRequest` stand in `OF_RUN`, as that knows of no options. Those of a run and those that several
commands share stand here, others with their command. `cli/command.py` makes
the options of a command out of the fields of its dataclasses.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from loadstone.run.request import LostAgent, RunRequest
from loadstone.safety.errors import UserError
from loadstone.text.language import translatable
from loadstone.text.message import said

if TYPE_CHECKING:
    from loadstone.judge.analysis.analysis import Analysis

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
_TIMES = {"k": 1_000, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000}


@dataclass(frozen=True)
class Option:
    """An option. The first of its names is the one that messages use; where a user wrote another, they use that."""

    name: str
    also: tuple[str, ...] = ()
    """Other names. Those that other programs have for it stand at the command (`PeerOptions`)."""
    metavar: str | None = None
    help: str = ""
    panel: str | None = None
    """The heading of the help under which it stands."""
    read: Read | None = None
    case_sensitive: bool = True


def amount(text: str) -> float | None:
    """The number that `5000`, `20k`, `1.5M` or `1e6` stands for; None: it is none."""
    text = str(text).strip()  # a default comes as the number it is
    times = _TIMES.get(text[-1:], 1)
    digits = text if times == 1 else text[:-1]
    for kind in (int, float):  # whole numbers keep all of their digits
        with suppress(ValueError):
            number = kind(digits) * times
            return round(number, 6) if math.isfinite(number) else None
    return None


def whole(wrong: str, lowest: int, highest: int | None = None) -> Read:
    """Reads a whole number as `amount` does, e.g. `1M`; anything else is refused, e.g. `--blocks 0: not a number of
    blocks; ...`."""

    def read(option: str, text: str) -> int:
        written = amount(text)
        number = int(written) if written is not None and written == int(written) else lowest - 1
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
        number = float(amount(text) or 0)
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
    from loadstone.experiment.spec.overrides import parse_duration_s  # only now: it takes time to load

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
    """Return a time in milliseconds, for times that are often short."""
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
        if (option := option_of(type(group), each)) is not None and getattr(group, each.name) != each.default
    ]


AT_RATE = Option(
    "--at-rate",
    metavar="RATE",
    help="Measure rows of tables at a fixed rate, too: 50% of what each can do, 5000/s, or never.",
    panel=EXPERIMENT,
)
AtRateOption = Annotated[str | None, AT_RATE]
BUDGET = Option("--budget", metavar="TIME", help="How long the whole run may last, e.g. 20m.", panel=LENGTH)
BudgetOption = Annotated[str | None, BUDGET]
Threads = Annotated[
    int | None,
    Option(
        "--threads",
        metavar="NUMBER",
        help="Threads of the generator; without it as many as the CPUs allow.",
        panel=LOAD,
        read=whole(translatable("not a number of threads"), 1, 256),
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
TRUST = Option(
    "--trust",
    help="Run a file of someone else's that you read: what it starts, connects to and sends stands in `show`. "
    "Remembered until one of its bytes changes.",
    panel=PARTS,
)
TrustOption = Annotated[bool, TRUST]
QUIET = Option("--quiet", help="No progress and no remarks, only the results.", panel=RESULTS)
QuietOption = Annotated[bool, QUIET]
SECRET_FILES = Option(
    "--secret-file", metavar="NAME=PATH", help="A secret from a file: ${secret:NAME}. Repeatable.", panel=PARTS
)
SecretFiles = Annotated[tuple[str, ...], SECRET_FILES]


OF_RUN: Mapping[str, Option] = {
    "only": Option(
        "--only",
        metavar="FACTOR=LEVEL[,LEVEL]",
        help="Run only these levels of a factor, also of those off by default. Repeatable.",
        panel=EXPERIMENT,
    ),
    "set": Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a setting, e.g. workload.pool.connections=8. Repeatable.",
        panel=EXPERIMENT,
    ),
    "servers": Option(
        "--server",
        metavar="NAME=URL",
        help="Use this server, e.g. redis=redis://host:6379/0. Repeatable.",
        panel=PARTS,
    ),
    "subjects": Option(
        "--subject",
        metavar="[NAME=]URL[,URL]|PATH",
        help="Use this application: of yours by URL, or started by a manifest. Repeatable.",
        panel=PARTS,
    ),
    "hosts": Option(
        "--host",
        metavar="NAME=HOST",
        help="Start this server or application on the machine of a monitor of the fleet. Repeatable.",
        panel=PARTS,
    ),
    "parts": Option(
        "--part",
        metavar="NAME=PROCESS|none",
        help="Count this process, with all below it, as a part of the service: a process id, a systemd unit, a "
        "container, or the URL of a server. Servers that the service has connections to are found without it; none: "
        "find nothing. Repeatable.",
        panel=PARTS,
    ),
    "asked": Option(
        "--server",
        metavar="NAME=URL",
        help="Count this Redis, which stands behind the service, as a part, and ask it INFO each second. Repeatable.",
        panel=PARTS,
    ),
    "driver": Option(
        "--driver",
        metavar="NAME[:OPTION=VALUE]|PATH",
        help="What makes the load: native, or a client library's program, e.g. go-redis.",
        panel=PARTS,
    ),
    "secret_files": SECRET_FILES,
    "quick": Option("--quick", help="Short trials; the verdicts are marked as quick.", panel=LENGTH),
    "as_published": Option("--as-published", help="Use the original study's request counts.", panel=EXPERIMENT),
    "scale": Option(
        "--scale", metavar="SHARE", help="Make users and rows smaller, e.g. 0.1 or '10 %'.", panel=EXPERIMENT
    ),
    "budget": BUDGET,
    "blocks": Option(
        "--blocks",
        metavar="NUMBER",
        help="Measure this number of blocks, and compare once at the end.",
        panel=LENGTH,
        read=whole(translatable("not a number of blocks"), 1, 1000),
    ),
    "at_rate": AT_RATE,
    "twin": Option("--twin", help="Compare one condition with itself, too: this machine's noise floor.", panel=LENGTH),
    "seed": Option(
        "--seed",
        metavar="NUMBER",
        help="Seed of the order, the keys and the documents; a fresh one if not given.",
        panel=LENGTH,
        read=whole(translatable("not a seed"), 0),
    ),
    "out": Option("--out", metavar="DIR", help="Where the run's folder is made.", panel=PLACE),
    "resume": Option(
        "--resume",
        metavar="RUN",
        help="Continue this run, which was interrupted; `loadstone run --resume RUN` needs no other option.",
        panel=PLACE,
    ),
    "prometheus": Option(
        "--prometheus",
        metavar="PORT",
        help="Offer live figures to Prometheus there.",
        panel=PLACE,
        read=whole(translatable("not a port"), 1, 65535),
    ),
    "fleet": Option(
        "--fleet",
        metavar="FLEET",
        help="Make the load on several agents: local:NUMBER, ssh:HOST,HOST, ssh:@FILE or tls://HOST:PORT "
        "(see docs/fleet.md).",
        panel=PLACE,
    ),
    "lost_agent": Option(
        "--lost-agent",
        metavar="|".join(get_args(LostAgent)),
        help="When an agent of the fleet is lost, its trial does not count. Go on without it, wait for it, or end.",
        panel=PLACE,
        read=one_of(get_args(LostAgent)),
    ),
    "trust": TRUST,
    "allow_any_command": Option(
        "--allow-any-command",
        help="DANGER: let an experiment send any command to your servers. It may change or delete, for good, all that "
        "they hold, and their settings.",
        panel=PARTS,
    ),
    "share_machine": Option(
        "--share-machine",
        help="Measure while another run is in progress on this machine; the figures of both suffer.",
        panel=PLACE,
    ),
    "wait": Option(
        "--wait",
        help="Where another run is in progress on this machine, begin when it ends; the budget counts from there.",
        panel=PLACE,
    ),
    "watch": Option("--watch", help="Open a web page that follows this run, and stays for its report.", panel=RESULTS),
    "quiet": QUIET,
    "verbose": Option("--verbose", help="Print each trial while it runs, and every table at the end.", panel=RESULTS),
}
"""The options that fill a `RunRequest`, by its fields; a field without one is set by the command itself."""


BEHIND = ("parts", "asked")
"""The fields of `RunRequest` whose options a command takes that loads a service."""


def option_of(kind: type, each: "Field[Any]") -> Option | None:
    """The option that fills this field of a dataclass; None: the command itself sets it."""
    if kind is RunRequest:
        return OF_RUN.get(each.name)
    return next((told for told in getattr(each.type, "__metadata__", ()) if isinstance(told, Option)), None)


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
"""The fields of `RunRequest` whose options every command takes that measures."""


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
class OutputOptions(Results):
    """Options of the results of `redis` and `http`, and whether the run is kept."""

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

    def lines(self, analysis: "Analysis") -> Iterable[str] | None:  # noqa: ARG002 (those of add-ons need it)
        """What is printed in place of the report; None: the report is."""
        return None

    def write(self, analysis: "Analysis") -> None:
        """Write further files beside the report. Raises LoadstoneError where that cannot be done."""
