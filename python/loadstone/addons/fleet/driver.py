"""The driver of a fleet: every agent drives its share of one plan, all from one instant on, and one record comes of it.

Where an agent was lost the trial is invalid, and what becomes of the run is as the user asked
(`run.request.LostAgent`).
"""

import threading
import time
from collections.abc import Callable, Collection, Container, MutableSet, Sequence
from contextlib import suppress
from typing import Protocol

import numpy as np
from pydantic import ValidationError

from loadstone.addons.fleet import agent as on_agent
from loadstone.addons.fleet import fleet_drive
from loadstone.addons.fleet.cluster_seam import AgentFailed, AgentLost, ClockOffset, Cluster, Member
from loadstone.addons.fleet.fleet_drive import ANSWER_S, AllSilent, FleetDrive, LateOrder
from loadstone.drivers.driver import OnInterval, OnRest, RoundsOptions, nothing
from loadstone.drivers.outcome import AgentState, DriveRecord, OnStates
from loadstone.experiment.plan.drive_plan import Closed, Plan, Share
from loadstone.run.request import LostAgent
from loadstone.safety.errors import DriveFailed, FleetGone, Interrupted, UserError
from loadstone.text.language import _
from loadstone.text.message import AnyText, joined
from loadstone.text.message import said as said_as


def shares_of(plans: Sequence[Plan], agents: int, *, one_machine: bool) -> list[list[Plan]]:
    """The plans of so many agents, or of as many as have something to do in each of these.

    Each agent has the plan's threads, or fewer where there are fewer users or connections. CPUs are this machine's:
    elsewhere threads are not pinned, and agents beside each other take turns over them.
    """
    of = max(1, min(agents, *map(_most_threads, plans)))
    shared = [_shares_of(plan, of, one_machine=one_machine) for plan in plans]
    return [[shares[number] for shares in shared] for number in range(of)]


