"""`loadstone redis`: what its options make of an experiment."""

from dataclasses import dataclass, field
from typing import Any, Literal

from loadstone.commands.ad_hoc_load import AdHoc, AdHocLoad, Target, check_load
from loadstone.commands.redis_replay import Replay
from loadstone.commands.redis_rows import RedisWork, payload_bytes, redis_rows, value_sizes
from loadstone.commands.targets import (
    OTHER,
    READ_FROM,
    SERVER,
    Fields,
    LoadRow,
    Login,
    address,
    at,
    operation,
    redis_server,
    size_bytes,
    with_cluster,
    with_login,
    with_read_from,
)
from loadstone.errors import UserError
from loadstone.plan.operations import MESSAGE, MESSAGE_LEAST_BYTES
from loadstone.spec.yaml_text import Path

COLUMNS: tuple[str, ...] = (
    "goodput",
    "interval",
    "p50",
    "p95",
    "p99",
    "p999",
    "max",
    "errors",
    "redis_cpu",
    "held_back",
)
RATES_COLUMNS = (
    *("goodput", "p50", "p99", "p999", "errors", "redis_cpu", "server_wakeups", "generator_cpu", "wakeups"),
    *("replies_a_wakeup", "requests_a_send", "held_back"),
)
"""Beside latency by rate: how much of the work is done at once, by the server and by the generator."""
EMBEDDED = "embedded"
PRIMARY = "primary"
"""Who is read from by default."""
PATTERNS = {"R": "uniform", "S": "sequential", "P": "sequential", "G": "gaussian", "Z": "zipf"}
"""memtier_benchmark's letters of `--key-pattern`."""
STREAM_ENTRIES = 100_000
"""About so many a stream keeps: what its consumers do not read in time is gone."""
RECEIVER_COLUMNS = (
    *("goodput", "interval", "delivered", "delivery_p50", "delivery_p99", "delivery_p999", "delivery_max", "missing"),
    *("errors", "redis_cpu", "generator_cpu", "held_back"),
)
Kind = Literal["subscribe", "stream_group"]
_OPTIONS: dict[Kind, tuple[str, str]] = {
    "subscribe": ("--subscribers", "--channels"),
    "stream_group": ("--consumers", "--streams"),
}


@dataclass(frozen=True)
class Receiving:
    """Who receives, and what is sent to them."""

    kind: Kind
    connections: int
    channels: int
    message_bytes: int

    @property
    def row(self) -> LoadRow:
        """One row: messages to any of the channels, or entries of any of the streams."""
        if self.kind == "subscribe":
            return LoadRow("publish", (operation("publish", f"PUBLISH {{key}} {MESSAGE}", "integer"),))
        args = f"XADD {{key}} MAXLEN ~ {STREAM_ENTRIES} * message {MESSAGE}"
        return LoadRow("xadd", (operation("xadd", args, "any"),))

    @property
    def workload(self) -> Fields:
        """What of the workload is theirs."""
        receivers = {"kind": self.kind, "connections": self.connections}
        return {"receivers": receivers, "documents": {"payload_bytes": self.message_bytes}}

    @property
    def question(self) -> str:
        """Behind the name of the server."""
        if self.kind == "subscribe":
            return f"deliver to {self.connections} subscribers of {self.channels} channels, and how late?"
        return f"hand to {self.connections} consumers of {self.channels} streams, and how late?"


@dataclass(frozen=True)
class RedisTarget:
    """Where the load goes, as the options say it."""

    url: str | None = None
    against: str | None = None
    login: Login = field(default_factory=Login)
    cluster: bool = False
    resp3: bool = False
    read_from: str = PRIMARY


@dataclass(frozen=True)
class KeySpace:
    """Which keys are used, and how often each."""

    count: int = 1000
    distribution: str = "uniform"
    zipf: float | None = None
    """The exponent."""
    sd: float | None = None
    """Of the Gaussian, in keys."""


