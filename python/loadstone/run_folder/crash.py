"""A finished crash, as one line of `crashes.jsonl` holds it."""

from typing import Literal

from loadstone.experiment.spec.levels import Condition
from loadstone.run_folder.trial import RecordModel


class LookedUp(RecordModel):
    """What was found when every acknowledged key was looked up on the restarted server.

    `keys = present + lost + unordered`.
    """

    keys: int
    """With an acknowledged write."""
    present: int
    """Number of these that hold their highest acknowledged version, or a later one."""
    lost: int
    """Number of these that are gone, or hold a version that an acknowledged one had replaced for certain."""
    unordered: int = 0
    """Number of these that hold an earlier version than the highest acknowledged one, while both were in flight at
    once: the server may have stored them in either order."""
    unacknowledged_present: int
    """Keys that hold a write that was sent and never acknowledged."""
    lost_keys: tuple[str, ...] = ()
    """The first of the lost ones, by name."""


class CrashRecord(RecordModel):
    """A server was killed under load and started again, and what it had acknowledged was looked up."""

    format: Literal[1] = 1
    name: str
    """Name of the crash in the experiment."""
    trial: str
    condition: Condition
    number: int
    """Which try of its condition, from 1."""
    acknowledged: int
    """Writes that were answered as stored before it died."""
    unknown: int
    """Writes that were sent and not answered: stored or not."""
    found: int | None
    """Where writes were counted: what it held after its restart, without what was there before."""
    looked_up: LookedUp | None = None
    """Every acknowledged key, looked up after the restart: exact. None: the writes were counted, which gives bounds."""
    restart_s: float | None
    """From its start until it served; None: it did not start."""
    killed_after_s: float
    failure: str | None = None
    """Why this try tells nothing, in one line."""
    started_unix_ns: int

    @property
    def tells(self) -> bool:
        """Whether it says anything of what was lost."""
        known = self.looked_up is not None or self.found is not None
        return self.failure is None and known and self.restart_s is not None

    @property
    def lost_min(self) -> int | None:
        """Acknowledged writes that are gone for certain: looked up, or fewer were found than acknowledged."""
        if self.looked_up is not None:
            return self.looked_up.lost
        return None if self.found is None else max(0, self.acknowledged - max(0, self.found))

    @property
    def lost_max(self) -> int | None:
        """Acknowledged writes that may be gone: had everything unanswered been stored in their place."""
        if self.looked_up is not None:
            return self.looked_up.lost + self.looked_up.unordered
        return (
            None
            if self.found is None
            else min(self.acknowledged, max(0, self.acknowledged + self.unknown - max(0, self.found)))
        )
