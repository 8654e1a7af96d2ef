"""How much CPU every process of the machine takes, read from /proc beside a run, and without anything of loadstone."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, Self, TypeVar

EVERY_S = 0.2
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
Reading = dict[int, tuple[str, float]]
"""Process -> its program, and its CPU time so far in seconds."""
Threads = dict[str, tuple[float, float]]
"""Thread -> seconds that it ran, and seconds that it was ready to run and had no CPU."""


Read = TypeVar("Read")


class Watch(Generic[Read]):
    """Reads something every `every_s`, from `with` to its end, and keeps each reading with its time (since 1970)."""

    def __init__(self, read: Callable[[], Read], every_s: float) -> None:
        self._read, self._every_s = read, every_s
        self._readings: list[tuple[float, Read]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(self._every_s):
            self._readings.append((time.time(), self._read()))


class CpuWatch(Watch[tuple[Reading, Threads]]):
    """Reads all processes every `EVERY_S`; and all threads of the one in `followed`."""

    def __init__(self) -> None:
        self.followed: int | None = None
        super().__init__(lambda: (dict(_processes()), dict(threads(self.followed))), EVERY_S)

    def shares(self, from_s: float, to_s: float) -> dict[str, float]:
        """Cores that each program took in this time (seconds since 1970), its processes together; largest first."""
        begin, end = self._ends(from_s, to_s)
        if begin is None or end is None:
            return {}
        found: dict[str, float] = {}
        for pid, (name, cpu_s) in end[1][0].items():
            before_s = begin[1][0].get(pid, (name, 0.0))[1]
            found[name] = found.get(name, 0.0) + (cpu_s - before_s) / (end[0] - begin[0])
        largest = sorted(found.items(), key=lambda one: -one[1])
        return {name: round(share, 3) for name, share in largest if share >= 0.01}

    def busiest_thread(self, from_s: float, to_s: float) -> tuple[float, float] | None:
        """Of the followed process: for which shares of this time its busiest thread ran, and waited for a CPU."""
        begin, end = self._ends(from_s, to_s)
        if begin is None or end is None or not end[1][1]:
            return None
        wall_s = end[0] - begin[0]
        shares = [
            tuple((now - then) / wall_s for now, then in zip(figures, begin[1][1].get(thread, (0.0, 0.0)), strict=True))
            for thread, figures in end[1][1].items()
        ]
        ran, waited = max(shares)
        return round(ran, 3), round(waited, 3)

    def _ends(
        self, from_s: float, to_s: float
    ) -> tuple[tuple[float, tuple[Reading, Threads]] | None, tuple[float, tuple[Reading, Threads]] | None]:
        """The first and the last reading inside."""
        inside = [one for one in self._readings if from_s <= one[0] <= to_s]
        return (inside[0], inside[-1]) if len(inside) > 1 else (None, None)


def _processes() -> Iterator[tuple[int, tuple[str, float]]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):  # it ended meanwhile
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                program = (entry / "exe").readlink().name
                yield int(entry.name), (program, (int(fields[11]) + int(fields[12])) * _TICK_S)


def threads(pid: int | None) -> Iterator[tuple[str, tuple[float, float]]]:
    """Each thread of a process that is there, with seconds that it ran and that it waited for a CPU."""
    if pid is None:
        return
    folder = Path(f"/proc/{pid}/task")
    for task in list(folder.iterdir()) if folder.is_dir() else ():
        with contextlib.suppress(OSError):
            ran_ns, waited_ns, _ = (task / "schedstat").read_text().split()
            yield task.name, (int(ran_ns) / 1e9, int(waited_ns) / 1e9)
