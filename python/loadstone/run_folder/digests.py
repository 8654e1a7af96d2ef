"""What `digests.jsonl` says that a run wrote: damage to another file of its folder is seen by it.

A digest is the SHA-256 of bytes as they were written. A line of the file is of one of three kinds:

- a document (`file`, `sha256`), or a latency log (`file`, `trial`, `attempt`, `sha256`): written before that file is,
  so after a crash either what was there before or the new content fits;
- a line of a file of lines (`file`, `line`, `sha256`): written after that line, so after a crash lines at the end have
  none;
- the lines of a trial's attempt in `intervals.jsonl` or `samples.jsonl`, one after the other (`file`, `trial`,
  `attempt`, `sha256`): written before the trial's own line.

Each line ends with `check`, a digest of the line itself. A folder without the file, as of earlier versions, is read
without these comparisons.
"""

import errno
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from loadstone.run_folder.files import CRASHES, DIGESTS, ENVIRONMENT, EXPERIMENT, LOOKS, PLAN, TRIALS
from loadstone.run_folder.lines import FILE_MAX_BYTES, FORMAT, LineFile, LineReader, dump_line
from loadstone.safety.bounds.files import CHUNK_BYTES, read_own_bytes
from loadstone.safety.bounds.folder_files import open_file
from loadstone.text.message import AnyText, said

_CHECK = re.compile(rb',"check":"([0-9a-f]{8})"}\n')
_CHECK_LETTERS = 8
NUMBERED = (TRIALS, LOOKS, CRASHES)
"""The files of which each line has a digest."""
DOCUMENTS = frozenset({EXPERIMENT, ENVIRONMENT, PLAN})
"""The files that have a digest as a whole. Others of a stranger's folder would lead out of it, or be read for ever."""
Attempt = tuple[str, int]
"""A trial's name, and which attempt at it."""


def digest(data: bytes) -> str:
    """The SHA-256 of these bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


class DigestFile:
    """Appends to `digests.jsonl`. Use `close` when done."""

    def __init__(self, folder: Path) -> None:
        """Open the file of a run's folder, which is made where it is missing. Raises as `LineFile`."""
        self._file = LineFile(folder / DIGESTS)
        known = Digests.read(folder).lines
        self._lines = {name: max(_lines_in(folder / name), *known.get(name, {0: ""})) for name in NUMBERED}
        """How many lines each file has, or had before some were lost."""

    def document(self, name: str, data: bytes) -> None:
        """Note what a document is about to hold. Raises as `LineFile.append`."""
        self._append({"file": name, "sha256": digest(data)})

    def of_attempt(self, name: str, attempt: Attempt, sha256: str) -> None:
        """Note what a trial's attempt wrote, or is about to write, to this file. Raises as `LineFile.append`."""
        self._append({"file": name, "trial": attempt[0], "attempt": attempt[1], "sha256": sha256})

    def line(self, file: LineFile, line: bytes) -> None:
        """Note a line that was appended to a file. Raises as `LineFile.append`."""
        name = file.path.name
        self._lines[name] += 1
        self._append({"file": name, "line": self._lines[name], "sha256": digest(line)})

    def sync(self) -> None:
        """Return once every line is on the disk."""
        self._file.sync()

    def close(self) -> None:
        self._file.close()

    def _append(self, record: Mapping[str, Any]) -> None:
        line = dump_line({"format": FORMAT, **record})[:-2]
        self._file.append_line(line + b',"check":"%s"}\n' % digest(line)[:_CHECK_LETTERS].encode())


def _lines_in(path: Path) -> int:
    try:
        with os.fdopen(open_file(path), "rb") as file:
            return sum(piece.count(b"\n") for piece in iter(partial(file.read, CHUNK_BYTES), b""))
    except OSError:
        return 0


