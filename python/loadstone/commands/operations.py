"""What is sent: operations of Redis by a short name or in full, requests over HTTP, and the rows made of them."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.commands.http_options import HttpWork
from loadstone.errors import UserError
from loadstone.language import said
from loadstone.plan.drive_plan import PAYLOAD_MAX_BYTES
from loadstone.plan.workload_text import literal_braces
from loadstone.spec.problems import listed, nearest
from loadstone.spec.units import BYTES, parse

Fields = dict[str, Any]
BODY_MAX_BYTES = 1_000_000
_STATUS = re.compile(r"[2-5](?:[0-9]{2}|xx)")
_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class LoadRow:
    """What is driven and measured as one."""

    name: str
    """As the table calls it: a level of the factor `operation`."""
    operations: tuple[Fields, ...]
    load: Fields | None = None
    """Stores every key once before; None: nothing need be there."""
    modules: tuple[str, ...] = ()


def operation(name: str, args: str, expect: str, **more: object) -> Fields:
    """An operation of one command."""
    return {"name": name, "commands": [{"args": args, "expect": expect}], **more}


def mix(name: str, weighted: Sequence[tuple[int, Fields]], load: Fields | None = None) -> LoadRow:
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
            said(
                "--load: '{text}' stores what it needs by itself; leave it out, or write the command in full", text=text
            )
        )
    if " " not in text:
        raise UserError(
            said(
                "--command '{text}': no such command; {hint}known are: {known}; or write a whole command in "
                "quotes, for example 'GETRANGE {{key}} 0 9'",
                text=text,
                hint=nearest(text.lower(), KNOWN),
                known=listed(KNOWN),
            )
        )
    name = _name_of(text.split()[0])
    before = None if load is None else operation("load", load, "any")
    modules = ("json",) if any(each.upper().startswith("JSON.") for each in (text, load or "")) else ()
    return LoadRow(name, (operation(name, text, "any"),), before, modules)


def _name_of(word: str) -> str:
    """A word as the name of an operation, which begins with a letter."""
    name = _NAME.sub("-", word.lower()).strip("-")[:40]
    return name if name[:1].isalpha() else f"command-{name}".rstrip("-")


def size_bytes(option: str, text: str) -> int:
    """Bytes that a size stands for: `100`, `1 kB`. Raises UserError."""
    try:
        size = int(parse(text if not text.isdecimal() else f"{text} B", BYTES))
    except ValueError as error:
        raise UserError(said("{option} {text}: {error}", option=option, text=text, error=error)) from None
    if size > PAYLOAD_MAX_BYTES:
        raise UserError(
            said(
                "{option} {text}: a value has at most {payload_max_bytes} MiB; write a smaller size",
                option=option,
                text=text,
                payload_max_bytes=PAYLOAD_MAX_BYTES >> 20,
            )
        )
    return size


def http_operations(paths: Sequence[str], work: HttpWork) -> list[Fields]:
    """An operation a path, all equally often. Raises UserError for an option that cannot be read."""
    headers = dict(map(_header, work.headers))
    common: Fields = {"method": work.method.upper(), "headers": headers, "expect": _expected(work.expect)}
    if work.expect_text is not None:
        common["expect"]["contains"] = work.expect_text
    if work.body is not None:
        common["body"] = literal_braces(_body(work.body))
    names = [f"{work.method.lower()}{f'-{number}' if len(paths) > 1 else ''}" for number in range(1, len(paths) + 1)]
    return [{"name": name, "requests": [{**common, "path": path}]} for name, path in zip(names, paths, strict=True)]


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UserError(said("--header {name}: write 'NAME: VALUE'; secrets as ${{env:NAME}}", name=shlex.quote(name)))
    return name.strip(), value.strip()


def _expected(text: str) -> Fields:
    """`200`, `2xx`, `200,404`."""
    written = [part.strip() for part in text.split(",")]
    wrong = next((part for part in written if not _STATUS.fullmatch(part)), None)
    if wrong is not None or (len(written) > 1 and any(part.endswith("xx") for part in written)):
        raise UserError(said("--expect {text}: no status of HTTP; write for example 200, 2xx, or 200,404", text=text))
    status = [int(part) if part.isdecimal() else part for part in written]
    return {"status": status[0] if len(status) == 1 else status}


def _body(text: str) -> str:
    """The text, or with an `@` before it that of a file. Raises UserError where that cannot be read."""
    if not text.startswith("@"):
        return text
    try:
        with Path(text[1:]).open("rb") as file:
            body = file.read(BODY_MAX_BYTES + 1)
        if len(body) > BODY_MAX_BYTES:
            raise UserError(said("--body {text}: more than 1 MB; use a smaller file", text=text))
        return body.decode()
    except OSError as error:
        raise UserError(
            said(
                "--body {text}: cannot be read ({strerror}); write the text, or @FILE",
                text=text,
                strerror=error.strerror,
            )
        ) from None
    except UnicodeDecodeError:
        raise UserError(said("--body {text}: not text in UTF-8; use a text file", text=text)) from None
