"""Reading files that others may have written: regular ones, not larger than expected, in UTF-8."""

import errno
import json
import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO

from loadstone.safety.bounds.folder_files import open_file
from loadstone.safety.errors import UserError
from loadstone.text.message import AnyText, said, text_of
from loadstone.text.problem import Problem

LARGEST_BYTES = 512 * 1024 * 1024
"""Limit of a file in a run's folder."""
VALUES_MAX = 5_000_000
"""Limit of a JSON text: an empty list takes 2 bytes in a file, and 60 in memory."""
CHUNK_BYTES = 1 << 20
FIGURE_MAX = 1e150
"""Limit of a number with a fraction or an exponent: its square is one, too."""
DIGITS_MAX = 20
"""Limit of a whole number in a JSON text: as many as 64 bits have. Of hundreds of digits a float cannot be made."""
_LONG = re.compile(rb"\d{%d}" % (DIGITS_MAX + 1))
_HALF = re.compile(rb"\\ud[89a-f]", re.IGNORECASE)


def exists(path: Path) -> bool:
    """Whether there is something at a path; False, too, of what nothing can be called: too long, or with a NUL."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def read_bytes(path: Path, largest_bytes: int = LARGEST_BYTES) -> bytes:
    """The content of a regular file that the user named.

    Never waits, as for a named pipe without a writer, and never reads a device.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no regular file, or too large.
    """
    return _content(path, os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), largest_bytes)


def read_own_bytes(path: Path, largest_bytes: int = LARGEST_BYTES) -> bytes:
    """Return the content of a file that stands in a run's folder, and is no link. Raises as `read_bytes`."""
    return _content(path, open_file(path), largest_bytes)


def _content(path: Path, number: int, largest_bytes: int) -> bytes:
    with os.fdopen(number, "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise Problem("it is not a regular file")
        content = _read(file, largest_bytes + 1)
    if len(content) > largest_bytes:
        raise Problem("it is larger than {largest_bytes:,.0f} MB", largest_bytes=largest_bytes / 1000000.0)
    return content


def _read(file: BinaryIO, most_bytes: int) -> bytes:
    """At most so many bytes, in pieces: `read(n)` takes n bytes of memory, however little there is to read."""
    content = bytearray()
    while len(content) < most_bytes and (piece := file.read(min(CHUNK_BYTES, most_bytes - len(content)))):
        content += piece
    return bytes(content)


def read_text(path: Path, largest_bytes: int = LARGEST_BYTES) -> str:
    """The text of a file, in UTF-8. Raises UserError: it names the file and what is wrong with it."""
    try:
        return read_bytes(path, largest_bytes).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UserError("{path}: cannot be read: {error}", path=path, error=why(error)) from None


def read_json(path: Path, largest_bytes: int = LARGEST_BYTES) -> Any:
    """The value in a JSON file of a run's folder.

    Raises:
        OSError: it cannot be read, or is a link.
        ValueError: it is no regular file, too large, or no JSON of bounded depth and bounded numbers.
    """
    return load_json(read_own_bytes(path, largest_bytes))


def _short(digits: str) -> int:
    if len(digits.lstrip("-")) > DIGITS_MAX:
        raise Problem("a number in it has too many digits")
    return int(digits)


def load_json(text: bytes) -> Any:
    """What a JSON text in UTF-8 holds, see also `whole`.

    Raises:
        ValueError: it is not JSON, nests too deeply, holds `NaN` or `Infinity`, a number of more digits than 64 bits
            have, or more values than any file of ours.
    """
    require_few_values(text)
    try:
        long = _LONG.search(text) is not None  # to look at every number would take as long again
        value = json.loads(
            text.decode("utf-8-sig"), parse_constant=_refuse, parse_float=_finite, parse_int=_short if long else None
        )
        return whole(value) if _HALF.search(text) else value
    except RecursionError:
        raise Problem("it is nested too deeply") from None
    except ValueError as error:
        if "integer string conversion" in str(error):  # its own text tells how to change Python's limit
            raise Problem("a number in it has too many digits") from None
        raise


def require_few_values(text: bytes) -> None:
    """Returns unless a JSON text holds more values than any file of ours. Raises ValueError."""
    if len(text) > VALUES_MAX and sum(map(text.count, (b",", b"[", b"{"))) > VALUES_MAX:
        raise Problem("it holds more than {values_max:,} values", values_max=VALUES_MAX)


def whole(value: Any) -> Any:
    """Return the value with a mark in the place of half a character (`\ud800`), which no file and no terminal takes."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [whole(item) for item in value]
    if isinstance(value, dict):
        return {whole(key): whole(item) for key, item in value.items()}
    return value


def _refuse(constant: str) -> float:
    raise Problem("{constant} is not a figure", constant=constant)


def _finite(text: str) -> float:
    """A number; `1e999` is written as one, and read as infinity, and what is computed of `1e308` is that, too."""
    figure = float(text)
    return figure if abs(figure) <= FIGURE_MAX else _refuse(text)


def why(error: Exception) -> AnyText:
    """What is wrong with a file, for the end of a line."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if isinstance(error, UnicodeDecodeError):
        return said("it is not text in UTF-8 (byte {byte})", byte=error.start)
    text = text_of(error)
    return " ".join(text.split()) if isinstance(text, str) else text
