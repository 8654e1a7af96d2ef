"""A finished crash, as one line of `crashes.jsonl` holds it."""

from typing import Literal

from loadstone.record.trial import Level, Line


class CrashRecord(Line):
    """A server was killed under load, started again, and asked what it kept."""

    format: Literal[1] = 1
    name: str
    """Of the crash in the experiment."""
    trial: str
    condition: dict[str, Level]
    number: int
    """Which try of its condition, from 1."""
    acknowledged: int
    """Writes that were answered as stored before it died."""
    unknown: int
    """Writes that were sent and not answered: stored or not."""
    found: int | None
    """What it held after its restart, without what was there before; None: it could not be counted.

    Below 0 where it lost some of what was there before, too: that is none of the acknowledged writes.
    """
    restart_s: float | None
    """From its start until it served; None: it did not start."""
    killed_after_s: float
    failure: str | None = None
    """Why this try tells nothing, in one line."""
    started_unix_ns: int

    @property
    def lost_min(self) -> int | None:
        """Acknowledged writes that are gone for certain: fewer were found than acknowledged."""
        return None if self.found is None else max(0, self.acknowledged - max(0, self.found))

    @property
    def lost_max(self) -> int | None:
        """Acknowledged writes that may be gone: had everything unanswered been stored in their place."""
        return (
            None
            if self.found is None
            else min(self.acknowledged, max(0, self.acknowledged + self.unknown - max(0, self.found)))
        )
