"""What all intervals of a drive held together, against which a record is checked that came from another program."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

QUIET_S = 60.0
"""Time for which nothing may come, beside what the plan lets a drive wait."""
THINKS_MORE = 20
"""A user thinks so many times as long as on average, at most (exponential think times)."""


class OperationCounts(Protocol):
    """What happened to one operation in one interval."""

    @property
    def offered(self) -> int: ...
    @property
    def sent(self) -> int: ...
    @property
    def ok(self) -> int: ...
    @property
    def errors(self) -> Mapping[str, int]: ...
    @property
    def timeouts(self) -> int: ...
    @property
    def dropped(self) -> int: ...


@dataclass(frozen=True)
class Counted:
    """What happened in all intervals until now."""

    offered: int = 0
    sent: int = 0
    ok: int = 0
    errors: int = 0
    timeouts: int = 0
    dropped: int = 0

    def plus(self, more: OperationCounts) -> "Counted":
        """With what happened to one operation in one interval."""
        return Counted(
            offered=self.offered + more.offered,
            sent=self.sent + more.sent,
            ok=self.ok + more.ok,
            errors=self.errors + sum(more.errors.values()),
            timeouts=self.timeouts + more.timeouts,
            dropped=self.dropped + more.dropped,
        )

    @property
    def ended(self) -> int:
        """Operations that were sent and ended."""
        return self.ok + self.errors + self.timeouts
