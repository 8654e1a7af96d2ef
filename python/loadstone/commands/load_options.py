"""The options that `loadstone redis` and `loadstone http` share."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from loadstone.cli_options import whole
from loadstone.errors import UserError


def seconds(option: str) -> Callable[[str], float]:
    """Reads an option's time: `10` are seconds, as with the peers. What is none raises UserError."""

    def read(text: str) -> float:
        from loadstone.spec.units import parse_duration_s

        plain = text.replace(".", "", 1).isdecimal()
        return parse_duration_s(f"{text} s" if plain else text, option)

    return read


def milliseconds(option: str) -> Callable[[str], float]:
    """The same in milliseconds, for times that are often short."""
    return lambda text: 1000 * seconds(option)(text)


def positive(option: str, wrong: str, most: float) -> Callable[[str], float]:
    """Reads an option's number that is more than 0. What is none raises UserError."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if not 0 < number <= most:
            raise UserError(f"{option} {text}: {wrong}; write a number above 0, at most {most:g}")
        return number

    return read


def warm_up_s(given: float | None, requests: int | None, usual: float) -> float:
    """How long nothing is measured. A number of requests is measured from the first one on. Raises UserError."""
    if given and requests is not None:
        raise UserError("-n, --warm-up: exactly so many requests are sent, and all are measured; leave one of them out")
    return 0.0 if requests is not None else usual if given is None else given


def connections_of(*names: str, usual: str = "") -> "typer.models.OptionInfo":
    """`-c`, and what else the peers call it; `usual`: how many without it, where that is no number alone."""
    found: typer.models.OptionInfo = typer.Option(
        "-c",
        "--connections",
        *names,
        metavar="NUMBER",
        parser=whole("-c", "not a number of connections", 1, 65_536),
        help=f"Connections of all threads together; each has one user, who waits for the reply{usual}.",
    )
    return found


def requests_of(*names: str) -> "typer.models.OptionInfo":
    """`-n`, and what else the peers call it."""
    found: typer.models.OptionInfo = typer.Option(
        "-n",
        "--requests",
        *names,
        metavar="NUMBER",
        parser=whole("-n", "not a number of requests", 1, 10**12),
        help="Exactly so many requests of each operation, of all connections together, in the place of a time.",
    )
    return found


Rate = Annotated[
    str | None,
    typer.Option(
        "--rate",
        "--rps",
        metavar="RATE",
        help="Requests a second, of all connections together, whether or not replies came (open model): latency "
        "counts from the time that each was due. For example 5000 or 20k.",
    ),
]
Rates = Annotated[
    str | None,
    typer.Option(
        "--rates",
        metavar="RATES",
        help="Latency by rate: '10%..90%' of full speed, which is measured first; '1000..9000', '1k,5k,20k'.",
    ),
]
Arrivals = Annotated[
    Literal["constant", "poisson"], typer.Option("--arrivals", help="How requests that come at a rate are spread.")
]
Precise = Annotated[
    bool,
    typer.Option(
        "--precise",
        help="With --rate or --rates: stay awake before a request is due and while a reply is, even where "
        "the generator shares its CPUs. By default it does so where it has CPUs of its own.",
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="URL",
        help="Compare with this one: both take turns until it is decided which is faster, within a minute.",
    ),
]
Think = Annotated[
    float | None,
    typer.Option(
        "--think", metavar="TIME", parser=milliseconds("--think"), help="Users pause between two requests, e.g. 50ms."
    ),
]
WarmUp = Annotated[
    float | None,
    typer.Option(
        "--warm-up", metavar="TIME", parser=seconds("--warm-up"), help="Cut off before each measurement (300 ms)."
    ),
]
Repeat = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        metavar="NUMBER",
        parser=whole("--repeat", "not a number of repeats", 1, 1000),
        help="Measure each so often; from 6 on there is an interval. With --against: so many blocks.",
    ),
]
AtRate = Annotated[
    str | None,
    typer.Option(
        "--at-rate",
        metavar="RATE",
        help="Measure latency in addition at a fixed rate: 50% of what each row can do, or 5000/s.",
    ),
]
Slice = Annotated[
    str | None, typer.Option("--slice", metavar="TIME", help="How long a turn is with --against, e.g. '100 ms'.")
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="TIME",
        parser=milliseconds("--timeout"),
        help="A reply that takes longer is counted as a timeout (5 s).",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Keep the run's folder there, with its reports; else the newest 20 are kept in ./runs.",
    ),
]
NoKeep = Annotated[bool, typer.Option("--no-keep", help="Remove the run's folder at the end.")]
Resume = Annotated[
    Path | None, typer.Option("--resume", metavar="RUN", help="Continue this run, which was interrupted.")
]
Csv = Annotated[bool, typer.Option("--csv", help="Print a line a row with redis-benchmark's columns, and ours.")]
JsonFile = Annotated[
    Path | None, typer.Option("--json-out-file", metavar="FILE", help="Write analysis.json there, too.")
]
HdrPrefix = Annotated[
    str | None,
    typer.Option("--hdr-file-prefix", metavar="PREFIX", help="Write HdrHistogram logs to PREFIX_<trial>.hlog."),
]
