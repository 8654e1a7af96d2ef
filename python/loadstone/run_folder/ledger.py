"""The ledger: what is made on servers that are not ours, noted before it is made so that it can be removed.

Here is what can be noted, and the seam; the file in the run's folder is `run_folder/ledger_file.py`. How things are
removed is their software's (`servers.control.OwnsObjects`).
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.terminal import printable
from loadstone.text.message import AnyText

ObjectKind = Literal["numbered_keys", "keys_beginning", "key", "database", "table_made", "table_filled"]
KEYS: tuple[ObjectKind, ...] = ("numbered_keys", "keys_beginning", "key")
TABLES: tuple[ObjectKind, ...] = ("table_made", "table_filled")


@dataclass(frozen=True, order=True)
class CreatedObject:
    """One thing of ours, or many keys of one beginning, on a server that is not ours."""

    kind: ObjectKind
    """`numbered_keys`: `name` and a 12-digit number below `count`; `keys_beginning`: all that begin with `name`;
    `table_made`: a table that was not there; `table_filled`: one of the user's that was empty."""
    name: str
    count: int = 0
    """Number of keys, for `numbered_keys` only."""


@dataclass(frozen=True)
class RemovalResult:
    """What became of one thing that was to be removed."""

    thing: CreatedObject
    text: AnyText
    """For a person: what was removed, or what stays and why."""
    left: bool


@dataclass(frozen=True)
class ServerIdentity:
    """A server that is not ours, named without any secret."""

    server: str
    """As the experiment calls it."""
    address: str
    """`redis://HOST:PORT/NUMBER`, `rediss://...`, `unix:PATH/NUMBER`, or of software with tables its own scheme and
    the database: `SCHEME://HOST:PORT/DATABASE`."""
    login: bool
    """Whether more than the address is needed to reach it: a user, a password, or options of TLS."""

    def is_at(self, other: "ServerIdentity") -> bool:
        """Whether both are the same database of the same server, whatever it is called."""
        return _address(self.address) == _address(other.address)


@dataclass(frozen=True)
class Copies:
    """Where what is made on a server is copied to: after a failover it is there that it must be removed."""

    data_set: str
    """Its name, which whoever takes it over keeps. Redis: the replication id."""
    addresses: tuple[str, ...]
    """As of a `ServerIdentity`."""


def place_of(server: str, endpoint: Endpoint, database: tuple[str, str] | None = None) -> ServerIdentity:
    """Where something is made; `database`: scheme and name of one that has a name. None: that of the endpoint."""
    login = bool(endpoint.username or endpoint.password or endpoint.tls is not None)
    if endpoint.unix_path is not None:
        return ServerIdentity(server, f"unix:{endpoint.unix_path}/{endpoint.database}", login)
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    scheme, name = database or ("redis" if endpoint.tls is None else "rediss", endpoint.database)
    return ServerIdentity(server, f"{scheme}://{host}:{endpoint.port}/{name}", login)


class Ledger(Protocol):
    """Where it is noted what is made, and what of it is removed."""

    @property
    def run_id(self) -> str:
        """32 hexadecimal digits of chance that no one else has; empty: nothing is noted."""

    @property
    def run_name(self) -> str:
        """The name of the run's folder."""

    @property
    def advice(self) -> str:
        """The command that removes what is left."""

    def copied(self, place: ServerIdentity, copies: Copies) -> None:
        """What is made there from now on is copied; it is written with the first that is made. Raises nothing."""

    def makes(self, place: ServerIdentity, things: Iterable[CreatedObject]) -> None:
        """Returns once it is on the disk that these are about to be made.

        Raises:
            LoadstoneError: it cannot be written; they must not be made.
        """

    def removed(self, place: ServerIdentity, thing: CreatedObject) -> None:
        """It is gone. A failure to write this is ignored: the ledger then names more than there is."""

    def take_earlier(self, place: ServerIdentity, kinds: Collection[ObjectKind]) -> list[CreatedObject]:
        """What earlier sessions of the run left of these kinds at a place; each is given out once."""


class NoLedger:
    """Where no run is: nothing is noted."""

    run_id = ""
    run_name = ""
    advice = ""

    def copied(self, place: ServerIdentity, copies: Copies) -> None:
        """Nothing."""

    def makes(self, place: ServerIdentity, things: Iterable[CreatedObject]) -> None:
        """Nothing."""

    def removed(self, place: ServerIdentity, thing: CreatedObject) -> None:
        """Nothing."""

    def take_earlier(self, place: ServerIdentity, kinds: Collection[ObjectKind]) -> list[CreatedObject]:  # noqa: ARG002 (the seam's signature)
        """Nothing was noted."""
        return []


NO_LEDGER = NoLedger()


def describe(thing: CreatedObject) -> str:
    """For people: `1,000 keys loadstone:00000001:002:...`; what cannot be printed is escaped."""
    name = printable(thing.name)
    return {
        "numbered_keys": f"{thing.count:,} keys {name}...",
        "keys_beginning": f"keys {name}...",
        "key": f"key {name}",
        "database": f"database {name}",
        "table_made": f"table {name}",
        "table_filled": f"rows of table {name}",
    }[thing.kind]


def describe_place(place: ServerIdentity) -> str:
    """For people: `redis (redis://127.0.0.1:6379/0)`."""
    return printable(f"{place.server} ({place.address})")


def _address(address: str) -> str:
    """Return one address for all names of this machine's loopback."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        return address
    for host in ("localhost:", "[::1]:"):
        if rest.startswith(host):
            rest = f"127.0.0.1:{rest.removeprefix(host)}"
    return f"{scheme}{separator}{rest}"


@dataclass
class CreatedObjects:
    """Tables and keys of ours; what was there before is not among them. Each is in the ledger before it is made."""

    place: ServerIdentity | None = None
    """None: the server is ours, and its ledger is never written."""
    ledger: Ledger = NO_LEDGER
    things: dict[CreatedObject, None] = field(default_factory=dict)

    def note(self, *things: CreatedObject) -> None:
        """These are about to be made. Raises LoadstoneError if that cannot be noted: then they must not be made."""
        if self.place is not None:
            self.ledger.makes(self.place, things)
        self.things |= dict.fromkeys(things)

    def gone(self, thing: CreatedObject) -> None:
        """It is removed."""
        self.things.pop(thing, None)
        if self.place is not None:
            self.ledger.removed(self.place, thing)

    def made_table(self, table: str) -> bool:
        """Whether the table is one that a subject's statements made; some servers change the case of names."""
        return CreatedObject("table_made", table.lower()) in self.things

    def filled_table(self, table: str) -> bool:
        """Whether the table is one of the user's that was empty when data was written to it."""
        return CreatedObject("table_filled", table) in self.things
