"""What several agents deliver, as one: exactly what one driver with all of their threads would have delivered.

Counts are added. Histograms are added as counts, and every summary is made again from the sum: percentiles have none.
Times are in seconds since each agent's own beginning; where agents differ in when something began or ended, it is at
the latest of them, as with the threads of one driver. Merging in a tree yields the same: what is merged can be merged.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from loadstone.drivers.histogram import Histogram, added
from loadstone.drivers.outcome import (
    AgentRecord,
    BackEndRecord,
    CommandRecord,
    Connections,
    Counts,
    DriveRecord,
    EndpointRecord,
    ErrorExample,
    Failover,
    Interval,
    IntervalOperation,
    OperationRecord,
    Phase,
    PhaseTimes,
    ReadBack,
    Redirections,
    Stall,
)
from loadstone.drivers.slices import PartSlice, Slice
from loadstone.safety.errors import DriveFailed

T = TypeVar("T")
_PHASES: tuple[Phase, ...] = ("ramp_up", "warm_up", "measure", "drain")


@dataclass(frozen=True)
class AgentRecordSet:
    """Whose record it is; see `AgentRecord`."""

    name: str
    host: str
    here: bool = False
    cpus: int | None = None
    skew_ns: int | None = None
    skew_bound_ns: int | None = None
    edge_ns: int | None = None


def merged_interval(intervals: Sequence[Interval]) -> Interval:
    """Return one interval made of the same interval of several agents, of at least one.

    Its number, and when it began on the wall clock, are those of the first one. Connections, users and what waits are
    added; CPU times stand in the order of the agents.

    Raises:
        DriveFailed: they are of different phases or operations, or a histogram cannot be read or added.
    """
    first = intervals[0]
    if len(intervals) == 1:
        return first
    _require_alike("phases", [one.phase for one in intervals])
    start_s = min(one.start_s for one in intervals)
    longest = max(intervals, key=lambda one: one.start_s + one.duration_s)
    in_slices = first.first_round is not None
    return Interval(
        index=first.index,
        phase=first.phase,
        start_s=start_s,
        # In slices it is the length of what was measured, and not from the beginning to the end.
        duration_s=max(one.duration_s for one in intervals)
        if in_slices
        else longest.start_s + longest.duration_s - start_s,
        first_round=_least(one.first_round for one in intervals),
        last_round=_most(one.last_round for one in intervals),
        start_unix_ns=first.start_unix_ns,
        operations=_by_name([one.operations for one in intervals], _interval_operation),
        bytes_sent=sum(one.bytes_sent for one in intervals),
        bytes_received=sum(one.bytes_received for one in intervals),
        connections=sum(one.connections for one in intervals),
        users=sum(one.users for one in intervals),
        backlog=sum(one.backlog for one in intervals),
        cpu_s=[spent_s for one in intervals for spent_s in one.cpu_s],
        agents=tuple(agent for one in intervals for agent in one.agents),
    )


def merged_record(records: Sequence[DriveRecord], agents: Sequence[AgentRecordSet] = ()) -> DriveRecord:
    """The records of several agents, of at least one; those of a fleet with its `agents`, one each.

    When the load began on the wall clock is the first one's; other machines' monotonic clocks mean nothing here, and of
    the threads that began late it is the latest. Of what has no sum: the coarsest clock, and the wall clock
    that was set furthest; it was stopped for the reason of the first agent that has one, which is named if agents are;
    the server stood still while it answered no agent, the driver while any agent's threads did not run; outages that
    overlap are one. A slice is that of all agents that has its number, and what not every agent measured is none: as
    counts hold what each measured, the time of the measure phase is then the mean of all agents'. A part's CPU is that
    of the first agent that read it. What a machine's CPUs did is told of the command's alone, by the first agent there.

    Raises:
        DriveFailed: they are of different engines or operations, of a client library or of receivers, whose figures
            cannot be added; or a histogram cannot be read or added, or is missing.
    """
    if agents:
        records = [_with_agent(record, agent) for record, agent in zip(records, agents, strict=True)]
    if len(records) == 1:
        return records[0]
    _require_mergeable(records)
    return _of_several(records)


def _of_several(records: Sequence[DriveRecord]) -> DriveRecord:
    phases = _phases(records)
    slices = _slices(records)
    waits = _latencies(records, "pool_wait_histogram")
    lags = _latencies(records, "schedule_lag_histogram")
    notices = None
    if all(record.notice_lag_ns is not None for record in records):
        notices = _latencies(records, "notice_lag_histogram")
    agents = tuple(agent for record in records for agent in record.agents)
    return DriveRecord(
        format=1,
        engine=records[0].engine,
        started_unix_ns=records[0].started_unix_ns,
        started_monotonic_ns=None,
        start_lag_ns=_most(record.start_lag_ns for record in records),
        phases=phases,
        measure_s=_measured_s(records) if slices else phases["measure"].end_s - phases["measure"].start_s,
        operations=_by_name([record.operations for record in records], _operation),
        total=Counts.sum([record.total for record in records]),
        pool_wait_ns=waits.summary(),
        schedule_lag_ns=lags.summary(),
        notice_lag_ns=None if notices is None else notices.summary(),
        pool_wait_histogram=waits.text(),
        schedule_lag_histogram=lags.text(),
        notice_lag_histogram=None if notices is None else notices.text(),
        commands=_commands(records),
        bytes_sent=sum(record.bytes_sent for record in records),
        bytes_received=sum(record.bytes_received for record in records),
        threads=[thread for record in records for thread in record.threads],
        back_end=_back_end([record.back_end for record in records]),
        slices=slices,
        cpus=next((record.cpus for record in records if _is_here(record)), {}),
        connections=_summed(Connections, [record.connections for record in records]),
        redirections=_redirections([record.redirections for record in records]),
        failovers=_failovers(records),
        stalls=_stalls(records),
        endpoints=_endpoints([record.endpoints for record in records]),
        read_back=_summed(ReadBack, [record.read_back for record in records]),
        examples=_examples(records),
        overflowed=sum(record.overflowed for record in records),
        joined_intervals=sum(record.joined_intervals for record in records),
        clock_quantum_ns=max(record.clock_quantum_ns for record in records),
        clock_set_s=max((record.clock_set_s for record in records), key=abs),
        stopped=next((record.stopped for record in records if record.stopped is not None), None),
        agents=agents,
    )


class MergedIntervals:
    """Puts the intervals of agents together as they come: each is handed on when every agent has delivered it.

    Not thread-safe. An agent that has nothing to deliver for an interval does not hold it up once it is past it, nor
    does one that is lost.
    """

    def __init__(self, agents: Iterable[str]) -> None:
        self._reached: dict[str, _Place | None] = dict.fromkeys(agents)
        self._order = list(self._reached)
        self._pending: dict[_Place, dict[str, Interval]] = {}
        self._published = 0

    def take(self, agent: str, interval: Interval) -> list[Interval]:
        """The intervals that are complete with the next one of this agent, in their order; raises as
        `merged_interval`."""
        place = _Place.after(self._reached[agent], interval)
        self._reached[agent] = place
        self._pending.setdefault(place, {})[agent] = interval
        return self._complete()

    def without(self, agent: str) -> list[Interval]:
        """What is complete without this agent, which will deliver no more."""
        self._reached.pop(agent, None)
        return self._complete()

    def rest(self) -> list[Interval]:
        """All that is left, once no agent delivers any more."""
        self._reached.clear()
        return self._complete()

    def _complete(self) -> list[Interval]:
        reached = list(self._reached.values())
        known = [place for place in reached if place is not None]
        if len(known) < len(reached):
            return []
        places = sorted(place for place in self._pending if not known or place <= min(known))
        return [self._merged(self._pending.pop(place)) for place in places]

    def _merged(self, by_agent: Mapping[str, Interval]) -> Interval:
        interval = merged_interval([by_agent[agent] for agent in self._order if agent in by_agent])
        self._published += 1
        return replace_index(interval, self._published - 1)


def replace_index(interval: Interval, index: int) -> Interval:
    """The interval under another number."""
    return interval if interval.index == index else interval.model_copy(update={"index": index})


@dataclass(frozen=True, order=True)
class _Place:
    """Which of a drive's intervals it is, the same for all agents: they follow one plan.

    In slices both of one batch end with the same round, that of what lies outside of the windows first.
    """

    last_round: int
    phase: int
    number: int

    @classmethod
    def after(cls, before: "_Place | None", interval: Interval) -> "_Place":
        last_round = -1 if interval.last_round is None else interval.last_round
        phase = _PHASES.index(interval.phase)
        if interval.last_round is not None:
            phase = 1 if interval.phase == "measure" else 0
        is_next = before is not None and (before.last_round, before.phase) == (last_round, phase)
        number = before.number + 1 if is_next and before is not None else 0
        return cls(last_round, phase, number + interval.joined)


def _with_agent(record: DriveRecord, agent: AgentRecordSet) -> DriveRecord:
    """The record with what a check asks of each agent, and the agent's name where it stopped."""
    operations = record.operations.values()
    bounded = [one.least_histogram for one in operations if one.least_histogram is not None]
    own = AgentRecord(
        **asdict(agent),
        start_lag_ns=record.start_lag_ns,
        counts=Counts.sum([one.counts for one in operations]),
        measure_s=record.measure_s,
        threads=len(record.threads),
        response_ns=_added(one.response_histogram for one in operations).summary(),
        least_ns=_added(bounded).summary() if operations and len(bounded) == len(operations) else None,
        schedule_lag_ns=record.schedule_lag_ns,
        stalls=record.stalls,
        clock_quantum_ns=record.clock_quantum_ns,
        clock_set_s=record.clock_set_s,
        stopped=record.stopped,
    )
    stopped = None if record.stopped is None else f"agent {agent.name}: {record.stopped}"
    return record.model_copy(update={"agents": (own,), "stopped": stopped})


