"""The control of a Redis: the session of the room, and what the common code needs of it (`deploy.control`)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Self

from loadstone.deploy.capacity import says_full
from loadstone.deploy.control import WriteRows
from loadstone.deploy.ledger import Kind, Made, Outcome, Place, place_of
from loadstone.deploy.row_files import Rows
from loadstone.deploy.settings_in_force import Spelling
from loadstone.deploy.traces import Traces
from loadstone.plan.endpoints import Endpoint
from loadstone.plan.footprint import memory_of
from loadstone.plan.required import RequiredData
from loadstone.plan.run_plan import PlannedTrial
from loadstone.software.redis import capacity, row_writing
from loadstone.software.redis import traces as redis_traces
from loadstone.software.redis.commands.info import ServerCommands
from loadstone.software.redis.commands.reading import only_reads
from loadstone.software.redis.confined import ConfinedCommands
from loadstone.software.redis.declared import REDIS
from loadstone.software.redis.losses import MemoryWatch
from loadstone.software.redis.monitor import RedisSnapshot, snapshot
from loadstone.software.redis.replicas import ReplicaReads
from loadstone.software.redis.session import RedisSession
from loadstone.software.redis.settings import SPELLING


class RedisControl(RedisSession):
    """See `deploy.control.Control` and `deploy.control.KeyStore`, whose methods these are."""

    software: ClassVar[str] = REDIS.name
    spelling: ClassVar[Spelling] = SPELLING
    removable: ClassVar[tuple[Kind, ...]] = redis_traces.REMOVABLE

    reads: ReplicaReads | None = None
    """Of the replicas that the load reads from."""

    def reading_from(self, endpoints: Sequence[Endpoint]) -> Self:
        """The same control, which counts what these replicas are read, too."""
        self.reads = ReplicaReads(endpoints, self._timeout_s) if endpoints else None
        return self

    def close(self) -> None:
        """Close the connections. May be called more than once."""
        if self.reads is not None:
            self.reads.close()
        super().close()

    def only_reads(self, command: Sequence[str]) -> bool:
        """See `deploy.control.KnowsReads`."""
        return only_reads(ServerCommands(self), command)

    def snapshot(self) -> RedisSnapshot:
        """All that is counted, and what may spoil a figure."""
        found = snapshot(self)
        return found if self.reads is None else self.reads.added_to(found)

    def start(self) -> None:
        """None: its counters say which start it is."""

    def row_writing(self, data: RequiredData, rows: Rows, traces: Traces, *, ours: bool) -> WriteRows:  # noqa: ARG002
        """What sends the commands for each row."""
        return row_writing.row_writing(self, data, rows, traces)

    def is_full(self, error: BaseException) -> bool:
        """Whether it refuses writes because memory or disk is full."""
        return says_full(error)

    def place(self, server: str) -> Place:
        """Where its database is."""
        return place_of(server, self.endpoint)

    def left_by_load(self, commands: Iterable[Sequence[str]], prefix: str) -> list[Made]:
        """Keys beside those of the plan."""
        return redis_traces.left_by_load(commands, prefix)

    def left_by_subjects(self) -> list[Made]:
        """Keys that an application of ours may make in every Redis that it has."""
        return [Made("keys_beginning", redis_traces.SUBJECT_KEYS)]

    def remove_traces(self, traces: Traces) -> None:
        """Remove the keys that were noted."""
        redis_traces.remove_traces(self, traces)

    def remove_left(self, run_id: str, things: Sequence[Made]) -> Iterator[Outcome]:  # noqa: ARG002 (keys name no run)
        """Remove keys that only ours can be."""
        return redis_traces.remove_left(self, things)

    def confinement(self) -> ConfinedCommands:
        """Commands on keys of ours."""
        return ConfinedCommands(ServerCommands(self))

    def shortage(self, trials: Sequence[PlannedTrial], server: str, pid: int | None) -> str:
        """By its memory, and by that of its machine."""
        return capacity.shortage(self, memory_of(trials, server), here=pid is not None)

    def loss_watch(self, server: str) -> MemoryWatch:
        """Its memory, from now on."""
        return MemoryWatch.begin(server, self)

    def evicting_policy(self) -> str:
        """`maxmemory-policy`, where it has a limit and throws keys away at it."""
        found = self.settings({"maxmemory": "", "maxmemory-policy": ""})
        policy = found.get("maxmemory-policy", "noeviction")
        return policy if found.get("maxmemory", "0") != "0" and policy != "noeviction" else ""
