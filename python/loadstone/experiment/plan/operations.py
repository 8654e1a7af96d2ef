"""What is sent: operations, their commands with keys and messages, HTTP requests with rows of data, and recordings."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic.json_schema import SkipJsonSchema

from loadstone.experiment.action import PlannedAction, fields, sent_to
from loadstone.experiment.spec.part import PlanPart, is_left_out
from loadstone.safety.secrets.in_texts import hide_url
from loadstone.text.message import AnyText, said
from loadstone.text.problem import Problem

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_OWN_HEADERS = ("content-length", "transfer-encoding")
_READING = ("GET", "HEAD")
_PLAIN_HEADERS = fields(
    """
    accept accept-charset accept-encoding accept-language cache-control connection if-modified-since if-none-match
    pragma range traceparent user-agent
    """
)
"""Headers that change nothing of what a request does: by others a service may take a GET for a DELETE."""
Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
Status = Annotated[int, Field(ge=200, le=599)] | Literal["2xx", "3xx", "4xx", "5xx"]


def _sendable(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise Problem("'{name}' is no name of a header; use letters, digits and '-'", name=name)
        if name.lower() in _OWN_HEADERS:
            raise Problem("'{name}' is written by the driver; leave it out", name=name)
        if not _HEADER_VALUE.fullmatch(value):  # it may be a secret
            raise Problem("the value of '{name}' holds a line end or a control character; remove it", name=name)
    return headers


Headers = Annotated[dict[str, str], AfterValidator(_sendable)]
JsonPath = Annotated[str, Field(pattern=r"^[^.]+(\.[^.]+)*$")]


class HttpExpect(PlanPart):
    """What a correct reply is: its status, and of the checks on its body all that are given.

    `status`: one, several, or a class as `2xx`; a redirect is not followed, and right only if it is expected here.
    `equals`, `contains`: text that the body is, or holds; placeholders that stand for the same wherever an operation
    uses them are allowed, so neither `{uniform}` nor `{random}`. `json_fields`: the body is JSON and has a value,
    whatever it is, at each of these places, e.g. `id` or `content.0.title`.
    """

    status: Status | Annotated[tuple[Status, ...], Field(min_length=1)] = "2xx"
    equals: str | None = None
    contains: str | None = None
    json_fields: tuple[JsonPath, ...] = ()


class HttpRequest(PlanPart):
    """One request. `path` (with its query), the values of `headers`, and `body` are templates. Placeholders:

    `{number}` the key's number from 1 to `keys.count`; `{key}` prefix and 12-digit number; `{id}` that number alone;
    `{data.FIELD}` a field of the operation's row of the data file; `{seq}` a counter from 0; `{uniform A..B}` an
    integer; `{random N lowercase}` N letters; `{document}` a JSON text of the plan's size, `{value}` `payload_bytes`
    of text, both others for each operation (and `{version}` `{field}` `{body}` `{field_json}`, parts of the document).
    `{{` is a literal brace. A path and a header take a row's text as it is: write %20 and the like into the file.

    Host, Content-Length and Authorization (from the endpoint) are written by the driver, no other header is.
    """

    method: Method = "GET"
    path: str = Field(pattern="^/")
    headers: Headers = Field(default={})
    body: str | None = None
    expect: HttpExpect = HttpExpect()

    def actions(self, to: str) -> Iterator[PlannedAction]:
        """What may change something at a service of the user's: at loopback it may trust whoever can reach it."""
        odd = sorted(name for name in self.headers if name.lower() not in _PLAIN_HEADERS)
        if self.method not in _READING or self.body is not None or odd:
            what = f"{self.method} {hide_url(self.path)}{' with ' if odd else ''}{', '.join(odd)}"
            yield sent_to(to, what, "workload", "operations")


class DataFile(PlanPart):
    """Rows for `{data.FIELD}`, read once: CSV whose first line names the fields, a JSON object a line, or documents.

    `format` follows from the file's ending (.csv, .jsonl, .ndjson) if it is not given; `documents` is a JSON document a
    line, which is the field `document` as it stands. Where the first line is `{"key": ..., "value": ...}` all are, with
    the fields `key` and `document`, and a text among the values is taken for its characters. The rows are taken in
    order, over and over, or drawn uniformly, or each key has one (`key`); all requests of one operation see the same
    row. `path` is read by the driver as it is: make it absolute.
    """

    path: str = Field(min_length=1)
    format: Literal["csv", "jsonl", "documents"] | None = None
    order: Literal["sequential", "uniform", "key"] = "sequential"


