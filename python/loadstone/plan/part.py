"""The base of every part of a plan."""

from pydantic import BaseModel, ConfigDict


class PlanPart(BaseModel):
    """Base of every part: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
