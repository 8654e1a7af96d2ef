"""Looks once more for the parts behind an application, after a few requests of its load.

Many applications connect to their database when they need it first. The trials of a row are compared, so the parts
must be known before the first one.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from loadstone.drivers.driver import drive_alone
from loadstone.experiment.plan.drive_plan import Closed, Phases, Plan, Pool
from loadstone.measure.measurement import Measurement, PreparedTrial
from loadstone.safety.errors import DriveFailed

LENGTH_S, LONGEST_S, PAUSE_MS = 0.5, 3.0, 2.0
"""One user with such pauses, until connections were looked at for so long: some two hundred requests. At most for so
long, on a machine that is busy. They are looked at a few times, as some applications close them with the user's own;
afterwards it is looked which ones were closed. With longer pauses a connection that is made for each request, and lasts
a third of a millisecond, is missed by the looks."""


class _WasLookedAt(Exception):
    """Ends the requests: what they have the application connect to was looked at."""


def look_behind_each(steps: Measurement, prepared: Sequence[PreparedTrial]) -> None:
    """Have each application that was not loaded yet answer a few requests, and look what it is connected to then.

    Not where the requests are counted: there the user says how many it gets. What fails is reported by the trial.
    """
    for trial in prepared:
        if _is_unseen(steps, trial):
            from_s = time.monotonic()
            with suppress(DriveFailed, _WasLookedAt):
                drive_alone(
                    steps.driver, _few_requests(trial.plan), on_rest=partial(_look_at_work, steps, prepared, from_s)
                )
            _look(steps, prepared, from_s)
            steps.require_going_on()


def _look_at_work(steps: Measurement, prepared: Sequence[PreparedTrial], from_s: float) -> None:
    """Raises _WasLookedAt."""
    _look(steps, prepared)
    if time.monotonic() - from_s >= LENGTH_S:
        raise _WasLookedAt


def _look(steps: Measurement, prepared: Sequence[PreparedTrial], asked_from_s: float | None = None) -> None:
    steps.parts.look_behind([trial.ready for trial in prepared], asked_from_s)


def _is_unseen(steps: Measurement, trial: PreparedTrial) -> bool:
    """Whether a trial loads an application of this machine from here, that was not looked at under load."""
    plan, planned = trial.plan, trial.planned
    counted = isinstance(plan.model, Closed) and plan.model.operations_per_user is not None
    if counted or plan.recording is not None or steps.drivers.of(planned.driver) is not steps.driver:
        return False
    loaded = [name for name, one in trial.ready.subjects.items() if planned.target in (None, name) and one.subject.pids]
    unseen = [name for name in loaded if steps.parts.not_seen_at_work(name)]
    return bool(unseen)


def _few_requests(plan: Plan) -> Plan:
    return plan.model_copy(
        update={
            "model": Closed(users=1, think_time_ms=PAUSE_MS),
            "pool": Pool(connections=1),
            "threads": 1,
            "cpus": plan.cpus[-1:],
            "phases": Phases(ramp_up_s=0.0, warm_up_s=0.0, measure_s=LONGEST_S),
        }
    )
