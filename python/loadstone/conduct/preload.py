"""The keys that a trial reads or changes: stored before it, by the driver itself."""

from loadstone.conduct.load_endpoints import on_endpoints
from loadstone.conduct.measurement import Measurement, PreparedTrial, refused
from loadstone.drive.driver import drive_alone
from loadstone.errors import DriveFailed


def preload(measurement: Measurement, prepared: PreparedTrial) -> None:
    """Store the data that the trial needs, if any.

    Raises:
        DriveFailed: not all of it was stored, or a server that is not ours lost something.
    """
    planned = prepared.planned
    if planned.load is None:
        return
    load = on_endpoints(planned.load, prepared.ready, planned.target)
    done = drive_alone(measurement.driver, load, lambda interval: prepared.room.note_refused(refused(interval)))
    if prepared.room.reason is not None:
        raise DriveFailed(prepared.room.reason)
    keys = planned.load.keys.count
    if done.total.ok != keys and not measurement.stopping.is_set():
        why = done.stopped or ", ".join(f"{kind} {number}" for kind, number in done.total.errors.items())
        raise DriveFailed(f"loading the data: {done.total.ok:,} of {keys:,} keys were stored ({why or 'time-outs'})")
