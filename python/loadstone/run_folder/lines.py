"""JSON-lines files: one whole line a write, and reading that survives what a crash leaves behind."""

import contextlib
import errno
import json
import os
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from loadstone.safety.bounds.disk import disk
from loadstone.safety.bounds.files import load_json, read_json, why
from loadstone.safety.bounds.folder_files import NotOfFolder, open_file, replace_file
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.safety.secrets.known import redacted
from loadstone.text.message import AnyText, said

FORMAT = 1
"""The format of the run's folder that this version writes and reads (history: `docs/run-folder.md`)."""

OF_EARLIER_VERSION = said("recorded by loadstone 0.1: loadstone 0.2.0 reads it, this version does not")
"""Its lines and documents have the `format` of this version's; sentences stand in them in place of data."""
LINE_MAX_BYTES = 64 * 1024 * 1024
FILE_MAX_BYTES = 2 * 1024**3
"""Six days of samples; all of it is held in memory when it is read."""
DAMAGED_MAX = 100_000
"""A file with more lines that cannot be read is not one that loadstone wrote."""
_ODD = "backslashreplace"
"""Half a character, as in a name that is not UTF-8, becomes JSON's escape of it."""
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def write_error(error: OSError, path: Path) -> LoadstoneError:
    """The one line for a person about a failed write: no space and what they put there is theirs to mend."""
    if isinstance(error, NotOfFolder):
        return UserError("{error}; nothing was written there", error=error)
    if error.errno in _NO_SPACE:
        return UserError(
            "{path}: no space left to write; finished trials are kept: free some space and continue with --resume",
            path=path,
        )
    return LoadstoneError(
        "{path}: cannot be written: {strerror}; finished trials are kept", path=path, strerror=error.strerror
    )


