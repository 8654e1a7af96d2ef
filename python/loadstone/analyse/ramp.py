"""A classical ramp that was driven: its steps, what is read off its chart, and how that differs from what was found."""

from collections.abc import Sequence
from itertools import groupby

from loadstone.analyse.saturation_answer import Estimated, RampAnswer, RampStep
from loadstone.judge.statistics.ramp_reading import RampStep as Step
from loadstone.judge.statistics.ramp_reading import by_eye, kneedle, moving_average
from loadstone.message import message
from loadstone.plan.drive_plan import RampUp
from loadstone.plan.saturation.level_plans import steps_of, users_at
from loadstone.plan.saturation.saturation_settings import SaturationSettings
from loadstone.record.reading import IntervalLine, Run
from loadstone.record.trial import TrialRecord


def ramp_of_trials(
    run: Run, settings: SaturationSettings, trials: Sequence[TrialRecord], found: Estimated | None
) -> RampAnswer | None:
    """The ramp among the trials of a condition; None where none was driven."""
    ramp = settings.classical
    driven = next((one for one in reversed(trials) if one.saturation and one.saturation.phase == "ramp"), None)
    if ramp is None or driven is None:
        return None
    return ramp_answer(run.intervals.get(driven.trial, ()), steps_of(ramp), ramp.users, found)


def ramp_answer(lines: Sequence[IntervalLine], steps: RampUp, users: int, found: Estimated | None) -> RampAnswer | None:
    """The answer from the intervals of the ramp's trial; None where it was not measured.

    Args:
        lines: of all operations of the trial.
        steps: in which its users began.
        users: all of them.
        found: the saturation point by sweeps; None where there is none.
    """
    in_steps = groupby(_measured(lines), lambda line: _users(line, steps, users))
    driven = [_step(then, list(of)) for then, of in in_steps]
    if not driven:
        return None
    eye, knee = by_eye(driven), kneedle(driven)
    figures = None if found is None else [found.value, found.low, found.high]
    return RampAnswer(
        steps=with_averages(driven),
        eye_users=None if eye is None else eye.users,
        eye_per_s=None if eye is None else eye.per_s,
        knee_users=None if knee is None else knee.users,
        knee_per_s=None if knee is None else knee.per_s,
        message=message("ramp_differs", users=figures, eye_users=None if eye is None else eye.users),
    )


def with_averages(driven: Sequence[Step]) -> list[RampStep]:
    """The steps, each with the moving average at it."""
    averages = moving_average([step.per_s for step in driven])
    return [
        RampStep(users=one.users, from_s=one.from_s, to_s=one.to_s, per_s=one.per_s, average_per_s=average)
        for one, average in zip(driven, averages, strict=True)
    ]


def _measured(lines: Sequence[IntervalLine]) -> list[IntervalLine]:
    return sorted((one for one in lines if one.phase == "measure" and one.duration_s > 0), key=lambda one: one.start_s)


def _users(line: IntervalLine, steps: RampUp, users: int) -> int:
    """Who was active in the middle of an interval: users begin as they were planned."""
    return users_at(steps, users, line.start_s + line.duration_s / 2)


def _step(users: int, lines: Sequence[IntervalLine]) -> Step:
    """One step; of several operations all together."""
    times = {line.index: line.duration_s for line in lines}
    last = lines[-1]
    ok = sum(line.ok for line in lines)
    return Step(users, lines[0].start_s, last.start_s + last.duration_s, ok / sum(times.values()))
