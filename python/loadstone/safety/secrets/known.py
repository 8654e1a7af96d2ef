"""The secrets of this process: learned when they are read or made, hidden in all that leaves it.

Every file, log, report, line of the terminal, error and metric passes `redact` or `redacted`. A secret that was given
as `${env:NAME}` or `${secret:NAME}` is replaced by that reference, so that two of them can be distinguished and a
recorded command works again; every other one by `***`.
"""

import base64
import html
import json
import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

from loadstone.safety.secrets.in_texts import REDACTED, hide_shown, is_open
from loadstone.safety.secrets.places import names_secret

SHORTEST = 4
"""Characters of a secret that is searched for in any text; a shorter one is hidden in its own place alone."""
SHORTEST_NUMBER = 8
"""Digits of one that is a number: a shorter one would be found among the figures."""
SHORTEST_UNSURE = 8
SHORTEST_LINE = 16
"""A shorter line of a secret of several lines may be anybody's."""
SHORTEST_BASE64 = 8
"""A shorter piece of Base64 might stand in any text by chance."""
_WHOLE_BELOW = 8
"""A shorter one is found as a word of its own: `test` is not hidden in `latest`."""
_COMMON = frozenset(
    {
        *("admin", "default", "false", "guest", "invalid", "loadstone", "localhost"),
        *("mariadb", "master", "mysql", "none", "null", "password", "postgres"),
        *("postgresql", "primary", "redis", "replica", "root", "secret", "server"),
        *("standalone", "subject", "suspect", "test", "true", "user", "valid"),
        *("valkey", "memcached"),
    }
)
"""Terms of every report. As a password they are hidden in its place; elsewhere they cannot be distinguished."""


class Registry:
    """The secrets that are known, and the words that are none although they are spelled alike."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Know nothing any more."""
        with self._lock:
            self._labels: dict[str, str] = {}
            self._spared: set[str] = set()
            self._factors: set[str] = set()
            self._forms: dict[str, str] = {}
            self._pattern: re.Pattern[str] | None = None

    def learn(self, value: str, label: str = REDACTED, *, sure: bool = True) -> None:
        """From now on this text is hidden, and `label` stands in its place.

        One that is not `sure` (a variable `SORT_KEY` may hold anything) counts only if it looks like a secret.
        """
        if not value or is_open(value) or not (sure or _looks_random(value)):
            return
        with self._lock:
            if self._labels.get(value, REDACTED) == REDACTED:  # a reference says more
                self._labels[value] = label
                self._compile()

    def spare(self, words: Iterable[str]) -> None:
        """These are names and no secrets: reports are made of them."""
        with self._lock:
            self._spared |= set(words)
            self._compile()

    def name_factors(self, names: Iterable[str]) -> None:
        """These keys name factors, whatever they are called: the levels under them make a condition what it is."""
        self._factors |= set(names)

    def is_place(self, under: str, key: object) -> bool:
        """Whether what stands under `key` is hidden whole."""
        return key not in self._factors and names_secret(under, key)

    def forms(self) -> list[tuple[str, str]]:
        """Each form that is searched for and what stands in its place, the longest first."""
        return sorted(self._forms.items(), key=lambda form: -len(form[0]))

    def hide_known(self, text: str) -> str:
        """The text without the secrets that are known."""
        pattern, labels = self._pattern, self._forms
        return text if pattern is None else pattern.sub(lambda secret: labels[secret[0]], text)

    def label(self, value: str) -> str:
        """What stands in the place of a whole value that is a secret, however short it is."""
        if is_open(value):
            return value
        if value in self._labels:
            return self._labels[value]
        left = self.hide_known(value)
        return left if is_open(left) else REDACTED

    def _compile(self) -> None:
        searched = {value: label for value, label in self._labels.items() if self._is_searched(value)}
        self._forms = {form: label for value, label in searched.items() for form in _forms_of(value)}
        alternatives = [_as_pattern(form) for form in sorted(self._forms, key=len, reverse=True)]
        self._pattern = re.compile("|".join(alternatives)) if alternatives else None

    def _is_searched(self, value: str) -> bool:
        if value.isdecimal():
            return len(value) >= SHORTEST_NUMBER
        return len(value) >= SHORTEST and value not in self._spared and value.lower() not in _COMMON


