"""Parts without load: waits until they do nothing, and holds them still while others are measured.

What can be held has `hold` and `release` (`Holdable`): a server of one process of ours, and a subject of ours with all
its replicas. A cluster, and a primary with replicas, are left running: their members know by heartbeats that the
others live, and after a pause would take each other for dead just when they are measured. Containers are left running,
too. What these take is measured and named (`monitors/host/others.py`); a Redis without load
takes .2 % of a core. What is not ours is never touched.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from loadstone.machine import process_table


@runtime_checkable
class Holdable(Protocol):
    """What a part offers beside, if it can be held still. Both may be called at any time, and again."""

    @property
    def held(self) -> bool: ...

    def hold(self) -> None:
        """Have it stand still, with all that it started."""

    def release(self) -> None:
        """Have it go on; it runs when this returns. A part that died meanwhile is reported by `alive`."""


class OneProcess:
    """A part of one process, held and let go with it."""

    _process: Holdable | None = None

    @property
    def held(self) -> bool:
        """See `Holdable`."""
        return self._process is not None and self._process.held

    def hold(self) -> None:
        """See `Holdable`."""
        if self._process is not None:
            self._process.hold()

    def release(self) -> None:
        """See `Holdable`."""
        if self._process is not None:
            self._process.release()


class IdlePart(Protocol):
    """A server or subject."""

    name: str

    @property
    def pids(self) -> Mapping[str, int]: ...


def hold(part: object) -> None:
    """Hold it still, if that is possible."""
    if isinstance(part, Holdable):
        part.hold()


def release(part: object) -> None:
    """Let it go on, should it be held."""
    if isinstance(part, Holdable):
        part.release()


def by_name(parts: Iterable[IdlePart]) -> dict[str, tuple[int, ...]]:
    """Name of a server or subject -> the processes of all parts that are called so."""
    pids: dict[str, tuple[int, ...]] = {}
    for part in parts:
        pids[part.name] = (*pids.get(part.name, ()), *part.pids.values())
    return pids


@dataclass(frozen=True)
class IdleCriteria:
    """What counts as quiet, and how long it is waited for."""

    cores: float
    """CPU that may be taken, all processes together."""
    window_s: float
    windows: int
    """Number of windows in a row that must be quiet: a compiler pauses, too."""
    longest_s: float


@runtime_checkable
class RemoteProcesses(Protocol):
    """What a part offers whose processes are on another machine."""

    def await_quiet(
        self, rule: IdleCriteria, going_on: Callable[[], None], report: Callable[[float], None]
    ) -> float | None:
        """See `await_quiet`; carried out there."""


def await_quiet_of(
    part: IdlePart, rule: IdleCriteria, going_on: Callable[[], None], report: Callable[[float], None] = lambda _: None
) -> float | None:
    """See `await_quiet`; of a server or subject, wherever it runs."""
    if isinstance(part, RemoteProcesses):
        return part.await_quiet(rule, going_on, report)
    return await_quiet(list(part.pids.values()), rule, going_on, report)


def await_quiet(
    roots: Collection[int],
    rule: IdleCriteria,
    going_on: Callable[[], None],
    report: Callable[[float], None] = lambda _: None,
) -> float | None:
    """Wait until these processes and all below them are quiet; None if they are.

    Otherwise what they took, in cores, in the last window: they were waited for as long as the rule says. Where a
    system does not tell, they are taken for quiet at once.

    Args:
        roots: process ids.
        rule: what counts as quiet.
        going_on: raises Interrupted when the user requested a stop.
        report: given what they take, in cores, after each window that was not quiet.
    """
    if not roots or process_table.cpu_ns(next(iter(roots))) is None:
        return None
    began_s = at_s = time.monotonic()
    before = process_table.tree_cpu_ns(roots)
    quiet, cores = 0, 0.0
    while quiet < rule.windows:
        if at_s - began_s >= rule.longest_s:
            return cores
        time.sleep(rule.window_s)
        going_on()
        now_s, now = time.monotonic(), process_table.tree_cpu_ns(roots)
        spent_ns = sum(max(0, ns - before.get(pid, 0)) for pid, ns in now.items())
        cores = spent_ns / 1e9 / (now_s - at_s)
        before, at_s = now, now_s
        quiet = quiet + 1 if cores <= rule.cores else 0
        if not quiet:
            report(cores)
    return None
