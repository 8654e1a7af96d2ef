"""A line as `redis-cli MONITOR` prints it: `1700000000.123456 [0 127.0.0.1:5000] "SET" "key" "v\\x00"`."""

import re
from dataclasses import dataclass

_HEAD = re.compile(rb'(\d{1,11})\.(\d{1,9}) \[(\d{1,5}) ([^\]"]{1,200}(?:\][^\]" ]{0,50})?)\] (?=")')
_ARGUMENT = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"(?: |$)', re.DOTALL)
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b"}


@dataclass(frozen=True, slots=True)
class MonitorLine:
    """One command as it was recorded."""

    at_ns: int
    """Since the epoch."""
    database: int
    client: bytes
    """Its address: `127.0.0.1:5000`, `[::1]:5000`, `unix:/path`; `lua` of a script's commands."""
    arguments: tuple[bytes, ...]
    """The name first."""


def read_line(line: bytes) -> MonitorLine | None:
    """The command of a line without its end; None if it is none."""
    head = _HEAD.match(line)
    if head is None:
        return None
    arguments: list[bytes] = []
    place = head.end()
    while place < len(line):
        found = _ARGUMENT.match(line, place)
        if found is None:
            return None
        arguments.append(_ESCAPE.sub(_unescaped, found[1]) if b"\\" in found[1] else found[1])
        place = found.end()
    seconds, fraction, database, client = head.groups()
    at_ns = int(seconds) * 1_000_000_000 + int(fraction.ljust(9, b"0"))
    return MonitorLine(at_ns, int(database), client, tuple(arguments))


def _unescaped(escape: re.Match[bytes]) -> bytes:
    letter = escape[1]
    if len(letter) == 3:
        return bytes((int(letter[1:], 16),))
    return _LETTERS.get(letter, letter)
