"""What a trial is for that was measured to find where its condition saturates."""

from typing import Literal

from loadstone.plan.part import PlanPart

SATURATION_GROUP = "saturation"
"""The group of these trials. No comparison is called so."""

SaturationPhase = Literal["search", "sweep", "locate", "bisect", "ramp"]
"""search: users are doubled. sweep: every level of users, in random order. locate: the first bisection of the open
model. bisect: one around the located rate. ramp: users are added step by step, as load tools do it."""


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
