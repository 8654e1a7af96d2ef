"""Follows runs while they go on: one reader a run, however many pages show it.

A run's `events.jsonl` is read from where the reader stopped, some of it at a time; lines that are torn, too long or not
ours are passed over. Who comes late gets all that was told so far, thinned. The reader ends with the run, or some time
after the last page went away.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from loadstone.addons.history.run_row import RunRow, read_row
from loadstone.addons.pages.live_view import LivePoint, LiveView, brief
from loadstone.addons.pages.running import Writer
from loadstone.run_folder.files import EVENTS
from loadstone.safety.bounds.files import load_json
from loadstone.safety.bounds.folder_files import open_file

STREAMS_MAX = 60
"""Pages that follow a run at the same time, of all runs together."""
PAUSE_S = 0.5
"""Between two readings: a run writes a line a second."""
READ_BYTES = 1024 * 1024
"""At most so much is read at once, and so long is the longest line that is looked at."""
LONGEST_BYTES = 128 * 1024 * 1024
"""A file that is longer is not one that loadstone wrote."""
LINGERS_S = 30.0
"""Time that a reader goes on after the last page went away: a reload does not begin anew."""
KEEP_ALIVE_S = 10.0
SILENT_S = 15.0
"""A process of another machine, or one that did not begin yet, is taken for gone where it writes nothing so long."""


class TooMany(Exception):
    """There are as many streams as there may be."""


class Tail:
    """Reads the lines that a file gained. Not for several threads at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""
        self._skips = False
        """Whether the line that is read is too long, and passed over."""
        self.grew_s = time.monotonic()

    def read(self) -> tuple[list[dict[str, object]], bool]:
        """Lines that are whole and hold an object of this format; whether there is more to read now.

        Raises:
            OSError: the file is gone, or a link; it may be there again later.
        """
        with os.fdopen(open_file(self._path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < self._offset:  # a half-written last line was cut away
                self._offset, self._rest = size, b""
            file.seek(self._offset)
            data = file.read(READ_BYTES) if self._offset < LONGEST_BYTES else b""
        if data:
            self.grew_s = time.monotonic()
        self._offset += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        if self._skips and whole:
            whole, self._skips = whole[1:], False
        if len(self._rest) > READ_BYTES:
            self._rest, self._skips = b"", True
        if self._skips:
            self._rest = b""
        return [line for text in whole if (line := _line(text)) is not None], self._offset < min(size, LONGEST_BYTES)


def _line(text: bytes) -> dict[str, object] | None:
    try:
        line = load_json(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) and line.get("format") == 1 else None


@dataclass
class Following:
    """A run that is followed, with all that it told so far."""

    folder: Path
    told: LiveView = field(default_factory=LiveView)
    fate: str = "running"
    """running; ended: by its own word; killed: its process is gone without one; vanished: the folder is gone."""
    row: RunRow | None = None
    """Its line of the list, once it ended: a run has one status on all pages."""
    caught_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once all is read that was there."""
    _viewers: set[asyncio.Event] = field(default_factory=set)
    """Set at each change; one a page."""
    _shared: dict[tuple[object, ...], bytes] = field(default_factory=dict)
    """What was sent since the last change; by whom it is for."""
    _task: "asyncio.Task[None] | None" = None
    _left_s: float = 0.0

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.fate != "running"

    def shared(self, whom: tuple[object, ...], make: Callable[[], bytes]) -> bytes:
        """What all of those are sent until the next change, made once."""
        found = self._shared.get(whom)
        if found is None:
            found = self._shared[whom] = make()
        return found

    async def changes(self) -> AsyncGenerator[bool, None]:
        """At each change, and now and then without one (False). Ends with the run, after its last change."""
        changed = asyncio.Event()
        self._viewers.add(changed)
        try:
            while not self.over:
                with suppress(TimeoutError):
                    async with asyncio.timeout(KEEP_ALIVE_S):
                        await changed.wait()
                happened = changed.is_set()
                changed.clear()
                yield happened
        finally:
            self._viewers.discard(changed)
            self._left_s = time.monotonic()

    def begin(self) -> None:
        """Read, until the run ends or nobody looks any more."""
        if self._task is None or self._task.done():
            self._left_s = time.monotonic()
            self._task = asyncio.get_running_loop().create_task(self._follow())

    @property
    def idle(self) -> bool:
        """Whether nothing reads any more, and nobody looks."""
        return not self._viewers and (self._task is None or self._task.done())

    async def _follow(self) -> None:
        tail = Tail(self.folder / EVENTS)
        while not self.over:
            writer = self.told.writer
            seen = await asyncio.to_thread(_look, tail, self.folder, writer)
            for line in seen.lines:
                self.told.take(line)
            self._shared.clear()
            # All is read that was there when its process was looked for, and that process is the one that wrote last.
            whole = not seen.more and self.told.writer == writer
            if whole:
                fate = "ended" if self.told.ended is not None else seen.fate
                self.row = await asyncio.to_thread(read_row, self.folder) if fate == "ended" else None
                self.fate = fate
                self.caught_up.set()
            if (seen.lines and self.caught_up.is_set()) or self.over:
                for piece in ("head", "actions"):
                    self.told.changed[piece] += self.over
                for viewer in self._viewers:
                    viewer.set()
            if not self._viewers and time.monotonic() - self._left_s > LINGERS_S:
                return
            if whole and not self.over:
                await asyncio.sleep(PAUSE_S)
        self.caught_up.set()


class _Seen(NamedTuple):
    """What a look into a run's folder found."""

    lines: list[dict[str, object]]
    more: bool
    fate: str
    """Fate by its folder and its process alone."""


def _look(tail: Tail, folder: Path, writer: Writer | None) -> _Seen:
    """Its process is looked for before its lines are read: what it wrote last is among them."""
    writes = time.monotonic() - tail.grew_s < SILENT_S
    lives = writer.lives if writer is not None and writer.is_here else writes
    try:
        return _Seen(*tail.read(), "running" if lives else "killed")
    except OSError:
        return _Seen([], False, "vanished" if not folder.is_dir() else "running" if lives else "killed")


class Followers:
    """All runs that are followed by one server of pages."""

    def __init__(self) -> None:
        self._runs: dict[Path, Following] = {}
        self._streams = 0

    async def of(self, folder: Path) -> Following:
        """The run of a folder, read up to now."""
        for path in [path for path, one in self._runs.items() if one.idle]:
            del self._runs[path]
        run = self._runs.get(folder)
        if run is None:
            run = self._runs[folder] = Following(folder)
        run.begin()
        with suppress(TimeoutError):
            await asyncio.wait_for(run.caught_up.wait(), 20)
        return run

    def enter(self) -> None:
        """A page more follows. Raises TooMany."""
        if self._streams >= STREAMS_MAX:
            raise TooMany
        self._streams += 1

    def leave(self) -> None:
        """A page went away."""
        self._streams -= 1


def series(points: list[LivePoint]) -> str:
    """Moments of the time axis for the page's script: `[[unix_s, {what: {whose: value}}], ...]`."""
    figures = [
        [round(point.unix_s, 2), {what: {one: brief(x) for one, x in of.items()} for what, of in point.figures.items()}]
        for point in points
    ]
    return json.dumps(figures, separators=(",", ":"))
