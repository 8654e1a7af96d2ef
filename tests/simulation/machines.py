"""Driver and servers of a day: the tests' fakes, on the day's clock, with a moment for each call and command."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from loadstone.drivers.driver import OnInterval, OnRest, RoundsOptions, nothing
from loadstone.drivers.outcome import Counts, DriveRecord, Interval
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.errors import ServerGone
from loadstone.servers.server import DeployContext, ServerFacts

from ..fake_redis import FakeControl, FakeServer
from ..fakes import FakeDriver
from .world import World

VERSION = "8.2.0"


class SimulatedServer(FakeServer):
    """A Redis of the user's, which outlives the sessions of the day, or one of loadstone's own."""

    def __init__(self, world: World, name: str, *, ours: bool) -> None:
        super().__init__(name, ours=ours)
        self.world = world
        self.version = VERSION
        self.hung = 0
        """So many commands more get no answer."""
        self.store.up = not ours

    @property
    def facts(self) -> ServerFacts:
        return ServerFacts("redis", self.version, "standalone", "master", process_id=self._pid)

    def control(self, timeout_s: float = 5.0) -> "SimulatedControl":  # noqa: ARG002 (the seam's signature)
        return SimulatedControl(self, self._endpoint)

    def start(self, context: DeployContext) -> Endpoint:
        self.answers("start")
        if not self.ours and not self.store.up:
            raise ServerGone.of(f"server {self.name}: Connection refused")
        return super().start(context)

    def answers(self, command: str) -> None:
        """Raises ServerGone where it hangs."""
        self.world.moment("server", f"{self.name} {command}")
        if self.hung:
            self.hung -= 1
            self.world.passes(1.0)
            raise ServerGone.of(f"server {self.name}: no answer within 1 s") from TimeoutError()


class SimulatedControl(FakeControl):
    """Each command is a moment."""

    _server: SimulatedServer

    def call(self, *command: Any) -> Any:
        self._server.answers(str(command[0]))
        return super().call(*command)


class SimulatedDriver(FakeDriver):
    """A driver of one session, which keeps what it did as the truth that records are held against."""

    def __init__(self, world: World, servers: list[FakeServer], truth: "Truth") -> None:
        super().__init__(servers, unix_ns=world.unix_ns)
        self.world, self.truth = world, truth

    def drive(
        self,
        shares: Sequence[Plan],
        on_interval: OnInterval,
        rounds: RoundsOptions | None = None,
        on_rest: OnRest = nothing,
    ) -> list[DriveRecord]:
        measures = shares[0].keys.distribution != "exactly_once"  # else it writes the data
        if measures:
            self.truth.begins(len(shares))

        def later(place: int, interval: Interval) -> None:
            self.world.passes(interval.duration_s)
            on_interval(place, interval)

        records = super().drive(shares, later, rounds, on_rest)
        if measures:
            self.truth.add(records)
        self.wrong = 0
        return records

    def _happens(self, moment: str) -> None:
        self.world.moment("drive", moment)


class Truth:
    """What was driven in a day, and how many trials must be recorded by now."""

    def __init__(self) -> None:
        self.counts: Mapping[int, list[tuple[Counts, int]]] = defaultdict(list)
        """By when a drive began: the counts of its measured operations, and of the correct replies of all."""
        self.recorded = 0
        """Trials whose records were acknowledged: the next one was begun, or the run ended in order."""
        self._driven = 0

    def begins(self, trials: int) -> None:
        """The next trials are driven: those before are recorded."""
        self.recorded = self._driven
        self._driven += trials

    def add(self, records: Sequence[DriveRecord]) -> None:
        """These trials were driven."""
        for record in records:
            (operation,) = record.operations.values()
            self.counts[record.started_unix_ns].append((operation.counts, record.total.ok))

    def session_ended(self, *, in_order: bool) -> None:
        """What was under way when it was ended otherwise need not be recorded."""
        self.recorded = self._driven if in_order else self.recorded

    def goes_on_from(self, recorded: int) -> None:
        """So many are recorded when the next session begins."""
        self.recorded = self._driven = recorded
