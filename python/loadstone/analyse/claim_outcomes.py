"""What one verdict says about a claim: whether its direction holds, and whether the size that it states does."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from loadstone.analyse.model import AnswerVerdict
from loadstone.judge.metrics import is_rate
from loadstone.judge.verdict import Verdict
from loadstone.message import Message, message

Held = Literal["holds", "does_not_hold", "undecided"]
Direction = Literal["less", "the same", "more"]

INFORMATIVE = 2.0
"""An interval that is wider than so many times the claimed size says nothing about that size, although it holds it."""


@dataclass(frozen=True)
class Claimed:
    """What a conclusion claims of `where` beside `against`, on the metric of the verdict that answers it."""

    direction: Direction
    log_ratio: float | None
    """ln(where / against) as published; None where the author states no figure."""


@dataclass(frozen=True)
class Outcome:
    """What a verdict says about a claim."""

    direction: Held
    size: Held | None = None
    """None: no figure is claimed."""
    size_message: Message | None = None
    """The claimed figure beside the measured one; None without one."""


NO_DATA = Outcome("undecided", "undecided")


def claimed_on(direction: Direction, value: float | None, metric: str, judged_metric: str) -> Claimed:
    """The claim on the metric that was judged: what is said of a time means the opposite of the rate."""
    log_ratio = None if value is None else math.log1p(value)
    if is_rate(metric) == is_rate(judged_metric):
        return Claimed(direction, log_ratio)
    opposite: dict[Direction, Direction] = {"less": "more", "more": "less", "the same": "the same"}
    return Claimed(opposite[direction], None if log_ratio is None else -log_ratio)


def outcome(claimed: Claimed, judged: Verdict, *, where_is_b: bool) -> Outcome:
    """Direction and size of a claim by a verdict that is not INVALID."""
    measured = _measured(judged, where_is_b=where_is_b)
    direction = _direction(claimed, judged, measured)
    if claimed.log_ratio is None:
        return Outcome(direction)
    if measured is None:
        return Outcome(direction, "undecided")
    estimate, low, high = measured
    inside = low <= claimed.log_ratio <= high
    too_wide = inside and high - low > INFORMATIVE * abs(claimed.log_ratio)
    size: Held = "undecided" if too_wide else "holds" if inside else "does_not_hold"
    said = message(
        "answer_size",
        claimed=claimed.log_ratio,
        estimate=estimate,
        low=low,
        high=high,
        inside=inside,
        too_wide=too_wide,
    )
    return Outcome(direction, size, said)


def _measured(judged: Verdict, *, where_is_b: bool) -> tuple[float, float, float] | None:
    """Estimate and interval of ln(where / against); None without an interval."""
    if judged.estimate is None or judged.low is None or judged.high is None:
        return None
    if where_is_b:
        return judged.estimate, judged.low, judged.high
    return -judged.estimate, -judged.high, -judged.low


def _direction(claimed: Claimed, judged: Verdict, measured: tuple[float, float, float] | None) -> Held:
    if judged.kind == "equivalent":
        return _within_margin(claimed, measured)
    if judged.kind != "faster" or measured is None:
        return "undecided"
    larger = measured[0] > 0
    return "holds" if claimed.direction == ("more" if larger else "less") else "does_not_hold"


def _within_margin(claimed: Claimed, measured: tuple[float, float, float] | None) -> Held:
    """EQUIVALENT: against any difference, but for one that is claimed to be as small as what was measured."""
    if claimed.direction == "the same":
        return "holds"
    if claimed.log_ratio is None or measured is None or not measured[1] <= claimed.log_ratio <= measured[2]:
        return "does_not_hold"
    real = measured[1] > 0 or measured[2] < 0
    return "holds" if real else "undecided"


def together(outcomes: Sequence[Outcome]) -> AnswerVerdict:
    """The verdict on a claim that was tested in several places: one where it fails is enough against it."""
    direction = _all([one.direction for one in outcomes])
    sizes = [one.size for one in outcomes if one.size is not None]
    size = _all(sizes) if sizes else None
    if direction == "does_not_hold":
        return "does_not_hold"
    if direction == "undecided":
        return "size_does_not_hold" if size == "does_not_hold" else "undecided"
    if size == "does_not_hold":
        return "direction_holds_size_does_not"
    return "direction_holds_size_undecided" if size == "undecided" else "holds"


def _all(found: Sequence[Held]) -> Held:
    if "does_not_hold" in found:
        return "does_not_hold"
    return "holds" if found and set(found) == {"holds"} else "undecided"
