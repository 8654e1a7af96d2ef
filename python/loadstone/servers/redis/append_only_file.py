"""An append-only file of Redis is read as a recording: the writes of a server in their order, mostly without times."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from loadstone.safety.errors import UserError
from loadstone.servers.redis.recording import ARGUMENTS_MAX, LINE_MAX_BYTES, MonitorFile, MonitorLine, open_regular_file

_HEAD_MAX_BYTES = 64
"""Longest line that is no word: `*3`, `$5`, `#TS:1700000000`."""
_NUMBER = re.compile(rb"[*$](\d{1,10})\r\n")
_CLIENT = b"aof"
_SNAPSHOTS = (b"REDIS", b"VALKEY")
"""What a snapshot begins with."""
_SNAPSHOT_BYTES = max(map(len, _SNAPSHOTS))


def require_commands(path: Path) -> None:
    """Returns if a file begins as a recording does. Raises UserError."""
    with open_commands(path) as commands:
        next(iter(commands), None)


@contextlib.contextmanager
def open_commands(path: Path) -> Iterator["MonitorFile | AppendOnlyFile"]:
    """A recording of MONITOR, or an append-only file, as its first bytes say. Raises UserError."""
    with open_regular_file(path) as file:
        begins = file.peek(_SNAPSHOT_BYTES)[:_SNAPSHOT_BYTES] if hasattr(file, "peek") else b""
        if begins.startswith(_SNAPSHOTS):
            raise UserError(
                "{path}: begins with a snapshot; name the commands behind it (appendonlydir/*.incr.aof), and the "
                "snapshot (*.base.rdb) by --data",
                path=path,
            )
        yield AppendOnlyFile(path, file) if begins[:1] in (b"*", b"#") else MonitorFile(path, file)


class AppendOnlyFile:
    """The commands of a file, read once: those that change data, since a server keeps no others."""

    only_writes = True

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.cut_off = False
        """Whether the last command has no end, and was left out."""
        self._path = path
        self._file = file

    def __iter__(self) -> Iterator[tuple[int, MonitorLine]]:
        """The commands with their numbers. Raises UserError."""
        number, database, at_ns = 0, 0, 0
        while head := self._file.readline(_HEAD_MAX_BYTES):
            if head.startswith(b"#"):
                at_ns = _time_ns(head) or at_ns
                continue
            number += 1
            words = self._words(head, number)
            if words is None:
                self.cut_off = True
                return
            if words[0].upper() == b"SELECT":
                database = self._database(words, number)
                continue
            yield number, MonitorLine(at_ns, database, _CLIENT, words)

    def _words(self, head: bytes, number: int) -> tuple[bytes, ...] | None:
        """The words of a command; None where the file ends within. Raises UserError."""
        if not head.endswith(b"\n") and len(head) < _HEAD_MAX_BYTES:
            return None
        count = self._number(head, b"*", number, ARGUMENTS_MAX)
        if not count:
            raise self._malformed(number)
        words: list[bytes] = []
        left = LINE_MAX_BYTES
        for _word in range(count):
            line = self._file.readline(_HEAD_MAX_BYTES)
            if not line.endswith(b"\n") and len(line) < _HEAD_MAX_BYTES:
                return None
            length = self._number(line, b"$", number, left)
            left -= length
            word = self._file.read(length + 2)
            if len(word) < length + 2:
                return None
            if not word.endswith(b"\r\n"):
                raise self._malformed(number)
            words.append(word[:-2])
        return tuple(words)

    def _number(self, line: bytes, sign: bytes, number: int, at_most: int) -> int:
        match = _NUMBER.fullmatch(line)
        if match is None or not line.startswith(sign):
            raise self._malformed(number)
        if int(match[1]) > at_most:
            raise UserError(
                "{path}, command {number}: {found:,} is more than the {at_most:,} that are read; remove it",
                path=self._path,
                number=number,
                found=int(match[1]),
                at_most=at_most,
            )
        return int(match[1])

    def _database(self, words: tuple[bytes, ...], number: int) -> int:
        if len(words) != 2 or not words[1].isdigit() or len(words[1]) > 5:
            raise self._malformed(number)
        return int(words[1])

    def _malformed(self, number: int) -> UserError:
        return UserError(
            "{path}, command {number}: is none of an append-only file; let `redis-check-aof` look at it",
            path=self._path,
            number=number,
        )


def _time_ns(annotation: bytes) -> int | None:
    """What `#TS:1700000000` says, in ns since the epoch."""
    seconds = annotation.strip().removeprefix(b"#TS:")
    return int(seconds) * 1_000_000_000 if seconds.isdigit() and len(seconds) < 12 else None
