"""Parts that a trial does not need are held still while it is measured, so that they take nothing from what is.

What can be held has `hold` and `release` (`Holdable`): a server of one process of ours, and a subject of ours with all
its replicas. A cluster, and a primary with replicas, are left running: their members know by heartbeats that the
others live, and after a pause would take each other for dead just when they are measured. Containers are left running,
too. What these take is measured and named (`software/host/others.py`); a Redis without load
takes .2 % of a core. What is not ours is never touched.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable


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
        """See `held.Holdable`."""
        return self._process is not None and self._process.held

    def hold(self) -> None:
        """See `held.Holdable`."""
        if self._process is not None:
            self._process.hold()

    def release(self) -> None:
        """See `held.Holdable`."""
        if self._process is not None:
            self._process.release()


class Part(Protocol):
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


def by_name(parts: Iterable[Part]) -> dict[str, tuple[int, ...]]:
    """Name of a server or subject -> the processes of all parts that are called so."""
    found: dict[str, tuple[int, ...]] = {}
    for part in parts:
        found[part.name] = (*found.get(part.name, ()), *part.pids.values())
    return found