def _require_mergeable(records: Sequence[DriveRecord]) -> None:
    _require_alike("engines", [record.engine for record in records])
    if any(record.program is not None for record in records):
        raise DriveFailed("fleet: drives of a client library's program cannot be merged; use the native driver")
    if any(record.receivers is not None or record.acknowledged is not None for record in records):
        raise DriveFailed("fleet: receivers and acknowledged writes are of one agent; use a fleet of one for them")


def _require_alike(what: str, values: Sequence[object]) -> None:
    other = next((value for value in values if value != values[0]), None)
    if other is not None:
        raise DriveFailed(
            "fleet: agents differ in their {what} ({values} and {other}); install one version on all",
            what=what,
            values=values[0],
            other=other,
        )


def _by_name(mappings: Sequence[Mapping[str, T]], merge: Callable[[list[T]], T]) -> dict[str, T]:
    _require_alike("operations", [", ".join(sorted(mapping)) for mapping in mappings])
    return {name: merge([mapping[name] for mapping in mappings]) for name in mappings[0]}


def _interval_operation(parts: list[IntervalOperation]) -> IntervalOperation:
    response = _added(part.response_histogram for part in parts)
    bounded = [part.least_histogram for part in parts if part.least_histogram is not None]
    return IntervalOperation(
        offered=sum(part.offered for part in parts),
        sent=sum(part.sent for part in parts),
        ok=sum(part.ok for part in parts),
        errors=_errors(part.errors for part in parts),
        timeouts=sum(part.timeouts for part in parts),
        dropped=sum(part.dropped for part in parts),
        response_ns=response.summary(),
        response_histogram=response.text(),
        service_histogram=_added(part.service_histogram for part in parts).text(),
        least_histogram=_added(bounded).text() if len(bounded) == len(parts) else None,
    )