class Digests:
    """What is known of a run's files; nothing of a folder of earlier versions."""

    def __init__(self) -> None:
        self.documents: dict[str, set[str]] = {}
        """Each content that a document was given."""
        self.lines: dict[str, dict[int, str]] = {}
        """Digests of a file of lines, by the number of a line, from 1."""
        self.attempts: dict[str, dict[Attempt, set[str]]] = {}
        """Digests of what an attempt at a trial wrote to a file, or for latency logs to a folder."""
        self.notes: list[AnyText] = []

    @classmethod
    def read(cls, folder: Path) -> "Digests":
        """Those of a run's folder. Lines that are damaged are left out and noted; raises as `LineReader`."""
        found = cls()
        reader = LineReader(folder / DIGESTS)
        for number, record in reader:
            if not (_is_whole(reader.line) and found._take(record)):
                reader.damaged.append(number)
        found.notes = reader.notes()
        return found

    def _take(self, record: Mapping[str, Any]) -> bool:
        file, sha256 = record.get("file"), record.get("sha256")
        if not isinstance(file, str) or not isinstance(sha256, str):
            return False
        trial, attempt, line = record.get("trial"), record.get("attempt"), record.get("line")
        if isinstance(trial, str) and isinstance(attempt, int):
            self.attempts.setdefault(file, {}).setdefault((trial, attempt), set()).add(sha256)
        elif isinstance(line, int):
            self.lines.setdefault(file, {})[line] = sha256
        elif file in DOCUMENTS:
            self.documents.setdefault(file, set()).add(sha256)
        else:
            return False
        return True

    def of_lines(self, name: str) -> "LineCheck":
        """What compares the lines of a file."""
        return LineCheck(name, self.lines.get(name, {}))

    def fits(self, file: str, attempt: Attempt, sha256: str | None) -> bool:
        """Whether an attempt wrote this, or it is not known what it wrote; `sha256` is None where there is nothing."""
        known = self.attempts.get(file, {}).get(attempt)
        return known is None or sha256 in known

    def changed_documents(self, folder: Path) -> Sequence[AnyText]:
        """A note for each document that does not hold what the run wrote. Raises OSError and ValueError."""
        return [
            said("{file}: it is not as the run wrote it, and the report may be wrong; restore the file", file=name)
            for name, known in self.documents.items()
            if digest(read_own_bytes(folder / name)) not in known
        ]


def _is_whole(line: bytes) -> bool:
    found = _CHECK.search(line)
    return found is not None and found.end() == len(line) and found[1].decode() == digest(line[: found.start()])[:8]


class LineCheck:
    """Compares the lines of a file, as they are read, with what was written to it."""

    def __init__(self, name: str, known: Mapping[int, str]) -> None:
        self._name = name
        self._known = known
        self._numbers = {sha256: number for number, sha256 in known.items()}
        self._seen: list[int] = []
        self._changed: list[int] = []

    def is_intact(self, number: int, line: bytes) -> bool:
        """Whether this line was written so; True where that is not known, as of lines that a crash left last."""
        if not self._known:
            return True
        written = self._numbers.get(digest(line))
        if written is not None:
            self._seen.append(written)
        elif number in self._known:
            self._changed.append(number)
            return False
        return True

    def notes(self, unreadable: int) -> list[AnyText]:
        """What is wrong with the file, once all its lines were read; `unreadable` ones are noted elsewhere."""
        found: list[AnyText] = []
        if self._changed:
            numbers = ", ".join(map(str, self._changed[:10])) + (", ..." if len(self._changed) > 10 else "")
            found.append(
                said(
                    "{file}: lines that were changed after the run wrote them are left out ({numbers}); restore the "
                    "file",
                    file=self._name,
                    numbers=numbers,
                )
            )
        lost = len(self._known) - len(set(self._seen)) - len(self._changed) - unreadable
        if lost > 0:
            found.append(
                said(
                    "{file}: lines that the run wrote are missing ({lost}); restore the file",
                    file=self._name,
                    lost=lost,
                )
            )
        if self._seen != sorted(set(self._seen)):
            found.append(said("{file}: lines are repeated, or in another order; restore the file", file=self._name))
        return found


class AttemptHashes:
    """Digests of the lines of each trial's attempt in one file, while it is read or written."""

    def __init__(self) -> None:
        self._hashes: dict[str, Any] = {}

    def add(self, trial: str, line: bytes) -> None:
        """Take in the next line of a trial."""
        self._hashes.setdefault(trial, hashlib.sha256()).update(line)

    def of(self, trial: str) -> str:
        """The digest of its lines so far; that of nothing if it has none."""
        found = self._hashes.get(trial)
        return digest(b"") if found is None else str(found.hexdigest())


def file_digest(path: Path, folder: Path) -> str:
    """The digest of a file below a run's folder. Raises OSError, also where it is larger than any that a run writes."""
    with os.fdopen(open_file(path, folder=folder), "rb") as file:
        if os.fstat(file.fileno()).st_size > FILE_MAX_BYTES:  # a file without content may have any size
            why = said("it is larger than {largest_bytes:,.0f} MB", largest_bytes=FILE_MAX_BYTES / 1e6)
            raise OSError(errno.EFBIG, why, str(path))
        return hashlib.file_digest(file, "sha256").hexdigest()
