"""Rows of an experiment's data into keys of Redis: commands with places for a row's values, sent many at once.

A batch of rows is packed by one format a command, column by column, so no line of Python runs once a row. redis-py's
packing writes half as many rows a second, and its pipeline a fifth; the engine writes as many, but it does not end at
the first error, and it has no row as a JSON object (`bench/results/measured/rows-written.json`).
"""

import contextlib
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import add

from loadstone.experiment.spec.experiment import OUR_PREFIX
from loadstone.safety.errors import UserError
from loadstone.servers.control import RowFiles, RowProgress
from loadstone.servers.redis.commands.arguments import argument_of
from loadstone.servers.redis.commands.confinement import NAMED
from loadstone.servers.redis.pipe import Pipe
from loadstone.servers.redis.session import RedisSession

WRITING = frozenset(
    {
        *("SET", "SETEX", "SETNX", "PSETEX", "APPEND", "INCR", "INCRBY", "HSET", "HMSET", "HSETNX", "HINCRBY"),
        *("SADD", "RPUSH", "LPUSH", "ZADD", "XADD", "EXPIRE", "PEXPIRE", "GEOADD", "PFADD", "SETBIT", "JSON.SET"),
    }
)
"""Commands whose first argument is their one key."""
PLACE = re.compile(r"(?P<brace>\{\{)|\{(?P<name>\w+)\}")
BATCH_COMMANDS, BATCH_BYTES = 2000, 1024**2
"""A batch ends at either: its commands, or the bytes of its rows."""
JSON = "json"
"""In place of a column's name: the whole row as an object."""
TEXTS = json.JSONEncoder(ensure_ascii=False, separators=("\n", ":"))


@dataclass(frozen=True)
class Word:
    """One argument of a command: text, with places for values of a row."""

    format: bytes
    """The text, with `%b` for each value."""
    values: tuple[str, ...]
    """Names of columns, or `JSON`."""

    @property
    def text_bytes(self) -> int:
        """Its length without the values."""
        return len(self.format % ((b"",) * len(self.values)))


RowCommand = Sequence[Word]
"""Its name, its key, and what else it takes."""


class Batch:
    """Some rows, by column, so that no line of Python runs once a row."""

    def __init__(self, lines: Sequence[bytes], rows: RowFiles) -> None:
        self.rows = len(lines)
        self._numeric = rows.numeric
        fields = b"\t".join(lines).split(b"\t")
        width = len(rows.columns)
        self._columns = {name: fields[position::width] for position, name in enumerate(rows.columns)}
        self._json: list[bytes] = []
        self._lengths: dict[str, list[int]] = {}

    def packed(self, commands: Sequence[RowCommand]) -> bytes:
        """All commands for the first row, then for the next."""
        form = b"".join(map(_format, commands))
        arguments = [values for command in commands for values in self._arguments(command)]
        return b"".join(self._filled(form, arguments))

    def keyed(self, commands: Sequence[RowCommand]) -> Iterator[tuple[bytes, bytes]]:
        """Yield the commands one by one, each with its key before it."""
        each = []
        for command in commands:
            key = command[1]
            keys = self._filled(key.format, [self._values_of(name) for name in key.values])
            filled = self._filled(_format(command), list(self._arguments(command)))
            each.append(zip(keys, filled, strict=True))
        return chain.from_iterable(zip(*each, strict=True))

    def _filled(self, form: bytes, arguments: Sequence[Iterable[object]]) -> Iterator[bytes]:
        """The format with the arguments of each row."""
        if not arguments:
            return repeat(form % (), self.rows)
        return map(form.__mod__, zip(*arguments, strict=True))

    def _arguments(self, command: RowCommand) -> Iterator[Iterable[object]]:
        """What the command's format takes, in its order."""
        for word in command:
            if word.values:
                yield self._lengths_of(word)
                yield from map(self._values_of, word.values)

    def _lengths_of(self, word: Word) -> Iterable[int]:
        lengths: Iterable[int] = repeat(word.text_bytes)
        for name in word.values:
            if name not in self._lengths:
                self._lengths[name] = list(map(len, self._values_of(name)))
            lengths = map(add, lengths, self._lengths[name])
        return lengths

    def _values_of(self, name: str) -> list[bytes]:
        if name != JSON:
            return self._columns[name]
        if not self._json:
            form = b"{" + b",".join(b'"%b":%%b' % column.encode() for column in self._columns) + b"}"
            texts = [
                values if column in self._numeric else _json_texts(values) for column, values in self._columns.items()
            ]
            self._json = list(self._filled(form, texts))
        return self._json


