"""What `loadstone redis` sends to which server: its options, and those that `loadstone saturate redis` has of them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from loadstone.cli.options import LOAD, PARTS, REQUESTS, Option, positive, whole
from loadstone.safety.errors import UserError
from loadstone.text.language import translatable

PRIMARY = "primary"
"""Who is read from by default."""
PATTERNS = {"R": "uniform", "S": "sequential", "P": "sequential", "G": "gaussian", "Z": "zipf"}
"""memtier_benchmark's letters of `--key-pattern`."""
SIZE = "3"
KEYS = 1000

Size = Annotated[
    str,
    Option("--data-size", ("-d",), metavar="SIZE", help="Of values, in bytes, or as '1 kB'.", panel=REQUESTS),
]
StoreBefore = Annotated[
    str | None,
    Option("--load", metavar="COMMAND", help="Stores every key before: 'SET {key} {value}'.", panel=REQUESTS),
]
Keys = Annotated[
    int | None,
    Option(
        "--keys",
        ("-r",),
        metavar="NUMBER",
        help=f"How many keys there are ({KEYS}; with --documents one for each).",
        panel=REQUESTS,
        read=whole(translatable("not a number of keys"), 1, 1_000_000_000),
    ),
]
Pipeline = Annotated[
    int,
    Option(
        "--pipeline",
        ("-P",),
        metavar="NUMBER",
        help="Requests that a connection sends at once.",
        panel=LOAD,
        read=whole(translatable("not a pipeline depth"), 1, 10_000),
    ),
]


@dataclass(frozen=True)
class Login:
    """Options of the login to a server, and its TLS. All of it can stand in the URL instead."""

    password: Annotated[
        str | None,
        Option("-a", metavar="PASSWORD", help="Visible in `ps`: better redis://:${env:NAME}@HOST:PORT.", panel=PARTS),
    ] = field(default=None, repr=False)
    user: Annotated[str | None, Option("--user", metavar="NAME", help="With -a: the ACL user.", panel=PARTS)] = None
    tls: Annotated[bool, Option("--tls", help="The same as rediss:// in the URL.", panel=PARTS)] = False
    ca_file: Annotated[
        str | None,
        Option("--cacert", metavar="FILE", help="TLS: whose certificates are accepted.", panel=PARTS),
    ] = None
    cert_file: Annotated[
        str | None, Option("--cert", metavar="FILE", help="TLS: our own certificate.", panel=PARTS)
    ] = None
    key_file: Annotated[
        str | None, Option("--key", metavar="FILE", help="TLS: the key of our own certificate.", panel=PARTS)
    ] = None
    server_name: Annotated[
        str | None, Option("--sni", metavar="NAME", help="TLS: the name that the server is called by.", panel=PARTS)
    ] = None
    insecure: Annotated[bool, Option("--insecure", help="TLS: accept any certificate.", panel=PARTS)] = False


