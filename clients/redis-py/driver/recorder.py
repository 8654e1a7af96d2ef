"""What was observed: counts and latencies, of the current interval and of the measure phase."""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from driver.failures import TIMEOUT, Outcome
from driver.histogram import Histogram
from driver.plan import Plan
from driver.schedule import DRAIN, MEASURE, PHASES, RAMP_UP, Timeline, ns


@dataclass
class Tally:
    """Events of one operation."""

    offered: int = 0
    sent: int = 0
    ok: int = 0
    dropped: int = 0
    timeouts: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def end(self, outcome: Outcome) -> None:
        if outcome.error is None:
            self.ok += 1
        elif outcome.error == TIMEOUT:
            self.timeouts += 1
        else:
            self.errors[outcome.error] += 1

    @property
    def in_flight(self) -> int:
        return self.sent - self.ok - self.timeouts - self.errors.total()

    @property
    def waiting(self) -> int:
        """For a connection."""
        return self.offered - self.sent - self.dropped

    def counts(self) -> dict[str, object]:
        own = {name: getattr(self, name) for name in ("offered", "sent", "ok", "timeouts", "dropped")}
        return own | {"errors": dict(self.errors), "in_flight": self.in_flight, "unsent": self.waiting}


@dataclass
class Latencies:
    """Of correct replies."""

    response: Histogram = field(default_factory=Histogram)
    service: Histogram = field(default_factory=Histogram)

    def add(self, other: "Latencies") -> None:
        self.response.add(other.response)
        self.service.add(other.service)

    def encoded(self) -> dict[str, object]:
        return {"response_histogram": self.response.encoded(), "service_histogram": self.service.encoded()}


@dataclass
class IntervalOperation:
    tally: Tally = field(default_factory=Tally)
    latencies: Latencies = field(default_factory=Latencies)


@dataclass
class Interval:
    """What happened between two borders."""

    phase: str
    start_ns: int
    end_ns: int = 0
    operations: defaultdict[str, IntervalOperation] = field(default_factory=lambda: defaultdict(IntervalOperation))
    gauges: dict[str, int] = field(default_factory=dict)


@dataclass
class Measured:
    """One operation's members of the measure phase, followed to their end; and what ended within that phase."""

    tally: Tally = field(default_factory=Tally)
    latencies: Latencies = field(default_factory=Latencies)
    window_completed: int = 0
    window_ok: int = 0
    response_sum_ns: int = 0
    earlier_ns: int = 0


@dataclass(frozen=True, slots=True)
class Times:
    """Of one operation that ended, since the load began."""

    intended_ns: int
    sent_ns: int
    completed_ns: int


