"""The base of every part of a plan."""

from pydantic import BaseModel, ConfigDict


class PlanPart(BaseModel):
    """Base of every part: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def is_left_out(value: object) -> bool:
    """Drivers that know nothing of it need not read of it."""
    return not value


def is_none(value: object) -> bool:
    """As `is_left_out`, where 0 is a value."""
    return value is None