@dataclass(frozen=True)
class AddressOptions:
    """Where the server is, in the place of the URL, and how it is spoken to."""

    host: Annotated[
        str | None, Option("--host", ("-h",), metavar="HOST", help="With -p in the place of URL.", panel=PARTS)
    ] = None
    port: Annotated[
        int | None,
        Option(
            "--port",
            ("-p",),
            metavar="PORT",
            help="Of --host (6379).",
            panel=PARTS,
            read=whole(translatable("not a port"), 1, 65535),
        ),
    ] = None
    uri: Annotated[str | None, Option("--uri", ("-u",), metavar="URL", help="The same as URL.", panel=PARTS)] = None
    cluster: Annotated[
        bool,
        Option(
            "--cluster",
            help="Load all nodes of the cluster that URL is one of; without URL one of three is started.",
            panel=PARTS,
        ),
    ] = False
    read_from: Annotated[
        Literal["primary", "replica", "any"],
        Option(
            "--read-from",
            help="Who gets what only reads; replicas and, with any, their primary take turns.",
            panel=PARTS,
        ),
    ] = "primary"
    resp3: Annotated[bool, Option("--resp3", ("-3",), help="Speak RESP3.", panel=PARTS)] = False

    def url(self, given: str | None) -> str | None:
        """The URL that the command line names; None: a server is started. Raises UserError where it names two."""
        named = {"-u": self.uri, "-h": self.host, "-p": self.port}
        options = [option for option, value in named.items() if value is not None]
        if options and (given is not None or (self.uri is not None and len(options) > 1)):
            raise UserError("{options}: the URL is given already; leave one of them out", options=options[-1])
        if self.host is None and self.port is None:
            return given or self.uri
        host = self.host or "127.0.0.1"
        if "://" in host:
            raise UserError(
                "-h {partition}://...: a host has no scheme; write the URL without -h",
                partition=host.partition("://")[0],
            )
        if any(letter in host for letter in "@/?#"):
            raise UserError(
                "-h: a host has no login, no path and no options; write a URL without -h, or the login as -a"
            )
        return f"redis://{f'[{host}]' if host.count(':') > 1 else host}:{self.port or 6379}"


@dataclass(frozen=True)
class RedisWork:
    """Which operations are sent, as the options say it."""

    tests: Annotated[
        str | None,
        Option(
            "--tests",
            ("-t",),
            metavar="TESTS",
            help="Each is measured apart: ping, get, set, incr, lpush, rpush, sadd, hset, hget, zadd, lrange, "
            "lrange_100, mset, json-get, json-set (get,set).",
            panel=REQUESTS,
        ),
    ] = None
    ratio: Annotated[
        str | None,
        Option("--ratio", metavar="SETS:GETS", help="A mix in the place of -t, e.g. 1:10.", panel=REQUESTS),
    ] = None
    commands: Annotated[
        tuple[str, ...],
        Option(
            "--command",
            metavar="COMMAND",
            help="In the place of -t; {key}, {value}, {uniform 1..100}, {random 10 lowercase}, {seq}; also __key__ "
            "and __data__. Several are a mix. Repeatable.",
            panel=REQUESTS,
        ),
    ] = ()
    command_ratios: Annotated[
        tuple[int, ...],
        Option(
            "--command-ratio",
            metavar="NUMBER",
            help="The weight of each --command, in their order. Repeatable.",
            panel=REQUESTS,
            read=whole(translatable("not a weight"), 1, 1_000_000),
        ),
    ] = ()
    commands_file: Annotated[
        Path | None,
        Option(
            "--commands",
            metavar="FILE",
            help="A mix from a file: a command a line, a weight may stand before.",
            panel=REQUESTS,
        ),
    ] = None
    load: StoreBefore = None
    no_load: Annotated[
        bool,
        Option("--no-load", help="Store nothing before: reads of keys not there are misses.", panel=REQUESTS),
    ] = False
    documents: Annotated[
        Path | None,
        Option(
            "--documents",
            metavar="FILE",
            help='Values of yours, a JSON document a line, or {"key": ..., "value": ...}; each key has one.',
            panel=REQUESTS,
        ),
    ] = None
    size: Size = SIZE
    size_range: Annotated[
        str | None,
        Option(
            "--data-size-range",
            metavar="FROM-TO",
            help="Of SETs: 16 sizes evenly spread, in bytes: 32-1024.",
            panel=REQUESTS,
        ),
    ] = None
    size_list: Annotated[
        str | None,
        Option("--data-size-list", metavar="SIZE:WEIGHT,...", help="Of SETs, in bytes: 32:80,1024:20.", panel=REQUESTS),
    ] = None
    data: Annotated[
        Literal["random", "repeat"],
        Option(
            "--data",
            metavar="random|repeat",
            help="Each write has a text of its own, or with `repeat` all the same one.",
            panel=REQUESTS,
        ),
    ] = "random"
    verify: Annotated[
        bool,
        Option(
            "--verify",
            help="Values name their key and version; every reply is held to what was written.",
            panel=REQUESTS,
        ),
    ] = False
    pipeline: Pipeline = 1