def distribution_of(pattern: str) -> str:
    """What `--key-pattern` stands for, SETs and GETs alike. Raises UserError."""
    letters = pattern.strip().upper().split(":")
    if not 1 <= len(letters) <= 2 or any(letter not in PATTERNS for letter in letters):
        raise UserError(f"--key-pattern {pattern}: no pattern; write R:R, S:S, P:P, G:G or Z:Z")
    found = {PATTERNS[letter] for letter in letters}
    if len(found) > 1:
        raise UserError(
            f"--key-pattern {pattern}: SETs and GETs have one distribution; write {letters[0]}:{letters[0]}"
        )
    return found.pop()


def redis_ad_hoc(
    target: RedisTarget,
    work: RedisWork,
    keys: KeySpace,
    load: AdHocLoad,
    replay: Replay | None = None,
    receiving: Receiving | None = None,
) -> AdHoc:
    """Everything of the experiment. Raises UserError that names the option."""
    check_load(load, "--test-time", compares=target.against is not None)
    special = replay or receiving
    rows = redis_rows(work) if special is None else (special.row,)
    if target.cluster and any(row.name == "mset" for row in rows):
        raise UserError("-t mset: its keys are on several nodes of a cluster; leave it or --cluster out")
    targets = _targets(target, rows)
    workload: Fields = {
        "protocol": "resp3" if target.resp3 else "resp2",
        "keys": _keys(keys),
        "documents": {"payload_bytes": _payload(work)},
    }
    if not work.stored:
        workload["misses"] = "any"
    if work.documents is not None:
        workload["data"] = work.documents.data
    if replay is not None:
        workload |= replay.workload(load.warm_up_s)
    if receiving is not None:
        workload |= receiving.workload
    return AdHoc(
        command="redis",
        question=_question(target, rows, targets, load) if receiving is None else _received(target, receiving),
        load=load,
        targets=targets,
        rows=rows,
        workload=workload,
        columns=RECEIVER_COLUMNS if receiving is not None else RATES_COLUMNS if load.rates else COLUMNS,
        given=_GIVEN,
        description="" if replay is None else "\n".join(replay.lines),
    )


def _payload(work: RedisWork) -> int:
    sizes = value_sizes(work)
    total = sum(weight for _, weight in sizes)
    return max(2, round(sum(size * weight for size, weight in sizes) / total)) if sizes else payload_bytes(work)


def _keys(keys: KeySpace) -> Fields:
    found: Fields = {"count": keys.count, "distribution": keys.distribution}
    if keys.zipf is not None:
        found |= {"distribution": "zipf", "zipf_exponent": keys.zipf}
    if keys.sd is not None:
        if found["distribution"] != "gaussian":
            raise UserError("--key-stddev: is for the pattern G:G alone; add --key-pattern G:G")
        found["gaussian_sd"] = keys.sd / keys.count
    return found


def _targets(target: RedisTarget, rows: tuple[LoadRow, ...]) -> tuple[Target, ...]:
    modules = list(dict.fromkeys(module for row in rows for module in row.modules))
    needs: dict[str, Any] = {"modules": modules} if modules else {}
    first = Target(_label(target.url), SERVER, {**_settings(target), **needs})
    if target.against is None:
        return (first,)
    if target.cluster and target.url is None:
        raise UserError("--cluster: with --against both are clusters of yours; add the URL of the first one, too")
    label = _label(target.against)
    against = redis_server(target.against, "--against")
    against = redis_server(_by_options(against["url"], target))
    other = Target(f"{label} (B)" if label == first.label else label, OTHER, against)
    return first, Target(other.label, other.part, {**other.settings, **needs})


def _settings(target: RedisTarget) -> Fields:
    login = target.login.options
    if target.url is None and login:
        raise UserError(f"{login[0]}: is for a server of yours; add its URL, or leave it out")
    if target.url is None and target.read_from != PRIMARY:
        if target.cluster:
            raise UserError("--read-from: a cluster that is started here has no replicas; add the URL of yours")
        return {"kind": "replicated", READ_FROM: target.read_from}
    if target.url is None:
        return {"kind": "cluster" if target.cluster else EMBEDDED}
    return redis_server(_by_options(with_login(redis_server(target.url)["url"], target.login), target))


