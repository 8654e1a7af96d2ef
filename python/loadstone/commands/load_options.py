"""The options that `loadstone redis` and `loadstone http` share."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.exceptions import TyperException

from loadstone.cli_options import GroupedCommand, whole
from loadstone.errors import UserError

_ALWAYS = "is always done; leave it out"
_URL = "write it into the URL: redis://HOST:PORT/DATABASE"
_KEYS = "keys have names of loadstone's own, so that yours are not touched; leave it out"
_NOT_THERE = "is not there yet; leave it out"
REDIS: Mapping[str, str] = {
    **dict.fromkeys(("-p", "--port", "-s", "--server", "--host", "--dbnum", "--select-db"), _URL),
    **dict.fromkeys(("-S", "--unix-socket"), "write unix:///path/to/redis.sock in the place of the URL"),
    **dict.fromkeys(("--authenticate", "--pass"), "write redis://USER:PASSWORD@HOST, the password as ${env:NAME}"),
    **dict.fromkeys(("-k", "-I", "--reconnect-interval"), "connections stay open; leave it out"),
    **dict.fromkeys(("-l", "--show-config", "--client-stats"), "is not there: --verbose prints more, --out keeps all"),
    **dict.fromkeys(("-x", "--run-count"), "write --repeat NUMBER; a value: --command 'SET {key} TEXT'"),
    **dict.fromkeys(("-R", "--random-data"), "{value} is text of its own for each operation; leave it out"),
    **dict.fromkeys(("--key-prefix", "--key-minimum", "--key-median", "--generate-keys"), _KEYS),
    **dict.fromkeys(("--expiry-range", "--no-expiry"), "write --command 'SET {key} {value} EX {uniform 10..100}'"),
    **dict.fromkeys(("--multi-key-get",), "write --command 'MGET {keys:10}'"),
    **dict.fromkeys(("--data-verify", "--verify-only"), "write --verify"),
    **dict.fromkeys(("--data-import", "--data-offset", "--data-size-pattern"), _NOT_THERE),
    **dict.fromkeys(("--enable-tracking", "--tls-ciphers", "--cacertdir", "--sentinel"), _NOT_THERE),
    **dict.fromkeys(("--wait-ratio", "--num-slaves", "--wait-timeout"), "write --command 'WAIT 1 100' in a mix"),
    **dict.fromkeys(("--print-percentiles", "--hide-histogram"), "write --hdr-file-prefix PREFIX for all"),
    **dict.fromkeys(("--distinct-client-seed", "--randomize"), "write --seed NUMBER, or nothing for a fresh one"),
    **dict.fromkeys(("--command-key-pattern",), "write --key-pattern, which is that of all commands"),
    **dict.fromkeys(("--precision",), "leave it out"),
    **dict.fromkeys(("-o", "--out-file"), "write --out DIR for reports, --csv, --json or --json-out-file FILE"),
    **dict.fromkeys(("--cluster-mode",), "write --cluster"),
    **dict.fromkeys(("--protocol",), "write --resp3, or nothing for RESP2"),
    **dict.fromkeys(("--tls-skip-verify",), "write --insecure"),
    **dict.fromkeys(("-D", "--debug"), "write --verbose"),
    **dict.fromkeys(("--clients",), "write -c, the connections of all threads together"),
}
HTTP: Mapping[str, str] = {
    **dict.fromkeys(("-s", "--script"), "a script of wrk or k6 is not read; requests are options here: --path, --body"),
    **dict.fromkeys(("-T",), "write --timeout TIME (wrk), or -H 'Content-Type: ...' (hey)"),
    **dict.fromkeys(("-A",), "write -H 'Accept: ...'"),
    **dict.fromkeys(("-a",), "write http://USER:PASSWORD@HOST, the password as ${env:NAME}"),
    **dict.fromkeys(("-o",), "write --csv or --json, and --out DIR for reports"),
    **dict.fromkeys(("-x", "-host", "-h2", "--http2"), _NOT_THERE),
    **dict.fromkeys(("-disable-keepalive", "--disable-keepalive"), "connections stay open; leave it out"),
    **dict.fromkeys(("-disable-compression", "-disable-redirects"), _ALWAYS),
    **dict.fromkeys(("-cpus",), "write -t THREADS"),
    **dict.fromkeys(("--stage", "--stages"), "write --rates, or `loadstone saturate http --ramp '1000 over 10 min'`"),
    **dict.fromkeys(("--summary-export",), "write --json-out-file FILE"),
    **dict.fromkeys(("--no-vu-connection-reuse",), "connections stay open; leave it out"),
    **dict.fromkeys(("-v", "--version"), "`loadstone --version` prints it"),
}


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


class _PeerCommand(GroupedCommand):
    """A command that knows the options of its peers."""

    refused: Mapping[str, str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See typer. Raises UserError for an option that a peer has and we have not, with what to write."""
        for word in _single_dashes(args, self.refused):
            raise UserError(f"{word}: {self.refused[word]}")
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            name = getattr(error, "option_name", "")
            if name in self.refused:
                raise UserError(f"{name}: {self.refused[name]}") from None
            raise


def _single_dashes(args: Sequence[str], refused: Mapping[str, str]) -> list[str]:
    """hey's long options with one dash, which would be read as a short one and its value."""
    return [word for word in args if len(word) > 2 and word[0] == "-" != word[1] and word in refused]


class RedisCommand(_PeerCommand):
    """`loadstone redis`, for who knows redis-benchmark or memtier_benchmark."""

    refused = REDIS


class HttpCommand(_PeerCommand):
    """`loadstone http`, for who knows wrk, hey or k6."""

    refused = HTTP
