"""A recording of `MONITOR` is read from its beginning to its end, and what is sent again is written for drivers.

Only one line is in memory at a time; what grows with the file are the clients, and the keys up to a number.
"""

import contextlib
import os
import re
import shutil
import stat
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from loadstone.experiment.plan.operations import RecordedLoad
from loadstone.safety.errors import UserError
from loadstone.servers.redis.commands.table import READING
from loadstone.servers.redis.recorded_commands import (
    CLOSES,
    NOTHING_IN_IT,
    OPENS,
    LeftOut,
    Transactions,
    grows_to,
    keys_of_command,
    name_of,
)
from loadstone.text.message import AnyText, said

MAGIC = b"recorded"
_COMMAND, _SIZE = struct.Struct("<QIIII"), struct.Struct("<I")
_NOT_SENT = 2
"""What an argument is, in the lowest bits of its length: 1 is a key, 0 any other text that is sent."""
_NOT_IN_A_CLUSTER = 1 << 31
"""Flag in the number of arguments: no node of a cluster takes the command."""
LINE_MAX_BYTES = 64 << 20
"""Limit of a line: a value of 16 MB may stand there with four letters for each byte."""
COMMANDS_MAX = 100_000_000
CLIENTS_MAX = 1_000_000
NAMES_MAX = 500
"""Names of commands that are counted apart."""
BACK_MAX_NS = 1_000_000_000
"""Clocks are set back by less than this; more is the beginning of another recording."""
ARGUMENTS_MAX = 1 << 20
"""Words of one command."""
_DAY_NS = 24 * 3600 * 1_000_000_000
LENGTH_MAX_NS = 366 * _DAY_NS
KEYS_FOLLOWED = 200_000
"""Keys of which it is known whether they were stored before; each beyond is taken for a new one."""
PER_KEY_BYTES, GROWTH = 224, 1.25
"""What a server takes for a key, or an element, beside its text."""
EXAMPLES, EXAMPLE_ARGUMENTS, EXAMPLE_LETTERS = 4, 100, 64
"""Most examples of each command, with different numbers of arguments; the most arguments of one, and the most letters
that are kept."""
_REPLACES = frozenset({"SET", "SETEX", "PSETEX", "SETNX", "GETSET", "INCR", "DECR", "INCRBY", "DECRBY", "MSET"})
TOO_MANY_NAMES = "(others)"

_BEFORE_ARGUMENTS = re.compile(rb'(\d{1,11})\.(\d{1,9}) \[(\d{1,5}) ([^\]"]{1,200}(?:\][^\]" ]{0,50})?)\] (?=")')
_ARGUMENT = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"(?: |$)', re.DOTALL)
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b"}


@dataclass(frozen=True, slots=True)
class MonitorLine:
    """One command as it was recorded: `1700000000.123456 [0 127.0.0.1:5000] "SET" "key" "v\\x00"`."""

    at_ns: int
    """Since the epoch."""
    database: int
    client: bytes
    """Its address: `127.0.0.1:5000`, `[::1]:5000`, `unix:/path`; `lua` of a script's commands."""
    arguments: tuple[bytes, ...]
    """The name first."""


def read_line(line: bytes) -> MonitorLine | None:
    """The command of a line without its end; None where the line is not one of MONITOR."""
    head = _BEFORE_ARGUMENTS.match(line)
    if head is None:
        return None
    arguments: list[bytes] = []
    place = head.end()
    while place < len(line):
        argument = _ARGUMENT.match(line, place)
        if argument is None or len(arguments) == ARGUMENTS_MAX:
            return None
        arguments.append(_ESCAPE.sub(_unescaped, argument[1]) if b"\\" in argument[1] else argument[1])
        place = argument.end()
    seconds, fraction, database, client = head.groups()
    at_ns = int(seconds) * 1_000_000_000 + int(fraction.ljust(9, b"0"))
    return MonitorLine(at_ns, int(database), client, tuple(arguments))


def _unescaped(escape: re.Match[bytes]) -> bytes:
    letter = escape[1]
    if len(letter) == 3:
        return bytes((int(letter[1:], 16),))
    return _LETTERS.get(letter, letter)


def recorded_load(path: Path, folder: Path) -> RecordedLoad:
    """What the recording holds, and in `folder` a file of it for drivers.

    Raises:
        UserError: it cannot be read, holds nothing that can be sent, or a line of it is not one of MONITOR.
    """
    prepared = folder / f"{len(list(folder.iterdir()))}.recorded"
    with open_recording(path) as recording:
        _require_room(path, recording.bytes, folder)
        with prepared.open("xb") as out:
            return _Reading(path, out, prepared).read(recording)


@contextlib.contextmanager
def open_recording(path: Path) -> "Iterator[MonitorFile]":
    """The recording, open to be read from its beginning. Raises UserError where it cannot be read."""
    with open_regular_file(path) as file:
        yield MonitorFile(path, file)