def _operation(parts: list[OperationRecord]) -> OperationRecord:
    response = _added(part.response_histogram for part in parts)
    service = _added(part.service_histogram for part in parts)
    bounded = [part.least_histogram for part in parts if part.least_histogram is not None]
    least = _added(bounded) if len(bounded) == len(parts) else None
    return OperationRecord(
        counts=Counts.sum([part.counts for part in parts]),
        window_completed=sum(part.window_completed for part in parts),
        window_ok=sum(part.window_ok for part in parts),
        response_ns=response.summary(),
        service_ns=service.summary(),
        response_sum_ns=sum(part.response_sum_ns for part in parts),
        earlier_ns=sum(part.earlier_ns for part in parts),
        response_histogram=response.text(),
        service_histogram=service.text(),
        least_ns=None if least is None else least.summary(),
        least_histogram=None if least is None else least.text(),
    )


def _added(texts: Iterable[str]) -> Histogram:
    try:
        return added(Histogram.read(text) for text in texts)
    except ValueError as error:
        raise DriveFailed("fleet: {error}", error=error) from None


def _latencies(records: Sequence[DriveRecord], name: str) -> Histogram:
    texts = [text for record in records if (text := getattr(record, name)) is not None]
    if len(texts) < len(records):
        raise DriveFailed("fleet: an agent's record has no {name}; install one version on all", name=name)
    return _added(texts)


