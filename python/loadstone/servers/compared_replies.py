"""What two servers of one software answered to the same recorded commands."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from loadstone.text.message import AnyText

ReplyOutcome = Literal["equal", "unordered", "numbers", "free", "differ", "only_a_fails", "only_b_fails"]
"""unordered: equal, but for the order of a reply that has none; numbers: equal, but for how a number is written; free:
what it holds differs by its nature, and both replies have the same form."""


FourNs = tuple[int, int, int, int]
"""CPU times of the first server, the second one, and their twins."""


@dataclass(frozen=True)
class ReplyDifference:
    """Two replies that differ, without what they hold."""

    line: int
    """In the recording."""
    a: str
    b: str


@dataclass
class CommandReplies:
    """What became of one command."""

    sent: int = 0
    outcomes: Counter[ReplyOutcome] = field(default_factory=Counter)
    """For all but the unclear ones."""
    unclear: int = 0
    """A server and its twin differed."""
    examples: list[ReplyDifference] = field(default_factory=list)

    @property
    def compared(self) -> int:
        """Return of how many replies what they hold was compared."""
        return sum(self.outcomes.values()) - self.outcomes["free"]

    @property
    def differ(self) -> int:
        """Return how many replies differ, or are an error of one server alone."""
        return sum(self.outcomes[one] for one in ("differ", "only_a_fails", "only_b_fails"))


@dataclass(frozen=True)
class ComparedServer:
    """What one of the two says of itself."""

    commands: frozenset[str]
    settings: Mapping[str, str]
    """Those that it began with."""
    data_bytes: int
    """What it keeps for the data of the recording."""


@dataclass(frozen=True)
class BrokenOff:
    """The second server closed the connection, or ended, where the first one went on."""

    lines: tuple[int, int]
    """First and last of the recording's lines among which the command is that it did not answer."""
    ended: bool
    """Whether the server itself is gone."""


@dataclass(frozen=True)
class ComparedReplies:
    """Everything that was found."""

    commands: Mapping[str, CommandReplies]
    left_out: Mapping[tuple[str, str], int]
    """Command and why it was not sent -> how many."""
    cut_off: bool
    """Whether the last line of the recording has no end, and was left out."""
    only_writes: bool
    """Whether the recording is one of commands that change data."""
    broken_off: BrokenOff | None
    """What follows was not sent; None: all was."""
    cpu_ns: Sequence[FourNs]
    """CPU time of the four servers in each part of the recording; empty: not known."""
    a: ComparedServer
    b: ComparedServer

    @property
    def sent(self) -> int:
        """Return how many commands were sent to each server."""
        return sum(one.sent for one in self.commands.values())


@dataclass(frozen=True)
class WayBack:
    """Whether the first server takes what the second one wrote: tried, both ways."""

    keys: int
    """What the second one has, without those that expire."""
    from_snapshot: int | AnyText
    """Keys that the first one loaded from the other's snapshot, or why it did not."""
    as_replica: int | AnyText
    """Keys that it had as the other's replica, or why it did not become one."""
