"""A sample, and the monitor seam."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from loadstone.software.metric import Metric

OTHER_MACHINE = ".host"
"""How the part of another machine ends, which a monitor of a fleet observes: after its name."""


class Sample(NamedTuple):
    """One value that a monitor observed, in the unit that its metric declares."""

    unix_s: float
    part: str
    metric: str
    value: float


class Monitor(Protocol):
    """Yields samples of one part on request, about once a second. Must not raise for a part that died."""

    METRICS: Mapping[str, Metric]
    """All that it reports, by name."""

    def sample(self, unix_s: float) -> Iterable[Sample]: ...
