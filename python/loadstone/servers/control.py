"""The control seam: what the common code needs from any server software, whatever it is.

`Control` is what every software offers; each of its four parts is a protocol of its own. What only some offer stands
behind it (`KeyStore`, `KnowsReads`, `LimitsValues`, `TableStore`) and is looked up by `isinstance`, never by the name
of a class.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.required import RequiredData
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.monitors.snapshot import Snapshot
from loadstone.run_folder.ledger import Copies, CreatedObject, CreatedObjects, ObjectKind, RemovalResult, ServerIdentity
from loadstone.servers.declared_table import Table
from loadstone.servers.settings_in_force import SettingNotation
from loadstone.text.message import AnyText

RowProgress = Callable[[int], None]
"""Called with how many rows are done, as often as one likes. It may raise, which ends the work."""


@dataclass(frozen=True)
class RowFiles:
    """Lines in files. A row is a line of texts with tabs between; no text holds a tab or an end of line."""

    columns: tuple[str, ...]
    numeric: frozenset[str]
    """Columns whose every value is a whole number."""
    count: int
    crc32_sum: int
    """The CRC32 of each line, without its end, added up: some servers can compute it of a table."""
    parts: tuple[Path, ...]

    def lines(self) -> Iterator[list[bytes]]:
        """The lines of one part after another, without their ends."""
        for part in self.parts:
            yield part.read_bytes().split(b"\n")[:-1]


WriteRows = Callable[[RowProgress], bool]
"""Writes rows and says how many are done; whether anything had to be written."""


class CommandRefusal(Exception):
    """Why a command or a statement is not sent to a server of the user's, and what helps."""

    def __init__(self, reason: AnyText, remedy: AnyText) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason
        self.remedy = remedy


def untold(_: int) -> None:
    """Nobody is told how far it is."""


@dataclass(frozen=True)
class CommandWarning:
    """What is wrong with a command by its look alone."""

    text: AnyText
    """Behind the command."""
    is_certain: bool = False
    """Whether no server takes it."""
    is_unknown: bool = False
    """Whether no software is known that has it: it is refused, unless any command may be sent."""
    hint: AnyText = ""
    """The nearest name that is known, as a question."""


CommandInspection = Callable[[Sequence[str]], CommandWarning | None]
"""Looks at a command, its name first; None: nothing is wrong."""


@dataclass(frozen=True)
class Start:
    """One start of a part, as far as it can be known at one moment."""

    identity: str | None
    """Another one for each start, e.g. a process and when it began; None: it cannot be known."""
    uptime_s: float | None = None
    """How long it has been running, by its own clock."""
    at_s: float = 0.0
    """The moment, by our monotonic clock."""
    pid: int | None = None
    """The process, where that is what is known."""


class ServerQueries(Protocol):
    """A connection for loadstone's own questions. They raise ServerGone where the server does not answer."""

    software: ClassVar[str]
    """The room of `servers/` that it stands in, as records have it."""
    spelling: ClassVar[SettingNotation]
    """How the software writes its settings."""
    endpoint: Endpoint

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def close(self) -> None:
        """Close the connection. May be called more than once."""

    def by_way_of(self, endpoint: Endpoint) -> Self:
        """Another connection, with the same time-out, that reaches the server at this endpoint: through its line."""

    def ping(self) -> None:
        """Returns if the server answers."""

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        """The server's settings under the names given; without those that it does not have or report."""

    def count(self, text: str) -> int:
        """The number that a reading command answers, or the rows of the table of this name.

        Raises:
            UserError: the answer is not a number, or there is no such table.
        """

    def keys(self) -> int | None:
        """Return how many keys its database holds; None of software without keys."""

    def snapshot(self) -> Snapshot | None:
        """Its counters; None of software without any."""

    def start(self) -> Start | None:
        """Which start of it answers, where its counters do not say; None: they do, or nothing does."""


class TakesRows(Protocol):
    """Writes the rows of an experiment's data."""

    def row_writing(self, data: RequiredData, rows: RowFiles, traces: CreatedObjects, *, ours: bool) -> WriteRows:
        """What writes the rows, once other rows in their place are removed and what is made is noted.

        Args:
            data: where they go.
            rows: the rows.
            traces: what of ours is on the server; what is about to be made is noted there first.
            ours: whether loadstone started the server.

        Raises:
            UserError: the data cannot go there; says what helps.
        """

    def is_full(self, error: BaseException) -> bool:
        """Whether an error says that the server has no room left."""