class Recorder:
    """Counts each event in the interval in which it happened, and operations by the phase that they were intended in.

    Users of all threads write here.
    """

    def __init__(self, plan: Plan, timeline: Timeline, deliver: Callable[[Interval], None]) -> None:
        """`deliver` gets each interval that ends, in their order."""
        self.total = Tally()
        self.measured = {operation.name: Measured() for operation in plan.operations}
        names = (command.name for operation in plan.operations for command in operation.commands)
        self.commands_sent: Counter[str] = Counter(dict.fromkeys(names, 0))
        self.commands_replied: Counter[str] = Counter()
        self.pool_wait = Histogram()
        self.schedule_lag = Histogram()
        self.overflowed = 0
        self.open_connections: Callable[[], int] = int
        self._timeline = timeline
        self._deliver = deliver
        self._required = plan.phases.measure_operations
        self._measured_ended = 0
        self._interval_ns = max(1, ns(plan.interval_s))
        self._current = Interval(RAMP_UP, 0)
        self._border_ns = self._border()
        self._users = 0
        self._closed = False
        self._lock = threading.Lock()

    def offered(self, name: str, member: str, lag_ns: int, now_ns: int) -> None:
        """An operation was picked up, so long after it was intended."""
        with self._lock:
            for tally in self._tallies(name, member, now_ns):
                tally.offered += 1
            if member == MEASURE:
                self.overflowed += not self.schedule_lag.record(lag_ns)

    def dropped(self, name: str, member: str, now_ns: int) -> None:
        """Too many others wait for a connection."""
        with self._lock:
            for tally in self._tallies(name, member, now_ns):
                tally.dropped += 1

    def sent(self, name: str, member: str, wait_ns: int, now_ns: int) -> bool:
        """An operation got its connection, after this wait for it. False if the load is over: it is not to be sent."""
        with self._lock:
            for tally in self._tallies(name, member, now_ns):
                tally.sent += 1
            if member == MEASURE:
                self.overflowed += not self.pool_wait.record(wait_ns)
            return not self._closed

    def command_sent(self, command: str) -> None:
        with self._lock:
            self.commands_sent[command] += 1

    def command_replied(self, command: str) -> None:
        with self._lock:
            self.commands_replied[command] += 1

    def ended(self, name: str, member: str, outcome: Outcome, times: Times) -> None:
        """An operation has its last reply, or was given up."""
        with self._lock:
            if self._closed:
                return
            for tally in self._tallies(name, member, times.completed_ns):
                tally.end(outcome)
            self._count_window(self.measured[name], outcome, times.completed_ns)
            if member == MEASURE:
                self._count_measured(self.measured[name], times)
            else:
                self._count_earlier(name, times.intended_ns, times.completed_ns)
            phase = self._current.phase
            if outcome.error is None and (member == phase or (phase == DRAIN and member == MEASURE)):
                latencies = self._current.operations[name].latencies
                fits = latencies.response.record(times.completed_ns - times.intended_ns)
                self.overflowed += not (fits and latencies.service.record(times.completed_ns - times.sent_ns))

    def went_on(self, name: str, intended_ns: int, end_ns: int) -> None:
        """An operation did not end until the load did."""
        with self._lock:
            self._count_earlier(name, intended_ns, end_ns)

    def user_changed(self, by: int) -> None:
        """A user started, or ended."""
        with self._lock:
            self._users += by

    def waiting(self) -> int:
        """Operations that wait for a connection."""
        return self.total.waiting

    def end_measure(self, now_ns: int) -> None:
        """All the work there was is done, or the load is stopped: the measure phase ends."""
        with self._lock:
            self._end_measure(now_ns)

    def tick(self, now_ns: int) -> None:
        """Goes past the borders up to now, although nothing happened."""
        with self._lock:
            self._cross(now_ns)

    def finish(self, now_ns: int) -> None:
        """The load is over: what is still on its way stays so. Delivers the last interval."""
        with self._lock:
            self._cross(now_ns)
            self._end_interval(max(now_ns, self._current.start_ns))
            self._closed = True

    def _tallies(self, name: str, member: str, now_ns: int) -> tuple[Tally, ...]:
        """Those that an event counts in."""
        if self._closed:
            return ()
        self._cross(now_ns)
        both = (self.total, self._current.operations[name].tally)
        return (*both, self.measured[name].tally) if member == MEASURE else both

    def _count_window(self, measured: Measured, outcome: Outcome, completed_ns: int) -> None:
        if self._timeline.phase_of(completed_ns) == MEASURE:
            measured.window_completed += outcome.replied
            measured.window_ok += outcome.error is None

    def _count_measured(self, measured: Measured, times: Times) -> None:
        measured.response_sum_ns += times.completed_ns - times.intended_ns
        self._measured_ended += 1
        if self._required is not None and self._measured_ended >= self._required:
            self._timeline.enough_measured(times.completed_ns)
            self._border_ns = self._border()

    def _count_earlier(self, name: str, intended_ns: int, end_ns: int) -> None:
        """The part of the measure phase that an operation took which had begun before it."""
        begin_ns = self._timeline.start_of(MEASURE)
        if intended_ns < begin_ns:
            self.measured[name].earlier_ns += max(0, min(end_ns, self._timeline.drain_ns) - begin_ns)

    def _end_measure(self, now_ns: int) -> None:
        self._timeline.end_measure(now_ns)
        self._border_ns = self._border()
        self._cross(now_ns)

    def _border(self) -> int:
        """When the current interval ends."""
        border_ns = self._current.start_ns + self._interval_ns
        phase_end_ns = self._timeline.end_of(self._current.phase)
        return border_ns if phase_end_ns is None else min(border_ns, phase_end_ns)

    def _cross(self, now_ns: int) -> None:
        while now_ns >= self._border_ns and not self._closed:
            end_ns = max(self._border_ns, self._current.start_ns)
            phase_end_ns = self._timeline.end_of(self._current.phase)
            phase = self._current.phase
            if phase_end_ns is not None and end_ns >= phase_end_ns:
                phase = PHASES[PHASES.index(phase) + 1]
            self._end_interval(end_ns)
            self._current = Interval(phase, end_ns)
            self._border_ns = self._border()

    def _end_interval(self, end_ns: int) -> None:
        interval = self._current
        interval.end_ns = end_ns
        interval.gauges = {
            "connections": self.open_connections(),
            "users": self._users,
            "backlog": self.total.waiting,
            "in_flight": self.total.in_flight,
        }
        if interval.phase in (MEASURE, DRAIN):
            for name, operation in interval.operations.items():
                self.measured[name].latencies.add(operation.latencies)
        if interval.end_ns > interval.start_ns or interval.operations:
            self._deliver(interval)