def _shares_of(plan: Plan, of: int, *, one_machine: bool) -> list[Plan]:
    threads = max(1, min(plan.threads, _most_threads(plan) // of))
    changed: dict[str, object] = {"threads": threads, "start_at_unix_ns": None}
    crowded = one_machine and of * threads > len(plan.cpus)
    if crowded:  # one that stays awake would take another's CPU
        changed["model"] = plan.model.model_copy(update={"spin_us": 0.0})
    shared = plan.model_copy(update=changed)
    return [
        shared.model_copy(
            update={
                "share": Share(number=number, of=of),
                "cpus": _turned(plan.cpus, number * threads) if one_machine else (),
            }
        )
        for number in range(of)
    ]


def require_shareable(plans: Collection[Plan], agents: int, option: str) -> None:
    """Raises UserError where a plan cannot be divided among so many; with the field and what helps."""
    for plan in plans:
        try:
            Plan.model_validate({**plan.model_dump(), "share": {"number": 0, "of": agents}})
        except ValidationError as error:
            problem = error.errors(include_url=False)[0].get("ctx", {}).get("error", error)
            raise UserError("{option}: {problem}", option=option, problem=problem) from None


def _most_threads(plan: Plan) -> int:
    """All threads together that have a connection to each endpoint that operations choose, and of users one."""
    apart = any(endpoint.slots or endpoint.replica_of is not None for endpoint in plan.endpoints)
    least = sum(endpoint.in_service for endpoint in plan.endpoints) if apart else 1
    most = plan.pool.connections // max(1, least)
    return min(most, plan.model.users) if isinstance(plan.model, Closed) else most


def _turned(cpus: Sequence[int], by: int) -> tuple[int, ...]:
    """Rotate the CPUs, so that the first thread of the next agent has the next CPU."""
    at = by % len(cpus) if cpus else 0
    return (*cpus[at:], *cpus[:at])


LEAD_S, LEAD_MAX_S = 0.3, 5.0
"""Between the order to begin and the beginning: the order reaches every agent in that time. Where it did not, the trial
is invalid, and the next one has twice as much."""
WAITED_S = 300.0
"""How long a lost agent is waited for, where the user asked to."""


class Clocks(Protocol):
    """The clocks of the agents, against this machine's."""

    def measure(self, members: Sequence[Member]) -> None:
        """Compare them now. Raises AgentLost."""

    def offset(self, member: Member, at_ns: int | None = None) -> ClockOffset:
        """At that time of this machine's CLOCK_MONOTONIC; None: now. Raises AgentLost where it was never compared."""

    def moved_ns(self, member: Member) -> int:
        """Return the nanoseconds by which a clock contradicted itself since the last call; 0: not at all."""


class FleetDriver:
    """Drives one plan at a time on all agents of a cluster; see `Driver`."""

    def __init__(
        self,
        cluster: Cluster,
        clocks: Clocks,
        *,
        lost_agent: LostAgent = "go-on",
        note: Callable[[str], None] = lambda _: None,
        show: OnStates = lambda _: None,
        one_machine: bool = False,
        pids: MutableSet[int] | None = None,
    ) -> None:
        """A driver on the agents of a cluster.

        Args:
            cluster: whose members with the role `agent` drive.
            clocks: of these.
            lost_agent: what becomes of the run when one was lost.
            note: told in a line when one was lost, and when the run waits for it.
            show: told how each agent is, whenever that changed.
            one_machine: they are processes on this machine.
            pids: of processes on this machine that make load; theirs are added.
        """
        self._cluster, self._clocks = cluster, clocks
        self._lost_agent, self._note, self._show = lost_agent, note, show
        self._shown: list[AgentState] = []
        self._one_machine, self._pids = one_machine, set[int]() if pids is None else pids
        self._own_pids: set[int] = set()
        """Process ids of the last drive among these."""
        self._agents = tuple(member for member in cluster.members if member.role == "agent")
        self._left_out: dict[str, AnyText] = {}
        """Agents that were lost, and why."""
        self._lead_s = LEAD_S
        self._drain_s = 0.0
        """Nine of ten slices of the last rounds were drained in that."""
        self._stopped = threading.Event()
        self._current: FleetDrive | None = None
        cluster.listen(on_agent.TOPIC, self._hear)

    def drive(
        self,
        shares: Sequence[Plan],
        on_interval: OnInterval,
        rounds: RoundsOptions | None = None,
        on_rest: OnRest = nothing,
    ) -> list[DriveRecord]:
        """See `Driver.drive`.

        Raises:
            AgentLost: an agent does not answer any more, or its engine ended.
            AgentFailed: it cannot do its part, its clock moved, or what it says is no message.
            FleetGone: no agent is left, or one was lost and the run is to end then.
            DriveFailed: also in rounds of which applications stand still in the others' slices: agents do not know
                when all of them are drained.
        """
        if rounds is not None and any(rounds.paused):
            raise DriveFailed(
                "fleet: applications cannot stand still while others have their turn; set rounds to never"
            )
        members = self._ready()
        plans = shares_of(shares, len(members), one_machine=self._one_machine)
        planned = list(zip(members, plans, strict=False))
        drive = FleetDrive(
            self._cluster,
            planned,
            on_interval,
            self._stopped,
            self._lead_s,
            rounds,
            here=self._one_machine,
            on_silent=self._show_states,
        )
        self._current = drive
        self._show_states()
        try:
            return self._driven(drive, on_rest)
        except AgentLost as lost:
            self._lose(lost)
            raise
        except LateOrder:
            self._lead_s = min(LEAD_MAX_S, 2 * self._lead_s)
            raise
        finally:
            drive.close()
            self._current = None

    def stop(self) -> None:
        """See `Driver.stop`; the order reaches each agent as fast as the cluster passes it on."""
        self._stopped.set()

    def recorded(self, word: str) -> dict[str, object]:
        """For the environment's record: how the fleet was named, and its agents."""
        return {"fleet": word, "agents": [{"name": one.name, "host": one.host} for one in self._agents]}

    def _driven(self, drive: FleetDrive, on_rest: OnRest) -> list[DriveRecord]:
        try:
            self._clocks.measure(drive.members)
            for member in drive.members:
                self._clocks.moved_ns(member)  # before this drive: it has the new offset
            drive.open(max(self._clocks.offset(member).bound_ns for member in drive.members), self._drain_s)
            self._count(drive.pids)
            drive.begin({member.name: self._clocks.offset(member) for member in drive.members})
            drive.follow(on_rest)
        except BaseException:
            drive.abandon()
            self._count(set())
            raise
        with suppress(AgentLost, AgentFailed):  # all of the trial is here; the next one finds out
            self._clocks.measure(drive.members)
        for member in drive.members:
            self._require_steady(member)
        records = drive.records({member.name: self._clocks.offset(member, drive.begin_ns) for member in drive.members})
        drains_s = [one.drained_s - one.end_s for record in records for one in record.slices]
        if drains_s:
            self._drain_s = float(np.quantile(drains_s, 0.9))
        return records

    def _count(self, pids: set[int]) -> None:
        """Engines on this machine are part of what makes the load; those of earlier drives are no more."""
        self._pids -= self._own_pids
        self._own_pids = pids if self._one_machine else set()
        self._pids |= self._own_pids

    def _require_steady(self, member: Member) -> None:
        """Raises AgentFailed where nobody knows when it began."""
        moved_ns = self._clocks.moved_ns(member)
        if moved_ns:
            raise AgentFailed(
                member.name,
                said_as(
                    "its monotonic clock moved by {moved_ns:.3g} ms in this trial: its machine was "
                    "suspended, or its clock is slewed faster than NTP does",
                    moved_ns=moved_ns / 1e6,
                ),
            )

    def _hear(self, name: str, message: object) -> None:
        drive = self._current
        if drive is not None:
            drive.heard.put((name, message, time.monotonic()))

    def _show_states(self, silent: Container[str] = ()) -> None:
        """Show the states of the agents; `silent` are those that are not lost and miss a heartbeat."""
        states = [
            AgentState(name=name, state="lost", why=self._left_out[name])
            if name in self._left_out
            else AgentState(name=name, state="silent" if name in silent else "ready")
            for name in (member.name for member in self._agents)
        ]
        if states != self._shown:
            self._shown = states
            self._show(states)

    def _lose(self, lost: AgentLost) -> None:
        names = [member.name for member in self._agents] if isinstance(lost, AllSilent) else [lost.name]
        self._left_out.update((name, lost.why) for name in names if name not in self._left_out)
        self._show_states()
        self._note(_("{lost}; this trial does not count", lost=lost))
        # Its load ends with its lease: till then no counter of a server is read for the next trial, and no key removed.
        time.sleep(fleet_drive.LEASE_S + fleet_drive.RENEWED_EVERY_S)

    def _ready(self) -> list[Member]:
        """The agents that drive next. Raises FleetGone, Interrupted."""
        for name, why in self._cluster.lost().items():
            if any(name == member.name for member in self._agents) and name not in self._left_out:
                self._left_out[name] = why
        if self._left_out and self._lost_agent == "end":
            name, why = next(iter(self._left_out.items()))
            raise FleetGone(
                "fleet: agent {name} was lost ({why}), and --lost-agent end ends the run then", name=name, why=why
            )
        if self._left_out and self._lost_agent == "wait":
            self._await_lost()
        ready = [member for member in self._agents if member.name not in self._left_out]
        if not ready:
            reasons = sorted(set(self._left_out.values()), key=str)
            whys = joined("; ", reasons) if reasons else said_as("it has no agents")
            raise FleetGone("fleet: no agent is left ({whys}); start them again", whys=whys)
        return ready

    def _await_lost(self) -> None:
        """Until every agent that was lost answers again. Raises FleetGone, Interrupted."""
        until_s = time.monotonic() + WAITED_S
        agents = ", ".join(sorted(self._left_out))
        self._note(_("waiting for {agents}, for {seconds:g} s at most", agents=agents, seconds=WAITED_S))
        for member in self._agents:
            while member.name in self._left_out:
                try:
                    self._cluster.call(member, on_agent.here, timeout_s=ANSWER_S)
                    del self._left_out[member.name]
                except (AgentLost, AgentFailed) as problem:
                    if time.monotonic() > until_s:
                        why = said_as("{why}; it was waited for {seconds:g} s", why=problem.why, seconds=WAITED_S)
                        raise FleetGone(
                            "fleet: agent {name} does not answer again ({why})", name=member.name, why=why
                        ) from None
                    self._pause(fleet_drive.RENEWED_EVERY_S)

    def _pause(self, seconds: float) -> None:
        if seconds > 0 and self._stopped.wait(seconds):
            raise Interrupted("interrupted; what was finished is kept")