def _by_options(url: str, target: RedisTarget) -> str:
    url = with_cluster(url) if target.cluster else url
    return url if target.read_from == PRIMARY else with_read_from(url, target.read_from)


def _label(url: str | None) -> str:
    return EMBEDDED if url is None else address(url)


def _question(target: RedisTarget, rows: tuple[LoadRow, ...], targets: tuple[Target, ...], load: AdHocLoad) -> str:
    under = ", ".join(row.name for row in rows)
    if len(targets) > 1:
        return f"Is {targets[1].label} faster than {targets[0].label} under {under}{load.compared_by}?"
    kind = "Redis Cluster" if target.cluster else "Redis"
    started = "a Redis Cluster" if target.cluster else "an embedded Redis"
    started = started if target.read_from == PRIMARY else "an embedded Redis with a replica"
    return f"How fast is {f'the {kind} {at(target.url)}' if target.url else started} under {under}?"


def _received(target: RedisTarget, receiving: Receiving) -> str:
    server = "an embedded Redis" if target.url is None else f"the Redis {at(target.url)}"
    return f"How many messages a second does {server} {receiving.question}"


_GIVEN: dict[Path, str] = {
    ("workload", "threads"): "--threads",
    ("workload", "pipeline_depth"): "-P",
    ("workload", "pool"): "-c",
    ("workload", "keys", "count"): "-r",
    ("workload", "keys", "zipf_exponent"): "--zipf",
    ("workload", "keys", "gaussian_sd"): "--key-stddev",
    ("workload", "documents"): "-d",
    ("workload", "data"): "--documents",
    ("workload", "recording"): "--replay, --speed",
    ("workload", "receivers"): "--subscribers, --consumers",
    ("workload", "operations"): "the commands",
    ("workload", "phases"): "-n, --test-time, --warm-up",
    ("workload", "model"): "-c, --rate",
    ("workload", "models"): "--rates",
    ("workload", "timeouts"): "--timeout",
    ("design", "budget"): "--budget",
    ("design", "at_rate"): "--at-rate",
    ("design", "slice"): "--slice",
    ("servers", SERVER): "URL",
    ("servers", OTHER): "--against",
}
"""Where each option stands in the experiment."""


def receiving_of(
    subscribers: int | None, channels: int | None, consumers: int | None, streams: int | None, size: str
) -> Receiving | None:
    """The receivers that the options say; None if none. Raises UserError that names the option."""
    if subscribers is not None and consumers is not None:
        raise UserError("--subscribers, --consumers: leave one of them out")
    for given, option, needed in ((channels, "--channels", subscribers), (streams, "--streams", consumers)):
        if given is not None and needed is None:
            who = "subscribers" if option == "--channels" else "consumers"
            raise UserError(f"{option}: needs who receives; add --{who} NUMBER")
    if subscribers is not None:
        return _receiving("subscribe", subscribers, channels or 1, size)
    return None if consumers is None else _receiving("stream_group", consumers, streams or 1, size)


def _receiving(kind: Kind, connections: int, channels: int, size: str) -> Receiving:
    option, of = _OPTIONS[kind]
    if connections % channels:
        remedy = f"write a multiple of {channels}, or fewer {of.removeprefix('--')}"
        raise UserError(f"{option} {connections}: {of} {channels} could not have as many each; {remedy}")
    message_bytes = MESSAGE_LEAST_BYTES if size == RedisWork.size else size_bytes("-d", size)
    if message_bytes < MESSAGE_LEAST_BYTES:
        why = "a message holds its time and its number"
        raise UserError(f"-d {size}: with {option} {why}; write at least {MESSAGE_LEAST_BYTES}")
    return Receiving(kind, connections, channels, message_bytes)


def check_alone(receiving: Receiving, given: dict[str, bool]) -> None:
    """Raises UserError for the first option that has no meaning with receivers."""
    option = _OPTIONS[receiving.kind][0]
    for other, is_given in given.items():
        if is_given:
            raise UserError(f"{option}, {other}: cannot be measured together; leave one of them out")
