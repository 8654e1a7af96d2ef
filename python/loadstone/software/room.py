"""What the room of a server software offers beside its declaration. Each room has one, `ROOM` in its `room.py`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.deploy.containers.contained import InContainer
from loadstone.deploy.fact import Fact
from loadstone.deploy.ledger import Place
from loadstone.deploy.provider import ServerSettings
from loadstone.plan.drive_plan import Tls


@dataclass(frozen=True)
class Room:
    """One room; loaded when it is first needed."""

    kinds: Mapping[str, type[ServerSettings]]
    """The settings of each of `Software.kinds`."""
    place: Callable[[str, str], Place]
    """Where a URL leads, for the ledger: by the server's name and the URL. Raises UserError if it is none."""
    facts: Sequence[Callable[[], Fact]]
    """What `loadstone doctor` says of what is installed."""
    in_container: InContainer | None = None
    jdbc_options: Callable[[str, str, Tls | None], str] | None = None
    """What the options of a JDBC URL are, by host, port and TLS: for `${NAME.jdbc_options}` of a subject."""
