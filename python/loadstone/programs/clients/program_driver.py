"""A driver that is a program: started for each drive, listened to, and ended with everything that it started."""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from loadstone.drivers.driver import OnInterval, OnRest, RoundsOptions, nothing
from loadstone.drivers.outcome import DriveRecord, Interval
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.spec.driver_names import MANIFEST
from loadstone.machine import clock, hardware
from loadstone.programs.clients.cpu_time import CpuOfProgram
from loadstone.programs.clients.messages import (
    Failed,
    IntervalMessage,
    PlanMessage,
    ReadyMessage,
    RecordMessage,
    StopMessage,
)
from loadstone.programs.clients.plausible_record import ObservedProgram, PlannedPace, require_plausible
from loadstone.programs.clients.program import (
    DriverBroken,
    DriverHung,
    DriverImplausible,
    DriverRefused,
    DriverTooLarge,
    Launch,
    MessageLines,
    Program,
)
from loadstone.programs.clients.translation import Translation
from loadstone.safety.errors import DriveFailed

SILENCE_S = 10.0
"""A program writes something at least so often, and every three intervals."""
STOP_S = 5.0
"""How long the record may take after an order to stop."""
LATE_S = 10.0
"""How much later than planned a drive may end."""
MEMORY_SHARE = 0.5
"""A program may take such a share of the machine's memory: a server that sends without end would fill all of it."""
INTERVALS_MORE = 100
"""Number of intervals beyond what there was time for, from which they are none of a plan."""


