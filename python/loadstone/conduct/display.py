"""Who is shown a run while it goes on: the seams to `live/`, and what stands there where no one is."""

from collections.abc import Sequence
from typing import Protocol

from loadstone.drive.outcome import Interval
from loadstone.observe.sample import Sample


class Progress(Protocol):
    """Sentences for the person at the terminal; see `live.progress.RunProgress`."""

    def step(self, text: str) -> None:
        """What is being done just now; the next one takes its place, unless it is a `Remark`."""

    def note(self, text: str) -> None:
        """What must be known, and stays."""


class Live(Protocol):
    """The figures as they come in; see `live.prometheus.LiveExporter`."""

    def observe(self, interval: Interval) -> None:
        """An interval ended."""

    def sample(self, samples: Sequence[Sample]) -> None:
        """The monitors observed something."""


class NoLive:
    """No one is shown the figures."""

    def observe(self, interval: Interval) -> None:
        """Passed over."""

    def sample(self, samples: Sequence[Sample]) -> None:
        """Passed over."""
