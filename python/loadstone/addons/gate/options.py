"""What `loadstone gate` takes: the two versions, and when it is red."""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from loadstone.cli.options import LENGTH, LOAD, PARTS, RESULTS, BudgetOption, Option, Threads, Timeout, seconds, whole
from loadstone.safety.errors import UserError

TOLERANCE, TOLERANCE_P99, TOLERANCE_MEMORY = 0.03, 0.10, 0.10
LEVEL = 0.001
READY_WITHIN_S = 60.0
_NOTHING = re.compile(r"0+(\.0*)?\s*%?|\.0+\s*%?")


def share(option: str, text: str) -> float:
    """A share from nothing to the double: `3 %`, `3%`, `0.03`. Raises UserError."""
    from loadstone.text.units import margin_share  # only now: it takes time to load

    try:
        value = margin_share(text.strip() if "%" in text else float(text))
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise UserError("{option} {text}: no share; write for example '3 %' or 0.03", option=option, text=text)
    return value


def share_or_none(option: str, text: str) -> float:
    """Return a share, or 0 if the text says nothing: `0 %`, `0`, `0.00`. Raises UserError."""
    return 0.0 if _NOTHING.fullmatch(text.strip()) else share(option, text)


def read_level(option: str, text: str) -> float:
    """Return a level, which says how often: `0.001`, `1/1000`. Raises UserError."""
    one, slash, of = text.partition("/")
    try:
        value = float(one) / float(of) if slash else float(text)
    except (ValueError, ZeroDivisionError):
        value = 0.0
    if not 1e-6 <= value <= 0.2:
        raise UserError(
            "{option} {text}: no level; write how often, 0.000001 to 0.2, as 1/1000", option=option, text=text
        )
    return value


@dataclass(frozen=True)
class GateOptions:
    """When a gate is red, and how long it may take."""

    tolerance: Annotated[
        float | None,
        Option(
            "--tolerance",
            ("--not-slower-than",),
            metavar="SHARE",
            help="Slower by less does not matter, of rate and CPU per request: per cent of the base (3 %).",
            panel=RESULTS,
            read=share,
        ),
    ] = None
    tolerance_p99: Annotated[
        float | None,
        Option("--tolerance-p99", metavar="SHARE", help="The same of the P99 (10 %).", panel=RESULTS, read=share),
    ] = None
    tolerance_memory: Annotated[
        float | None,
        Option("--tolerance-memory", metavar="SHARE", help="The same of memory (10 %).", panel=RESULTS, read=share),
    ] = None
    level: Annotated[
        float | None,
        Option(
            "--level",
            metavar="SHARE",
            help="How often a gate may be red where nothing is slower beyond the tolerance (1/1000).",
            panel=RESULTS,
            read=read_level,
        ),
    ] = None
    undecided: Annotated[
        Literal["status", "pass", "fail"],
        Option(
            "--undecided",
            help="The exit status of what is not decidable here: 4, or that of a pass (0) or of a failure (1).",
            panel=RESULTS,
        ),
    ] = "status"
    twin: Annotated[
        bool,
        Option("--twin", help="Compare the base with another start of itself, too: this job's noise.", panel=LENGTH),
    ] = False
    starts_differ: Annotated[
        float | None,
        Option(
            "--starts-differ",
            metavar="SHARE",
            help="Of --start-once and URLs: by how much starts of one version differ, one standard deviation (10 %, as "
            "JVMs do). What may come of that makes no gate red.",
            panel=RESULTS,
            read=share_or_none,
        ),
    ] = None
    budget: BudgetOption = None
    slice: Annotated[
        str | None, Option("--slice", metavar="TIME", help="How long a turn is, e.g. '200 ms'.", panel=LENGTH)
    ] = None


@dataclass(frozen=True)
class GateLoad:
    """The load that both versions get."""

    connections: Annotated[
        int | None,
        Option(
            "--connections",
            ("-c",),
            metavar="NUMBER",
            help="Connections; each has one user, who waits for the reply (16).",
            panel=LOAD,
            read=whole("not a number of connections", 1, 65_536),
        ),
    ] = None
    rate_per_s: Annotated[
        str | None,
        Option(
            "--rate",
            ("--rps",),
            metavar="RATE",
            help="Compare at this rate alone, e.g. 5000: latency counts from when each request was due.",
            panel=LOAD,
        ),
    ] = None
    timeout_ms: Timeout = None
    threads: Threads = None


@dataclass(frozen=True)
class Versions:
    """The two versions of a service."""

    base: Annotated[
        str | None,
        Option(
            "--base",
            metavar="CMD|REVISION",
            help="The command that starts the old version, with {port}; with --start a git revision.",
            panel=PARTS,
        ),
    ] = None
    head: Annotated[
        str | None, Option("--head", metavar="CMD|REVISION", help="The same of the new version.", panel=PARTS)
    ] = None
    base_url: Annotated[
        str | None, Option("--base-url", metavar="URL", help="The old version, which runs already.", panel=PARTS)
    ] = None
    head_url: Annotated[str | None, Option("--head-url", metavar="URL", help="The new one.", panel=PARTS)] = None
    build: Annotated[
        str | None,
        Option("--build", metavar="CMD", help="Of two git revisions: builds each, in its folder.", panel=PARTS),
    ] = None
    start: Annotated[
        str | None,
        Option("--start", metavar="CMD", help="Of two git revisions: starts each, with {port}.", panel=PARTS),
    ] = None
    ready: Annotated[
        str | None,
        Option(
            "--ready",
            metavar="PATH",
            help="Ready when this path answers 200 to 399; without it when its port takes connections.",
            panel=PARTS,
        ),
    ] = None
    ready_within_s: Annotated[
        float | None,
        Option("--ready-within", metavar="TIME", help="How long a start may take (60 s).", panel=PARTS, read=seconds),
    ] = None
    start_once: Annotated[
        bool,
        Option(
            "--start-once",
            help="Start each version once, and warm it up: of what needs seconds to start, as a JVM.",
            panel=PARTS,
        ),
    ] = False
    warm_up_s: Annotated[
        float | None,
        Option(
            "--warm-up",
            metavar="TIME",
            help="How long each start is warmed up at least (with --start-once 60 s, else not at all); up to three "
            "times that while it still gets faster.",
            panel=PARTS,
            read=seconds,
        ),
    ] = None
