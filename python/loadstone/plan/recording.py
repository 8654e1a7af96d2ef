"""A recording whose commands are sent again, as a plan has it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from loadstone.plan.part import PlanPart

SPEED_MAX = 1e6


class Recording(PlanPart):
    """Commands that were recorded, in a file that was prepared for drivers.

    An operation is then the name of one command, without arguments: they are the recording's, its keys under the plan's
    prefix. A client of the recording has one connection, over which its commands go in their order; in a cluster it has
    one to each node, and a command for another node waits until those before it were answered. Commands whose keys are
    in several slots are not sent to a cluster. With the open model
    and `arrivals: recorded` they are intended when they were recorded, `speed` times as fast; with the closed one each
    is sent as soon as its connection is free. The drive ends with the last one, at `measure_max_s` at the latest.
    """

    path: str = Field(min_length=1)
    speed: float = Field(default=1.0, gt=0, le=SPEED_MAX)
    stored_bytes: int = Field(default=0, ge=0, description="what the commands store at most, about")


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
