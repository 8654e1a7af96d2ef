"""A cluster whose agents follow a script, in threads of this process: what no real one can be made to do on time."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tests.fakes import FakeDriver, latencies

from loadstone.addons.fleet import agent as on_agent
from loadstone.addons.fleet.cluster_seam import AgentLost, ClockOffset, Heard, Member
from loadstone.addons.fleet.driver import FleetDriver
from loadstone.drivers.driver import RoundsOptions
from loadstone.drivers.outcome import DriveRecord, Interval
from loadstone.experiment.plan.drive_plan import Plan

T = TypeVar("T")
OFFSETS_NS = (0, 5_000_000_000, -7_000_000_000)
"""How far the clocks of the agents are ahead."""
BOUND_NS = 40_000


@dataclass
class ScriptedAgent:
    """One that does as a real one would, unless its script says otherwise."""

    member: Member
    offset_ns: int = 0
    refuses: str | None = None
    """What it answers when it is to open a plan."""
    falls_silent: bool = False
    """After its first interval nothing more is heard of it."""
    dies: str | None = None
    """After its first interval its engine ends, with this reason."""
    stops: str | None = None
    """Why its drive ends early, by itself."""
    late_ns: int = 0
    """How much too late it begins."""
    ordered_late: bool = False
    """The order to begin does not reach it in time."""
    answers: bool = True
    moved_ns: int = 0
    """By how much its clock moves in its next drive."""
    says: str | dict[str, Any] | None = None
    """In the place of its first interval."""
    lies: dict[str, Any] = field(default_factory=dict)
    """In its record, by a path of keys with dots between them."""
    repeats: int = 1
    """How often it says each interval."""
    never_ends: bool = False
    """It is heard, and reports no record."""
    drain_s: float = 0.0
    first_drain_s: float | None = None
    """Of the first slice alone, as where a link was down for a while; None: as of the others."""
    """What each of its slices takes to be drained."""
    plans: list[list[Plan]] = field(default_factory=list)
    """Of each drive."""
    rounds: RoundsOptions | None = None
    """Of the newest drive."""
    files: dict[str, str] = field(default_factory=dict)
    begun_ns: list[int] = field(default_factory=list)
    """The beginnings that it was ordered, by its clock."""
    ends_ns: list[int] = field(default_factory=list)
    leases: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)
    ended: int = 0


class ScriptedCluster:
    """See `seam.Cluster`."""

    def __init__(self, agents: int = 2) -> None:
        names = [f"agent-{number}" for number in range(1, agents + 1)]
        offsets = [OFFSETS_NS[number % len(OFFSETS_NS)] for number in range(agents)]
        self.agents = {
            name: ScriptedAgent(Member(name, f"fake://{name}", "agent", f"host-{name}"), offset)
            for name, offset in zip(names, offsets, strict=True)
        }
        self.gone: dict[str, str] = {}
        self.drive = ""
        self.pid = 4_000_000
        self._heard: list[Heard] = []

    @property
    def members(self) -> tuple[Member, ...]:
        monitor = Member("db", "fake://db", "monitor", "db-host")
        return (monitor, *(agent.member for agent in self.agents.values()))

    def call(self, member: Member, function: Callable[..., T], *args: Any, timeout_s: float) -> T:  # noqa: ARG002
        agent = self.agents[member.name]
        if not agent.answers:
            raise AgentLost(member.name, "it does not answer")
        if function is on_agent.here:
            return {"pid": 1, "monotonic_ns": 0}  # type: ignore[return-value]
        assert function is on_agent.open_drive
        self.drive = args[0]
        work = json.loads(json.dumps(args[1]))
        agent.plans.append([Plan.model_validate(plan) for plan in work["plans"]])
        agent.rounds = None if work["rounds"] is None else RoundsOptions.model_validate(work["rounds"])
        agent.files = work["files"]
        agent.stopped.clear()
        if agent.refuses is not None:
            return {"type": "failed", "drive": self.drive, "why": agent.refuses}  # type: ignore[return-value]
        return {"type": "opened", "drive": self.drive, "pid": self.pid, "cpus": 2}  # type: ignore[return-value]

    def send(self, member: Member, function: Callable[..., object], *args: Any) -> None:
        agent, drive = self.agents[member.name], args[0]
        assert drive == self.drive or function is on_agent.renew, "leases are renewed while connections open, too"
        if function is on_agent.begin:
            agent.begun_ns.append(args[1])
            threading.Thread(target=self._follow, args=(agent, drive, args[1]), daemon=True).start()
        elif function is on_agent.renew:
            agent.leases += 1
        elif function is on_agent.end_measure:
            agent.ends_ns.append(args[1])
        elif function is on_agent.stop:
            agent.stopped.set()
        elif function is on_agent.end:
            agent.ended += 1

    def send_all(self, members: Sequence[Member], function: Callable[..., object], *args: Any) -> None:
        for member in members:
            self.send(member, function, *args)

    def listen(self, topic: str, heard: Heard) -> None:
        assert topic == on_agent.TOPIC
        self._heard.append(heard)

    def lost(self) -> Mapping[str, str]:
        return self.gone

    def close(self) -> None:
        """There is nothing to end."""

    def say(self, agent: ScriptedAgent, drive: str, kind: str, **said: object) -> None:
        self._tell(agent, json.dumps({"type": kind, "drive": drive, **said}) + "\n")

    def _tell(self, agent: ScriptedAgent, line: str) -> None:
        for heard in self._heard:
            heard(agent.member.name, line)

    def _follow(self, agent: ScriptedAgent, drive: str, begin_ns: int) -> None:
        time.sleep(max(0.0, (begin_ns - agent.offset_ns - time.monotonic_ns()) / 1e9))
        if agent.ordered_late:
            self.say(agent, drive, "failed", why="the order to begin came 0.100 s too late", late=True)
            return
        self.say(agent, drive, "heartbeat", sent=0)
        delivered, records = _driven(agent.plans[-1], agent.rounds)
        for number, (place, interval) in enumerate(delivered):
            if number == 1 and agent.falls_silent:
                return
            if number == 1 and agent.dies is not None:
                self.say(agent, drive, "ended", why=agent.dies)
                return
            if agent.says is not None:
                self._tell(
                    agent, agent.says if isinstance(agent.says, str) else json.dumps({"drive": drive, **agent.says})
                )
                return
            for _ in range(agent.repeats):
                self.say(agent, drive, "interval", number=place, interval=interval.model_dump(mode="json"))
            if number == 1 and agent.stops is not None:
                break
            if agent.stopped.wait(0.02):
                break
        stopped = "stopped on request" if agent.stopped.is_set() else agent.stops
        done = []
        for record in records:
            took_s = [agent.drain_s] * len(record.slices)
            if took_s and agent.first_drain_s is not None:
                took_s[0] = agent.first_drain_s
            slices = tuple(replace(one, drained_s=one.end_s + s) for one, s in zip(record.slices, took_s, strict=True))
            began = {"started_monotonic_ns": begin_ns + agent.late_ns, "stopped": stopped, "slices": slices}
            done.append(record.model_copy(update=began).model_dump(mode="json"))
            for path, value in agent.lies.items():
                _set(done[-1], path.split("."), value)
        while agent.never_ends and not agent.stopped.wait(0.1):
            self.say(agent, drive, "heartbeat", sent=0)
        self.say(agent, drive, "records", records=done)


class ScriptedClocks:
    """See `driver.Clocks`."""

    def __init__(self, cluster: ScriptedCluster) -> None:
        self._cluster = cluster
        self.measured = 0

    def measure(self, members: Sequence[Member]) -> None:
        self.measured += 1
        for member in members:
            if not self._cluster.agents[member.name].answers:
                raise AgentLost(member.name, "it does not answer")

    def moved_ns(self, member: Member) -> int:
        agent = self._cluster.agents[member.name]
        if self.measured % 2:  # before a drive
            return 0
        moved_ns, agent.moved_ns = agent.moved_ns, 0
        return moved_ns

    def offset(self, member: Member, at_ns: int | None = None) -> ClockOffset:  # noqa: ARG002 (the seam's signature)
        return ClockOffset(self._cluster.agents[member.name].offset_ns, BOUND_NS)


def _set(document: dict[str, Any], path: Sequence[str], value: object) -> None:
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = value


def fleet(cluster: ScriptedCluster, **options: Any) -> FleetDriver:
    return FleetDriver(cluster, ScriptedClocks(cluster), **options)


def _driven(plans: list[Plan], rounds: RoundsOptions | None) -> tuple[list[tuple[int, Interval]], list[DriveRecord]]:
    """What an engine delivers of plans: each interval with its plan's place, and a record a plan."""
    delivered: list[tuple[int, Interval]] = []
    records = FakeDriver().drive(plans, lambda place, interval: delivered.append((place, interval)), rounds)
    nothing = latencies(0, 1)[1]
    histograms = {"pool_wait_histogram": nothing, "schedule_lag_histogram": nothing}
    return delivered, [record.model_copy(update=histograms) for record in records]
