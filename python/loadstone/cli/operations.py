"""What is sent: operations by a short name or in full, and the rows made of them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.experiment.plan.drive_plan import PAYLOAD_MAX_BYTES
from loadstone.safety.errors import UserError
from loadstone.text.units import BYTES, parse
from loadstone.text.wording import listed, nearest

YamlMapping = dict[str, Any]
_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class LoadRow:
    """What is driven and measured as one."""

    name: str
    """As the table calls it: a level of the factor `operation`."""
    operations: tuple[YamlMapping, ...]
    load: YamlMapping | None = None
    """Stores every key once before; None: nothing need be there."""
    modules: tuple[str, ...] = ()


def operation(name: str, args: str, expect: str, **more: object) -> YamlMapping:
    """An operation of one command."""
    return {"name": name, "commands": [{"args": args, "expect": expect}], **more}


def mix(name: str, weighted: Sequence[tuple[int, YamlMapping]], load: YamlMapping | None = None) -> LoadRow:
    """Several operations as one row; those that have one name are numbered."""
    names = [fields["name"] for _, fields in weighted]
    numbered = []
    for place, (weight, fields) in enumerate(weighted):
        number = f"-{names[: place + 1].count(fields['name'])}" if names.count(fields["name"]) > 1 else ""
        numbered.append({**fields, "name": f"{fields['name']}{number}", "weight": weight})
    return LoadRow(name, tuple(numbered), load)


_SET = operation("set", "SET {key} {value}", "ok")
_HSET = operation("hset", "HSET {key} field {value}", "integer")
_ZADD = operation("zadd", "ZADD {key} {uniform 1..1000000} member:{uniform 1..1000}", "integer")
_JSON_SET = operation(
    "json-set",
    "JSON.SET {key} $ {document}",
    "ok",
    writes="document",
    read_back={"args": "JSON.GET {key}", "expect": "document"},
)
KNOWN: Mapping[str, LoadRow] = {
    row.name: row
    for row in (
        LoadRow("get", (operation("get", "GET {key}", "value"),), _SET),
        LoadRow("set", (_SET,)),
        LoadRow("incr", (operation("incr", "INCR {key}", "integer"),)),
        LoadRow("hget", (operation("hget", "HGET {key} field", "value"),), _HSET),
        LoadRow("hset", (_HSET,)),
        LoadRow("sadd", (operation("sadd", "SADD {key} {uniform 1..1000}", "integer"),)),
        LoadRow("zadd", (_ZADD,)),
        LoadRow("json-get", (operation("json-get", "JSON.GET {key}", "document"),), _JSON_SET, ("json",)),
        LoadRow("json-set", (_JSON_SET,), modules=("json",)),
    )
}
"""Those that have a short name: none of them lets a key grow without end."""


def redis_row(command: str, load: str | None) -> LoadRow:
    """A short name, or a whole command with its placeholders; `load` stores what that needs. Raises UserError."""
    text = command.strip()
    known = KNOWN.get(text.lower())
    if known is not None and load is None:
        return known
    if known is not None:
        raise UserError(
            "--load: '{text}' stores what it needs by itself; leave it out, or write the command in full", text=text
        )
    if " " not in text:
        raise UserError(
            "--command '{text}': no such command; {hint}known are: {known}; or write a whole command in "
            "quotes, for example 'GETRANGE {{key}} 0 9'",
            text=text,
            hint=nearest(text.lower(), KNOWN),
            known=listed(KNOWN),
        )
    name = name_of(text.split()[0])
    before = None if load is None else operation("load", load, "any")
    modules = ("json",) if any(each.upper().startswith("JSON.") for each in (text, load or "")) else ()
    return LoadRow(name, (operation(name, text, "any"),), before, modules)


def name_of(text: str, otherwise: str = "command") -> str:
    """A text as the name of an operation, which begins with a letter."""
    name = _NAME.sub("-", text.lower()).strip("-")[:40]
    return name if name[:1].isalpha() else f"{otherwise}-{name}".rstrip("-")


def size_bytes(option: str, text: str) -> int:
    """Bytes that a size stands for: `100`, `1 kB`. Raises UserError."""
    try:
        size = int(parse(text if not text.isdecimal() else f"{text} B", BYTES))
    except ValueError as error:
        raise UserError("{option} {text}: {error}", option=option, text=text, error=error) from None
    if size > PAYLOAD_MAX_BYTES:
        raise UserError(
            "{option} {text}: a value has at most {payload_max_bytes} MiB; write a smaller size",
            option=option,
            text=text,
            payload_max_bytes=PAYLOAD_MAX_BYTES >> 20,
        )
    return size
