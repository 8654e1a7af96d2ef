"""Who is shown a run while it goes on: the seams to `live/`, and what stands there where no one is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from loadstone.drive.outcome import Interval
from loadstone.goals.goal import Told
from loadstone.live.live_panel import LiveFigures
from loadstone.message import Message
from loadstone.observe.sample import Sample


class Progress(Protocol):
    """Sentences for the person at the terminal, and what the monitors observe; see `live.progress.RunProgress`."""

    def step(self, text: str) -> None:
        """What is being done just now; the next one takes its place, unless it is a `Remark`."""

    def note(self, text: str) -> None:
        """What must be known, and stays."""

    def sample(self, samples: Sequence[Sample]) -> None:
        """The monitors observed something. From any thread."""


class RunDisplay(Told, Protocol):
    """What becomes of the trials and goals of a run, as it happens; see `live.progress.RunProgress`."""

    def start(self) -> None:
        """The first trial is about to begin."""

    def stop(self) -> None:
        """The last one ended."""

    def left(self, seconds: float, at_most: bool) -> None:
        """How long the run still takes; `at_most`: it may end before."""

    def trial(self, name: str, label: str, place: str) -> None:
        """Trial `name` of condition `label` begins; `place` says where in the run it stands."""

    def place(self, place: str) -> None:
        """Where in the run it stands now, within what `trial` said."""

    def live(self, figures: LiveFigures, label: str = "") -> None:
        """The last interval of the trial; `label`: its condition, where several take turns."""

    def finished(self, verdict: str, reasons: Sequence[Message], *, in_block: bool = False) -> None:
        """The trial ended, with the reasons why it is not valid; `in_block`: its block is reported as a whole."""

    def block(self, place: str) -> None:
        """A block of several trials ended."""


class Live(Protocol):
    """The figures as they come in; see `live.prometheus.LiveExporter`."""

    def observe(self, interval: Interval) -> None:
        """An interval ended."""

    def sample(self, samples: Sequence[Sample]) -> None:
        """The monitors observed something."""


@dataclass(frozen=True)
class LiveAt:
    """The figures go to whom they are shown: samples to the person at the terminal, all of them to an exporter."""

    progress: Progress
    exporter: Live | None = None

    def observe(self, interval: Interval) -> None:
        """See `Live.observe`; the terminal gets intervals with the name of their condition."""
        if self.exporter is not None:
            self.exporter.observe(interval)

    def sample(self, samples: Sequence[Sample]) -> None:
        """See `Live.sample`."""
        self.progress.sample(samples)
        if self.exporter is not None:
            self.exporter.sample(samples)


class NoLive:
    """No one is shown the figures."""

    def observe(self, interval: Interval) -> None:
        """Passed over."""

    def sample(self, samples: Sequence[Sample]) -> None:
        """Passed over."""
