"""The seam to the cluster: what a fleet asks of whatever connects its machines. `dask_cluster.open_cluster` opens one.

Nothing with a deadline rests on it: that a call returns, or that what a member says arrives in time, is an expectation
that `fleet_drive.py` watches over, and load without renewal ends on the agent by itself (`engine_process.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from loadstone.safety.errors import DriveFailed
from loadstone.text.message import AnyText, said

T = TypeVar("T")
Role = Literal["agent", "monitor"]
Heard = Callable[[str, object], None]
"""Gets the name of the member that said something, and what it said. Must not block."""


class AgentLost(DriveFailed):
    """A member is gone, or does not answer: with its name and the reason."""

    def __init__(self, name: str, why: AnyText) -> None:
        Exception.__init__(self, said("agent {name}: {why}", name=name, why=why))
        self.name = name
        self.why = why


class AgentFailed(DriveFailed):
    """A member answered that it cannot do what was asked: with its name and its own words."""

    def __init__(self, name: str, why: AnyText) -> None:
        Exception.__init__(self, said("agent {name}: {why}", name=name, why=why))
        self.name = name
        self.why = why


NO_MESSAGE = said("it wrote what is no message; install one version on all")
"""Error of a member that has a certificate, and yet is broken."""
TICKS_END = 2**63
"""No CLOCK_MONOTONIC reads so much, in nanoseconds."""


@dataclass(frozen=True)
class Member:
    """A process of loadstone's on one of the machines."""

    name: str
    """Unique within the fleet; stands in messages and records."""
    address: str
    """Address by which the cluster reaches it."""
    role: Role
    host: str
    """The name of its machine."""


@dataclass(frozen=True)
class ClockOffset:
    """Offset of a member's CLOCK_MONOTONIC from this machine's, and its greatest error."""

    offset_ns: int
    bound_ns: int
    """The truth lies within `offset_ns` plus or minus this: half of the round trip by which it was measured."""


class Cluster(Protocol):
    """The members of a fleet, and how they are spoken to.

    What is called are functions on the level of a module of loadstone, which is installed in the same version on every
    member; their arguments and answers are plain data, as JSON has it. They may hold passwords, and so reach no log,
    no configuration and no name of a task.
    """

    @property
    def members(self) -> tuple[Member, ...]:
        """All that belonged to the fleet when it was opened, in an order that does not change."""

    def call(self, member: Member, function: Callable[..., T], *args: object, timeout_s: float) -> T:
        """What a function returns on that member: pinned to it, never repeated and never moved. From any thread.

        Raises:
            AgentLost: it is gone, or did not answer in that time.
            AgentFailed: the function raised an error; with its message.
        """

    def send(self, member: Member, function: Callable[..., object], *args: object) -> None:
        """Have a function called there, without waiting and without an answer. From any thread; raises nothing."""

    def send_all(self, members: Sequence[Member], function: Callable[..., object], *args: object) -> None:
        """Send a function to several members, all at once: it may overtake what else is sent, and one that stands still
        holds up none.

        Without an answer. From any thread; raises nothing.
        """

    def listen(self, topic: str, heard: Heard) -> None:
        """Have all heard that members say on a topic from now on: what each says in its order, from another thread."""

    def lost(self) -> Mapping[str, AnyText]:
        """The names of the members that the cluster itself knows to be gone, and why."""

    def close(self) -> None:
        """End what was started for it. May be called more than once."""


_HERE: list[str] = []


def be_at(address: str) -> None:
    """On a member: the address of this machine by which the others reach it. The cluster calls this."""
    _HERE[:] = [address]


def own_address() -> str:
    """On a member: see `be_at`."""
    return _HERE[0]


Say = Callable[[str, object], None]
_SAY: list[Say] = []


def speak_by(say: Say | None) -> None:
    """On a member: by which way `say` reaches those who listen; None: by none any more. The cluster calls this."""
    _SAY[:] = [] if say is None else [say]


def say(topic: str, message: object) -> None:
    """On a member: tell those who listen to a topic. The message is plain data; it is dropped where there is no way."""
    for way in _SAY:
        way(topic, message)
