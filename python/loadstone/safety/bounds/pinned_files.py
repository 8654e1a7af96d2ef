"""Files whose content was looked at before a run: what is used later are the same bytes, or the run ends.

Between the question whether a stranger's experiment may be run and the start of its programs a file could be changed.
So what asks for consent pins what it looked at, and whoever reads one of these files for use compares what it read.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from loadstone.safety.bounds.files import CHUNK_BYTES
from loadstone.safety.errors import UserError

_WORD = re.compile(r"[^\s'\"`;&|<>()=]+")
"""What may be a path in a command, also within the text of `sh -c`."""
_PINNED: dict[str, str] = {}


def forget() -> None:
    """Nothing is pinned any more: another experiment is looked at."""
    _PINNED.clear()


def pin_digest(name: str, digest: str) -> str:
    """From now on what is called so has this digest; returns it."""
    _PINNED[name] = digest
    return digest


def pin_file(path: Path) -> str:
    """Pin a file's content. Raises OSError."""
    return pin_digest(_name(path), _digest(path))


def check(path: Path, content: bytes) -> bytes:
    """The content that was just read of a file, if it is what was pinned, or nothing was. Raises UserError."""
    check_digest(_name(path), hashlib.sha256(content).hexdigest(), str(path))
    return content


def check_files(paths: list[Path]) -> None:
    """Read files that were pinned once more, right before they are run. Raises UserError where one changed."""
    for path in paths:
        if _name(path) in _PINNED:
            try:
                digest = _digest(path)
            except OSError:
                digest = ""
            check_digest(_name(path), digest, str(path))


def check_digest(name: str, digest: str, shown: str) -> None:
    """Returns if nothing is pinned under the name, or this. Raises UserError; `shown` is what it is called."""
    if _PINNED.get(name, digest) != digest:
        raise UserError(
            "{shown}: it was changed after this run looked at it; look at it by show, and run it again", shown=shown
        )


def named_files(command: str, folder: Path, places: Mapping[str, str]) -> list[Path]:
    """The files that a command names: below `folder`, or by an absolute path."""
    for place, path in places.items():
        command = command.replace(f"{{{place}}}", path)
    words = {word for word in _WORD.findall(command) if "/" in word or "." in word}
    return sorted(path for path in (folder / word for word in words) if is_file(path))


def is_file(path: Path) -> bool:
    """Whether a path is one of a file; False where it can be none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _digest(path: Path) -> str:
    """Return the digest of a file's content. Never waits, as for `/proc/kmsg`. Raises OSError."""
    digest = hashlib.sha256()
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), "rb") as file:
        while piece := file.read(CHUNK_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _name(path: Path) -> str:
    return str(path.absolute())
