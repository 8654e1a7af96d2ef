"""One drive of a fleet: a plan on several agents, or several in rounds, from their opening to one record.

Nothing here waits on the cluster for a deadline. An agent makes load only while its lease is renewed, once a second; it
is heard once a second, and lost when it was not heard three times. Then the others are stopped.
"""

import queue
import secrets
import socket
import threading
import time
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from loadstone.addons.fleet import agent as on_agent
from loadstone.addons.fleet.certificates import read_tls_files
from loadstone.addons.fleet.cluster_seam import NO_MESSAGE, AgentFailed, AgentLost, ClockOffset, Cluster, Member
from loadstone.addons.fleet.merging import AgentRecordSet, MergedIntervals, merged_record
from loadstone.addons.fleet.plausible import longest_s, patience_s, require_plausible
from loadstone.drivers.counted import Counted
from loadstone.drivers.driver import OnInterval, OnRest, RoundsOptions, Timetable, nothing
from loadstone.drivers.outcome import AgentInterval, DriveRecord, Interval
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.machine import clock
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.errors import DriveFailed
from loadstone.servers.transport import is_loopback
from loadstone.text.message import AnyText
from loadstone.text.message import said as said_as

LEASE_S = 5.0
RENEWED_EVERY_S = 1.0
SILENT_S = 3.5
"""Three heartbeats, and a half: so long without one, and an agent is lost."""
ALL_SILENT_S = 2.5
"""Agents that are silent for so long, all of them, are so for one reason: it is not that of the first one."""
MISSING_S = 1.5
"""After so long a heartbeat is missing, which is shown."""
OPENING_S = 15.0
"""What opening takes at most beside the connections' own timeout: the engine's process may have to start first."""
POLL_S = 0.05
STOPPING_S = 3.0
"""How long those who are stopped may take to report; they stop within .1 s."""
ANSWER_S = 2.0
PAUSE_S, PAUSE_SHARE, PAUSE_MAX_S = 0.02, 0.2, 5.0
"""In rounds the drain after a slice has so long, or such a share of the slice, or twice what nine of ten took in the
rounds before: what is not drained then costs the next slice. One slice of a broken link lengthens no other."""
WHY_MAX = 400
"""Characters of what an agent gives as a reason."""
EDGE_S = 0.001
"""What clocks may drift apart in a block; their bounds come on top."""
CALLERS = 64
"""Agents that are called at once."""


class AllSilent(AgentLost):
    """No agent is heard any more: with the name of the first, and the reason of all."""


class LateOrder(AgentFailed):
    """An agent got the order to begin when it was too late."""


@dataclass
class _Share:
    """One agent's part of a drive, as far as it has come."""

    member: Member
    plans: Sequence[Plan]
    heard_s: float = 0.0
    """When it was heard last, by the monotonic clock."""
    pid: int = 0
    cpus: int | None = None
    records: list[DriveRecord] | None = None
    counted: dict[int, Counted] = field(default_factory=dict)
    """What its intervals hold until now, by the number of its plan."""
    went_on_s: float = 0.0
    """When it delivered an interval last, by the monotonic clock."""


