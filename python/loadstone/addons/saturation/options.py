"""Options of `loadstone saturate`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from loadstone.cli.options import LOAD, REQUESTS, RESULTS, SEARCH, Option, Results, Think, Threads, whole
from loadstone.cli.redis_options import Pipeline, Size, StoreBefore
from loadstone.text.language import translatable


@dataclass(frozen=True)
class SearchOptions:
    """Settings of the search for the saturation point; None: as `load: saturate` of an experiment has it."""

    model: Annotated[
        Literal["closed", "open"],
        Option(
            "--model",
            help="closed: users wait for their replies, the answer is a number of users. open: requests come at a "
            "rate, the answer is the highest rate that keeps --objective.",
            panel=SEARCH,
        ),
    ] = "closed"
    users_max: Annotated[
        int | None,
        Option(
            "--users-max",
            metavar="NUMBER",
            help="The most users that are tried (4096).",
            panel=SEARCH,
            read=whole(translatable("not a number of users"), 1, 65_536),
        ),
    ] = None
    think_ms: Think = None
    objective: Annotated[
        str | None,
        Option(
            "--objective",
            metavar="OBJECTIVE",
            help="Up to which rate is it kept, e.g. 'p99 < 10 ms'?",
            panel=SEARCH,
        ),
    ] = None
    sweeps: Annotated[
        int | None,
        Option(
            "--sweeps",
            metavar="NUMBER",
            help="Measure every number of users so often; without it from 6 on until the interval is narrow.",
            panel=SEARCH,
            read=whole(translatable("not a number of sweeps"), 6, 100),
        ),
    ] = None
    ramp: Annotated[
        str | None,
        Option(
            "--ramp",
            metavar="'USERS over TIME'",
            help="Drive a classical ramp, too, e.g. '1000 over 10 min', and report what is read off its chart.",
            panel=SEARCH,
        ),
    ] = None
    connections: Annotated[
        int | None,
        Option(
            "--connections",
            ("-c",),
            metavar="NUMBER",
            help="All users share so many connections; without it each has its own.",
            panel=LOAD,
            read=whole(translatable("not a number of connections"), 1, 100_000),
        ),
    ] = None
    threads: Threads = None


@dataclass(frozen=True)
class OneCommand:
    """The command of Redis that the users send."""

    command: Annotated[
        str,
        Option(
            "--command",
            ("-t", "--tests"),
            metavar="COMMAND",
            help="get, set, incr, hget, hset, sadd, zadd, json-get, json-set; or a whole command with placeholders, "
            "as 'GETRANGE {key} 0 9'.",
            panel=REQUESTS,
        ),
    ] = "get"
    load: StoreBefore = None
    size: Size = "100 B"
    keys: Annotated[
        int,
        Option(
            "--keys",
            ("-r",),
            metavar="NUMBER",
            help="How many keys {key}, or numbers {number}, there are.",
            panel=REQUESTS,
            read=whole(translatable("not a number of keys"), 1, 1_000_000_000),
        ),
    ] = 1000
    pipeline: Pipeline = 1


@dataclass(frozen=True)
class PointResults(Results):
    """Options of the results of a saturation point."""

    fail_if: Annotated[
        tuple[str, ...],
        Option(
            "--fail-if",
            metavar="OBJECTIVE",
            help="Status 1 if it holds or cannot be decided, e.g. 'saturation < 20' (users), "
            "'capacity < 50k/s' or 'cpu redis > 9us' (a request). "
            "Repeatable.",
            panel=RESULTS,
        ),
    ] = ()
