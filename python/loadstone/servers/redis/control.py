"""The control of a Redis: the session of the room, and what the common code needs of it (`servers.control`)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Self

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.required import RequiredData
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.plan.stored_bytes import memory_of
from loadstone.experiment.software import REDIS
from loadstone.experiment.spec.experiment import OUR_PREFIX
from loadstone.run_folder.ledger import (
    KEYS,
    Copies,
    CreatedObject,
    CreatedObjects,
    ObjectKind,
    RemovalResult,
    ServerIdentity,
    describe,
    place_of,
)
from loadstone.safety.bounds.deadlines import extend_deadline
from loadstone.safety.errors import UserError
from loadstone.servers.control import RowFiles, RowProgress, Standing, WriteRows
from loadstone.servers.free_space import is_out_of_space
from loadstone.servers.redis import failover, memory
from loadstone.servers.redis.commands.confinement import NAMED, ConfinedCommands, keys_made
from loadstone.servers.redis.commands.info import ServerCommands, only_reads
from loadstone.servers.redis.monitor import RedisSnapshot, snapshot
from loadstone.servers.redis.redirect_targets import ANYWHERE, AllowedHosts
from loadstone.servers.redis.replicas import ReplicaReads
from loadstone.servers.redis.rows import writing_of
from loadstone.servers.redis.session import RedisSession
from loadstone.servers.redis.settings import SPELLING
from loadstone.servers.settings_in_force import SettingNotation
from loadstone.text.message import AnyText

SUBJECT_KEYS = f"{OUR_PREFIX}subject:"
"""What the keys of our own applications begin with."""


class RedisControl(RedisSession):
    """See `servers.control.Control` and `servers.control.KeyStore`, whose methods these are."""

    software: ClassVar[str] = REDIS.name
    spelling: ClassVar[SettingNotation] = SPELLING
    removable: ClassVar[tuple[ObjectKind, ...]] = KEYS

    reads: ReplicaReads | None = None
    """Reads of the replicas that the load reads from."""
    allowed: AllowedHosts = ANYWHERE
    """The hosts that it may announce."""

    def reading_from(self, endpoints: Sequence[Endpoint]) -> Self:
        """Return this control, which counts what these replicas are read, too."""
        self.reads = ReplicaReads(endpoints, self._timeout_s) if endpoints else None
        return self

    def close(self) -> None:
        """Close the connections. May be called more than once."""
        if self.reads is not None:
            self.reads.close()
        super().close()

    def only_reads(self, command: Sequence[str]) -> bool:
        """See `servers.control.KnowsReads`."""
        return only_reads(ServerCommands(self), command)

    def snapshot(self) -> RedisSnapshot:
        """All that is counted, and what may spoil a figure."""
        own = snapshot(self)
        return own if self.reads is None else self.reads.added_to(own)

    def start(self) -> None:
        """None: its counters say which start it is."""

    def row_writing(self, data: RequiredData, rows: RowFiles, traces: CreatedObjects, *, ours: bool) -> WriteRows:  # noqa: ARG002
        """What sends the commands for each row, once rows of before are removed and the keys noted."""
        if not data.commands:
            raise UserError("'{server}' is a Redis: name 'commands', and leave 'table' out", server=data.server)
        writing = writing_of(data.commands, rows)
        if self.keys():
            writing.remove(self)  # of an earlier run, or of other rows under these keys
        traces.note(*as_made(writing.keys, writing.beginnings))

        def write(tell: RowProgress) -> bool:
            writing.write(self, rows, tell)
            return True

        return write

    def is_full(self, error: BaseException) -> bool:
        """Whether it refuses writes because memory or disk is full."""
        return is_out_of_space(error)

    def place(self, server: str) -> ServerIdentity:
        """Where its database is."""
        return place_of(server, self.endpoint)

    def copies(self, server: str) -> Copies | None:
        """See `servers.control.FailsOver`: its replicas."""
        return failover.copies_of(self, server, self.allowed)

    def standing(self, server: str) -> Standing:
        """See `servers.control.FailsOver`."""
        return failover.standing_of(self, server, self.allowed)

    def left_by_load(self, commands: Iterable[Sequence[str]], prefix: str) -> list[CreatedObject]:
        """Keys beside `{key}`, which a trial removes itself."""
        return as_made(*keys_made(commands, prefix))

    def left_by_subjects(self, prefixes: Iterable[str] = ()) -> list[CreatedObject]:
        """Keys that an application of ours may make in every Redis that it has."""
        return as_made((), {SUBJECT_KEYS, *prefixes})

    def remove_traces(self, traces: CreatedObjects) -> None:
        """Remove the keys that were noted, and forget each as soon as it is gone. Raises LoadstoneError."""
        for thing in sorted(traces.things):
            self._remove(thing)
            traces.gone(thing)

    def remove_left(self, run_id: str, things: Sequence[CreatedObject]) -> Iterator[RemovalResult]:  # noqa: ARG002 (keys name no run)
        """Remove what a killed run left, of those keys that begin as only ours do."""
        for thing in things:
            many = thing.kind != "key"
            if not (NAMED.match(thing.name) if many else thing.name.startswith(OUR_PREFIX)):
                needed = f"{OUR_PREFIX}NAME:" if many else OUR_PREFIX
                refused = f"{describe(thing)}: only keys that begin with {needed} are ever removed"
                yield RemovalResult(thing, refused, left=True)
                continue
            removed = self._remove(thing)
            result = f"{removed:,} removed" if removed else "there were none"
            yield RemovalResult(thing, f"{describe(thing)}: {result}", left=False)

    def _remove(self, thing: CreatedObject) -> int:
        """Remove keys that were made; how many there were.

        Raises:
            UserError: they do not begin as ours do.
            ServerGone: the server does not answer.
        """
        if thing.kind == "key":
            return self.remove_key(thing.name)
        if thing.kind not in self.removable:
            return 0
        keys = self.keys()
        extend_deadline(keys)
        if thing.kind == "keys_beginning":
            return self.remove_beginning(thing.name)
        if thing.count > max(keys, 1000):  # to look at every key of the server is shorter
            return self.remove_beginning(thing.name)
        return self.remove_numbered(thing.name, thing.count)

    def confinement(self) -> ConfinedCommands:
        """Commands on keys of ours."""
        return ConfinedCommands(ServerCommands(self))

    def shortage(self, trials: Sequence[PlannedTrial], server: str, pid: int | None) -> AnyText:
        """Return what is short, by its memory, and by that of its machine."""
        return memory.shortage(self, memory_of(trials, server), here=pid is not None)

    def loss_watch(self, server: str) -> memory.MemoryWatch:
        """Its memory, from now on."""
        return memory.MemoryWatch.begin(server, self)

    def evicting_policy(self) -> str:
        """`maxmemory-policy`, where it has a limit and throws keys away at it."""
        settings = self.settings(("maxmemory", "maxmemory-policy"))
        policy = settings.get("maxmemory-policy", "noeviction")
        return policy if settings.get("maxmemory", "0") != "0" and policy != "noeviction" else ""


def as_made(keys: Iterable[str], beginnings: Iterable[str]) -> list[CreatedObject]:
    """Keys by their names, and by what they begin with, as the ledger has them."""
    return [
        *(CreatedObject("key", key) for key in sorted(keys)),
        *(CreatedObject("keys_beginning", beginning) for beginning in sorted(beginnings)),
    ]
