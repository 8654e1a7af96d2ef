"""Rates as options write them: `5000`, `20k/s`, and the levels of `--rates`: `10%..90%`, `1000,5000`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.errors import UserError
from loadstone.spec.units import MOST_PER_S

STEPS = 9
"""Levels of a range, both ends included."""
LEVELS_MAX = 50
SHARE_MAX = 1.5
"""Of the capacity: beyond it queues grow without end, which one level shows as well as many."""
_RATE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kKM]?)\s*(/s)?", re.ASCII)
_SHARE = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)\s*%", re.ASCII)
_TIMES = {"": 1, "k": 1_000, "K": 1_000, "M": 1_000_000}


@dataclass(frozen=True)
class RateLevel:
    """One rate: of requests a second, or as a share of what the target can do."""

    per_s: float | None = None
    share: float | None = None

    @property
    def label(self) -> str:
        """As the table calls it."""
        if self.share is not None:
            return f"{100 * self.share:g} %"
        return f"{self.per_s:,.10g}/s"

    def of(self, capacity_per_s: float | None) -> float:
        """Requests a second, where the target can do so many."""
        if self.share is None:
            return self.per_s or 0.0
        return round(self.share * (capacity_per_s or 0.0), 3)


def rate_per_s(option: str, text: str) -> float:
    """Requests a second. Raises UserError."""
    match = _RATE.fullmatch(text.strip())
    rate = float(match[1]) * _TIMES[match[2]] if match else 0.0
    if not 0 < rate <= MOST_PER_S:
        raise UserError(f"{option} {text}: no rate; write requests a second, for example 5000 or 20k")
    return rate


def rate_levels(option: str, text: str) -> tuple[RateLevel, ...]:
    """The levels of a list or a range, in their order. Raises UserError."""
    levels = [level for part in text.split(",") for level in _part(option, text, part.strip())]
    found = tuple(dict.fromkeys(levels))
    if len({level.label for level in found}) != len(found):
        raise UserError(f"{option} {text}: two rates are nearly the same; leave one of them out")
    if len(found) > LEVELS_MAX:
        raise UserError(f"{option} {text}: {len(found)} rates; write at most {LEVELS_MAX}")
    if len({level.share is None for level in found}) > 1:
        raise UserError(f"{option} {text}: rates and shares of the capacity together; write one kind")
    return found


def _part(option: str, text: str, part: str) -> Sequence[RateLevel]:
    low, dots, high = part.partition("..")
    if not dots:
        return [_level(option, text, low)]
    first, last = _level(option, text, low), _level(option, text, high)
    if (first.share is None) != (last.share is None):
        raise UserError(f"{option} {text}: a rate and a share; write for example 10%..90%, or 1000..9000")
    a, b = (first.share, last.share) if first.share is not None else (first.per_s, last.per_s)
    assert a is not None
    assert b is not None
    if a >= b:
        raise UserError(f"{option} {text}: begins with what it ends with, or more; write for example 10%..90%")
    values = [round(a + (b - a) * place / (STEPS - 1), 6) for place in range(STEPS)]
    return [RateLevel(share=one) if first.share is not None else RateLevel(per_s=one) for one in values]


def _level(option: str, text: str, word: str) -> RateLevel:
    match = _SHARE.fullmatch(word.strip())
    if match is None:
        return RateLevel(per_s=rate_per_s(option, word))
    share = float(match[1]) / 100
    if not 0 < share <= SHARE_MAX:
        raise UserError(f"{option} {text}: {word} is no share of the capacity; write 1% to {SHARE_MAX:.0%}")
    return RateLevel(share=round(share, 6))
