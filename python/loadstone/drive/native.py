"""The native driver: the Rust engine, in threads of this process that run without the GIL."""

import threading
from collections.abc import Callable

from loadstone import _engine
from loadstone.drive.outcome import DriveRecord, Interval, read_interval, read_record
from loadstone.errors import DriveFailed, UserError
from loadstone.plan.model import Plan

POLL_S = 0.2
"""How long one wait for an interval lasts: the time after which a signal is seen."""


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
        raise UserError(f"engine: this is a {profile} build and would measure itself; build it with 'make setup'")


def require_drivable(plan: Plan) -> None:
    """Find out whether the engine can drive a plan, without driving it.

    Raises:
        UserError: it cannot; names the field.
    """
    try:
        _engine.Engine(plan.model_dump_json())
    except ValueError as error:
        raise UserError(f"plan: {error}") from None


class NativeDriver:
    """Drives one share at a time with the native engine."""

    def __init__(self) -> None:
        self._engine: _engine.Engine | None = None
        self._stopped = threading.Event()

    def drive(self, share: Plan, on_interval: Callable[[Interval], None]) -> DriveRecord:
        """See `Driver.drive`."""
        try:
            engine = _engine.Engine(share.model_dump_json())
            engine.start()
        except (ValueError, ConnectionError) as error:
            raise DriveFailed(f"driver: {error}") from None
        self._engine = engine
        if self._stopped.is_set():
            engine.stop()
        while not engine.finished():
            text = engine.next_interval(POLL_S)
            if text is not None:
                on_interval(read_interval(text))
        self._engine = None
        return read_record(engine.result())

    def stop(self) -> None:
        """See `Driver.stop`. Later drives of this driver stop at once, too."""
        self._stopped.set()
        if self._engine is not None:
            self._engine.stop()
