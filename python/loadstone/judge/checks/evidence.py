"""What the checks of one trial look at: its record, and the facts in it."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.drivers.outcome import CommandRecord, DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Open, Plan
from loadstone.experiment.plan.protocols import PROTOCOLS
from loadstone.experiment.software import SOFTWARE
from loadstone.experiment.spec.driver_names import NATIVE
from loadstone.monitors.part_kind import PartKind
from loadstone.run_folder.facts import DRIVER, LINK, OWN, PartCpu, ServerCounters, ServerTrial, TrialFacts, owner_of
from loadstone.run_folder.part_kinds import declared, has_counters, stores_of
from loadstone.run_folder.trial import TrialRecord

KEPT = 0.99
"""J: of a rate that was set, so much is answered where it is held."""


@dataclass(frozen=True)
class TrialEvidence:
    """One trial that was driven, whether to its end or not."""

    trial: TrialRecord
    plan: Plan
    drive: DriveRecord

    @property
    def facts(self) -> TrialFacts:
        return self.trial.facts

    @property
    def closed(self) -> Closed | None:
        """The closed model, if that is the trial's."""
        return self.facts.closed

    @property
    def open(self) -> Open | None:
        """The open model, if that is the trial's."""
        return self.facts.open

    @property
    def kept_rate(self) -> bool:
        """Whether the rate was set, and held: nearly all that was due was answered."""
        counts = self.trial.counts
        return self.open is not None and counts.ok > 0 and counts.ok >= KEPT * counts.offered

    @property
    def client(self) -> str | None:
        """What makes the load where that is part of what is measured: a client library's program, or any driver that
        stands beside another one. None where it is a mere means."""
        if self.drive.program is not None:
            return self.drive.program.library
        return NATIVE if "driver" in self.facts.studied else None

    @property
    def http(self) -> bool:
        """Whether the load is HTTP requests: then the servers that are watched stand behind an application."""
        return PROTOCOLS[self.plan.protocol].is_http

    @property
    def has_redis(self) -> bool:
        """Whether the checks of a Redis apply: one was watched, or the load was for one.

        What the target is, is its recorded kind; where the record does not have it, what the load's protocol is of.
        """
        known = [SOFTWARE[kind] for kind in self.facts.kinds.values() if kind in SOFTWARE]
        if known:
            return any(software.of_redis for software in known)
        return bool(self.facts.servers) or PROTOCOLS[self.plan.protocol].of_redis

    @property
    def has_counters(self) -> bool:
        """Whether a server keeps counters of its own that the record has, or a Redis was to."""
        return self.has_redis or any(has_counters(name, self.facts.kinds) for name in self.facts.kinds)

    @property
    def targets(self) -> dict[str, ServerTrial]:
        """The servers that got the load, where that was commands of Redis."""
        servers, target = self.facts.servers, self.facts.target
        return {name: server for name, server in servers.items() if target in (None, name)}

    def subject_of(self, part: str) -> str | None:
        """The subject that a part is a replica of; None if it is none."""
        return owner_of(part, self.facts.subjects)

    def server_of(self, part: str) -> str | None:
        """The server that a part belongs to; None if it is none."""
        return owner_of(part, self.stores)

    def kind_of(self, part: str) -> PartKind:
        """What is declared of the kind of a part."""
        return declared(self.facts.kind_of(part))

    @property
    def stores(self) -> list[str]:
        """The servers that hold data, by their names in the experiment."""
        return stores_of(self.facts)

    @property
    def server_parts(self) -> dict[str, PartCpu]:
        """The CPU of servers and subjects, by part; a line to a server runs on the generator's side."""
        parts = self.facts.parts.items()
        return {name: p for name, p in parts if name not in (DRIVER, OWN) and self.facts.kind_of(name) != LINK}

    @property
    def own_share(self) -> float:
        """CPU of the driver and of loadstone itself on this machine, in cores; agents elsewhere use none of it."""
        own = {OWN} if self.drive.agents and not any(agent.here for agent in self.drive.agents) else {DRIVER, OWN}
        return sum(part.mean_share for name, part in self.facts.parts.items() if name in own)

    @property
    def ours(self) -> bool:
        """Whether loadstone started every server, so that no one else works with them."""
        return self.facts.placement is not None

    @property
    def server_sides(self) -> list[tuple[ServerCounters, ServerCounters]]:
        """Each server right before and right after the drive, of those that answered and ran on."""
        return self._sides(self.facts.servers)

    @staticmethod
    def _sides(servers: Mapping[str, ServerTrial]) -> list[tuple[ServerCounters, ServerCounters]]:
        sides = [(server.before, server.after) for server in servers.values()]
        return [(b, a) for b, a in sides if b is not None and a is not None and b.run_id == a.run_id]

    def counted(self, name: str) -> float | None:
        """Return how much a figure of INFO grew on the servers that got the load; None if one of them does not tell."""
        sides = self._sides(self.targets)
        if not sides or len(sides) < len(self.targets):
            return None
        if any(name not in side.counters for pair in sides for side in pair):
            return None
        return sum(after.counters[name] - before.counters[name] for before, after in sides)

    @property
    def commands(self) -> dict[str, CommandRecord]:
        """Commands that the servers got of all drives: of this one and of those in its company."""
        own, company = self.drive.commands, self.facts.company
        if company is None:
            return own
        none = CommandRecord(sent=0, replied=0)
        both = {name: (own.get(name, none), company.commands.get(name, none)) for name in {*own, *company.commands}}
        return {name: a + b for name, (a, b) in both.items()}

    @property
    def bytes_sent(self) -> int:
        """What the servers got of all drives."""
        return self.drive.bytes_sent + (self.facts.company.bytes_sent if self.facts.company is not None else 0)

    @property
    def completed(self) -> int:
        """Operations completed within the measure phase."""
        return sum(operation.window_completed for operation in self.drive.operations.values())

    @property
    def queued_ns(self) -> float:
        """Mean time that an operation queued for a connection: without the driver's own lateness, which delays
        operations that find a connection at once, too."""
        waits, lags = self.drive.pool_wait_ns, self.drive.schedule_lag_ns
        return max(0.0, waits.mean * waits.count - lags.mean * lags.count) / waits.count if waits.count else 0.0

    @property
    def driven_s(self) -> float:
        """Return how long the load lasted, all phases."""
        return max((phase.end_s for phase in self.drive.phases.values()), default=0.0)


def evidence_of(trial: TrialRecord) -> TrialEvidence | None:
    """The evidence in a trial's line; None if it was never driven, or its facts were damaged."""
    plan, drive = trial.facts.plan, trial.facts.drive
    return None if plan is None or drive is None else TrialEvidence(trial, plan, drive)
