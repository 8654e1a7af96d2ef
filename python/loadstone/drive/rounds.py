"""The driver seam for rounds (stand-in until the engine's arrives)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.drive.outcome import Interval

OnIntervalOf = Callable[[int, Interval], None]


@dataclass(frozen=True)
class RoundsOptions:
    slice_s: float
    settle_s: float
    orders: Sequence[Sequence[int]]
    parts: Sequence[Mapping[str, Sequence[int]]]
