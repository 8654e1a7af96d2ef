"""A CPU or memory limit as it is in force: its value, or why it has none."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

LimitName = Literal["cpu", "memory"]
LimitStatus = Literal["in_force", "unavailable", "unlimited", "unknown"]
"""unavailable: it could not be set; unlimited: the system reports that there is none;
unknown: nothing is reported."""


class LimitInForce(BaseModel):
    """One limit of a part."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    status: LimitStatus
    value: float | None = None
    """As the kernel or the container's engine reports it: CPUs' worth of time, or bytes; None unless it is in force."""
    why: str = ""
    """Why it is unavailable, in the system's message."""


def limit_in_force(value: float) -> LimitInForce:
    """The limit that is reported with this value; an infinite one is no limit."""
    return LimitInForce(status="in_force", value=value) if isfinite(value) else LimitInForce(status="unlimited")


def recorded(limits: Mapping[LimitName, LimitInForce]) -> dict[str, dict[str, Any]]:
    """The limits of one part as they stand in a record."""
    return {name: limit.model_dump() for name, limit in limits.items()}


PartLimits = dict[LimitName, LimitInForce]
"""The limits of one part that it has, or was to have."""
