"""The figures of saturation points that an objective of `--fail-if` may name, with their intervals."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from loadstone.analyse.saturation.saturation_answer import SaturationAnswer
from loadstone.message import Message, message

USERS, CAPACITY = "saturation", "capacity"
POINT_UNITS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        USERS: {"": 1.0, "users": 1.0},
        CAPACITY: {"": 1.0, "/s": 1.0, "k": 1e3, "k/s": 1e3},
    }
)
"""Figure -> the units in which it may be written. saturation: the users of the saturation point. capacity: correct
replies a second there; of the open model the highest rate that keeps its objective."""
POINT_EXAMPLES: Mapping[str, str] = MappingProxyType({USERS: "saturation < 20", CAPACITY: "capacity < 50k/s"})


class Known(NamedTuple):
    """What is known of a figure: between `low` and `high`, which may be infinite."""

    value: float | None
    """None where only a bound is known."""
    low: float
    high: float

    @property
    def figures(self) -> list[float] | None:
        """For a message: itself, and the ends of its interval; None of a bound."""
        return None if self.value is None else [self.value, self.low, self.high]


def figure_of_point(answer: SaturationAnswer, figure: str) -> Known | Message:
    """What is known of a figure of one condition, or why nothing is."""
    found = answer.users if figure == USERS else answer.per_s
    if found is not None:
        return Known(found.value, found.low, found.high)
    if figure == CAPACITY and answer.at_least_per_s is not None:
        return Known(None, answer.at_least_per_s, math.inf)
    if figure == USERS and answer.model == "open":
        return message("objective_of_users_at_rates")
    return answer.message
