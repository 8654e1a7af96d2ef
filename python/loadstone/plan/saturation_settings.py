"""How saturation points are searched for, and what a trial of the search is for."""

from typing import Literal

from loadstone.plan.part import PlanPart
from loadstone.spec.saturation_spec import SWEEPS_MIN, LatencyObjective, Ramp, Saturate, latency_objective, ramp_of
from loadstone.spec.units import duration_s, margin_share

QUICK_RAMP_S = 60.0
SATURATION_GROUP = "saturation"
"""The group of these trials. No comparison is called so."""
SaturationPhase = Literal["search", "sweep", "locate", "bisect", "ramp"]
"""search: users are doubled. sweep: every level of users, in random order. locate: the first bisection of the open
model. bisect: one around the located rate. ramp: users are added step by step, as load tools do it."""


class SaturationSettings(PlanPart):
    """See `spec.saturation_spec.Saturate`."""

    model: Literal["closed", "open"]
    users_max: int
    sweeps: int
    """The fewest."""
    sweeps_max: int
    precision: float
    """The interval is to reach no further to either side, as a share; sweeps go on until then."""
    objective: str | None
    slice_s: float | None
    trial_s: float | None
    rounds: bool
    """Whether levels take turns in rounds of slices where they can."""
    ramp: str | None = None
    """A classical ramp that is driven beside it."""
    quick: bool
    """Every second level, shorter slices, and no more than the fewest sweeps."""

    @property
    def classical(self) -> Ramp | None:
        """The ramp; of a quick run at most `QUICK_RAMP_S` long."""
        ramp = None if self.ramp is None else ramp_of(self.ramp)
        if ramp is None or not self.quick:
            return ramp
        return Ramp(ramp.users, min(ramp.seconds, QUICK_RAMP_S))

    @property
    def required(self) -> LatencyObjective | None:
        """What the load must keep."""
        return None if self.objective is None else latency_objective(self.objective)


def settings_of(spec: Saturate, *, quick: bool) -> SaturationSettings:
    """The settings of a mode."""
    sweeps = SWEEPS_MIN if quick else spec.sweeps
    return SaturationSettings(
        model=spec.model,
        users_max=spec.users_max,
        sweeps=sweeps,
        sweeps_max=sweeps if quick else spec.sweeps_max,
        precision=margin_share(spec.precision),
        objective=spec.objective,
        slice_s=None if spec.slice is None else duration_s(spec.slice),
        trial_s=None if spec.trial is None else duration_s(spec.trial),
        rounds=spec.rounds == "auto",
        ramp=spec.ramp,
        quick=quick,
    )


class SaturationStep(PlanPart):
    """One trial of it."""

    phase: SaturationPhase
    users: int | None = None
    """Of the closed model."""
    rate_per_s: float | None = None
    """Of the open model."""
    number: int = 1
    """search, locate: which step it is. sweep: the first sweep that the trial holds a part of. bisect: which block."""
    rounds_a_sweep: int = 0
    """Of a level in rounds: so many make one sweep; 0: the whole trial is of one sweep."""
