"""What every part of an experiment is made of: the base class, and texts with a unit that stay as they were written."""

from collections.abc import Callable
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from loadstone.experiment.action import ListsActions
from loadstone.text.units import duration_s, margin_share, rate_or_share


class SpecPart(ListsActions):
    """Base of every part: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def readable_by(read: Callable[[object], object]) -> BeforeValidator:
    """The value must be one that `read` takes; it stays as it was written."""

    def check(value: object) -> object:
        read(value)
        return value

    return BeforeValidator(check)


Duration = Annotated[str | float, readable_by(duration_s)]
"""A time as text (`45 min`, `20m`) or in seconds; `text.units.duration_s` reads it."""
Margin = Annotated[str | float, readable_by(margin_share)]
"""A share as text (`5 %`) or as a number (0.05); `text.units.margin_share` reads it."""
AtRate = Annotated[str | float, readable_by(rate_or_share)]
"""A share of each row's capacity (`50 %`), a rate for all (`5000/s`), or `never`; `text.units.rate_or_share` reads
it."""


class PlanPart(BaseModel):
    """Base of every part: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def is_left_out(value: object) -> bool:
    """Drivers that know nothing of it need not read of it."""
    return not value


def is_none(value: object) -> bool:
    """As `is_left_out`, where 0 is a value."""
    return value is None