class ProgramDriver:
    """Drives one share at a time with a client library's program; see `Driver`."""

    def __init__(
        self, name: str, launch: Launch, options: Mapping[str, str], ready_within_s: float, library: str = ""
    ) -> None:
        """A driver by its name.

        Args:
            name: of the driver.
            launch: starts its program.
            options: the chosen value of each.
            ready_within_s: how long its pool may take to open.
            library: with its version, as its manifest has it; empty: whichever it reports.
        """
        self.name = name
        self._library = library
        self._launch = launch
        self._options = dict(options)
        self._ready_within_s = ready_within_s
        self._stopped = threading.Event()

    def drive(
        self,
        shares: Sequence[Plan],
        on_interval: OnInterval,
        rounds: RoundsOptions | None = None,
        on_rest: OnRest = nothing,
    ) -> list[DriveRecord]:
        """See `Driver.drive`. What is wrong with the program is a fault of `programs.clients.program`.

        Raises:
            DriveFailed: also in rounds: a program cannot be paused.
        """
        if rounds is not None:
            raise DriveFailed("driver {name}: it cannot take turns in rounds; compare whole trials", name=self.name)
        (share,) = shares
        program = self._launch(share)
        try:
            cpu = CpuOfProgram(program.guard_pid)
            return [self._converse(program, cpu, share, partial(on_interval, 0), on_rest)]
        finally:
            program.end()

    def stop(self) -> None:
        """See `Driver.stop`; the order reaches the program within some 200 ms, and it may take 2 s."""
        self._stopped.set()

    def _converse(
        self,
        program: Program,
        cpu: CpuOfProgram,
        share: Plan,
        on_interval: Callable[[Interval], None],
        on_rest: OnRest,
    ) -> DriveRecord:
        ahead_ns, sent_ns = clock.set_ahead_of_wall_ns(), clock.unix_ns()
        lines, order = MessageLines(self.name, program), _StopOrder(self.name, program, self._stopped)
        try:
            program.write(PlanMessage(plan=share, options=self._options).model_dump_json().encode() + b"\n")
        except OSError:  # it says why, or it died
            order.given = True

        def waiting() -> None:
            order.pass_on()
            cpu.follow()
            self._require_bounded(cpu)
            on_rest()

        try:
            ready = lines.next(self._ready_within_s + _start_s(share), waiting, "word that it is ready")
        except DriverHung as hung:
            at = ", ".join(endpoint.label for endpoint in share.endpoints[:3])
            raise DriverHung("{hung}; or {at} does not answer its connections in time", hung=hung, at=at) from None
        if not isinstance(ready, ReadyMessage):
            raise self._unexpected(ready, "ready")
        self._require_library(ready)
        translation = Translation(self.name, share, self._options, cpu, ahead_ns)
        end_s, pace = _longest_s(share), PlannedPace(self.name, share)
        began_s = time.monotonic()
        while True:
            silence_s = STOP_S if order.given else max(SILENCE_S, 3 * share.interval_s)
            message = lines.next(silence_s, waiting, "message")
            if isinstance(message, RecordMessage):
                observed = ObservedProgram(sent_ns - ahead_ns, clock.unix_ns() - ahead_ns, translation.counted)
                require_plausible(self.name, share, message, observed)
                return translation.record(message, ready)
            if not isinstance(message, IntervalMessage):
                raise self._unexpected(message, "interval")
            interval, passed_s = translation.interval(message), time.monotonic() - began_s
            most = round(min(end_s, passed_s) / share.interval_s) + INTERVALS_MORE
            if interval.index > most:
                raise DriverBroken(
                    "driver {name}: it wrote {index} intervals, and {most} are the most",
                    name=self.name,
                    index=interval.index,
                    most=most,
                )
            if passed_s > end_s + LATE_S:
                raise DriverHung(
                    "driver {name}: it does not end: {end_s:.3g} s are planned", name=self.name, end_s=end_s
                )
            if order.given_s is not None and time.monotonic() - order.given_s > LATE_S:
                raise DriverHung(
                    "driver {name}: it goes on {late_s:g} s after an order to stop", name=self.name, late_s=LATE_S
                )
            pace.require(interval, translation.counted, passed_s)
            on_interval(interval)

    def _require_bounded(self, cpu: CpuOfProgram) -> None:
        installed, taken = hardware.installed_bytes(), cpu.memory_bytes
        most = (installed or 0) * MEMORY_SHARE
        if 0 < most < taken:
            shares = f"{taken / 1e9:.3g} GB of memory, and {most / 1e9:.3g} GB are the most"
            raise DriverTooLarge(
                "driver {name}: it takes {shares}; replies without end may be the reason", name=self.name, shares=shares
            )

    def _require_library(self, ready: ReadyMessage) -> None:
        reported = f"{ready.library} {ready.version}"
        if self._library not in ("", reported):
            raise DriverImplausible(
                "driver {name}: it drives with {reported}, and its {manifest} names {library}; correct the one that is "
                "wrong",
                name=self.name,
                reported=reported,
                manifest=MANIFEST,
                library=self._library,
            )

    def _unexpected(
        self, message: ReadyMessage | IntervalMessage | RecordMessage | Failed, expected: str
    ) -> DriveFailed:
        if isinstance(message, Failed):
            return DriverRefused("driver {name}: {message}", name=self.name, message=message.message)
        return DriverBroken(
            "driver {name}: it wrote '{type}' where '{expected}' is expected",
            name=self.name,
            type=message.type,
            expected=expected,
        )


class _StopOrder:
    """Passes an order to stop on to a program, once."""

    def __init__(self, name: str, program: Program, stopped: threading.Event) -> None:
        self._name = name
        self._program = program
        self._stopped = stopped
        self.given = False
        self.given_s: float | None = None
        """When, by the monotonic clock."""

    def pass_on(self) -> None:
        if self._stopped.is_set() and not self.given:
            self.given, self.given_s = True, time.monotonic()
            with contextlib.suppress(OSError):  # it ended meanwhile, which its output shows
                self._program.write(StopMessage().model_dump_json().encode() + b"\n")


def _start_s(share: Plan) -> float:
    """Until the load is to begin, and its connections are open."""
    planned_s = 0.0 if share.start_at_unix_ns is None else share.start_at_unix_ns / 1e9 - time.time()
    return max(0.0, planned_s) + share.timeouts.connect_ms / 1e3


def _longest_s(share: Plan) -> float:
    phases = share.phases
    if phases.measure_max_s is None and share.ends_by_itself:
        return float("inf")
    return phases.longest_s + phases.drain_s