@contextlib.contextmanager
def open_regular_file(path: Path) -> Iterator[BinaryIO]:
    """The file of a recording. Raises UserError where it is none, or cannot be read."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UserError("{path}: is no regular file; name what `redis-cli MONITOR` printed into", path=path)
            yield file
    except OSError as error:
        raise UserError(
            "{path}: cannot be read ({strerror}); name a recording of `redis-cli MONITOR`",
            path=path,
            strerror=error.strerror,
        ) from None


def _require_room(path: Path, needed: int, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UserError(
            "{path}: a copy for the generator takes up to {needed:,.0f} MB, and {folder} has {free:,.0f} MB left; "
            "set TMPDIR to a folder with more room",
            path=path,
            needed=needed / 1e6,
            folder=folder,
            free=free / 1e6,
        )


class MonitorFile:
    """The commands of a file, read once."""

    only_writes = False

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.bytes = os.fstat(file.fileno()).st_size
        self.cut_off = False
        """Whether the last line has no end, and was left out."""
        self._path = path
        self._file = file

    def __iter__(self) -> Iterator[tuple[int, MonitorLine]]:
        """The commands with the numbers of their lines. Raises UserError."""
        number = 0
        while line := self._file.readline(LINE_MAX_BYTES + 1):
            number += 1
            if len(line) > LINE_MAX_BYTES:
                raise UserError(
                    "{path}, line {number}: is longer than {line_max_bytes} MB; remove it",
                    path=self._path,
                    number=number,
                    line_max_bytes=LINE_MAX_BYTES >> 20,
                )
            text = line.rstrip(b"\r\n")
            if text in (b"", b"OK"):
                continue
            if not line.endswith(b"\n"):
                self.cut_off = True  # perhaps behind an argument: what is left would be another command
                return
            command = read_line(text)
            if command is None:
                form = '1700000000.123456 [0 127.0.0.1:5000] "GET" "key"'
                raise UserError(
                    "{path}, line {number}: is no line of MONITOR; such a line is: {form}",
                    path=self._path,
                    number=number,
                    form=form,
                )
            yield number, command


class _Reading:
    """One pass over a recording."""

    def __init__(self, path: Path, out: BinaryIO, prepared: Path) -> None:
        self._path = path
        self._out = out
        self._prepared = prepared
        self._operations: dict[str, int] = {}
        self._clients: dict[bytes, int] = {}
        self._transactions = Transactions()
        self._sent: Counter[str] = Counter()
        self._number = 0
        self._left_out: Counter[tuple[str, AnyText]] = Counter()
        self._not_in_a_cluster: Counter[tuple[str, AnyText]] = Counter()
        self._examples: dict[tuple[str, int], tuple[tuple[str, bool], ...]] = {}
        self._stored: set[int] = set()
        self._grown: dict[int, int] = {}
        """Key, as a hash -> how long its value became at most by what its length in a command does not say."""
        self._stored_bytes = 0.0
        self._begin_ns: int | None = None
        self._last_ns = 0
        self._set_forward = 0

    def read(self, recording: MonitorFile) -> RecordedLoad:
        """See `recorded_load`."""
        self._out.write(MAGIC)
        number = 0
        for number, line in recording:
            self._take(line, number)
        if nothing_in_them := self._transactions.nothing_in_them:
            self._left_out[OPENS, NOTHING_IN_IT] += nothing_in_them
        if not self._sent:
            why = said("holds no command that is sent again") if self._left_out else said("holds no command")
            raise UserError(
                "{path}: {why} ({number:,} lines); {remedy}",
                path=self._path,
                why=why,
                number=number,
                remedy=self._remedy(),
            )
        return RecordedLoad(
            prepared=self._prepared,
            commands=tuple(self._operations),
            sent=dict(self._sent),
            left_out=dict(self._left_out),
            not_in_a_cluster=dict(self._not_in_a_cluster),
            clients=len(self._clients),
            length_s=(self._last_ns - (self._begin_ns or 0)) / 1e9,
            stored_bytes=int(self._stored_bytes),
            examples=tuple(self._examples.values()),
            transactions=OPENS in self._sent,
            set_forward=self._set_forward,
            cut_off=recording.cut_off,
        )

    def _remedy(self) -> AnyText:
        if not self._left_out:
            return said("record with: {command}", command="redis-cli MONITOR > FILE")
        (name, reason), count = self._left_out.most_common(1)[0]
        return said("most of all {count:,} {name}: {reason}", count=count, name=name, reason=reason)

    def _take(self, line: MonitorLine, number: int) -> None:
        """One command: written, or counted as left out."""
        name = name_of(line.arguments)
        try:
            keys = keys_of_command(name, line.arguments[1:])
            if name == OPENS:
                self._transactions.open(line.client, line.arguments)
            elif name in CLOSES:
                self._transactions.require_open(line.client)
        except LeftOut as reason:
            apart = name if len(self._left_out) < NAMES_MAX else TOO_MANY_NAMES
            self._left_out[apart, reason.message] += 1
            return
        if name != OPENS:
            self._send(line, self._at_ns(line, number), name, frozenset(place + 1 for place in keys))
        if len(self._clients) > CLIENTS_MAX or (name == OPENS and len(self._transactions) > CLIENTS_MAX):
            raise UserError(
                "{path}, line {number}: more than {clients_max:,} clients; take a part of the file",
                path=self._path,
                number=number,
                clients_max=CLIENTS_MAX,
            )

    def _send(self, line: MonitorLine, at_ns: int, name: str, placed: frozenset[int]) -> None:
        """One command, and what opens its transaction if that was not sent yet."""
        texts = line.arguments if line.database == 0 else _named(line, placed)
        keys = [texts[place] for place in (sorted(placed) if len(placed) > 1 else placed)]
        of_client = (at_ns, self._clients.setdefault(line.client, len(self._clients)))
        opening = self._transactions.begun(line.client, keys, closes=name in CLOSES)
        if opening is not None:
            self._write(of_client, OPENS, (opening,), frozenset(), not_sent=keys[:1])
            self._note_example(OPENS, (opening,), frozenset())
        reason = self._transactions.why_not_in_a_cluster(line.client, keys)
        if reason is not None:
            self._not_in_a_cluster[name, reason] += 1
        self._write(of_client, name, texts, placed, in_a_cluster=reason is None)
        if name in CLOSES:
            self._transactions.close(line.client)
        self._note_stored(name, texts, placed)
        self._note_example(name, texts, placed)

    def _at_ns(self, line: MonitorLine, number: int) -> int:
        """When it is sent, since the first one. Raises UserError where the time goes back by more than clocks do."""
        if self._begin_ns is None:
            self._begin_ns = self._last_ns = line.at_ns
        back_ns = self._last_ns - line.at_ns
        if back_ns > BACK_MAX_NS:
            why = said("is {seconds:,.3f} s before the line before it", seconds=back_ns / 1e9)
            raise UserError(
                "{path}, line {number}: {why}; replay one recording at a time, or sort the lines",
                path=self._path,
                number=number,
                why=why,
            )
        if line.at_ns - self._begin_ns > LENGTH_MAX_NS:
            days = (line.at_ns - self._begin_ns) / _DAY_NS
            why = said(
                "is {days:,.0f} days after the first command, and {most} are the most",
                days=days,
                most=LENGTH_MAX_NS // _DAY_NS,
            )
            raise UserError(
                "{path}, line {number}: {why}; correct its time, or replay a part of the file",
                path=self._path,
                number=number,
                why=why,
            )
        self._set_forward += back_ns > 0
        self._last_ns = max(self._last_ns, line.at_ns)
        return self._last_ns - self._begin_ns

    def _write(
        self,
        of_client: tuple[int, int],
        name: str,
        texts: Sequence[bytes],
        keys: frozenset[int],
        *,
        not_sent: Sequence[bytes] = (),
        in_a_cluster: bool = True,
    ) -> None:
        """One command of a client at a time. Raises UserError where there are too many."""
        parts = []
        for place, text in enumerate(texts):
            parts.append(_SIZE.pack(len(text) << 2 | (place in keys)))
            parts.append(text)
        for text in not_sent:
            parts += _SIZE.pack(len(text) << 2 | _NOT_SENT), text
        body = b"".join(parts)
        operation = self._operations.setdefault(name, len(self._operations))
        number = len(texts) if in_a_cluster else len(texts) | _NOT_IN_A_CLUSTER
        self._out.write(_COMMAND.pack(*of_client, operation, number, len(body)))
        self._out.write(body)
        self._sent[name] += 1
        self._number += 1
        if self._number > COMMANDS_MAX:
            raise UserError(
                "{path}: more than {commands_max:,} commands; take a part: head -n {commands_max}",
                path=self._path,
                commands_max=COMMANDS_MAX,
            )

    def _note_stored(self, name: str, texts: Sequence[bytes], keys: frozenset[int]) -> None:
        if name in READING:
            return
        new = 0
        for place in keys:
            key = hash(texts[place])
            if key not in self._stored:
                new += 1
                if len(self._stored) < KEYS_FOLLOWED:
                    self._stored.add(key)
        if new or name not in _REPLACES:
            self._stored_bytes += PER_KEY_BYTES * max(1, new) + GROWTH * sum(map(len, texts[1:]))
        if (grown := grows_to(name, texts)) > 1 and len(texts) > 1:
            key = hash(texts[1])
            self._stored_bytes += GROWTH * max(0, grown - self._grown.get(key, 0))
            if key in self._grown or len(self._grown) < KEYS_FOLLOWED:
                self._grown[key] = max(grown, self._grown.get(key, 0))

    def _note_example(self, name: str, texts: Sequence[bytes], keys: frozenset[int]) -> None:
        of_name = (name, len(texts))
        if of_name in self._examples or len(texts) > EXAMPLE_ARGUMENTS:
            return
        if sum(known == name for known, _ in self._examples) < EXAMPLES:
            self._examples[of_name] = tuple(
                (text[:EXAMPLE_LETTERS].decode(errors="replace"), place in keys) for place, text in enumerate(texts)
            )


def _named(line: MonitorLine, keys: frozenset[int]) -> list[bytes]:
    """The arguments of a command on another database than 0: all go to one, where its keys keep apart."""
    return [b"db%d:%b" % (line.database, text) if at in keys else text for at, text in enumerate(line.arguments)]