@dataclass(frozen=True)
class KeySpace:
    """Which keys are used, and how often each."""

    count: Keys = None
    pattern: Annotated[
        str | None,
        Option(
            "--key-pattern",
            metavar="PATTERN",
            help="R:R uniform, S:S and P:P in order, each key once in a round, G:G Gaussian, Z:Z Zipf.",
            panel=REQUESTS,
        ),
    ] = None
    sd: Annotated[
        float | None,
        Option(
            "--key-stddev",
            metavar="KEYS",
            help="Of the pattern G:G.",
            panel=REQUESTS,
            read=positive(translatable("not a standard deviation"), 1e9),
        ),
    ] = None
    zipf: Annotated[
        float | None,
        Option(
            "--zipf",
            metavar="EXPONENT",
            help="Some keys are used far more often than others, by Zipf's law, e.g. 0.99.",
            panel=REQUESTS,
            read=positive(translatable("not an exponent"), 9.99),
        ),
    ] = None

    @property
    def distribution(self) -> str:
        """What the options stand for, SETs and GETs alike. Raises UserError."""
        letters = "R" if self.pattern is None else self.pattern.strip().upper()
        each = letters.split(":")
        if not 1 <= len(each) <= 2 or any(letter not in PATTERNS for letter in each):
            raise UserError(
                "--key-pattern {pattern}: no pattern; write R:R, S:S, P:P, G:G or Z:Z", pattern=self.pattern
            )
        names = {PATTERNS[letter] for letter in each}
        if len(names) > 1:
            raise UserError(
                "--key-pattern {pattern}: SETs and GETs have one distribution; write {each}:{each}",
                pattern=self.pattern,
                each=each[0],
            )
        (name,) = names
        if self.zipf is not None and self.pattern is not None and name != "zipf":
            raise UserError("--zipf, --key-pattern: leave one of them out")
        return name if self.zipf is None else "zipf"


@dataclass(frozen=True)
class ReceiverOptions:
    """Who receives what is sent."""

    subscribers: Annotated[
        int | None,
        Option(
            "--subscribers",
            metavar="NUMBER",
            help="In the place of -t: -c connections publish messages, so many subscribe; how late each message comes.",
            panel=REQUESTS,
            read=whole(translatable("not a number of subscribers"), 1, 65_536),
        ),
    ] = None
    channels: Annotated[
        int | None,
        Option(
            "--channels",
            metavar="NUMBER",
            help="Of --subscribers, who are spread evenly over them; each has one (1).",
            panel=REQUESTS,
            read=whole(translatable("not a number of channels"), 1, 65_536),
        ),
    ] = None
    consumers: Annotated[
        int | None,
        Option(
            "--consumers",
            metavar="NUMBER",
            help="In the place of -t: entries are added to streams, and so many consumers of a group get them.",
            panel=REQUESTS,
            read=whole(translatable("not a number of consumers"), 1, 65_536),
        ),
    ] = None
    streams: Annotated[
        int | None,
        Option(
            "--streams",
            metavar="NUMBER",
            help="Of --consumers, who are spread evenly over them; each reads one (1).",
            panel=REQUESTS,
            read=whole(translatable("not a number of streams"), 1, 65_536),
        ),
    ] = None


@dataclass(frozen=True)
class ReplayOptions:
    """What was recorded of a Redis, and how fast it is sent again."""

    replayed: Annotated[
        Path | None,
        Option(
            "--replay",
            metavar="FILE",
            help="In the place of -t: what `redis-cli MONITOR` recorded, sent again under keys of our own, over a "
            "connection a client; also to a --cluster.",
            panel=REQUESTS,
        ),
    ] = None
    speed: Annotated[
        str | None,
        Option(
            "--speed",
            metavar="TIMES",
            help="Of --replay: 2x, 0.5x, or max for as fast as possible (1x).",
            panel=REQUESTS,
        ),
    ] = None