def dump_line(record: Mapping[str, Any]) -> bytes:
    """`record` as one line of JSON with its newline, without secrets. Raises ValueError for NaN and infinity."""
    text = json.dumps(redacted(record), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode(errors=_ODD) + b"\n"


def dump_document(record: Mapping[str, Any]) -> bytes:
    """`record` as a JSON document for people and programs, without secrets. Raises ValueError for NaN and infinity."""
    return json.dumps(redacted(record), ensure_ascii=False, indent=1, allow_nan=False).encode(errors=_ODD) + b"\n"


M = TypeVar("M", bound=BaseModel)


def read_small(path: Path, model: type[M], largest_bytes: int) -> M | None:
    """What a small document of ours holds that is not needed to read a run; None where there is no such file.

    Raises UserError if it is damaged.
    """
    try:
        record = read_json(path, largest_bytes)
        document = record if isinstance(record, dict) else {}
        require_format(document, str(path))
        return model.model_validate(document)
    except FileNotFoundError:
        return None
    except ValidationError:
        raise UserError("{path}: cannot be read: it is not as loadstone writes it; remove it", path=path) from None
    except (OSError, ValueError) as error:
        raise UserError("{path}: cannot be read: {error}", path=path, error=why(error)) from None


def write_file(path: Path, data: bytes, folder: Path | None = None) -> None:
    """Replace a file by `data`, whole or not at all, see `beneath.replace_file`.

    Raises:
        UserError: the disk is full, or a folder on the way is a link; the file is as it was.
        LoadstoneError: it cannot be written for another reason.
    """
    try:
        replace_file(path, data, folder)
    except OSError as error:
        raise write_error(error, path) from None


def add_to_file(path: Path, data: bytes) -> None:
    """Write at the end of a file, which is made where it is missing; a link is not followed.

    Raises:
        UserError: the disk is full, or a link stands there.
        LoadstoneError: it cannot be written for another reason.
    """
    try:
        with os.fdopen(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "wb") as file:
            file.write(data)
    except OSError as error:
        raise write_error(error, path) from None


def sync_directory(path: Path) -> None:
    """Bring the names in a folder to the disk. Raises OSError."""
    directory = os.open(path, os.O_RDONLY)
    try:
        disk().fsync(directory)
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
            self._fd = open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            raise write_error(error, path) from None
        try:
            disk().ftruncate(self._fd, _end_of_last_whole_line(self._fd))
        except OSError as error:
            os.close(self._fd)
            raise write_error(error, path) from None

    def append(self, record: Mapping[str, Any]) -> int:
        """Write one line; how many bytes it has.

        Raises:
            UserError: the disk is full; nothing of the line stays in the file.
            LoadstoneError: the line could not be written for another reason.
        """
        return self.append_line(dump_line(record))

    def append_line(self, line: bytes) -> int:
        """Write a line that `dump_line` made. Returns and raises as `append`."""
        with self._lock:
            size = os.fstat(self._fd).st_size
            try:
                written = disk().write(self._fd, line)
            except OSError as error:
                self._take_back(size)
                raise write_error(error, self.path) from None
            if written < len(line):
                self._take_back(size)
                raise write_error(OSError(errno.ENOSPC, ""), self.path)
        return written

    def _take_back(self, size: int) -> None:
        """Cut what was written of a line. If even that fails, the next opening does it."""
        with contextlib.suppress(OSError):
            disk().ftruncate(self._fd, size)

    def sync(self) -> None:
        """Return once every line is on the disk."""
        try:
            disk().fsync(self._fd)
        except OSError as error:
            raise write_error(error, self.path) from None

    def size(self) -> int:
        """Bytes in the file."""
        return os.fstat(self._fd).st_size

    def close(self) -> None:
        os.close(self._fd)


def _end_of_last_whole_line(fd: int) -> int:
    """Length of the file up to and with its last newline."""
    end = os.fstat(fd).st_size
    while end:
        start = max(0, end - 65536)
        newline = os.pread(fd, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


class LinesWritten(Protocol):
    """What is known of the lines that were written to a file (`digests.LineCheck`)."""

    def is_intact(self, number: int, line: bytes) -> bool: ...

    def notes(self, unreadable: int) -> list[AnyText]: ...


class LineReader:
    """Reads a file of JSON lines, leaves out what is damaged, and remembers which lines those were."""

    def __init__(self, path: Path, written: LinesWritten | None = None) -> None:
        """`written`: lines that it does not know are left out, too."""
        self.path = path
        self.damaged: list[int] = []
        self.cut_off: int | None = None
        self.line = b""
        """The line that was read last, as it stands in the file."""
        self._written = written

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Line numbers (from 1) and objects. A file that is not there has no lines.

        Raises:
            UserError: a line is of another format than this version knows.
        """
        try:
            opened = open_file(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise UserError("{path}: cannot be read: {strerror}", path=self.path, strerror=error.strerror) from None
        with os.fdopen(opened, "rb") as file:
            if os.fstat(opened).st_size > FILE_MAX_BYTES:
                size = os.fstat(opened).st_size / 1e6
                raise UserError(
                    "{path}: {size:,.0f} MB, and at most {file_max_bytes:,.0f} MB are read; keep a copy, and leave "
                    "out the lines that you do not need",
                    path=self.path,
                    size=size,
                    file_max_bytes=FILE_MAX_BYTES / 1000000.0,
                )
            for number, line in enumerate(iter(partial(file.readline, LINE_MAX_BYTES), b""), 1):
                if len(line) == LINE_MAX_BYTES:
                    raise UserError(
                        "{path}, line {number}: longer than any that loadstone writes; restore it",
                        path=self.path,
                        number=number,
                    )
                if not line.endswith(b"\n"):
                    self.cut_off = number
                    return
                record = _parsed(line)
                if record is None:
                    self.damaged.append(number)
                    if len(self.damaged) > DAMAGED_MAX:
                        raise UserError(
                            "{path}: more than {damaged_max:,} lines cannot be read; restore the file",
                            path=self.path,
                            damaged_max=DAMAGED_MAX,
                        )
                else:
                    require_format(record, f"{self.path}, line {number}")
                    if self._written is None or self._written.is_intact(number, line):
                        self.line = line
                        yield number, record

    def notes(self) -> list[AnyText]:
        """What was left out, one sentence each for a person."""
        found: list[AnyText] = []
        if self.damaged:
            numbers = ", ".join(map(str, self.damaged[:10])) + (", ..." if len(self.damaged) > 10 else "")
            what = f"line {numbers} is" if len(self.damaged) == 1 else f"{len(self.damaged)} lines ({numbers}) are"
            found.append(f"{self.path.name}: {what} not readable and left out.")
        if self.cut_off is not None:
            found.append(f"{self.path.name}: the last line ({self.cut_off}) is cut off and left out.")
        if self._written is not None:
            found += self._written.notes(len(self.damaged) + (self.cut_off is not None))
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
    version = record.get("format")
    if version != FORMAT:
        raise UserError(
            "{where}: format {version} is not known to this loadstone, which reads format {format}; use the "
            "version of loadstone that wrote it, or a newer one",
            where=where,
            version=version,
            format=FORMAT,
        )
