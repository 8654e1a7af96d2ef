"""Rows into keys of Redis: commands with places for a row's values, sent many at once."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from loadstone.deploy.data import Rows, Tell
from loadstone.deploy.redis_control import OUR_PREFIX, RedisControl
from loadstone.errors import UserError

BATCH_ROWS = 1000
WRITING = frozenset(
    {
        *("SET", "SETEX", "SETNX", "PSETEX", "APPEND", "INCR", "INCRBY", "HSET", "HMSET", "HSETNX", "HINCRBY"),
        *("SADD", "RPUSH", "LPUSH", "ZADD", "XADD", "EXPIRE", "PEXPIRE", "GEOADD", "PFADD", "SETBIT", "JSON.SET"),
    }
)
"""Commands whose first argument is their one key."""
PLACE = re.compile(r"(?P<brace>\{\{)|\{(?P<name>\w+)\}")
NAMED = re.compile(rf"{OUR_PREFIX}[^:]+:")
"""What a key begins with that differs by row."""
Row = Sequence[bytes]


@dataclass(frozen=True)
class _Word:
    """One argument: text, with places for values of a row."""

    format: bytes
    values: Callable[[Row], tuple[bytes, ...]] | None
    """None: it has no places."""

    def filled(self, row: Row) -> bytes:
        return self.format % (self.values(row) if self.values is not None else ())


@dataclass(frozen=True)
class Writing:
    """Commands for each row, ready to be filled."""

    commands: tuple[tuple[_Word, ...], ...]
    beginnings: frozenset[str]
    """What their keys begin with, where a key differs by row."""
    keys: frozenset[str]
    """Keys that are the same for every row."""

    def remove(self, control: RedisControl) -> None:
        """Remove every key that the commands may have made."""
        for key in self.keys:
            control.remove_key(key)
        for beginning in self.beginnings:
            control.remove_beginning(beginning)

    def write(self, control: RedisControl, rows: Rows, tell: Tell) -> None:
        """Send the commands for every row.

        Raises:
            LoadstoneError: the server is gone, or refuses a command.
        """
        lines = chain.from_iterable(rows.lines())
        done = 0
        while batch := list(islice(lines, BATCH_ROWS)):
            control.send(list(self._filled(batch)))
            done += len(batch)
            tell(done)

    def _filled(self, lines: Sequence[bytes]) -> Iterator[list[bytes]]:
        for line in lines:
            row = line.split(b"\t")
            for command in self.commands:
                yield [word.filled(row) for word in command]


def writing_of(commands: Sequence[str], rows: Rows) -> Writing:
    """The commands, checked.

    Raises:
        UserError: one cannot be sent, or would write to a key that is not ours; names the command.
    """
    parsed: list[tuple[_Word, ...]] = []
    beginnings: set[str] = set()
    keys: set[str] = set()
    for text in commands:
        words = _split(text)
        place = next((found for found in PLACE.finditer(words[1]) if found["name"]), None)
        beginning = words[1][: place.start() if place else None].replace("{{", "{")
        if not beginning.startswith(OUR_PREFIX):
            raise UserError(f"'{text}': its key must begin with '{OUR_PREFIX}'")
        if place and not NAMED.match(beginning):
            raise UserError(
                f"'{text}': keys are removed by their beginning, so it must name these alone: "
                f"write {OUR_PREFIX}NAME:{place[0]}"
            )
        (beginnings if place else keys).add(beginning)
        parsed.append(tuple(_word(word, rows, f"'{text}'") for word in words))
    return Writing(tuple(parsed), frozenset(beginnings), frozenset(keys))


def _split(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"'{text}': {str(error).lower()}; write it as in a shell") from None
    if len(words) < 2 or words[0].upper() not in WRITING:
        raise UserError(f"'{text}': begin it with one of {', '.join(sorted(WRITING))}, and its key")
    return words


def _word(text: str, rows: Rows, where: str) -> _Word:
    form, values, end = b"", [], 0
    for found in PLACE.finditer(text):
        form += text[end : found.start()].encode().replace(b"%", b"%%")
        end = found.end()
        if found["brace"]:
            form += b"{"
            continue
        form += b"%b"
        values.append(_value(found["name"], rows, where))
    form += text[end:].encode().replace(b"%", b"%%")
    if not values:
        return _Word(form, None)
    return _Word(form, lambda row: tuple(value(row) for value in values))


def _value(name: str, rows: Rows, where: str) -> Callable[[Row], bytes]:
    if name == "json":
        return lambda row: _json(row, rows)
    if name not in rows.columns:
        known = ", ".join(f"{{{column}}}" for column in (*rows.columns, "json"))
        raise UserError(f"{where}: '{{{name}}}' is no column; known are {known}")
    position = rows.columns.index(name)
    return lambda row: row[position]


def _json(row: Row, rows: Rows) -> bytes:
    """The row as an object; whole numbers as numbers, all else as texts."""
    told = {
        name: int(value) if name in rows.numeric else value.decode()
        for name, value in zip(rows.columns, row, strict=True)
    }
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()
