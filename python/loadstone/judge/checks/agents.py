"""What holds for each agent of a fleet and not only for their sum: one that lags is lost in the average of many."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from loadstone.drivers.outcome import AgentRecord, ThreadRecord
from loadstone.judge.checks.check import Finding, Limit, MeasuredFigure, NotObserved, check, share
from loadstone.judge.checks.evidence import TrialEvidence
from loadstone.text.message import Message, message

BEGINNING = Limit(1, 5, "%", "J: for so much of a measured window not every agent made load")


@dataclass(frozen=True)
class AgentThreads:
    """An agent with its threads."""

    agent: AgentRecord
    threads: list[ThreadRecord]


def agents_of(evidence: TrialEvidence) -> Iterator[AgentThreads]:
    """The agents of a fleet; none of a single driver."""
    first = 0
    for agent in evidence.drive.agents:
        yield AgentThreads(agent, evidence.drive.threads[first : first + agent.threads])
        first += agent.threads


def worst_agent(evidence: TrialEvidence, figure: Callable[[AgentRecord], float | None]) -> tuple[float, str] | None:
    """The largest figure that any agent has, and that agent's name; None where none has one."""
    figures = [(value, agent.name) for agent in evidence.drive.agents if (value := figure(agent)) is not None]
    return max(figures, key=lambda one: one[0], default=None)


def of_agent(name: str, reason: Message) -> Message:
    """The reason, with whose it is."""
    return message("check.of_agent", agent=name, reason=reason)


@check(BEGINNING)
def beginning(evidence: TrialEvidence) -> Finding | None:
    """Check how far apart the agents of a fleet began at most, against the shortest window that was measured.

    In rounds all make load for an edge before and after each window: that far they may be apart.
    """
    agents = evidence.drive.agents
    if len(agents) < 2:
        return None
    skews = [
        (agent, agent.skew_ns + (agent.start_lag_ns or 0), agent.skew_bound_ns)
        for agent in agents
        if agent.skew_ns is not None and agent.skew_bound_ns is not None
    ]
    if len(skews) < len(agents):
        known = {agent.name for agent, _, _ in skews}
        return NotObserved(message("check.beginning.not_known", agents=[a.name for a in agents if a.name not in known]))
    windows_s = [one.end_s - one.begin_s for one in evidence.drive.slices] or [evidence.drive.measure_s]
    apart_ns = max(skew + bound for _, skew, bound in skews) - min(skew - bound for _, skew, bound in skews)
    farthest, skew_ns, bound_ns = max(skews, key=lambda one: abs(one[1]) + one[2])
    apart_ns = max(0, apart_ns - min(agent.edge_ns or 0 for agent in agents))
    reason = message("check.beginning.apart", agent=farthest.name, skew_ns=skew_ns, bound_ns=bound_ns)
    return MeasuredFigure(share(apart_ns / 1e9, min(windows_s)), reason)