def _errors(each: Iterable[Mapping[str, int]]) -> dict[str, int]:
    errors: dict[str, int] = {}
    for kinds in each:
        for kind, number in kinds.items():
            errors[kind] = errors.get(kind, 0) + number
    return errors


def _phases(records: Sequence[DriveRecord]) -> dict[Phase, PhaseTimes]:
    """At the latest of them."""
    every = [record.phases for record in records]
    return {
        phase: PhaseTimes(
            start_s=max(phases[phase].start_s for phases in every if phase in phases),
            end_s=max(phases[phase].end_s for phases in every if phase in phases),
        )
        for phase in _PHASES
        if any(phase in phases for phases in every)
    }


def _commands(records: Sequence[DriveRecord]) -> dict[str, CommandRecord]:
    commands: dict[str, CommandRecord] = {}
    for name, command in (item for record in records for item in record.commands.items()):
        commands[name] = commands[name] + command if name in commands else command
    return commands


def _back_end(parts: Sequence[BackEndRecord | None]) -> BackEndRecord | None:
    """As of threads: where one of them did not get what the others have, that one's."""
    known = [part for part in parts if part is not None]
    unlike = (part for part in known[1:] if part != known[0] and part.why_not_io_uring is not None)
    return next(unlike, known[0] if known else None)


S = TypeVar("S", Connections, ReadBack, EndpointRecord)


def _summed(kind: type[S], parts: Sequence[S]) -> S:
    """Return the sums of records that hold nothing but counts."""
    return kind(**{name: sum(getattr(part, name) for part in parts) for name in kind.model_fields})


def _endpoints(parts: Sequence[Sequence[EndpointRecord]]) -> list[EndpointRecord]:
    most = max(len(part) for part in parts)
    return [_summed(EndpointRecord, [part[at] for part in parts if at < len(part)]) for at in range(most)]


def _redirections(parts: Sequence[Redirections | None]) -> Redirections | None:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    counts = {name: sum(getattr(part, name) for part in known) for name in _REDIRECTED}
    addresses = (part.unknown_address for part in known if part.unknown_address is not None)
    return Redirections(**counts, unknown_address=next(addresses, None))


_REDIRECTED = ("moved", "ask", "too_many", "in_transaction", "unknown")


def _failovers(records: Sequence[DriveRecord]) -> tuple[Failover, ...]:
    """Those that overlap are one, until the first agent was answered."""
    gaps = sorted((gap for record in records for gap in record.failovers), key=lambda gap: gap.lost_s)
    merged: list[Failover] = []
    last_s = 0.0
    for gap in gaps:
        until_s = float("inf") if gap.answered_s is None else gap.answered_s
        if not merged or gap.lost_s > last_s:
            merged.append(gap)
            last_s = until_s
            continue
        last_s = max(last_s, until_s)
        if gap.answered_s is not None and (merged[-1].answered_s is None or gap.answered_s < merged[-1].answered_s):
            merged[-1] = merged[-1].model_copy(update={"answered_s": gap.answered_s, "primary": gap.primary})
    return tuple(merged)


def _stalls(records: Sequence[DriveRecord]) -> tuple[Stall, ...]:
    """As of threads: see `merged_record`."""
    stalls = [*_of_server([record.stalls for record in records]), *_of_driver(records)]
    return tuple(sorted(stalls, key=lambda stall: stall.begin_s))


