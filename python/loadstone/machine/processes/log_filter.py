"""Filters secrets out of a process's output on its way into its log: they never reach the disk.

Part of the guard's program (`guard.py`), which knows the standard library, and `safety/bounds/folder_files.py`, alone.
A filter that runs afterwards would leave them where loadstone was killed.
"""

import contextlib
import os
import re
import threading
from collections.abc import Sequence

from loadstone.safety.bounds.folder_files import open_file

CHUNK = 65_536
LOG_BYTES_MAX = 64 * 1024 * 1024
"""A log that has so much gets no more: a program that floods it would fill the disk."""
START_BYTES = 64 * 1024
"""Bytes that are written of each start all the same."""
LEFT_OUT = b"\n[loadstone: the rest of this output is left out]\n"
END_S = 2.0
"""How long the output of a process that ended may take to come in."""


class LogFilter:
    """Bytes in, bytes out; a secret that comes in pieces is found, too."""

    def __init__(self, forms: Sequence[Sequence[str]]) -> None:
        """`forms`: each text that is replaced, and what stands in its place."""
        pairs = [(form.encode(errors="surrogateescape"), label.encode()) for form, label in forms if form]
        self._forms = sorted(pairs, key=lambda pair: -len(pair[0]))
        self._kept = b""

    def feed(self, data: bytes) -> bytes:
        """What may be written now; the beginning of what may become a secret is kept back."""
        data = self._kept + data
        safe = len(data) - max((_begun(data, form) for form, _ in self._forms), default=0)
        out, self._kept = self._replaced(data, safe)
        return out

    def flush(self) -> bytes:
        """The rest: no more comes."""
        out, self._kept = self._replaced(self._kept, len(self._kept))
        return out

    def _replaced(self, data: bytes, safe: int) -> tuple[bytes, bytes]:
        """What begins before `safe` with secrets replaced, and what is left of the data.

        Of two that overlap the first is taken, and of two that begin at one place the longer one. Most data hold none:
        to search for each alone is quicker by far than a pattern of all, which only has those that are there.
        """
        there = [(form, label) for form, label in self._forms if form in data]
        if len(there) == 1:
            [(form, label)] = there
            pieces = data.split(form)
            at = len(data) - len(pieces[-1])
            if at - len(form) < safe:
                cut = max(at, safe)
                return label.join([*pieces[:-1], data[at:cut]]), data[cut:]
        labels = dict(there)
        out: list[bytes] = []
        at = 0
        for found in re.finditer(b"|".join(map(re.escape, labels)), data) if there else ():
            if found.start() >= safe:
                break
            out += [data[at : found.start()], labels[found[0]]]
            at = found.end()
        cut = max(at, safe)
        return b"".join([*out, data[at:cut]]), data[cut:]


def _begun(data: bytes, form: bytes) -> int:
    """Return how many bytes at the end of `data` are the beginning of `form`, and not the whole of it."""
    tail = data[-(len(form) - 1) :] if len(form) > 1 else b""
    while tail and not form.startswith(tail):
        place = tail.find(form[:1], 1)
        tail = tail[place:] if place > 0 else b""
    return len(tail)


class LogPump:
    """Writes what comes out of a pipe to the end of a log, for its owner's eyes only, until the pipe is closed."""

    def __init__(self, log: str, forms: Sequence[Sequence[str]], within: str | None = None) -> None:
        """`within` as `folder` of `beneath.open_file`. Raises OSError if the log cannot be opened."""
        self._log = open_file(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, within)
        self._room = max(START_BYTES, LOG_BYTES_MAX - os.fstat(self._log).st_size)
        self._filter = LogFilter(forms)
        self._reading, self.writing = os.pipe()
        """`writing`: the process's output; closed here once the process has it."""
        self._thread = threading.Thread(target=self._pump, daemon=True)

    def begin(self) -> None:
        """Close our end for writing, and pump from now on."""
        os.close(self.writing)
        self._thread.start()

    def give_up(self) -> None:
        """No process was started."""
        for fd in (self.writing, self._reading, self._log):
            os.close(fd)

    def end(self) -> None:
        """Return when all that was written is in the log. What still holds the pipe open is not waited for."""
        self._thread.join(END_S)

    def _pump(self) -> None:
        while data := os.read(self._reading, CHUNK):
            self._write(self._filter.feed(data))
        self._write(self._filter.flush())
        os.close(self._reading)
        os.close(self._log)

    def _write(self, data: bytes) -> None:
        """A log that cannot be written (a full disk), or has enough, must not hold the process up."""
        if self._room <= 0:
            return
        data, self._room = data[: self._room], self._room - len(data)
        if self._room <= 0:
            data += LEFT_OUT
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._log, data) :]
