"""Who is shown a run while it goes on: the seams to `live/`, and what stands there where no one is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from loadstone.drive.outcome import Interval
from loadstone.judge.verdict import Verdict
from loadstone.live.live_figures import LiveFigures
from loadstone.message import Message
from loadstone.observe.sample import Sample
from loadstone.plan.rounds import Rounds
from loadstone.record.look import Reason


class Progress(Protocol):
    """Sentences for the person at the terminal, and what the monitors observe; see `live.progress.RunProgress`."""

    def step(self, text: str) -> None:
        """What is being done just now; the next one takes its place, unless it is a `Remark`."""

    def note(self, text: str) -> None:
        """What must be known, and stays."""

    def sample(self, samples: Sequence[Sample]) -> None:
        """The monitors observed something. From any thread."""


class CampaignProgress(Protocol):
    """What becomes of the trials and comparisons of a run, as it happens; see `live.progress.RunProgress`."""

    def start(self) -> None:
        """The first trial is about to begin."""

    def stop(self) -> None:
        """The last one ended."""

    def left(self, seconds: float, at_most: bool) -> None:
        """How long the run still takes; `at_most`: it may end before."""

    def decided(self, decided: int, of: int) -> None:
        """So many of all comparisons are decided."""

    def trial(self, name: str, label: str, place: str) -> None:
        """Trial `name` of condition `label` begins; `place` says where in the run it stands."""

    def place(self, place: str) -> None:
        """Where in the run it stands now, within what `trial` said."""

    def live(self, figures: LiveFigures, label: str = "") -> None:
        """The last interval of the trial; `label`: its condition, where several take turns."""

    def finished(self, verdict: str, reasons: Sequence[Message], *, in_block: bool = False) -> None:
        """The trial ended, with the reasons why it is not valid; `in_block`: its block is reported as a whole."""

    def block(self, place: str) -> None:
        """A block of a comparison ended."""

    def look(
        self, group: str, blocks: int, reason: Reason, verdicts: Sequence[Verdict], names: Sequence[str] = ()
    ) -> None:
        """A comparison was judged after so many blocks or rounds: the verdict of each pair, and the names."""

    def lengthened(self, group: str, rounds: Rounds | None, carried: Message) -> None:
        """A comparison begins again with these slices (None: whole trials), because of what is carried over."""

    def searched(self, users: int, per_s: float) -> None:
        """A step of the search for a saturation point ended: so many users, correct replies a second."""

    def rated(self, rate_per_s: float, *, kept: bool) -> None:
        """A rate was offered, and the objective was kept or not."""

    def announced(self, label: str, said: Message) -> None:
        """What happens next to the search for a condition's saturation point, and why."""

    def estimated(self, label: str, sweeps: int, said: Message) -> None:
        """What so many sweeps say of a condition's saturation point."""

    def forecast(self, group: str, forecast: Message) -> None:
        """What the next look at a comparison would show."""

    def detail(self, text: str) -> None:
        """Something that only those need who want to know everything."""


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