KEYS_OF_ONE_MAX = 10_000
"""Keys that one operation may name."""
_NAMED = re.compile(r"\{\{|\}\}|\{(?:key|number)([1-9][0-9]{0,4})?\}")
_ALL = re.compile(r"\{\{|\}\}|\{(key|number)s:([0-9]{1,5})\}")
_ONE_KEY = re.compile(r"\{key([1-9][0-9]{0,4})?\}")


def is_one_key(text: str) -> bool:
    """Whether an argument is a key of the plan's key space and nothing else: `{key}`, or `{key2}`."""
    return _ONE_KEY.fullmatch(text) is not None


def begins_with_key(text: str) -> bool:
    """Whether an argument begins with a key of the plan's key space."""
    return _ONE_KEY.match(text) is not None


def keys_named(texts: Iterable[str]) -> int:
    """Return how many different keys an operation of these texts has, by the highest that is named; 0: it names
    none."""
    placeholders = (one for text in texts for one in _NAMED.finditer(text) if one[0] not in ("{{", "}}"))
    return max((int(one[1] or 1) for one in placeholders), default=0)


def as_arguments(text: str) -> list[str]:
    """The arguments that one with `{keys:10}` in it stands for, one a key; any other is itself.

    Raises ValueError: what is wrong with it.
    """
    placeholders = [one for one in _ALL.finditer(text) if one[1] is not None]
    if not placeholders:
        return [text]
    if len(placeholders) > 1:
        raise Problem("'{text}': {{keys:N}} stands for several arguments; write it once in an argument", text=text)
    (one,) = placeholders
    return [f"{text[: one.start()]}{place}{text[one.end() :]}" for place in _places(one)]


def as_text(text: str) -> str:
    """The text with its keys, separated by commas, where it has `{keys:10}` or `{numbers:10}`.

    Raises ValueError: what is wrong with it.
    """
    return _ALL.sub(lambda one: one[0] if one[1] is None else ",".join(_places(one)), text)


def _places(match: re.Match[str]) -> list[str]:
    count = int(match[2])
    if not 1 <= count <= KEYS_OF_ONE_MAX:
        raise Problem(
            "'{match}': an operation has 1 to {most} keys; write {{{name}s:10}}",
            match=match[0],
            most=KEYS_OF_ONE_MAX,
            name=match[1],
        )
    return [f"{{{match[1]}{number if number > 1 else ''}}}" for number in range(1, count + 1)]


Expect = Literal["any", "ok", "integer", "document", "hash", "field", "field_array", "value", "item", "positive", "row"]
"""What a correct reply is.

Of memcached, ok is that it was done (`HD`), a text is the value that `mg` returns with the flag `v`, a number what `ma`
does, and nil that there is no such key; hash and field_array are none of its replies.

any: no error; ok: `OK`; integer: an integer; document: the JSON text of the key's document;
hash: its fields and values; field: the raw text of the changed field; field_array: the same
as JSONPath answers, `["..."]`; value: a bulk string of the plan's payload length or nil;
item: any bulk string, as LPOP's, and nil is an error (`nil_reply`); positive: an integer of at least 1, as WAIT's, and
less is an error (`not_positive`); row: the field `document` of the key's row of the data file, or the same JSON
written in another way, or nil.
"""


class ServerCommand(PlanPart):
    """One command; `args[0]` is its name. Of memcached these are `mg`, `ms`, `md`, `ma` and `mn`, a key behind them, of
    `ms` the data, then flags: `ms {key} {value} T60`; the data's length is written by the driver.

    Placeholders in an argument:

    `{key}` prefix and number; `{key2}`, `{key3}`... other keys of the same operation, all different, by the same
    distribution; `{document}` the JSON text; `{id}` `{version}` `{field}` `{body}`
    the raw parts; `{field_json}` the field as a JSON string; `{changed}` the last reply with
    the field replaced; `{value}` `payload_bytes` of text; `{seq}` a counter; `{message}` what receivers read;
    `{uniform A..B}` an integer; `{random N lowercase}` N letters; `{data.FIELD}` a field of the operation's row of
    the data file. `{{` is a literal brace.
    """

    args: tuple[str, ...] = Field(min_length=1)
    expect: Expect = "any"


class Operation(PlanPart):
    """One unit of work as the user counts it: one command of Redis or one HTTP request, or several in a row.

    An operation of several goes on only after a correct reply. Its next request follows on the same connection,
    or, if the server closed that with its reply, on another one.
    """

    name: str = Field(min_length=1, max_length=80, pattern=r"^[a-z][a-z0-9_-]*$")
    weight: float = Field(default=1.0, gt=0)
    commands: tuple[ServerCommand, ...] = ()
    requests: tuple[HttpRequest, ...] = ()
    writes: Literal["nothing", "document", "field"] = "nothing"
    read_back: ServerCommand | None = None
    reads_only: bool = Field(
        default=False, description="all its commands only read: it may go to a replica", exclude_if=is_left_out
    )
    units: SkipJsonSchema[str] = Field(default="auto", exclude=True)
    """See `experiment.plan.operation_units`: no driver needs it."""


