"""Where in a spec a secret stands: by the path of a value, by the command that holds it, and in the text itself."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from loadstone.safety.secrets.in_texts import (
    SecretSpan,
    is_secret,
    is_secret_header,
    is_secret_variable,
    is_surely_secret,
    secret_of_url,
    secrets_in,
    secrets_in_command,
)

Path = tuple[str | int, ...]
ENVIRONMENT, HEADERS, URLS = "environment", ("headers", "secret_headers"), ("url", "urls")
_COMMANDS = ("command", "commands", "version_commands")
"""Keys of manifests: what is started, and what builds."""
_PASSWORD_SETTINGS = ("requirepass", "masterauth", "tls-key-file-pass")


class Placed(NamedTuple):
    """A text that is a secret, and where it stands."""

    path: Path
    value: str
    sure: bool
    """Whether its place leaves no doubt; a variable `SORT_KEY` may hold anything."""


@lru_cache(maxsize=4096)
def names_secret(under: str, key: object) -> bool:
    """Whether a value under `key` is secret; `under` is the key that the mapping itself stands under."""
    section, dot, name = key.partition(".") if isinstance(key, str) else ("", "", "")
    if under == ENVIRONMENT or (dot and section == ENVIRONMENT):
        return is_secret_variable(name or key)
    return is_secret_header(key) if under in HEADERS else is_secret(key)


def secrets_of(data: Any, path: Path = ()) -> Iterator[Placed]:
    """Every secret in plain data, as a text; references and factors in it are left as they stand."""
    if isinstance(data, str):
        yield from (Placed(path, *secret) for secret in _in_text(data, str(path[-1]) if path else ""))
    elif isinstance(data, Mapping):
        for key, item in data.items():
            if names_secret(_key_before(path), key):
                yield from _whole(item, (*path, key), under_headers=_key_before(path) in HEADERS)
            elif key == "args":
                yield from (Placed((*path, key), value, sure=True) for value in _of_command(item))
            elif key in _COMMANDS:
                lines = [item] if isinstance(item, str) else item if isinstance(item, list | tuple) else []
                for line in filter(lambda one: isinstance(one, str), lines):
                    yield from (Placed((*path, key), *secret) for secret in secrets_in_command(line))
            yield from secrets_of(item, (*path, key))
    elif isinstance(data, Sequence) and not isinstance(data, bytes | bytearray):
        for index, item in enumerate(data):
            yield from secrets_of(item, (*path, index))


def _in_text(text: str, key: str) -> Iterator[SecretSpan]:
    if key in URLS:
        for url in text.split(","):
            yield from secret_of_url(url.strip())
    yield from secrets_in(text)


def _whole(item: Any, path: Path, *, under_headers: bool) -> Iterator[Placed]:
    """Each value below a place that is secret."""
    sure = under_headers or is_surely_secret(path[-1])
    if isinstance(item, Mapping):
        for key, below in item.items():
            yield from _whole(below, (*path, key), under_headers=sure)
    elif isinstance(item, list | tuple):
        for index, below in enumerate(item):
            yield from _whole(below, (*path, index), under_headers=sure)
    elif isinstance(item, str | int | float) and not isinstance(item, bool):
        text = str(item)
        yield Placed(path, text, sure)
        if under_headers:
            yield from (Placed(path, part, sure) for part in _of_header(text))


def _of_header(text: str) -> Iterator[str]:
    """The credential behind its scheme, and the values of cookies that are long enough to be one."""
    scheme, space, credential = text.partition(" ")
    if space and scheme.isalpha():
        yield credential.strip()
    for part in text.split(";"):
        name, equals, value = part.strip().partition("=")
        if equals and name and len(value) >= 8:
            yield value


def _of_command(args: Any) -> Iterator[str]:
    """Passwords in a command of Redis."""
    words = args.split() if isinstance(args, str) else [str(word) for word in args] if isinstance(args, list) else []
    upper = [word.upper() for word in words]
    for index, word in enumerate(upper):
        if word in ("AUTH", "AUTH2") and (index == 0 or upper[0] in ("HELLO", "MIGRATE")):
            behind = 2 if (upper[0] == "HELLO" or word == "AUTH2" or len(words) > 2) else 1
            yield from words[index + behind : index + behind + 1]
        elif words[index].lower() in _PASSWORD_SETTINGS and upper[:2] == ["CONFIG", "SET"]:
            yield from words[index + 1 : index + 2]
        elif upper[:2] == ["ACL", "SETUSER"] and re.match(r"[<>#!].", words[index]):
            yield words[index][1:]


def _key_before(path: Path) -> str:
    """The key that a mapping stands under; a list's items count as the list."""
    return next((str(part) for part in reversed(path) if isinstance(part, str)), "")
