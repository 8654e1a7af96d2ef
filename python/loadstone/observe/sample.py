"""A sample, and the monitor seam."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class Sample(NamedTuple):
    """One value that a monitor saw. The unit stands in the monitor's own table `UNITS`."""

    unix_s: float
    part: str
    metric: str
    value: float


class Monitor(Protocol):
    """Yields samples of one part when asked, about once a second. Must not raise for a part that died."""

    UNITS: dict[str, str]

    def sample(self, unix_s: float) -> Iterable[Sample]: ...