def commands_of(operation: Operation) -> tuple[ServerCommand, ...]:
    """Its commands, and the one that reads back what they wrote."""
    return operation.commands if operation.read_back is None else (*operation.commands, operation.read_back)


def keys_of_one(operation: Operation) -> int:
    """Return how many different keys it has: 10 where it names `{key10}`; 0 where it names none."""
    texts = [text for command in commands_of(operation) for text in command.args]
    for request in operation.requests:
        texts += [request.path, *request.headers.values(), *([] if request.body is None else [request.body])]
    return keys_named(texts)


MESSAGE = "{message}"
"""The placeholder that receivers read: when the operation was intended, its number, and letters."""
MESSAGE_LEAST_BYTES = 32
_COMMANDS = {"subscribe": "PUBLISH", "stream_group": "XADD"}


class Receivers(PlanPart):
    """Receivers beside the pool, evenly over the plan's keys, each of which is a channel or a stream.

    `subscribe`: each has one channel, and gets every message of it. `stream_group`: each reads one stream as a consumer
    of its one group, which shares the entries out, and acknowledges them. All operations are one command that ends with
    `{message}`: `PUBLISH {key} {message}`, or `XADD {key} MAXLEN ~ 100000 * m {message}`.
    """

    kind: Literal["subscribe", "stream_group"]
    connections: int = Field(gt=0, le=100_000)
    count: int = Field(default=100, gt=0, le=100_000, description="entries of a stream that one read takes, at most")


def uses_message(commands: Sequence[ServerCommand]) -> bool:
    """Whether one of the commands sends a message that receivers read."""
    return any(MESSAGE in argument for command in commands for argument in command.args)


def wrong_in_operation(receivers: Receivers, commands: Sequence[ServerCommand]) -> AnyText | None:
    """Why the commands of an operation cannot be received; None if they can."""
    name = _COMMANDS[receivers.kind]
    args = commands[0].args if len(commands) == 1 else ()
    if len(args) > 2 and (args[0].upper(), args[1], args[-1]) == (name, "{key}", MESSAGE):
        return None
    return said("with these receivers it is one command: {name} {{key}} ... {message}", name=name, message=MESSAGE)


SPEED_MAX = 1e6


class Recording(PlanPart):
    """Commands that were recorded, in a file that was prepared for drivers.

    An operation is then the name of one command, without arguments: they are the recording's, its keys under the plan's
    prefix. A client of the recording has one connection, over which its commands go in their order; in a cluster it has
    one to each node, and a command for another node waits until those before it were answered. Commands whose keys are
    in several slots are not sent to a cluster. With the open model
    and `arrivals: recorded` they are intended when they were recorded, `speed` times as fast; with the closed one each
    is sent as soon as its connection is free. The drive ends with the last one, at `measure_max_s` at the latest.
    """

    path: str = Field(min_length=1)
    speed: float = Field(default=1.0, gt=0, le=SPEED_MAX)
    stored_bytes: int = Field(default=0, ge=0, description="what the commands store at most, about")


@dataclass(frozen=True)
class RecordedLoad:
    """A recording, read to its end; its commands stand in a file for drivers."""

    prepared: Path
    """The file for drivers, as `engine/src/load/recorded.rs` describes it."""
    commands: tuple[str, ...]
    """The names of those that are sent, each an operation, in the order of their numbers in the file."""
    sent: Mapping[str, int]
    """Number of commands of each name that are sent."""
    left_out: Mapping[tuple[str, AnyText], int]
    """Name and reason -> how many are not sent."""
    not_in_a_cluster: Mapping[tuple[str, AnyText], int]
    """Number of commands that no node of a cluster takes, by name and reason, of those that are sent."""
    clients: int
    """That have a command which is sent."""
    length_s: float
    """From the first command that is sent to the last one."""
    stored_bytes: int
    """What the commands store at most, about."""
    examples: tuple[tuple[tuple[str, bool], ...], ...]
    """Some of each command: arguments, cut where they are long, and whether each is a key."""
    transactions: bool = False
    """Whether some commands belong together, so that no other client's may come between them."""
    set_forward: int = 0
    """Commands whose times went back a little: they count from the time before."""
    cut_off: bool = False
    """Whether the last line had no end."""

    @property
    def number(self) -> int:
        """Return the number of commands that are sent."""
        return sum(self.sent.values())

    @property
    def number_in_a_cluster(self) -> int:
        """Return the number of commands that are sent to a cluster."""
        return self.number - sum(self.not_in_a_cluster.values())
