"""Checks a program's record against itself and the plan. What only the server knows is checked elsewhere."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from loadstone.drivers.counted import QUIET_S, THINKS_MORE, Counted
from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.drive_plan import Closed, Open, Plan
from loadstone.programs.clients.messages import ProgramCounts, RecordMessage
from loadstone.programs.clients.program import DriverHung, DriverImplausible

PHASES = ("ramp_up", "warm_up", "measure", "drain")
SHORT = 0.98
"""A measure phase may be so much shorter than planned."""
LATE_S = 0.1
"""And so much more: a program that gets its CPU late notes the begin late, and its rate is of that time."""
ARRIVALS_OFF = 0.01
"""Share of the arrivals of an open model that may be missing, or too many."""
POISSON_OFF = 6
"""Number of standard deviations that Poisson arrivals may lie off."""
CLOCKS_OFF_S = 2.0
"""A program's clock may differ by so much from loadstone's, of one machine."""


@dataclass(frozen=True)
class ObservedProgram:
    """What loadstone observed of the drive itself; times by the clock of the program, in ns since 1970."""

    sent_unix_ns: int
    """When the plan was sent."""
    ended_unix_ns: int
    """When the record came."""
    counted: Counted
    """What happened in all intervals."""


def require_plausible(name: str, share: Plan, record: RecordMessage, observed: ObservedProgram) -> None:
    """Raises DriverImplausible with the first contradiction."""
    for wrong in _wrong(share, record, observed):
        raise DriverImplausible("driver {name}: its record is wrong: {wrong}", name=name, wrong=wrong)


def _wrong(share: Plan, record: RecordMessage, observed: ObservedProgram) -> Iterator[str]:
    yield from _names(share, record)
    yield from _intervals(record.total, observed.counted)
    for what, counts in (
        ("total", record.total),
        *((name, operation.counts) for name, operation in record.operations.items()),
    ):
        yield from _not_conserved(what, counts)
    yield from _more_than_all(record)
    yield from _commands(record)
    yield from _phases(share, record)
    yield from _clocks(record, observed)
    if record.connections.open_at_end > share.pool.connections:
        open_at_end = record.connections.open_at_end
        yield f"{open_at_end} connections are open at the end, and the pool has {share.pool.connections}"
    if record.stopped is None:
        yield from _too_few(share, record)


def _intervals(total: ProgramCounts, counted: Counted) -> Iterator[str]:
    """More in all intervals than in the whole drive."""
    if counted.ok > total.ok:
        yield f"{total.ok} operations ended correctly, and {counted.ok} in its intervals"
    for what, whole, parts in (
        ("offered", total.offered, counted.offered),
        ("sent", total.sent, counted.sent),
        ("dropped", total.dropped, counted.dropped),
        ("timeouts", total.timeouts, counted.timeouts),
        ("errors", sum(total.errors.values()), counted.errors),
    ):
        if parts > whole:
            yield f"{whole} {what}, and {parts} in its intervals"


class PlannedPace:
    """Whether the intervals of a drive can be those of its plan, while they come."""

    def __init__(self, name: str, share: Plan) -> None:
        self._name = name
        self._planned = planned_operations(share)
        self._patience_s = _patience_s(share) if share.ends_by_itself else math.inf
        self._ended = 0
        self._went_on_s = 0.0
        self._start_s = 0.0

    def require(self, interval: Interval, counted: Counted, passed_s: float) -> None:
        """Look at an interval that came `passed_s` after the program was ready; `counted`: all until now.

        Raises:
            DriverImplausible: it was at no time that has passed, or more operations ended than are planned.
            DriverHung: nothing goes on, and nothing else would end the load.
        """
        end_s = interval.start_s + interval.duration_s
        if end_s > passed_s + CLOCKS_OFF_S:
            raise DriverImplausible(
                "driver {name}: an interval ends {end_s:.3g} s after the load began, and {passed_s:.3g} s passed",
                name=self._name,
                end_s=end_s,
                passed_s=passed_s,
            )
        if interval.start_s < self._start_s:
            before = f"{interval.start_s:.3g} s after one that begins at {self._start_s:.3g} s"
            raise DriverImplausible(
                "driver {name}: its intervals go back: one begins at {before}", name=self._name, before=before
            )
        self._start_s = interval.start_s
        if self._planned is not None and counted.ended > self._planned:
            raise DriverImplausible(
                "driver {name}: {ended} operations ended, and {planned} are planned",
                name=self._name,
                ended=counted.ended,
                planned=self._planned,
            )
        if counted.ended > self._ended:
            self._ended, self._went_on_s = counted.ended, passed_s
        elif passed_s - self._went_on_s > self._patience_s:
            raise DriverHung(
                "driver {name}: it does not end: no operation ended for {waited_s:.3g} s",
                name=self._name,
                waited_s=passed_s - self._went_on_s,
            )


def _patience_s(share: Plan) -> float:
    """Return how long no operation may end in a load that ends by itself: as long as a user may think, and more."""
    think_s = share.model.think_time_ms / 1e3 if isinstance(share.model, Closed) else 0.0
    timeouts_s = (share.timeouts.connect_ms + share.timeouts.request_ms) / 1e3
    return QUIET_S + share.phases.ramp_up_s + timeouts_s + THINKS_MORE * think_s


def planned_operations(share: Plan) -> int | None:
    """Return how many operations a plan fixes; None where time does."""
    planned: int | None = None
    if isinstance(share.model, Closed):
        planned = share.model.operations
    if share.keys.distribution == "exactly_once":
        planned = min(share.keys.count, planned or share.keys.count)
    return planned


def _names(share: Plan, record: RecordMessage) -> Iterator[str]:
    planned = {operation.name for operation in share.operations}
    for name in sorted(planned ^ record.operations.keys()):
        yield f"operation {name} is {'missing' if name in planned else 'not in the plan'}"
    commands = {command.args[0].upper() for operation in share.operations for command in operation.commands}
    for name in sorted(commands - record.commands.keys()):
        yield f"command {name} is missing"


def _not_conserved(what: str, counts: ProgramCounts) -> Iterator[str]:
    ended = counts.ok + sum(counts.errors.values()) + counts.timeouts
    if counts.offered != counts.sent + counts.dropped + counts.unsent:
        followed = f"{counts.sent} sent, {counts.dropped} dropped and {counts.unsent} unsent"
        yield f"{what}: {counts.offered} offered are not {followed}"
    if counts.sent != ended + counts.in_flight:
        yield f"{what}: {counts.sent} sent are not {ended} ended and {counts.in_flight} in flight"


def _more_than_all(record: RecordMessage) -> Iterator[str]:
    """A part that has more than the whole."""
    total = record.total
    for what, part, whole in (
        ("offered", sum(operation.counts.offered for operation in record.operations.values()), total.offered),
        ("ok", sum(operation.counts.ok for operation in record.operations.values()), total.ok),
        ("window_ok", sum(operation.window_ok for operation in record.operations.values()), total.ok),
        ("window_completed", sum(operation.window_completed for operation in record.operations.values()), total.sent),
    ):
        if part > whole:
            yield f"{what} of the measure phase is {part}, and the whole drive has {whole}"
    for name, operation in record.operations.items():
        if operation.window_ok > operation.window_completed:
            replies = f"{operation.window_ok} correct replies of {operation.window_completed}"
            yield f"operation {name}: {replies} in the measure phase"


def _clocks(record: RecordMessage, observed: ObservedProgram) -> Iterator[str]:
    """Times that were not when the program ran: a clock of another unit, or of another beginning."""
    began_s = (record.started_unix_ns - observed.sent_unix_ns) / 1e9
    lasted_s, end_s = (observed.ended_unix_ns - observed.sent_unix_ns) / 1e9, record.phases["drain"].end_s
    if not -CLOCKS_OFF_S <= began_s <= lasted_s + CLOCKS_OFF_S:
        yield f"its load began {began_s:.3g} s after it got its plan, and {lasted_s:.3g} s after that it ended"
    elif began_s + end_s > lasted_s + CLOCKS_OFF_S:
        yield f"its load lasted {end_s:.3g} s, and it ended {lasted_s:.3g} s after it got its plan"
    for name, operation in record.operations.items():
        ended = operation.counts.ok + sum(operation.counts.errors.values()) + operation.counts.timeouts
        if operation.response_sum_ns / 1e9 > ended * (end_s + CLOCKS_OFF_S):
            took = f"{operation.response_sum_ns / 1e9:.3g} s in all"
            yield f"operation {name}: {ended} responses took {took}, and the load lasted {end_s:.3g} s"


def _commands(record: RecordMessage) -> Iterator[str]:
    for name, command in record.commands.items():
        if command.replied > command.sent:
            yield f"command {name}: {command.replied} replies to {command.sent} sent"
    replied = sum(command.replied for command in record.commands.values())
    if replied < record.total.ok:
        yield f"{record.total.ok} operations ended correctly, with {replied} replies to all commands"


def _phases(share: Plan, record: RecordMessage) -> Iterator[str]:
    missing = [phase for phase in PHASES if phase not in record.phases]
    if missing:
        yield f"phase {missing[0]} is missing"
        return
    times = [second for phase in PHASES for second in (record.phases[phase].start_s, record.phases[phase].end_s)]  # type: ignore[index]
    if times != sorted(times):
        yield "a phase ends before it begins, or begins before the one before it ended"
    measure = record.phases["measure"]
    length_s = measure.end_s - measure.start_s
    if record.stopped is None and not share.ends_by_itself and length_s < SHORT * share.phases.measure_s - LATE_S:
        yield f"its measure phase lasted {length_s:.3g} s, and {share.phases.measure_s:g} s are planned"


def _too_few(share: Plan, record: RecordMessage) -> Iterator[str]:
    """A number of operations that the plan fixes, and the record does not have."""
    measure, offered, model = record.phases["measure"], record.total.offered, share.model
    planned = planned_operations(share)
    if planned is not None:
        most_s = share.phases.measure_max_s
        cut_off = most_s is not None and measure.end_s - measure.start_s >= SHORT * most_s
        if offered != planned and not (cut_off and offered < planned) and not isinstance(model, Open):
            yield f"{offered} operations were carried out, and {planned} are planned"
    elif isinstance(model, Open) and not model.schedule:
        due = model.rate_per_s * (measure.end_s - measure.start_s)
        came = sum(operation.counts.offered for operation in record.operations.values())
        allowed = POISSON_OFF * math.sqrt(due) if model.arrivals == "poisson" else ARRIVALS_OFF * due
        if abs(came - due) > max(2.0, allowed):
            yield f"{came} operations arrived in the measure phase, and {due:.0f} are due"
