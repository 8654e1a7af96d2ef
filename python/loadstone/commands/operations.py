"""The operations that `loadstone saturate` drives: commands of Redis by a short name or in full, and HTTP requests."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from loadstone.commands.http_options import HttpWork
from loadstone.deploy.urls import host_of
from loadstone.errors import UserError
from loadstone.plan.workload_text import literal_braces
from loadstone.spec.problems import listed, nearest

Fields = dict[str, Any]
BODY_MAX_BYTES = 1_000_000
_STATUS = re.compile(r"[2-5](?:[0-9]{2}|xx)")
_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class RedisOperation:
    """What `--command` stands for. `load` stores each key once before; empty: nothing need be there."""

    name: str
    fields: Fields
    load: Fields
    modules: tuple[str, ...] = ()


def _one(name: str, args: str, expect: str, **more: object) -> Fields:
    return {"name": name, "commands": [{"args": args, "expect": expect}], **more}


_SET = _one("set", "SET {key} {value}", "ok")
_HSET = _one("hset", "HSET {key} field {value}", "integer")
_JSON_SET = _one(
    "json-set",
    "JSON.SET {key} $ {document}",
    "ok",
    writes="document",
    read_back={"args": "JSON.GET {key}", "expect": "document"},
)
KNOWN: Mapping[str, RedisOperation] = {
    one.name: one
    for one in (
        RedisOperation("get", _one("get", "GET {key}", "value"), _SET),
        RedisOperation("set", _SET, {}),
        RedisOperation("incr", _one("incr", "INCR {key}", "integer"), {}),
        RedisOperation("hget", _one("hget", "HGET {key} field", "value"), _HSET),
        RedisOperation("hset", _HSET, {}),
        RedisOperation("sadd", _one("sadd", "SADD {key} {uniform 1..1000}", "integer"), {}),
        RedisOperation("zadd", _one("zadd", "ZADD {key} {uniform 1..1000000} member:{uniform 1..1000}", "integer"), {}),
        RedisOperation("json-get", _one("json-get", "JSON.GET {key}", "document"), _JSON_SET, ("json",)),
        RedisOperation("json-set", _JSON_SET, {}, ("json",)),
    )
}
"""Those that have a short name: none of them lets a key grow without end."""


def redis_operation(command: str, load: str | None) -> RedisOperation:
    """A short name, or a whole command with its placeholders; `load` stores what that needs. Raises UserError."""
    text = command.strip()
    known = KNOWN.get(text.lower())
    if known is not None and load is None:
        return known
    if known is not None:
        raise UserError(f"--load: '{text}' stores what it needs by itself; leave it out, or write the command in full")
    if " " not in text:
        raise UserError(
            f"--command '{text}': no such command; {nearest(text.lower(), KNOWN)}known are: {listed(KNOWN)}; "
            "or write a whole command in quotes, for example 'GETRANGE {key} 0 9'"
        )
    before = {} if load is None else _one("load", load, "any")
    modules = ("json",) if any(one.upper().startswith("JSON.") for one in (text, load or "")) else ()
    return RedisOperation(_name_of(text.split()[0]), _one(_name_of(text.split()[0]), text, "any"), before, modules)


def _name_of(word: str) -> str:
    """A word as the name of an operation, which begins with a letter."""
    name = _NAME.sub("-", word.lower()).strip("-")[:40]
    return name if name[:1].isalpha() else f"command-{name}".rstrip("-")


@dataclass(frozen=True)
class HttpTarget:
    """Where a service listens, and the paths that are requested of it."""

    base: str
    """Scheme, login, host and port, without a path."""
    paths: tuple[str, ...]


def http_target(url: str, paths: Sequence[str], option: str = "URL") -> HttpTarget:
    """The URL's own path, or those of `--path`, which then stand below it. Raises UserError; shows no password.

    `option`: where the URL stands.
    """
    if "://" not in url:
        shown = "HOST:PORT" if "@" in url else url
        raise UserError(f"{option} '{shown}': it begins with no scheme; write http://{shown}")
    scheme = url.partition("://")[0]
    if scheme.lower() not in ("http", "https"):
        raise UserError(f"{option}: '{scheme}://' is not HTTP; write http://HOST:PORT or https://HOST:PORT")
    try:
        parts = urlsplit(url)
        host_of(parts)
    except ValueError as error:
        raise UserError(f"{option}: {error}; write http://HOST:PORT/PATH") from None
    if not parts.netloc:
        raise UserError(f"{option}: it names no host; write http://HOST:PORT/PATH")
    if parts.fragment:
        raise UserError(f"{option}: '#{parts.fragment}' is not sent to a server; leave it out")
    base = f"{scheme}://{parts.netloc}"
    if not paths:
        own = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        return HttpTarget(base, (own,))
    if parts.query:
        raise UserError(f"{option}: '?{parts.query}' has no meaning with --path; write it into --path")
    wrong = next((path for path in paths if not path.startswith("/")), None)
    if wrong is not None:
        raise UserError(f"--path '{wrong}': must begin with '/'; write for example /{wrong}")
    return HttpTarget(f"{base}{parts.path.rstrip('/')}", tuple(paths))


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
        raise UserError(f"--header {shlex.quote(name)}: write 'NAME: VALUE'; secrets as ${{env:NAME}}")
    return name.strip(), value.strip()


def _expected(text: str) -> Fields:
    """`200`, `2xx`, `200,404`."""
    found = [part.strip() for part in text.split(",")]
    wrong = next((part for part in found if not _STATUS.fullmatch(part)), None)
    if wrong is not None or (len(found) > 1 and any(part.endswith("xx") for part in found)):
        raise UserError(f"--expect {text}: no status of HTTP; write for example 200, 2xx, or 200,404")
    status = [int(part) if part.isdecimal() else part for part in found]
    return {"status": status[0] if len(status) == 1 else status}


def _body(text: str) -> str:
    """The text, or with an `@` before it that of a file. Raises UserError where that cannot be read."""
    if not text.startswith("@"):
        return text
    try:
        with Path(text[1:]).open("rb") as file:
            found = file.read(BODY_MAX_BYTES + 1)
        if len(found) > BODY_MAX_BYTES:
            raise UserError(f"--body {text}: more than 1 MB; use a smaller file")
        return found.decode()
    except OSError as error:
        raise UserError(f"--body {text}: cannot be read ({error.strerror}); write the text, or @FILE") from None
    except UnicodeDecodeError:
        raise UserError(f"--body {text}: not text in UTF-8; use a text file") from None
