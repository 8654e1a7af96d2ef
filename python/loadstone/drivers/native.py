"""The native driver: the Rust engine, in threads of this process that run without the GIL."""

import threading
from collections.abc import Callable, Sequence

from loadstone import _engine
from loadstone.drivers.driver import OnInterval, OnRest, RoundsOptions, nothing
from loadstone.drivers.held_intervals import held_from_s
from loadstone.drivers.outcome import DriveRecord, Interval, read_interval, read_record
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.machine import clock
from loadstone.safety.errors import DriveFailed, UserError

Running = _engine.Engine | _engine.Rounds

POLL_S = 0.2
"""How often whoever drives is asked whether it has something to do in a drive without rests. Signals are observed
sooner, within the wait."""
HOLD_S = 2.0
"""Intervals that end while a drive without rests is measured are handed out together, after so long or at the end, but
for those in which a server was full: to take one costs time of the generator's CPU, where the server has the other
one."""


def engine_build() -> dict[str, str]:
    """Version, profile and back end of the engine, as the environment's record holds them."""
    return _engine.build()


def require_release_engine() -> None:
    """Refuse to measure with an engine that was not built for speed.

    Raises:
        UserError: the engine is a debug build.
    """
    profile = _engine.build()["profile"]
    if profile != "release":
        raise UserError(
            "engine: this is a {profile} build and would measure itself; build it with 'make setup'", profile=profile
        )


def require_drivable(plan: Plan) -> None:
    """Find out whether the engine can drive a plan, without driving it.

    Raises:
        UserError: it cannot; names the field.
    """
    try:
        _engine.Engine(plan.model_dump_json())
    except ValueError as error:
        raise UserError("plan: {error}", error=error) from None


class NativeDriver:
    """Drives one share at a time, or several by turns, with the native engine."""

    def __init__(self) -> None:
        self._engine: Running | None = None
        self._stopped = threading.Event()

    def drive(
        self,
        shares: Sequence[Plan],
        on_interval: OnInterval,
        rounds: RoundsOptions | None = None,
        on_rest: OnRest = nothing,
    ) -> list[DriveRecord]:
        """See `Driver.drive`."""
        ahead_ns = clock.set_ahead_of_wall_ns()
        plans = [share.model_dump_json() for share in shares]
        try:
            engine: Running
            if rounds is None:
                engine = _engine.Engine(*plans)
                (plan,) = shares
                before_s = plan.phases.before_s
                engine.hold_intervals(HOLD_S, held_from_s(before_s, plan.interval_s))
            else:
                engine = _engine.Rounds(plans, rounds.model_dump_json())
            engine.start()
        except (ValueError, ConnectionError) as error:
            raise DriveFailed("driver: {error}", error=error) from None
        self._engine = engine
        if self._stopped.is_set():
            engine.stop()
        try:
            if isinstance(engine, _engine.Engine):
                _follow_whole(engine, lambda text: on_interval(0, _interval(text, ahead_ns)), on_rest)
                return [_record(engine.result(), ahead_ns)]
            _follow_rounds(engine, lambda number, text: on_interval(number, _interval(text, ahead_ns)), on_rest)
            return [_record(engine.result(number), ahead_ns) for number in range(len(shares))]
        except BaseException:
            engine.stop()
            raise
        finally:
            self._engine = None

    def stop(self) -> None:
        """See `Driver.stop`. Later drives of this driver stop at once, too."""
        self._stopped.set()
        if self._engine is not None:
            self._engine.stop()


def _follow_whole(engine: _engine.Engine, take: Callable[[str], None], on_rest: OnRest) -> None:
    """Pass on what a drive without rests tells. Raises what the callbacks raise."""
    while not engine.finished():
        if (text := engine.next_interval(POLL_S)) is not None:
            take(text)
        on_rest()


def _follow_rounds(engine: _engine.Rounds, take: Callable[[int, str], None], on_rest: OnRest) -> None:
    """Pass on what rounds tell in their rests. Raises what the callbacks raise."""
    while not engine.finished():
        delivered = engine.next_interval(POLL_S)
        if delivered is not None:
            take(*delivered)
        elif engine.is_resting():
            on_rest()
            engine.go_on()


def _interval(text: str, ahead_ns: int) -> Interval:
    """An interval of the engine, its time moved by what is to be added."""
    interval = read_interval(text)
    moved = {"start_unix_ns": interval.start_unix_ns + ahead_ns}
    return interval.model_copy(update=moved) if ahead_ns else interval


def _record(text: str, ahead_ns: int) -> DriveRecord:
    record = read_record(text)
    return record.model_copy(update={"started_unix_ns": record.started_unix_ns + ahead_ns}) if ahead_ns else record