class OwnsObjects(Protocol):
    """What of ours is on a server of the user's, and how it is removed."""

    removable: ClassVar[tuple[ObjectKind, ...]]
    """What may be left on it."""

    def place(self, server: str) -> ServerIdentity:
        """Where it is, for the ledger, of a server that the experiment calls so."""

    def left_by_load(self, commands: Iterable[Sequence[str]], prefix: str) -> list[CreatedObject]:
        """What commands of a load may leave beside the keys of the plan, which begin with `prefix`."""

    def left_by_subjects(self, prefixes: Iterable[str] = ()) -> list[CreatedObject]:
        """What applications may leave; `prefixes`: what their variables have keys begin with
        (`experiment.plan.subject_keys`)."""

    def remove_traces(self, traces: CreatedObjects) -> None:
        """Remove what was made, and forget it.

        Raises:
            LoadstoneError: the server does not answer, or refuses; what is removed is forgotten all the same.
        """

    def remove_left(self, run_id: str, things: Sequence[CreatedObject]) -> Iterator[RemovalResult]:
        """Remove what is provably the run's, of `removable` kinds; see `leftovers.remove_left`."""


class Confinement(Protocol):
    """What may be sent to a server of the user's. Each method raises Refusal where it is not sent, and ServerGone."""

    def command(self, command: Sequence[str], prefix: str) -> None:
        """Name and arguments of a command of the load, whose keys begin with `prefix`."""

    def row_command(self, text: str) -> None:
        """A command for rows of data, as it is written."""

    def count(self, text: str, *, of_application: bool) -> None:
        """What counts; `of_application`: what an application stored, which may be anywhere."""


class LossWatch(Protocol):
    """Watches that nothing is lost on a server of the user's."""

    @property
    def where(self) -> AnyText:
        """Which server it is, for people."""

    @property
    def what_helps(self) -> AnyText:
        """What the user can do."""

    def lost(self) -> AnyText | None:
        """What was lost since the watch began, or will be next; None: nothing. Raises LoadstoneError."""


class UsersServerControl(Protocol):
    """What is required before anything is stored on a server of the user's."""

    def confinement(self) -> Confinement:
        """What may be sent to it. The server is consulted, too; what holds without it is `Room.confinement`."""

    def shortage(self, trials: Sequence[PlannedTrial], server: str, pid: int | None) -> AnyText:
        """Why what trials store on the server of this name may not fit, and what helps; empty if it does.

        `pid`: its process, where that is one of this machine.
        """

    def loss_watch(self, server: str) -> LossWatch | None:
        """What watches it from now on; None of software that loses nothing when it is full. Raises LoadstoneError."""


class Control(ServerQueries, TakesRows, OwnsObjects, UsersServerControl, Protocol):
    """All that every software offers."""


@runtime_checkable
class KeyStore(Protocol):
    """A control of software that takes load itself, and so holds the keys of a plan."""

    def remove_numbered(self, prefix: str, count: int, tell: Callable[[int], None] = untold) -> int:
        """Remove the keys of a plan, `prefix` and a number below `count`; how many there were. Raises ServerGone.

        `tell` is told how many numbers were looked at.
        """

    def present(self, keys: Sequence[str]) -> list[bool]:
        """Whether the server holds each of these keys."""

    def pipelined(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """The replies to several commands that are sent all at once; the first error as ServerGone."""

    def evicting_policy(self) -> str:
        """Return the policy by which the server may throw keys away; empty where it does not."""


@dataclass(frozen=True)
class Standing:
    """Relation of a server to the servers that have the same data."""

    leads: bool
    """Whether it is a primary."""
    follows: str | None
    """For a copy, the address (as of a `ServerIdentity`) of its primary; None: none that may be connected to."""
    data_sets: tuple[str, ...]
    """The names of its data: now, and before it was promoted."""

    def has_taken_over(self, data_set: str) -> bool:
        """Return whether the data of this name must be removed there."""
        return self.leads and data_set in self.data_sets


@runtime_checkable
class FailsOver(Protocol):
    """A control of software whose data another server may take over."""

    def copies(self, server: str) -> Copies | None:
        """Where the data are copied to, of a server that the experiment calls so; None: nowhere. Raises ServerGone."""

    def standing(self, server: str) -> Standing:
        """Return how it stands to the servers that have the same data. Raises ServerGone."""


@runtime_checkable
class KnowsReads(Protocol):
    """A control of software whose replicas may be read from."""

    def only_reads(self, command: Sequence[str]) -> bool:
        """Whether a command of the load only reads, so that a replica serves it. Raises ServerGone."""


@runtime_checkable
class LimitsValues(Protocol):
    """A control of software that takes values up to a length only."""

    def too_large(self, trials: Sequence[PlannedTrial], server: str) -> AnyText:
        """Why a value that trials store on the server of this name is too long for it, and what helps; empty if none
        is."""


@runtime_checkable
class TableStore(Protocol):
    """A control of software with tables."""

    def make_tables(self, where: str, tables: Mapping[str, Table], traces: CreatedObjects, *, ours: bool) -> None:
        """Make the declared tables that are missing, and their indexes; `where` begins an error's text.

        On a server of the user's each is noted before it is made, and a table that was there before is left as it is.

        Raises:
            UserError: the database is not ours.
            ServerRefused: the server does not take one.
        """

    def run_script(self, statements: str) -> None:
        """Run a script of SQL as it is; only on a server that loadstone started."""
