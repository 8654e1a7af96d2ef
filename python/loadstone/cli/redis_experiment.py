"""`loadstone redis`: what its options make of an experiment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from loadstone.cli.ad_hoc_experiment import AdHocLoad, Target
from loadstone.cli.load import Load
from loadstone.cli.operations import LoadRow, YamlMapping, operation, size_bytes
from loadstone.cli.options import given
from loadstone.cli.redis_documents import OwnDocuments, own_documents
from loadstone.cli.redis_options import (
    KEYS,
    PRIMARY,
    SIZE,
    AddressOptions,
    KeySpace,
    Login,
    ReceiverOptions,
    RedisWork,
    ReplayOptions,
)
from loadstone.cli.redis_replay import replay_of, with_replay
from loadstone.cli.redis_rows import payload_bytes, redis_rows
from loadstone.cli.targets import OTHER, READ_FROM, SERVER, address, distinct_label, names_cluster, redis_server
from loadstone.experiment.plan.operations import MESSAGE, MESSAGE_LEAST_BYTES
from loadstone.safety.errors import UserError
from loadstone.text.language import author_text
from loadstone.text.message import said

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
EMBEDDED = author_text("embedded")
STREAM_ENTRIES = 100_000
"""About so many a stream keeps: what its consumers do not read in time is gone."""
RECEIVER_COLUMNS = (
    *("goodput", "interval", "delivered", "delivery_p50", "delivery_p99", "delivery_p999", "delivery_max", "missing"),
    *("errors", "redis_cpu", "generator_cpu", "held_back"),
)
_NOT_WITH_RECEIVERS = {
    *("--tests", "--ratio", "--command", "--commands", "--load", "--documents", "--replay", "--rates", "--at-rate"),
    *("--against", "--cluster", "--verify", "--keys", "--data-size-range", "--data-size-list"),
    *("?cluster=yes", "redis+sentinel://"),
}
ReceiverKind = Literal["subscribe", "stream_group"]
_OPTIONS: dict[ReceiverKind, tuple[str, str]] = {
    "subscribe": ("--subscribers", "--channels"),
    "stream_group": ("--consumers", "--streams"),
}


@dataclass(frozen=True)
class Receiving:
    """Who receives, and what is sent to them."""

    kind: ReceiverKind
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
    def workload(self) -> YamlMapping:
        """What of the workload is theirs."""
        receivers = {"kind": self.kind, "connections": self.connections}
        return {"receivers": receivers, "documents": {"payload_bytes": self.message_bytes}}

    def question(self, what: str) -> str:
        """Return the question that is asked of a server, as it is called."""
        figures = {"what": what, "connections": self.connections, "channels": self.channels}
        if self.kind == "subscribe":
            return author_text(
                "How many messages a second does {what} deliver to {connections} subscribers of {channels} channels, "
                "and how late?",
                **figures,
            )
        return author_text(
            "How many messages a second does {what} hand to {connections} consumers of {channels} streams, "
            "and how late?",
            **figures,
        )


@dataclass(frozen=True)
class RedisRequest:
    """All that the options of `loadstone redis` say of the load and its target."""

    url: str | None
    load: Load
    work: RedisWork
    keys: KeySpace
    receivers: ReceiverOptions
    recording: ReplayOptions
    login: Login
    address: AddressOptions

    @property
    def is_cluster(self) -> bool:
        """Whether a whole cluster is loaded; of a URL that is a reference this is not known here."""
        return self.address.cluster or names_cluster(self.url or "")

    @property
    def given(self) -> list[str]:
        """The options that are given, by name, and what a URL says in the place of one."""
        url = self.url or ""
        of_url = {
            "?cluster=yes": names_cluster(url),
            "redis+sentinel://": url.partition("://")[0].endswith("+sentinel"),
        }
        options = given(self.work, self.recording, self.keys, self.load, self.address)
        return [*options, *(name for name, named in of_url.items() if named)]


def redis_ad_hoc(asked: RedisRequest) -> AdHocLoad:
    """Everything of the experiment; reads the files that it is made of. Raises UserError that names the option."""
    work, load = asked.work, asked.load
    replay = replay_of(asked.recording, load, asked.given, of_a_cluster=asked.is_cluster)
    receiving = receiving_of(asked.receivers, work.size, asked.given)
    documents = None if work.documents is None else own_documents(work.documents)
    if replay is not None:
        load = with_replay(load, replay)
    load.check()
    key_count = _key_count(asked.keys, documents, receiving)
    special = replay or receiving
    rows = redis_rows(work, documents, key_count) if special is None else (special.row,)
    if asked.address.cluster and any(row.name == "mset" for row in rows):
        raise UserError("-t mset: its keys are on several nodes of a cluster; leave it or --cluster out")
    targets = _targets(asked, rows)
    workload: YamlMapping = {
        "protocol": "resp3" if asked.address.resp3 else "resp2",
        "pipeline_depth": work.pipeline,
        "keys": _keys(asked.keys, key_count),
        "documents": {"payload_bytes": payload_bytes(work, documents)},
    }
    if work.data != "random":
        if documents is not None:
            raise UserError("--data {data}: documents have their own contents; leave it out", data=work.data)
        workload["documents"]["content"] = work.data
    if work.no_load:
        workload["misses"] = "any"
    if documents is not None:
        workload["data"] = documents.data
    if replay is not None:
        workload |= replay.workload(load.cut_off_s)
    if receiving is not None:
        workload |= receiving.workload
    return AdHocLoad(
        command="redis",
        question=_question(asked, rows, targets, load) if receiving is None else _received(asked, receiving),
        load=load,
        targets=targets,
        rows=rows,
        workload=workload,
        columns=RECEIVER_COLUMNS if receiving is not None else RATES_COLUMNS if load.rates else COLUMNS,
        description="" if replay is None else "\n".join(replay.lines),
    )


def _key_count(keys: KeySpace, documents: OwnDocuments | None, receiving: Receiving | None) -> int:
    if receiving is not None:
        return receiving.channels
    return keys.count or (KEYS if documents is None else documents.count)


def _keys(keys: KeySpace, count: int) -> YamlMapping:
    space: YamlMapping = {"count": count, "distribution": keys.distribution}
    if keys.zipf is not None:
        space["zipf_exponent"] = keys.zipf
    if keys.sd is not None:
        if keys.distribution != "gaussian":
            raise UserError("--key-stddev: is for the pattern G:G alone; add --key-pattern G:G")
        space["gaussian_sd"] = keys.sd / count
    return space


def _targets(asked: RedisRequest, rows: tuple[LoadRow, ...]) -> tuple[Target, ...]:
    modules = list(dict.fromkeys(module for row in rows for module in row.modules))
    needs: dict[str, Any] = {"modules": modules} if modules else {}
    first = Target(_label(asked.url), SERVER, {**_settings(asked), **needs})
    against = asked.load.against
    if against is None:
        return (first,)
    if asked.address.cluster and asked.url is None:
        raise UserError("--cluster: with --against both are clusters of yours; add the URL of the first one, too")
    label = _label(against)
    settings = redis_server(against, address=asked.address, option="--against")
    return first, Target(distinct_label(label, first.label), OTHER, {**settings, **needs})


def _settings(asked: RedisRequest) -> YamlMapping:
    address = asked.address
    if asked.url is not None:
        return redis_server(asked.url, asked.login, address)
    for option in given(asked.login):
        raise UserError("{option}: is for a server of yours; add its URL, or leave it out", option=option)
    if address.read_from == PRIMARY:
        return {"kind": "cluster" if address.cluster else EMBEDDED}
    if address.cluster:
        raise UserError("--read-from: a cluster that is started here has no replicas; add the URL of yours")
    return {"kind": "replicated", READ_FROM: address.read_from}


def _label(url: str | None) -> str:
    return EMBEDDED if url is None else address(url)


def _question(asked: RedisRequest, rows: tuple[LoadRow, ...], targets: tuple[Target, ...], load: Load) -> str:
    under = ", ".join(row.name for row in rows)
    if len(targets) > 1:
        return load.faster(targets[1].label, targets[0].label, under)
    return author_text("How fast is {what} under {under}?", what=_what(asked), under=under)


def _what(asked: RedisRequest) -> str:
    """The server as a question calls it."""
    if asked.url is not None and asked.address.cluster:
        return author_text("the Redis Cluster at {place}", place=address(asked.url))
    if asked.url is not None:
        return author_text("the Redis at {place}", place=address(asked.url))
    if asked.address.read_from != PRIMARY:
        return author_text("an embedded Redis with a replica")
    return author_text("a Redis Cluster") if asked.address.cluster else author_text("an embedded Redis")


def _received(asked: RedisRequest, receiving: Receiving) -> str:
    place = asked.url and address(asked.url)
    what = author_text("the Redis at {place}", place=place) if place else author_text("an embedded Redis")
    return receiving.question(what)


def receiving_of(receivers: ReceiverOptions, size: str, given: Sequence[str]) -> Receiving | None:
    """The receivers that the options name; None if none. `given`: all options. Raises UserError."""
    subscribers, consumers = receivers.subscribers, receivers.consumers
    if subscribers is not None and consumers is not None:
        raise UserError("--subscribers, --consumers: leave one of them out")
    if receivers.channels is not None and subscribers is None:
        raise UserError("--channels: needs who receives; add --subscribers NUMBER")
    if receivers.streams is not None and consumers is None:
        raise UserError("--streams: needs who receives; add --consumers NUMBER")
    if subscribers is not None:
        receiving = _receiving("subscribe", subscribers, receivers.channels or 1, size)
    elif consumers is not None:
        receiving = _receiving("stream_group", consumers, receivers.streams or 1, size)
    else:
        return None
    for other in (option for option in given if option in _NOT_WITH_RECEIVERS):
        raise UserError(
            "{options}, {other}: cannot be measured together; leave one of them out",
            options=_OPTIONS[receiving.kind][0],
            other=other,
        )
    return receiving


def _receiving(kind: ReceiverKind, connections: int, channels: int, size: str) -> Receiving:
    option, of = _OPTIONS[kind]
    if connections % channels:
        remedy = said(
            "write a multiple of {channels}, or fewer {option}", channels=channels, option=of.removeprefix("--")
        )
        raise UserError(
            "{option} {connections}: {of} {channels} could not have as many each; {remedy}",
            option=option,
            connections=connections,
            of=of,
            channels=channels,
            remedy=remedy,
        )
    message_bytes = MESSAGE_LEAST_BYTES if size == SIZE else size_bytes("-d", size)
    if message_bytes < MESSAGE_LEAST_BYTES:
        why = said("a message holds its time and its number")
        raise UserError(
            "-d {size}: with {option} {why}; write at least {message_least_bytes}",
            size=size,
            option=option,
            why=why,
            message_least_bytes=MESSAGE_LEAST_BYTES,
        )
    return Receiving(kind, connections, channels, message_bytes)
