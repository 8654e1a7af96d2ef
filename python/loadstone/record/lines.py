"""JSON-lines files: one whole line a write, and reading that survives what a crash leaves behind."""

import contextlib
import errno
import json
import os
import stat
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from loadstone.bounds.files import load_json
from loadstone.errors import LoadstoneError, UserError
from loadstone.secrecy.known_secrets import hidden

FORMAT = 1
"""The format of the run's folder that this version writes and reads (history: `docs/run-folder.md`)."""

LINE_MAX_BYTES = 64 * 1024 * 1024
_ODD = "backslashreplace"
"""Half a character, as in a name that is not UTF-8, becomes JSON's escape of it."""
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def write_error(error: OSError, path: Path) -> LoadstoneError:
    """The one line for a person about a failed write: no space is theirs to mend, the rest is not."""
    if error.errno in _NO_SPACE:
        return UserError(
            f"{path}: no space left to write; finished trials are kept: free some space and continue with --resume"
        )
    return LoadstoneError(f"{path}: cannot be written: {error.strerror}; finished trials are kept")


def _not_ours(path: Path) -> UserError:
    """What is written there would reach another file, or none."""
    return UserError(f"{path}: it is a link or no plain file, and is not written to; put the file itself there")


def dump_line(record: Mapping[str, Any]) -> bytes:
    """`record` as one line of JSON with its newline, without secrets. Raises ValueError for NaN and infinity."""
    text = json.dumps(hidden(record), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode(errors=_ODD) + b"\n"


def dump_document(record: Mapping[str, Any]) -> bytes:
    """`record` as a JSON document for people and programs, without secrets. Raises ValueError for NaN and infinity."""
    return json.dumps(hidden(record), ensure_ascii=False, indent=1, allow_nan=False).encode(errors=_ODD) + b"\n"


def write_file(path: Path, data: bytes) -> None:
    """Replace a file by `data`, whole or not at all, for its owner's eyes only, and bring it to the disk.

    Raises:
        UserError: the disk is full; the file is as it was.
        LoadstoneError: it cannot be written for another reason.
    """
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.unlink(missing_ok=True)  # of one that was killed
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise write_error(error, path) from None


def sync_directory(path: Path) -> None:
    """Bring the names in a folder to the disk. Raises OSError."""
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


class LineFile:
    """An append-only file of JSON lines. Opening it drops a half-written last line.

    A line is written in one write, or not at all: what a full disk cut off is taken back.
    Lines may be appended from several threads.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _not_ours(path) if path.is_symlink() else write_error(error, path) from None
        try:
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                raise _not_ours(path)
            os.ftruncate(self._fd, _end_of_last_whole_line(self._fd))
        except OSError as error:
            os.close(self._fd)
            raise write_error(error, path) from None
        except LoadstoneError:
            os.close(self._fd)
            raise

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one line.

        Raises:
            UserError: the disk is full; nothing of the line stays in the file.
            LoadstoneError: the line could not be written for another reason.
        """
        line = dump_line(record)
        with self._lock:
            size = os.fstat(self._fd).st_size
            try:
                written = os.write(self._fd, line)
            except OSError as error:
                self._take_back(size)
                raise write_error(error, self.path) from None
            if written < len(line):
                self._take_back(size)
                raise write_error(OSError(errno.ENOSPC, ""), self.path)

    def _take_back(self, size: int) -> None:
        """Cut what was written of a line. If even that fails, the next opening does it."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, size)

    def sync(self) -> None:
        """Return once every line is on the disk."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise write_error(error, self.path) from None

    def close(self) -> None:
        os.close(self._fd)


def _end_of_last_whole_line(fd: int) -> int:
    """Length of the file up to and with its last newline."""
    end = os.fstat(fd).st_size
    while end:
        start = max(0, end - 65536)
        found = os.pread(fd, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


class LineReader:
    """Reads a file of JSON lines, leaves out what is damaged, and remembers which lines those were."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged: list[int] = []
        self.cut_off: int | None = None

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Line numbers (from 1) and objects. A file that is not there has no lines.

        Raises:
            UserError: a line is of another format than this version knows.
        """
        if not self.path.exists():
            return
        if not self.path.is_file():  # a named pipe would be waited for, a device read without end
            raise UserError(f"{self.path}: not a regular file; give a folder that loadstone wrote")
        with self.path.open("rb") as file:
            for number, line in enumerate(iter(partial(file.readline, LINE_MAX_BYTES), b""), 1):
                if len(line) == LINE_MAX_BYTES:
                    raise UserError(f"{self.path}, line {number}: longer than any that loadstone writes; restore it")
                if not line.endswith(b"\n"):
                    self.cut_off = number
                    return
                record = _parsed(line)
                if record is None:
                    self.damaged.append(number)
                else:
                    require_format(record, f"{self.path}, line {number}")
                    yield number, record

    def notes(self) -> list[str]:
        """What was left out, one sentence each for a person."""
        found = []
        if self.damaged:
            numbers = ", ".join(map(str, self.damaged[:10])) + (", ..." if len(self.damaged) > 10 else "")
            what = f"line {numbers} is" if len(self.damaged) == 1 else f"{len(self.damaged)} lines ({numbers}) are"
            found.append(f"{self.path.name}: {what} not readable and left out.")
        if self.cut_off is not None:
            found.append(f"{self.path.name}: the last line ({self.cut_off}) is cut off and left out.")
        return found


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The object that a line holds; None if it holds none of this file's."""
    try:
        record = load_json(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("format"), int) else None


def require_format(record: Mapping[str, Any], where: str) -> None:
    """Refuse what another version wrote in another format.

    Raises:
        UserError: `format` is missing, or not the one that this version knows.
    """
    found = record.get("format")
    if found != FORMAT:
        raise UserError(
            f"{where}: format {found} is not known to this loadstone, which reads format {FORMAT}; "
            "use the version of loadstone that wrote it, or a newer one"
        )
