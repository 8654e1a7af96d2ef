"""What was found in a recording: the commands that are sent again, and those that are not."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RecordedLoad:
    """A recording, read to its end; its commands stand in a file for drivers."""

    prepared: Path
    """The file for drivers, as `engine/src/load/recorded.rs` describes it."""
    commands: tuple[str, ...]
    """The names of those that are sent, each an operation, in the order of their numbers in the file."""
    sent: Mapping[str, int]
    """How many of each."""
    left_out: Mapping[tuple[str, str], int]
    """Name and reason -> how many are not sent."""
    not_in_a_cluster: Mapping[tuple[str, str], int]
    """Of those that are sent, name and reason -> how many no node of a cluster takes."""
    clients: int
    """That have a command which is sent."""
    length_s: float
    """From the first command that is sent to the last one."""
    stored_bytes: int
    """What the commands store at most, about."""
    examples: tuple[tuple[tuple[str, bool], ...], ...]
    """Some of each command: arguments, cut where they are long, and whether each is a key."""
    transactions: bool = False
    """Whether some commands belong together, so that no other client's may come between them."""
    set_forward: int = 0
    """Commands whose times went back a little: they count from the time before."""
    cut_off: bool = False
    """Whether the last line had no end."""

    @property
    def number(self) -> int:
        """Of the commands that are sent."""
        return sum(self.sent.values())

    @property
    def number_in_a_cluster(self) -> int:
        """Of the commands that are sent to a cluster."""
        return self.number - sum(self.not_in_a_cluster.values())
