"""Commands for rows of data as Redis reads them, packed for a whole batch of rows at once."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import add

from loadstone.deploy.row_files import Rows

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
    """Of which columns, or `JSON`."""

    @property
    def text_bytes(self) -> int:
        """Its length without the values."""
        return len(self.format % ((b"",) * len(self.values)))


Command = Sequence[Word]
"""Its name, its key, and what else it takes."""


class Batch:
    """Some rows, by column, so that no line of Python runs once a row."""

    def __init__(self, lines: Sequence[bytes], rows: Rows) -> None:
        self.rows = len(lines)
        self._numeric = rows.numeric
        fields = b"\t".join(lines).split(b"\t")
        width = len(rows.columns)
        self._columns = {name: fields[position::width] for position, name in enumerate(rows.columns)}
        self._json: list[bytes] = []
        self._lengths: dict[str, list[int]] = {}

    def packed(self, commands: Sequence[Command]) -> bytes:
        """All commands for the first row, then for the next."""
        form = b"".join(map(_format, commands))
        arguments = [values for command in commands for values in self._arguments(command)]
        return b"".join(self._filled(form, arguments))

    def keyed(self, commands: Sequence[Command]) -> Iterator[tuple[bytes, bytes]]:
        """The same commands one by one, each with its key before it."""
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

    def _arguments(self, command: Command) -> Iterator[Iterable[object]]:
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
            reported = [
                values if column in self._numeric else _json_texts(values) for column, values in self._columns.items()
            ]
            self._json = list(self._filled(form, reported))
        return self._json


def batches(rows: Rows, commands: int) -> Iterator[Batch]:
    """All rows in their order, so many at a time that a batch of so many commands a row is no burden."""
    for lines in rows.lines():
        row_bytes = 1 + sum(map(len, lines)) // len(lines)
        step = max(1, min(BATCH_COMMANDS // commands, BATCH_BYTES // row_bytes))
        for first in range(0, len(lines), step):
            yield Batch(lines[first : first + step], rows)


def _format(command: Command) -> bytes:
    """The command for `%`: of each word that differs by row, its length and its values."""
    form = b"*%d\r\n" % len(command)
    for word in command:
        length = b"%d" if word.values else b"%d" % word.text_bytes
        form += b"$" + length + b"\r\n" + word.format + b"\r\n"
    return form


def _json_texts(values: Sequence[bytes]) -> list[bytes]:
    """Each value as a text of JSON. None holds an end of line, nor does such a text: it can part them."""
    reported = TEXTS.encode(b"\n".join(values).decode().split("\n"))
    return reported[1:-1].encode().split(b"\n")