@dataclass
class FleetDrive:
    """One plan on several agents, or several in rounds, from their opening to their records."""

    cluster: Cluster
    planned: Sequence[tuple[Member, Sequence[Plan]]]
    on_interval: OnInterval
    stopped: threading.Event
    lead_s: float
    rounds: RoundsOptions | None
    here: bool
    """Whether its agents are processes of this machine."""
    on_silent: Callable[[Container[str]], None] = lambda _: None
    """Gets the names of those of whom a heartbeat is missing, each time that it looks."""
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    heard: "queue.Queue[tuple[str, object, float]]" = field(default_factory=queue.Queue)
    """Member, line, and when it came."""

    def __post_init__(self) -> None:
        self._shares = {member.name: _Share(member, plans) for member, plans in self.planned}
        self._merged = [MergedIntervals(self._shares) for _ in self.planned[0][1]]
        """Merged intervals of each plan."""
        self.begin_ns = 0
        """The beginning, by this machine's CLOCK_MONOTONIC."""
        self._begin_unix_ns = 0
        self._ordered_to_stop = False
        self._stopped_by = ""
        """The agent whose early end stopped the others."""
        self._looked_s = 0.0
        self._over = threading.Event()
        self._renewal = threading.Thread(target=self._renew, name="leases", daemon=True)
        self._measured = self._edge_ns = 0
        self._offsets: Mapping[str, ClockOffset] = {}

    @property
    def members(self) -> list[Member]:
        """Those that drive, in the order of their shares."""
        return [share.member for share in self._shares.values()]

    @property
    def pids(self) -> set[int]:
        """Return the process ids of their engines, as far as these are open."""
        return {share.pid for share in self._shares.values() if share.pid}

    def open(self, bound_ns: int, drain_s: float) -> None:
        """Open the connections of all; leases are renewed from now on. Their clocks are known to `bound_ns`.

        In rounds a slice may take `drain_s` to be drained.

        Raises AgentLost, AgentFailed: of the first that could not.
        """
        self._renewal.start()
        rounds = [self._rounds_of(number, bound_ns, drain_s) for number in range(len(self._shares))]
        with ThreadPoolExecutor(min(CALLERS, len(self._shares)), "opening") as callers:
            answers = list(callers.map(self._opened, self._shares.values(), rounds))
        for problem in answers:
            if problem is not None:
                raise problem

    def begin(self, offsets: Mapping[str, ClockOffset]) -> None:
        """Let the load of all begin at one instant."""
        self._offsets = offsets
        lead_s = self.lead_s + 4e-9 * max(offset.bound_ns for offset in offsets.values())
        self.begin_ns = time.monotonic_ns() + round(1e9 * lead_s)
        self._begin_unix_ns = clock.unix_ns() + self.begin_ns - time.monotonic_ns()
        for name, share in self._shares.items():
            self._send(share, on_agent.begin, self.begin_ns + offsets[name].offset_ns)
            share.heard_s = share.went_on_s = time.monotonic() + lead_s
        self._looked_s = time.monotonic()

    def follow(self, on_rest: OnRest = nothing) -> None:
        """Until every agent has reported its record. Raises AgentLost, and what `on_interval` and `on_rest` raise."""
        while self._waiting():
            on_rest()
            self._pass_on_stop()
            self._take_all(POLL_S)
            self._require_heard()
            self._require_going_on()
        for number, merged in enumerate(self._merged):
            self._hand_on(number, merged.rest())

    def records(self, offsets: Mapping[str, ClockOffset]) -> list[DriveRecord]:
        """The one record of all, for each plan. Raises DriveFailed where they cannot be merged."""
        shares = list(self._shares.values())
        found = []
        for number in range(len(self._merged)):
            own = [self._own(share, number) for share in shares]
            agents = [
                self._agent(share, record, offsets[share.member.name])
                for share, record in zip(shares, own, strict=True)
            ]
            found.append(merged_record(own, agents).model_copy(update={"started_unix_ns": self._begin_unix_ns}))
        return found

    def close(self) -> None:
        """No lease is renewed any more."""
        self._over.set()

    def abandon(self) -> None:
        """Stop all that may make load, and wait a moment for their reports; the rest is their lease's."""
        self.close()
        for share in self._waiting():
            self._send(share, on_agent.stop)
        until_s = time.monotonic() + STOPPING_S
        while time.monotonic() < until_s and any(self._may_report(share) for share in self._waiting()):
            try:
                self._take_all(POLL_S, to_user=False)
            except (DriveFailed, AgentLost):
                continue
        for share in self._waiting():
            self._send(share, on_agent.end)

    def _rounds_of(self, number: int, bound_ns: int, drain_s: float) -> dict[str, Any] | None:
        """The rounds of an agent: by a timetable, and on this machine the first one reads the servers' CPU time."""
        if self.rounds is None:
            return None
        self._edge_ns = round(1e9 * EDGE_S) + 2 * bound_ns
        pause_s = max(PAUSE_S, PAUSE_SHARE * self.rounds.slice_s, min(PAUSE_MAX_S, 2 * drain_s))
        timetable = Timetable(pause_s=pause_s, edge_s=self._edge_ns / 1e9)
        parts = self.rounds.parts if self.here and number == 0 else ()
        return self.rounds.model_copy(update={"timetable": timetable, "parts": parts, "rest_every_s": None}).model_dump(
            mode="json"
        )

    def _opened(self, share: _Share, rounds: dict[str, Any] | None) -> DriveFailed | None:
        """What went wrong; None if its connections are open."""
        within_s = OPENING_S + max(plan.timeouts.connect_ms for plan in share.plans) / 1e3
        work, member = {"plans": [plan.model_dump(mode="json") for plan in share.plans], "rounds": rounds}, share.member
        try:
            work["files"] = read_tls_files(share.plans)
            answer = _Said.model_validate(
                self.cluster.call(
                    member, on_agent.open_drive, self.name, work, LEASE_S, within_s, timeout_s=within_s + ANSWER_S
                )
            )
        except DriveFailed as problem:
            return problem
        except ValidationError:
            return AgentFailed(member.name, NO_MESSAGE)
        if answer.type != "opened":
            return AgentFailed(member.name, f"{answer.why}{self._hint(share)}")
        share.pid, share.cpus = answer.pid, answer.cpus
        return None

    def _hint(self, share: _Share) -> AnyText:
        """Why it may not reach a server that is reached from here."""
        endpoints = (endpoint for plan in share.plans for endpoint in plan.endpoints)
        own = {endpoint.host for endpoint in endpoints if is_loopback(endpoint.host)}
        if self.here or not own or share.member.host == socket.gethostname():
            return ""
        return said_as(
            " ({own} is its own machine; name servers by an address that every agent reaches)",
            own=", ".join(sorted(own)),
        )

    def _waiting(self) -> list[_Share]:
        return [share for share in self._shares.values() if share.records is None]

    def _may_report(self, share: _Share) -> bool:
        there = share.heard_s > 0 and share.member.name not in self.cluster.lost()
        return there and time.monotonic() - share.heard_s < SILENT_S

    def _send(self, share: _Share, function: Callable[..., object], *more: object) -> None:
        self.cluster.send(share.member, function, self.name, *more)

    def _pass_on_stop(self) -> None:
        if self.stopped.is_set() and not self._ordered_to_stop:
            self._stop_all()

    def _stop_all(self) -> None:
        self._ordered_to_stop = True
        for share in self._waiting():
            self._send(share, on_agent.stop)

    def _renew(self) -> None:
        """In a thread of its own: whoever gets the intervals may take long over one."""
        while not self._over.wait(RENEWED_EVERY_S):
            waiting = [share.member for share in self._waiting()]
            self.cluster.send_all(waiting, on_agent.renew, self.name, LEASE_S)

    def _take_all(self, wait_s: float, *, to_user: bool = True) -> None:
        """What was heard, after a wait for the first of it."""
        try:
            heard = self.heard.get(timeout=wait_s)
            while True:
                self._take(*heard, to_user=to_user)
                heard = self.heard.get_nowait()
        except queue.Empty:
            return

    def _take(self, name: str, line: object, came_s: float, *, to_user: bool) -> None:
        share = self._shares.get(name)
        if share is None or share.records is not None:
            return
        said = _read(name, line)
        if said.drive != self.name:
            return
        if said.number >= len(self._merged):
            raise AgentFailed(name, NO_MESSAGE)
        share.heard_s = 0.0 if said.type in ("ended", "failed") else max(share.heard_s, came_s)
        if said.type == "ended":
            raise AgentLost(name, said.why)
        if said.type == "failed":
            raise (LateOrder if said.late else AgentFailed)(name, said.why)
        if said.interval is not None and to_user:
            late_s = came_s - self.begin_ns / 1e9 - said.interval.start_s - said.interval.duration_s
            own = AgentInterval.of(name, said.interval, late_s)
            interval = said.interval.model_copy(update={"agents": (own,)})
            self._hand_on(said.number, self._merged[said.number].take(name, interval))
            share.went_on_s = came_s
            counted = share.counted.get(said.number, Counted())
            for operation in said.interval.operations.values():
                counted = counted.plus(operation)
            share.counted[said.number] = counted
        elif said.records is not None:
            for number, record in enumerate(said.records):
                counted = share.counted.get(number, Counted())
                require_plausible(name, record, counted, longest_s(self.planned[0][1], self.rounds))
            self._take_records(share, [_short(record) for record in said.records], to_user=to_user)

    def _take_records(self, share: _Share, records: list[DriveRecord], *, to_user: bool) -> None:
        share.records = records
        for number, merged in enumerate(self._merged):
            intervals = merged.without(share.member.name)
            if to_user:
                self._hand_on(number, intervals)
        if any(record.stopped is not None for record in records) and not self._ordered_to_stop:
            self._stopped_by = share.member.name
            self._stop_all()

    def _hand_on(self, number: int, intervals: Sequence[Interval]) -> None:
        for interval in intervals:
            begin_unix_ns = self._begin_unix_ns + round(1e9 * interval.start_s)
            self.on_interval(number, interval.model_copy(update={"start_unix_ns": begin_unix_ns}))
            self._count(interval)

    def _count(self, interval: Interval) -> None:
        """End the measure phase of all where the plan ends it by a number of operations; in rounds none does."""
        wanted = self.planned[0][1][0].phases.measure_operations
        if wanted is None or interval.phase != "measure" or self._measured >= wanted:
            return
        for operation in interval.operations.values():
            self._measured += operation.ok + sum(operation.errors.values()) + operation.timeouts
        if self._measured >= wanted:
            at_ns = time.monotonic_ns() + round(1e9 * self.lead_s)
            for share in self._waiting():
                self._send(share, on_agent.end_measure, at_ns + self._offsets[share.member.name].offset_ns)

    def _require_heard(self) -> None:
        """Raises AgentLost where one was silent for too long, while this process itself did not stand still."""
        now_s = time.monotonic()
        stood_still_s = now_s - self._looked_s - 1.0
        self._looked_s = now_s
        gone, waiting = self.cluster.lost(), self._waiting()
        for share in waiting:
            name = share.member.name
            if name in gone:
                raise AgentLost(name, gone[name])
            if stood_still_s > 0:
                share.heard_s += stood_still_s
        silent_s = {share.member.name: now_s - share.heard_s for share in waiting}
        for name, seconds in silent_s.items():
            if seconds > SILENT_S and len(silent_s) > 1 and min(silent_s.values()) > ALL_SILENT_S:
                raise AllSilent(
                    name, said_as("no agent is heard: the link to the scheduler, or the scheduler, stands still")
                )
            if seconds > SILENT_S:
                why = said_as(
                    "not heard for {seconds:.1f} s: its machine, its process or the link to it stands still",
                    seconds=seconds,
                )
                raise AgentLost(name, why)
        self.on_silent({name for name, seconds in silent_s.items() if seconds > MISSING_S})

    def _require_going_on(self) -> None:
        """Raises AgentFailed of one that is heard and comes to no end: its heartbeats alone would hold the run."""
        now_s, plans = time.monotonic(), self.planned[0][1]
        quiet_s, whole_s = patience_s(plans, self.rounds), longest_s(plans, self.rounds)
        for share in self._waiting():
            began_s = self.begin_ns / 1e9
            if now_s - share.went_on_s > quiet_s or now_s - began_s > whole_s:
                raise AgentFailed(
                    share.member.name,
                    said_as(
                        "it does not end: {seconds:.0f} s after it began it has not reported its record, and its last "
                        "interval came {quiet:.0f} s ago",
                        seconds=now_s - began_s,
                        quiet=now_s - share.went_on_s,
                    ),
                )

    def _own(self, share: _Share, number: int) -> DriveRecord:
        """A share's record of a plan; what ended because another agent's had is no reason of its own."""
        if share.records is None or len(share.records) != len(self._merged):
            raise AgentLost(share.member.name, said_as("it did not report its records"))
        record = share.records[number]
        return (
            record.model_copy(update={"stopped": None}) if self._stopped_by not in ("", share.member.name) else record
        )

    def _agent(self, share: _Share, record: DriveRecord, offset: ClockOffset) -> AgentRecordSet:
        began_ns = record.started_monotonic_ns
        return AgentRecordSet(
            name=share.member.name,
            host=share.member.host,
            here=self.here,
            cpus=share.cpus,
            skew_ns=None if began_ns is None else began_ns - offset.offset_ns - self.begin_ns,
            skew_bound_ns=offset.bound_ns,
            edge_ns=None if self.rounds is None else self._edge_ns,
        )


class _Said(BaseModel):
    """What an agent's engine says, or answers to its opening."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    type: str
    drive: str = ""
    why: Annotated[str, AfterValidator(lambda text: shortened(text, WHY_MAX))] = ""
    late: bool = False
    pid: int = 0
    cpus: int | None = None
    number: int = Field(default=0, ge=0)
    """Number of the plan that an interval is of."""
    interval: Interval | None = None
    records: list[DriveRecord] | None = None


def _short(record: DriveRecord) -> DriveRecord:
    """With a reason of its end that fits on a line."""
    if record.stopped is None:
        return record
    return record.model_copy(update={"stopped": shortened(record.stopped, WHY_MAX)})


def _read(name: str, line: object) -> _Said:
    """A line of an agent's engine. Raises AgentFailed where it is none."""
    try:
        said = _Said.model_validate_json(line if isinstance(line, str) else "")
    except ValidationError:
        said = None
    missing = said is None or {"interval": said.interval, "records": said.records}.get(said.type, said) is None
    if said is None or missing:
        raise AgentFailed(name, NO_MESSAGE)
    return said