def _of_server(by_agent: Sequence[Sequence[Stall]]) -> list[Stall]:
    """Where no agent heard anything; requests of all of them waited."""
    common = [stall for stall in by_agent[0] if stall.of == "server"]
    for stalls in by_agent[1:]:
        pairs = ((one, other) for one in common for other in stalls if other.of == "server")
        common = [
            Stall(
                of="server",
                begin_s=max(one.begin_s, other.begin_s),
                end_s=min(one.end_s, other.end_s),
                waiting=one.waiting + other.waiting,
            )
            for one, other in pairs
            if max(one.begin_s, other.begin_s) < min(one.end_s, other.end_s)
        ]
    return common


def _of_driver(records: Sequence[DriveRecord]) -> list[Stall]:
    """Where any agent's threads did not run: what overlaps is one."""
    every = sorted(
        (stall for record in records for stall in record.stalls if stall.of == "driver"), key=lambda one: one.begin_s
    )
    merged: list[Stall] = []
    for stall in every:
        if not merged or stall.begin_s > merged[-1].end_s:
            merged.append(stall)
            continue
        last = merged[-1]
        merged[-1] = Stall(
            of="driver",
            begin_s=last.begin_s,
            end_s=max(last.end_s, stall.end_s),
            waiting=last.waiting + stall.waiting,
            no_cpu_s=max(last.no_cpu_s, stall.no_cpu_s),
        )
    return merged


def _examples(records: Sequence[DriveRecord]) -> tuple[ErrorExample, ...]:
    """One of each operation and kind."""
    first: dict[tuple[str, str], ErrorExample] = {}
    for example in (one for record in records for one in record.examples):
        first.setdefault((example.operation, example.kind), example)
    return tuple(first[key] for key in sorted(first))


def _is_here(record: DriveRecord) -> bool:
    return any(agent.here for agent in record.agents)


def _slices(records: Sequence[DriveRecord]) -> tuple[Slice, ...]:
    by_round = [{one.round: one for one in record.slices} for record in records]
    here = next((place for place, record in enumerate(records) if _is_here(record)), None)
    common = [number for number in by_round[0] if all(number in slices for slices in by_round)]
    return tuple(_slice([slices[number] for slices in by_round], here) for number in common)


def _measured_s(records: Sequence[DriveRecord]) -> float:
    """For how long an agent measured, on average."""
    agents = [max(1, len(record.agents)) for record in records]
    return sum(number * record.measure_s for number, record in zip(agents, records, strict=True)) / sum(agents)


def _slice(parts: Sequence[Slice], here: int | None) -> Slice:
    _require_alike("orders of slices", [part.position for part in parts])
    return replace(
        parts[0],
        paused_s=_most(part.paused_s for part in parts),
        begin_s=max(part.begin_s for part in parts),
        end_s=max(part.end_s for part in parts),
        drained_s=max(part.drained_s for part in parts),
        offered=sum(part.offered for part in parts),
        completed=sum(part.completed for part in parts),
        ok=sum(part.ok for part in parts),
        ok_first_half=_sum_of(part.ok_first_half for part in parts),
        failed=sum(part.failed for part in parts),
        ended=_sum_of(part.ended for part in parts),
        response_sum_ns=_sum_of(part.response_sum_ns for part in parts),
        cpu_s=sum(part.cpu_s for part in parts),
        turn_ok=_sum_of(part.turn_ok for part in parts),
        cpus_busy_s=None if here is None else parts[here].cpus_busy_s,
        parts=_parts(parts),
    )


def _parts(slices: Sequence[Slice]) -> dict[str, PartSlice]:
    found: dict[str, PartSlice] = {}
    for one in slices:
        for name, part in one.parts.items():
            found.setdefault(name, part)
    return found


N = TypeVar("N", int, float)


def _sum_of(values: Iterable[N | None]) -> N | None:
    """None where one of them is not known."""
    every = list(values)
    known = [value for value in every if value is not None]
    return sum(known[1:], known[0]) if len(known) == len(every) else None


def _most(values: Iterable[N | None]) -> N | None:
    """Return the greatest of the values that are known, None if none is."""
    return max((value for value in values if value is not None), default=None)


def _least(values: Iterable[N | None]) -> N | None:
    return min((value for value in values if value is not None), default=None)
