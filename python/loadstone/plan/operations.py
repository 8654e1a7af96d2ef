"""What is sent: operations, their commands with keys and messages, their HTTP requests with rows of data."""

from typing import Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from loadstone.plan.part import PlanPart, is_left_out
from loadstone.plan.workload.http import HttpRequest
from loadstone.plan.workload.several_keys import keys_named

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


class Command(PlanPart):
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
    commands: tuple[Command, ...] = ()
    requests: tuple[HttpRequest, ...] = ()
    writes: Literal["nothing", "document", "field"] = "nothing"
    read_back: Command | None = None
    reads_only: bool = Field(
        default=False, description="all its commands only read: it may go to a replica", exclude_if=is_left_out
    )
    units: SkipJsonSchema[str] = Field(default="auto", exclude=True)
    """See `plan.units`: no driver needs it."""


def commands_of(operation: Operation) -> tuple[Command, ...]:
    """Its commands, and the one that reads back what they wrote."""
    return operation.commands if operation.read_back is None else (*operation.commands, operation.read_back)


def keys_of_one(operation: Operation) -> int:
    """How many different keys it has: 10 where it names `{key10}`; 0 where it names none."""
    texts = [text for command in commands_of(operation) for text in command.args]
    for request in operation.requests:
        texts += [request.path, *request.headers.values(), *([] if request.body is None else [request.body])]
    return keys_named(texts)
