"""A CPU or memory limit as it is in force: its value, or why it has none."""

from collections.abc import Mapping
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

LimitName = Literal["cpu", "memory"]
LimitStatus = Literal["in_force", "unavailable", "unlimited", "unknown"]
"""unavailable: it could not be set; unlimited: the system reports that there is none;
unknown: nothing is reported."""
_EARLIER: Mapping[str, LimitName] = {"cpu limit": "cpu", "memory limit in bytes": "memory", "memory limit": "memory"}
"""What the limits were called in records of before, where each was a text."""


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


def _limits_of(given: object) -> object:
    """The limits of one part in a record; those of before, which were texts, become data. Other keys are left out."""
    if not isinstance(given, Mapping):
        return given
    named = {_EARLIER.get(str(name), name): limit for name, limit in given.items()}
    return {
        name: _of_before(limit) if isinstance(limit, str) else limit
        for name, limit in named.items()
        if name in ("cpu", "memory")
    }


def _of_before(text: str) -> dict[str, Any]:
    status, _, why = text.partition(": ")
    if status in ("unavailable", "unknown"):
        return {"status": status, "why": why if status == "unavailable" else ""}
    try:
        return limit_in_force(float(text)).model_dump()
    except ValueError:
        return {"status": "unlimited"}


PartLimits = Annotated[dict[LimitName, LimitInForce], BeforeValidator(_limits_of)]
"""The limits of one part that it has, or was to have."""