def _forms_of(value: str) -> list[str]:
    """Every form of a value that is searched for, the value itself first, each once."""
    return list(dict.fromkeys([value, *_escaped(value), *_lines(value), *_base64(value), *_hexadecimal(value)]))


def _escaped(value: str) -> Iterator[str]:
    """In URLs, JSON, shells, SQL, HTML and Python; where nothing needs it, that is the value itself."""
    yield quote(value, safe="")
    yield quote(value)
    yield quote_plus(value)
    yield quote(value, safe="").lower() if "%" in quote(value, safe="") else value
    for ascii_only in (True, False):
        yield json.dumps(value, ensure_ascii=ascii_only)[1:-1]
    yield value.replace("'", "'\"'\"'")
    yield value.replace("'", "''")
    yield html.escape(value)
    yield html.escape(value, quote=False)
    yield repr(value)[1:-1]


def _lines(value: str) -> Iterator[str]:
    """Each line of a key in PEM: a log has them one by one, a time before each. Its first and last tell nothing."""
    lines = [line.strip() for line in value.splitlines()]
    for line in lines if len(lines) > 1 else ():
        if len(line) >= SHORTEST_LINE and not line.startswith("-----") and len(line.split()) == 1:
            yield line


def _hexadecimal(value: str) -> Iterator[str]:
    digits = value.encode(errors="surrogateescape").hex()
    yield from (digits, digits.upper())


def _base64(value: str) -> Iterator[str]:
    """The part of any Base64 text that the value alone decides, at each of the three places where it may begin.

    `user:password` of a basic authentication is found by it whoever the user is.
    """
    raw = value.encode(errors="surrogateescape")
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        first = -(-before * 8 // 6)  # the characters that hold bits of what stands before
        piece = whole[first : (before + len(raw)) * 8 // 6]
        if len(piece) >= SHORTEST_BASE64:
            yield piece
            yield piece.translate(str.maketrans("+/", "-_"))


def _as_pattern(form: str) -> str:
    whole = len(form) < _WHOLE_BELOW
    before = r"(?<![A-Za-z0-9])" if whole and form[0].isalnum() else ""
    after = r"(?![A-Za-z0-9])" if whole and form[-1].isalnum() else ""
    return f"{before}{re.escape(form)}{after}"


def _looks_random(value: str) -> bool:
    kinds = (any(map(test, value)) for test in (str.isdigit, str.islower, str.isupper))
    return len(value) >= SHORTEST_UNSURE and not value.isdecimal() and sum(kinds) > 1


_KNOWN = Registry()
learn, forget, forms, hide_known = _KNOWN.learn, _KNOWN.forget, _KNOWN.forms, _KNOWN.hide_known
spare, name_factors = _KNOWN.spare, _KNOWN.name_factors


def label(value: str) -> str:
    """What stands in the place of a whole value that is a secret, however short: `***`, or the reference to it."""
    return _KNOWN.label(value)


def new_password() -> str:
    """A random password of ours, which is hidden from now on."""
    password = secrets.token_urlsafe(24)
    learn(password)
    return password


def redact(text: str) -> str:
    """The text without secrets: without those that are known, and those that it shows itself (`://user:pass@`)."""
    return hide_shown(hide_known(text))


def redacted(value: Any) -> Any:
    """A copy of `value` (mappings, sequences, texts) without secrets.

    Hidden are, too: values under a key that names a secret, in a mapping `environment` those of variables that may
    hold one, and in `headers` those of headers that carry one. Numbers and switches elsewhere stay as they are.
    """
    return _hidden(value, "")


def _hidden(value: Any, under: str) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        shown: dict[Any, Any] = {}
        for key, item in value.items():
            below = _in_place(item) if _KNOWN.is_place(under, key) else _hidden(item, str(key))
            shown[_key(key, shown)] = below
        return shown
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_hidden(item, under) for item in value]
    return value


def _key(key: Any, others: Mapping[Any, Any]) -> Any:
    """A key without secrets. Two that differ by theirs alone (requests, by their paths) stay two: they are numbered."""
    name = redact(key) if isinstance(key, str) else key
    number, numbered = 1, name
    while numbered in others:
        number += 1
        numbered = f"{name} ({number})"
    return numbered


def _in_place(item: Any) -> Any:
    """What stands for a value whose place says that it is secret: None, an empty text and a switch stay."""
    if item is None or item == "" or isinstance(item, bool):
        return item
    return _KNOWN.label(item) if isinstance(item, str) else REDACTED
