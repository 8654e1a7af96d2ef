"""`loadstone redis [URL]`: load on a Redis without an experiment, by the options of redis-benchmark and memtier."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from loadstone import cli_options as opt
from loadstone.commands import load_options as of
from loadstone.errors import UserError
from loadstone.output import terminal

PASSWORD = "-a"
SWITCHES = "3qh"
"""The letters of options without a value, which may stand before the `a` of a password."""
_REMEDY = (
    "-a: the password stands in the command line, where `ps` shows it to everyone on this machine; "
    "write redis://:${env:NAME}@HOST:PORT, in single quotes"
)
Tests = Annotated[
    str | None,
    typer.Option(
        "-t",
        "--tests",
        metavar="TESTS",
        help="Each is measured apart: ping, get, set, incr, lpush, rpush, sadd, hset, hget, zadd, lrange, lrange_100, "
        "mset, json-get, json-set (get,set).",
    ),
]
Ratio = Annotated[str | None, typer.Option("--ratio", metavar="SETS:GETS", help="A mix in the place of -t, e.g. 1:10.")]
Commands = Annotated[
    list[str] | None,
    typer.Option(
        "--command",
        metavar="COMMAND",
        help="In the place of -t; {key}, {value}, {uniform 1..100}, {random 10 lowercase}, {seq}; also __key__ and "
        "__data__. Several are a mix. Repeatable.",
    ),
]
CommandRatios = Annotated[
    list[int] | None,
    typer.Option(
        "--command-ratio",
        metavar="NUMBER",
        parser=opt.whole("--command-ratio", "not a weight", 1, 1_000_000),
        help="The weight of each --command, in their order. Repeatable.",
    ),
]
CommandFile = Annotated[
    Path | None,
    typer.Option("--commands", metavar="FILE", help="A mix from a file: a command a line, a weight may stand before."),
]
Replay = Annotated[
    Path | None,
    typer.Option(
        "--replay",
        metavar="FILE",
        help="In the place of -t: what `redis-cli MONITOR` recorded, sent again under keys of our own; also to a "
        "--cluster.",
    ),
]
Speed = Annotated[
    str | None,
    typer.Option("--speed", metavar="TIMES", help="Of --replay: 2x, 0.5x, or max for as fast as possible (1x)."),
]
Subscribers = Annotated[
    int | None,
    typer.Option(
        "--subscribers",
        metavar="NUMBER",
        parser=opt.whole("--subscribers", "not a number of subscribers", 1, 65_536),
        help="In the place of -t: -c connections publish messages, so many subscribe; how late each message comes.",
    ),
]
Channels = Annotated[
    int | None,
    typer.Option(
        "--channels",
        metavar="NUMBER",
        parser=opt.whole("--channels", "not a number of channels", 1, 65_536),
        help="Of --subscribers, who are spread evenly over them; each has one (1).",
    ),
]
Consumers = Annotated[
    int | None,
    typer.Option(
        "--consumers",
        metavar="NUMBER",
        parser=opt.whole("--consumers", "not a number of consumers", 1, 65_536),
        help="In the place of -t: entries are added to streams, and so many consumers of a group get them.",
    ),
]
Streams = Annotated[
    int | None,
    typer.Option(
        "--streams",
        metavar="NUMBER",
        parser=opt.whole("--streams", "not a number of streams", 1, 65_536),
        help="Of --consumers, who are spread evenly over them; each reads one (1).",
    ),
]
Documents = Annotated[
    Path | None,
    typer.Option(
        "--documents",
        metavar="FILE",
        help='Values of yours, a JSON document a line, or {"key": ..., "value": ...}; each key has one.',
    ),
]
Load = Annotated[
    str | None, typer.Option("--load", metavar="COMMAND", help="Stores every key before: 'SET {key} {value}'.")
]
NoLoad = Annotated[bool, typer.Option("--no-load", help="Store nothing before: reads of keys not there are misses.")]
Size = Annotated[str, typer.Option("-d", "--data-size", metavar="SIZE", help="Of values, in bytes, or as '1 kB'.")]
SizeRange = Annotated[
    str | None,
    typer.Option("--data-size-range", metavar="FROM-TO", help="Of SETs: 16 sizes evenly spread, in bytes: 32-1024."),
]
SizeList = Annotated[
    str | None, typer.Option("--data-size-list", metavar="SIZE:WEIGHT,...", help="Of SETs, in bytes: 32:80,1024:20.")
]
Keys = Annotated[
    int | None,
    typer.Option(
        "-r",
        "--keyspace",
        "--key-maximum",
        metavar="NUMBER",
        parser=opt.whole("-r", "not a number of keys", 1, 1_000_000_000),
        help="How many keys there are (1000; with --documents one for each).",
    ),
]
Pattern = Annotated[
    str | None,
    typer.Option(
        "--key-pattern",
        metavar="PATTERN",
        help="R:R uniform, S:S and P:P in order, each key once in a round, G:G Gaussian, Z:Z Zipf.",
    ),
]
Deviation = Annotated[
    float | None,
    typer.Option(
        "--key-stddev",
        metavar="KEYS",
        parser=of.positive("--key-stddev", "not a standard deviation", 1e9),
        help="Of the pattern G:G.",
    ),
]
Zipf = Annotated[
    float | None,
    typer.Option(
        "--zipf",
        "--key-zipf-exp",
        metavar="EXPONENT",
        parser=of.positive("--zipf", "not an exponent", 9.99),
        help="Some keys are used far more often than others, by Zipf's law, e.g. 0.99.",
    ),
]
Verify = Annotated[
    bool,
    typer.Option("--verify", help="Values name their key and version; every reply is held to what was written."),
]
Pipeline = Annotated[
    int,
    typer.Option(
        "-P",
        "--pipeline",
        metavar="NUMBER",
        parser=opt.whole("-P", "not a pipeline depth", 1, 10_000),
        help="Requests that a connection sends at once.",
    ),
]
TestTime = Annotated[
    float | None,
    typer.Option(
        "--test-time",
        "--duration",
        metavar="TIME",
        parser=of.seconds("--test-time"),
        help="How long each row is measured, all its repeats together; seconds, or '2m' (2 s).",
    ),
]
RateLimit = Annotated[
    float | None,
    typer.Option(
        "--rate-limiting",
        metavar="RATE",
        parser=of.positive("--rate-limiting", "not a rate", 1e9),
        help="As --rate, of each connection.",
    ),
]
Password = Annotated[
    str | None,
    typer.Option(PASSWORD, metavar="PASSWORD", help="Visible in `ps`: better redis://:${env:NAME}@HOST:PORT."),
]
User = Annotated[str | None, typer.Option("--user", metavar="NAME", help="With -a: the ACL user.")]
Uri = Annotated[str | None, typer.Option("-u", "--uri", metavar="URL", help="The same as URL.")]
Tls = Annotated[bool, typer.Option("--tls", help="The same as rediss:// in the URL.")]
CaCert = Annotated[str | None, typer.Option("--cacert", metavar="FILE", help="TLS: whose certificates are accepted.")]
Cert = Annotated[str | None, typer.Option("--cert", metavar="FILE", help="TLS: our own certificate.")]
Key = Annotated[str | None, typer.Option("--key", metavar="FILE", help="TLS: the key of our own certificate.")]
Sni = Annotated[str | None, typer.Option("--sni", metavar="NAME", help="TLS: the name that the server is called by.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="TLS: accept any certificate.")]
Cluster = Annotated[
    bool,
    typer.Option(
        "--cluster", help="Load all nodes of the cluster that URL is one of; without URL one of three is started."
    ),
]
ReadFrom = Annotated[
    Literal["primary", "replica", "any"],
    typer.Option("--read-from", help="Who gets what only reads; replicas and, with any, their primary take turns."),
]
Resp3 = Annotated[bool, typer.Option("-3", "--resp3", help="Speak RESP3.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="A line a row, as redis-benchmark -q; no progress.")]


def redis_command(
    url: Annotated[
        str | None,
        typer.Argument(metavar="[URL]", show_default=False, help="redis://HOST:PORT; without it one is started."),
    ] = None,
    connections: Annotated[int | None, of.connections_of(usual=" (50; with --replay one a client)")] = None,
    requests: Annotated[int | None, of.requests_of()] = None,
    pipeline: Pipeline = 1,
    size: Size = "3",
    keys: Keys = None,
    tests: Tests = None,
    ratio: Ratio = None,
    command: Commands = None,
    command_ratio: CommandRatios = None,
    commands: CommandFile = None,
    replay: Replay = None,
    speed: Speed = None,
    subscribers: Subscribers = None,
    channels: Channels = None,
    consumers: Consumers = None,
    streams: Streams = None,
    documents: Documents = None,
    load: Load = None,
    no_load: NoLoad = False,
    size_range: SizeRange = None,
    size_list: SizeList = None,
    key_pattern: Pattern = None,
    key_stddev: Deviation = None,
    zipf: Zipf = None,
    verify: Verify = False,
    test_time: TestTime = None,
    warm_up: of.WarmUp = None,
    repeat: of.Repeat = None,
    rate: of.Rate = None,
    rate_limiting: RateLimit = None,
    rates: of.Rates = None,
    arrivals: of.Arrivals = "constant",
    precise: of.Precise = False,
    think: of.Think = None,
    at_rate: of.AtRate = None,
    against: of.Against = None,
    slice_: of.Slice = None,
    timeout: of.Timeout = None,
    threads: Annotated[int | None, opt.threads_of("--threads")] = None,
    password: Password = None,
    user: User = None,
    uri: Uri = None,
    tls: Tls = False,
    cacert: CaCert = None,
    cert: Cert = None,
    key: Key = None,
    sni: Sni = None,
    insecure: Insecure = False,
    cluster: Cluster = False,
    read_from: ReadFrom = "primary",
    resp3: Resp3 = False,
    secret_file: opt.SecretFile = None,
    allow_any_command: opt.AllowAnyCommand = False,
    budget: opt.Budget = None,
    seed: opt.Seed = None,
    out: of.Out = None,
    no_keep: of.NoKeep = False,
    resume: of.Resume = None,
    share_machine: opt.ShareMachine = False,
    wait: opt.Wait = False,
    prometheus: opt.Prometheus = None,
    fail_if: opt.FailIf = None,
    quiet: Quiet = False,
    csv: of.Csv = False,
    json_: opt.Json = False,
    json_out_file: of.JsonFile = None,
    hdr_file_prefix: of.HdrPrefix = None,
    open_: opt.Open = False,
    verbose: opt.Verbose = False,
) -> None:
    """Load a Redis: yours, or one that is started.

    Without options GET and SET of 3 bytes, 50 connections, a few seconds. Only keys that begin with loadstone: are
    written, and they are removed. It is full load: not for production.
    """
    from loadstone.commands.ad_hoc_load import AdHocLoad, rate_levels, rate_per_s
    from loadstone.commands.ad_hoc_run import AdHocOutput, carry_out, without_password
    from loadstone.commands.redis_documents import own_documents
    from loadstone.commands.redis_load import KeySpace, RedisTarget, distribution_of, receiving_of, redis_ad_hoc
    from loadstone.commands.redis_load import check_alone as check_receiving
    from loadstone.commands.redis_replay import check_alone, replay_of, with_replay
    from loadstone.commands.redis_rows import RedisWork
    from loadstone.commands.targets import Login, names_cluster

    if rate is not None and rate_limiting is not None:
        raise UserError("--rate, --rate-limiting: leave one of them out")
    if url is not None and uri is not None:
        raise UserError("-u: the URL is given already; leave one of them out")
    if zipf is not None and key_pattern is not None and distribution_of(key_pattern) != "zipf":
        raise UserError("--zipf, --key-pattern: leave one of them out")
    if speed is not None and replay is None:
        raise UserError("--speed: belongs to a recording; add --replay FILE")
    if replay is not None:
        check_alone(
            {
                "-t": tests is not None, "--ratio": ratio is not None, "--command": bool(command),
                "--commands": commands is not None, "--load": load is not None, "--documents": documents is not None,
                "-n": requests is not None, "--rate": rate is not None, "--rates": rates is not None,
                "--rate-limiting": rate_limiting is not None, "--arrivals": arrivals != "constant",
                "--think": think is not None, "--at-rate": at_rate is not None, "--against": against is not None,
                "--read-from": read_from != "primary",
                "--verify": verify, "--zipf": zipf is not None, "-r": keys is not None,
                "--key-pattern": key_pattern is not None, "--data-size-range": size_range is not None,
                "--data-size-list": size_list is not None, "-d": size != RedisWork.size,
                "--precise": precise,
            }
        )  # fmt: skip
    receiving = receiving_of(subscribers, channels, consumers, streams, size)
    if receiving is not None:
        check_receiving(
            receiving,
            {
                "-t": tests is not None, "--ratio": ratio is not None, "--command": bool(command),
                "--commands": commands is not None, "--load": load is not None, "--documents": documents is not None,
                "--replay": replay is not None, "--rates": rates is not None, "--at-rate": at_rate is not None,
                "--against": against is not None, "--cluster": cluster, "--verify": verify, "-r": keys is not None,
                "--data-size-range": size_range is not None, "--data-size-list": size_list is not None,
                "?cluster=yes": "cluster=yes" in (url or uri or ""),
                "redis+sentinel://": (url or uri or "").startswith(("redis+sentinel:", "rediss+sentinel:")),
            },
        )  # fmt: skip
        keys = receiving.channels
    is_cluster = cluster or names_cluster(url or uri or "")
    again = None if replay is None else replay_of(replay, speed, connections, test_time, of_a_cluster=is_cluster)
    own = None if documents is None else own_documents(documents)
    key_count = keys or (KeySpace.count if own is None else own.count)
    connections = connections or AdHocLoad.connections
    tls_options = {"ca_file": cacert, "cert_file": cert, "key_file": key, "server_name": sni}
    given = {name: value for name, value in tls_options.items() if value is not None}
    login = Login(user, password, tls, given | ({"verify": "no"} if insecure else {}))
    per_s = None if rate is None else rate_per_s("--rate", rate)
    usual_warm_up_s = AdHocLoad.warm_up_s if again is None else 0.0
    measured = AdHocLoad(
        connections=connections,
        pipeline=pipeline,
        threads=threads,
        measure_s=test_time,
        requests=requests,
        rate_per_s=per_s if rate_limiting is None else rate_limiting * connections,
        rates=() if rates is None else rate_levels("--rates", rates),
        arrivals=arrivals,
        precise=precise,
        think_ms=think,
        warm_up_s=of.warm_up_s(warm_up, requests, usual_warm_up_s),
        repeat=repeat,
        at_rate=at_rate,
        budget=budget,
        timeout_ms=timeout,
        slice=slice_,
    )
    ad_hoc = redis_ad_hoc(
        RedisTarget(url or uri, against, login, cluster, resp3, read_from),
        RedisWork(
            tests, ratio, tuple(command or ()), tuple(command_ratio or ()), commands, load, size, size_range, size_list,
            key_count, verify, stored=not no_load, documents=own,
        ),
        KeySpace(key_count, "uniform" if key_pattern is None else distribution_of(key_pattern), zipf, key_stddev),
        measured if again is None else with_replay(measured, again),
        again,
        receiving,
    )  # fmt: skip
    if password is not None and "${" not in password:
        terminal.remark(_REMEDY)
    for line in () if again is None else again.lines:
        terminal.remark(line)
    carry_out(
        ad_hoc,
        AdHocOutput(
            out, resume, tuple(secret_file or ()), allow_any_command, seed, share_machine, prometheus,
            tuple(fail_if or ()), quiet, verbose, json_, csv, json_out_file, hdr_file_prefix, open_,
            wait=wait, keep=not no_keep, command=without_password(tuple(sys.argv[1:]), PASSWORD, SWITCHES),
        ),
    )  # fmt: skip
