"""The seam to the machines of a fleet on which servers and applications are started by name (`host: db-1`)."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from loadstone.safety.errors import ServerGone, UserError

HostedKind = Literal["server", "subject"]
HostReply = dict[str, Any]
"""Plain data, as JSON has it. It may hold passwords."""


class HostLost(ServerGone):
    """The machine, or what of loadstone runs there, does not answer any more, and what ran there has ended or will."""


class HostedPart(Protocol):
    """One server or application on such a machine, running or not."""

    def carry_out(
        self, order: str, given: Mapping[str, Any], progress: Callable[[str], None], going_on: Callable[[], None]
    ) -> HostReply:
        """What takes its time: start, restart, or wait until it is quiet.

        Args:
            order: of `addons.fleet.hosting.ORDERS`.
            given: what the order takes.
            progress: called with the lines that the part says there meanwhile.
            going_on: raises Interrupted when the user requested a stop, which is then passed on.

        Raises:
            UserError: it cannot; with what was said there.
            HostLost: see there.
        """

    def ask(self, question: str) -> HostReply:
        """What is done at once, of `addons.fleet.hosting.QUESTIONS`. Raises UserError, HostLost."""

    def close(self) -> Mapping[str, str]:
        """End it there; what it wrote: name of a log -> its end. Raises nothing; may be called more than once."""


class NamedHost(Protocol):
    """A machine of the fleet."""

    name: str
    """Name of its member."""

    def part(self, kind: HostedKind, name: str, settings: Mapping[str, Any]) -> HostedPart:
        """A part for this run, not started. `name` is its name in the experiment."""


def no_hosts(name: str) -> NamedHost:
    """Raise UserError: without a fleet there are no other hosts."""
    raise UserError(
        "host: {name}: there is no fleet with machines of a name; add --fleet, or leave host out", name=name
    )
