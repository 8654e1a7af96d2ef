"""What the checks of one trial look at: its record, and the facts in it."""

from dataclasses import dataclass

from loadstone.drive.outcome import DriveRecord
from loadstone.plan.model import Closed, Open, Plan
from loadstone.record.facts import ServerCounters, TrialFacts
from loadstone.record.trial import TrialRecord


@dataclass(frozen=True)
class TrialEvidence:
    """One trial that was driven, whether to its end or not."""

    trial: TrialRecord
    facts: TrialFacts
    drive: DriveRecord

    @property
    def plan(self) -> Plan:
        return self.facts.plan

    @property
    def closed(self) -> Closed | None:
        """The closed model, if that is the trial's."""
        return self.plan.model if isinstance(self.plan.model, Closed) else None

    @property
    def open(self) -> Open | None:
        """The open model, if that is the trial's."""
        return self.plan.model if isinstance(self.plan.model, Open) else None

    @property
    def http(self) -> bool:
        """Whether the load is HTTP requests: then the servers that were asked stand behind an application."""
        return self.plan.protocol == "http1"

    @property
    def ours(self) -> bool:
        """Whether loadstone started every server, so that nobody else works with them."""
        return self.facts.placement is not None

    @property
    def server_sides(self) -> list[tuple[ServerCounters, ServerCounters]]:
        """Each server right before and right after the drive, of those that could be asked and ran on."""
        sides = [(server.before, server.after) for server in self.facts.servers.values()]
        return [(b, a) for b, a in sides if b is not None and a is not None and b.run_id == a.run_id]

    def counted(self, name: str) -> float | None:
        """How much a figure of INFO grew during the drive, all servers together; None if one does not tell."""
        sides = self.server_sides
        if not sides or len(sides) < len(self.facts.servers):
            return None
        if any(name not in side.counters for pair in sides for side in pair):
            return None
        return sum(after.counters[name] - before.counters[name] for before, after in sides)

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
        """How long the load lasted, all phases."""
        return max((phase.end_s for phase in self.drive.phases.values()), default=0.0)


def evidence_of(trial: TrialRecord) -> TrialEvidence | None:
    """The evidence in a trial's line; None if it was never driven. Raises ValidationError if its facts are damaged."""
    facts = TrialFacts.model_validate(trial.facts)
    return TrialEvidence(trial, facts, facts.drive) if facts.drive is not None else None
