"""A Redis that is compared, named in a word: `redis=7.0`, `valkey`, an image, a program, a URL, settings."""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.cli.operations import YamlMapping
from loadstone.cli.targets import address, redis_server
from loadstone.machine.installed_programs import output_of
from loadstone.safety.errors import UserError
from loadstone.servers import registry

BROUGHT: Mapping[str, registry.BroughtKind] = {"redis": "embedded", "valkey": "valkey"}
"""What loadstone brings, by the word for it -> the kind of server."""
SERVER_WORD = re.compile(r"(redis|valkey)([=,:].*)?")
SETTINGS = re.compile(r"[a-z][a-z0-9-]*=[^\s,{}]+(,[a-z][a-z0-9-]*=[^\s,{}]+)*")
"""No command is one word with a `=`: what stands before a command in its environment is followed by it."""
URL = re.compile(r"(rediss?|valkeys?|unix)(\+sentinel)?://")
_VERSION = re.compile(r"\bv=(\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class NamedServer:
    """What a text names."""

    name: str
    settings: YamlMapping


def is_redis(text: str) -> bool:
    """Whether a version is one of a Redis."""
    return any(form.fullmatch(text) for form in (SERVER_WORD, SETTINGS)) or URL.match(text) is not None


def server_of(text: str, option: str) -> NamedServer:
    """`redis`, `redis=8.2`, `valkey`, `redis:7.2` (an image), `./redis-server`, a URL; behind commas settings.

    Raises UserError.
    """
    if URL.match(text):
        return NamedServer(address(text), redis_server(text, option=option))
    first, *rest = [part.strip() for part in text.split(",")]
    word, equals, version = first.partition("=")
    if equals and word not in BROUGHT:
        first, rest, word, version = "redis", [first, *rest], "redis", ""
    settings = dict(_setting(part, option) for part in rest)
    common: YamlMapping = {"settings": settings} if settings else {}
    return NamedServer(text, {**_kind(first, word, version, option), **common})


def _kind(first: str, word: str, version: str, option: str) -> YamlMapping:
    if (brought := BROUGHT.get(word)) is not None:
        return _of_version(word, brought, version) if version else {"kind": brought}
    if ":" in first and "//" not in first and "/" not in first.partition(":")[0]:
        return {"kind": "container", "image": first}
    if shutil.which(first) is None:
        raise UserError(
            "{option} {first}: no Redis; write redis, redis=7.0, valkey, an image (redis:7.2), the path of a "
            "program, a URL, or settings as appendfsync=always",
            option=option,
            first=first,
        )
    return {"kind": "process", "binary": first}


def _of_version(word: str, kind: registry.BroughtKind, version: str) -> YamlMapping:
    """The one that loadstone brings, an installed one, or else an image."""
    brought, installed = registry.brought_program(kind), shutil.which(f"{word}-server")
    if brought is not None and _is(str(brought), version):
        return {"kind": kind}
    if installed is not None and _is(installed, version):
        return {"kind": "process", "binary": installed}
    image = "redis" if word == "redis" else "valkey/valkey"
    return {"kind": "container", "image": f"{image}:{version}"}


def _is(program: str, version: str) -> bool:
    """Whether a program says that it is of this version, `8.2` of 8.2.3, too."""
    found = _VERSION.search(output_of(program, "--version") or "")
    return found is not None and f"{found[1]}.".startswith(f"{version}.")


def _setting(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UserError(
            "{option}: '{text}' is no setting; write NAME=VALUE, as appendfsync=always", option=option, text=text
        )
    return name, value
