"""Translates what a program reports into an `Interval` and a `DriveRecord`."""

from collections.abc import Mapping

from loadstone.drivers.counted import Counted
from loadstone.drivers.histogram import NOTHING, Histogram
from loadstone.drivers.outcome import (
    CommandRecord,
    Connections,
    DriveRecord,
    EndpointRecord,
    Interval,
    IntervalOperation,
    Latency,
    OperationRecord,
    PhaseTimes,
    ProgramRecord,
    ReadBack,
    ThreadRecord,
)
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.programs.clients.cpu_time import CpuOfProgram
from loadstone.programs.clients.messages import (
    IntervalMessage,
    ProgramIntervalOperation,
    ReadyMessage,
    RecordMessage,
)
from loadstone.programs.clients.program import DriverBroken
from loadstone.safety.bounds.replies import shortened


class Translation:
    """Translates the messages of one drive. `ahead_ns`: what is to be added to the program's times of day."""

    def __init__(self, name: str, share: Plan, options: Mapping[str, str], cpu: CpuOfProgram, ahead_ns: int) -> None:
        self._name = name
        self._share = share
        self._options = dict(options)
        self._cpu = cpu
        self._ahead_ns = ahead_ns
        self._intervals = 0
        self.counted = Counted()
        """What happened in all intervals until now."""

    @property
    def cpus(self) -> int:
        """Return how many CPUs the program has."""
        return max(1, len(self._share.cpus), 0 if self._share.cpus else self._share.threads)

    def interval(self, message: IntervalMessage) -> Interval:
        """The next interval. Raises DriverBroken: a histogram cannot be read, an operation is not in the plan."""
        for name in message.operations.keys() - {operation.name for operation in self._share.operations}:
            raise DriverBroken(
                "driver {name}: an interval has operation {operation}, and the plan does not",
                name=self._name,
                operation=shortened(name),
            )
        for operation in message.operations.values():
            self.counted = self.counted.plus(operation)
        self._cpu.look()
        started_ns = message.start_unix_ns + self._ahead_ns
        spent_s = self._cpu.between_s(started_ns, started_ns + round(message.duration_s * 1e9))
        index, self._intervals = self._intervals, self._intervals + 1
        return Interval(
            index=index,
            phase=message.phase,
            start_s=message.start_s,
            duration_s=message.duration_s,
            start_unix_ns=started_ns,
            operations={
                name: IntervalOperation(**operation.model_dump(), response_ns=self._of_interval(name, operation))
                for name, operation in message.operations.items()
            },
            bytes_sent=message.bytes_sent or 0,
            bytes_received=message.bytes_received or 0,
            connections=message.connections,
            users=message.users,
            backlog=message.backlog,
            cpu_s=[spent_s / self.cpus] * self.cpus,
        )

    def record(self, message: RecordMessage, ready: ReadyMessage) -> DriveRecord:
        """The record. Raises DriverBroken: a histogram cannot be read, or has more or fewer times than replies."""
        self._cpu.look()
        started_ns = message.started_unix_ns + self._ahead_ns
        measure = message.phases["measure"]
        waits, connections = message.pool_wait_histogram, message.connections
        return DriveRecord(
            format=1,
            engine=" ".join(filter(None, (ready.library, ready.version, ready.runtime))),
            started_unix_ns=started_ns,
            phases={phase: PhaseTimes(start_s=t.start_s, end_s=t.end_s) for phase, t in message.phases.items()},
            measure_s=measure.end_s - measure.start_s,
            operations={
                name: OperationRecord(
                    counts=operation.counts,
                    window_completed=operation.window_completed,
                    window_ok=operation.window_ok,
                    response_ns=self._whole(
                        name, operation.counts.ok, operation.response_histogram, message.overflowed
                    ),
                    service_ns=self._whole(name, operation.counts.ok, operation.service_histogram, message.overflowed),
                    response_sum_ns=operation.response_sum_ns,
                    earlier_ns=operation.earlier_ns,
                    response_histogram=operation.response_histogram,
                    service_histogram=operation.service_histogram,
                )
                for name, operation in message.operations.items()
            },
            total=message.total,
            pool_wait_ns=NOTHING if waits is None else self._most("pool_wait_histogram", waits, message.total.sent),
            schedule_lag_ns=self._most("schedule_lag_histogram", message.schedule_lag_histogram, message.total.offered),
            commands={name: CommandRecord(**command.model_dump()) for name, command in message.commands.items()},
            bytes_sent=message.bytes_sent or 0,
            bytes_received=message.bytes_received or 0,
            threads=self._threads(started_ns + round(measure.start_s * 1e9), started_ns + round(measure.end_s * 1e9)),
            connections=Connections(planned=self._share.pool.connections, **connections.model_dump()),
            endpoints=[EndpointRecord(sent=message.total.sent, ok=message.total.ok)]
            if len(self._share.endpoints) == 1
            else [],
            read_back=ReadBack(**message.read_back.model_dump()),
            overflowed=message.overflowed,
            clock_quantum_ns=message.clock_quantum_ns,
            stopped=message.stopped,
            program=ProgramRecord(
                name=self._name,
                library=ready.library,
                version=ready.version,
                runtime=ready.runtime,
                options=self._options,
                reports_pool_wait=waits is not None,
                peak_memory_bytes=self._cpu.peak_memory_bytes or None,
            ),
        )

    def _threads(self, start_ns: int, end_ns: int) -> list[ThreadRecord]:
        """The program's CPU time in the measure phase, spread evenly over the CPUs that it had."""
        spent_s, wall_s = self._cpu.between_s(start_ns, end_ns), (end_ns - start_ns) / 1e9
        cpus: list[int | None] = [*self._share.cpus] or [None] * self.cpus
        return [ThreadRecord(cpu=cpu, cpu_s=spent_s / len(cpus), wall_s=wall_s) for cpu in cpus]

    def _of_interval(self, name: str, operation: ProgramIntervalOperation) -> Latency:
        """Return the latency of the correct replies of an interval. Raises DriverBroken: it has more times than there
        were."""
        histograms = (operation.response_histogram, operation.service_histogram)
        latencies = [self._summary(histogram) for histogram in histograms]
        if most := max((latency.count for latency in latencies if latency.count > operation.ok), default=0):
            what = f"operation {name}: a histogram has {most} times, and {operation.ok} replies were correct"
            raise DriverBroken("driver {name}: an interval is wrong: {what}", name=self._name, what=what)
        return latencies[0]

    def _most(self, what: str, histogram: str, most: int) -> Latency:
        """Return the latency of a histogram of the record that has at most so many times. Raises DriverBroken."""
        latency = self._summary(histogram)
        if latency.count > most:
            wrong = f"{what} has {latency.count} times, and there were {most} operations"
            raise DriverBroken("driver {name}: its record is wrong: {wrong}", name=self._name, wrong=wrong)
        return latency

    def _whole(self, operation: str, ok: int, histogram: str, overflowed: int) -> Latency:
        """Return the latency of a histogram that has a time for each correct reply, but for those that none can
        hold."""
        latency = self._summary(histogram)
        if not ok - overflowed <= latency.count <= ok:
            what = f"operation {operation}: a histogram has {latency.count} times, and {ok} replies were correct"
            raise DriverBroken("driver {name}: its record is wrong: {what}", name=self._name, what=what)
        return latency

    def _summary(self, histogram: str) -> Latency:
        try:
            return Histogram.read(histogram).summary()
        except ValueError as error:
            raise DriverBroken("driver {name}: {error}", name=self._name, error=error) from None