@dataclass(frozen=True)
class Writing:
    """Commands for each row, ready to be filled."""

    commands: tuple[RowCommand, ...]
    beginnings: frozenset[str]
    """What their keys begin with, where a key differs by row."""
    keys: frozenset[str]
    """Keys that are the same for every row."""

    def remove(self, control: RedisSession) -> None:
        """Remove every key that the commands may have made."""
        for key in self.keys:
            control.remove_key(key)
        for beginning in self.beginnings:
            control.remove_beginning(beginning)

    def write(self, control: RedisSession, rows: RowFiles, tell: RowProgress) -> None:
        """Send the commands for every row, in the rows' order. `tell` is called with rows that are sent.

        Raises:
            LoadstoneError: the server is gone, or refuses a command.
        """
        done = 0
        with _sender(control, self.commands) as send:
            for batch in batches(rows, len(self.commands)):
                send(batch)
                done += batch.rows
                tell(done)


def writing_of(commands: Sequence[str], rows: RowFiles) -> Writing:
    """The commands, checked.

    Raises:
        UserError: one cannot be sent, or would write to a key that is not ours; names the command.
    """
    parsed: list[RowCommand] = []
    beginnings: set[str] = set()
    keys: set[str] = set()
    for text in commands:
        words = _split(text)
        place = next((place for place in PLACE.finditer(words[1]) if place["name"]), None)
        beginning = words[1][: place.start() if place else None].replace("{{", "{")
        if not argument_of(words[1], None).is_ours:
            raise UserError("'{text}': its key must begin with '{our_prefix}'", text=text, our_prefix=OUR_PREFIX)
        if place and not NAMED.match(beginning):
            raise UserError(
                "'{text}': keys are removed by their beginning, so it must name these alone: write "
                "{our_prefix}NAME:{place}",
                text=text,
                our_prefix=OUR_PREFIX,
                place=place[0],
            )
        (beginnings if place else keys).add(beginning)
        parsed.append(tuple(_word(word, rows, f"'{text}'") for word in words))
    return Writing(tuple(parsed), frozenset(beginnings), frozenset(keys))


def _split(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError("'{text}': {error}; write it as in a shell", text=text, error=str(error).lower()) from None
    if len(words) < 2 or words[0].upper() not in WRITING:
        raise UserError(
            "'{text}': begin it with one of {writing}, and its key", text=text, writing=", ".join(sorted(WRITING))
        )
    return words


def _word(text: str, rows: RowFiles, where: str) -> Word:
    form, values, end = b"", [], 0
    for place in PLACE.finditer(text):
        form += text[end : place.start()].encode().replace(b"%", b"%%")
        end = place.end()
        if place["brace"]:
            form += b"{"
            continue
        if place["name"] not in (*rows.columns, JSON):
            known = ", ".join(f"{{{column}}}" for column in (*rows.columns, JSON))
            raise UserError(
                "{where}: '{place}' is no column; known are {known}", where=where, place=place[0], known=known
            )
        form += b"%b"
        values.append(place["name"])
    form += text[end:].encode().replace(b"%", b"%%")
    return Word(form, tuple(values))


@contextlib.contextmanager
def _sender(control: RedisSession, commands: Sequence[RowCommand]) -> Iterator[Callable[[Batch], None]]:
    """What sends the commands for a batch; the end waits for all replies."""
    nodes = control.each_node()
    if len(nodes) == 1:
        with Pipe(nodes[0]) as pipe:
            yield lambda batch: pipe.send(batch.packed(commands), batch.rows * len(commands))
        return
    with contextlib.ExitStack() as stack:
        pipes = {node: stack.enter_context(Pipe(node)) for node in nodes}

        def to_nodes(batch: Batch) -> None:
            parts: dict[RedisSession, list[bytes]] = {node: [] for node in pipes}
            for key, packed in batch.keyed(commands):
                parts[control.node_of(key)].append(packed)
            for node, own in parts.items():
                pipes[node].send(b"".join(own), len(own))

        yield to_nodes


def batches(rows: RowFiles, commands: int) -> Iterator[Batch]:
    """All rows in their order, so many at a time that a batch of so many commands a row is no burden."""
    for lines in rows.lines():
        row_bytes = 1 + sum(map(len, lines)) // len(lines)
        step = max(1, min(BATCH_COMMANDS // commands, BATCH_BYTES // row_bytes))
        for first in range(0, len(lines), step):
            yield Batch(lines[first : first + step], rows)


def _format(command: RowCommand) -> bytes:
    """The command for `%`: of each word that differs by row, its length and its values."""
    form = b"*%d\r\n" % len(command)
    for word in command:
        length = b"%d" if word.values else b"%d" % word.text_bytes
        form += b"$" + length + b"\r\n" + word.format + b"\r\n"
    return form


def _json_texts(values: Sequence[bytes]) -> list[bytes]:
    """Each value as a text of JSON. None holds an end of line, nor does such a text: it can part them."""
    texts = TEXTS.encode(b"\n".join(values).decode().split("\n"))
    return texts[1:-1].encode().split(b"\n")
