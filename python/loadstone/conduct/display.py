"""Who is shown a run while it goes on: the seams to `live/`, and what stands there where no one is."""

from collections.abc import Sequence
from typing import Protocol

from loadstone.drive.outcome import Interval
from loadstone.judge.verdict import Verdict
from loadstone.message import Message
from loadstone.observe.sample import Sample
from loadstone.record.look import Reason


class Progress(Protocol):
    """Sentences for the person at the terminal; see `live.progress.RunProgress`."""

    def step(self, text: str) -> None:
        """What is being done just now; the next one takes its place, unless it is a `Remark`."""

    def note(self, text: str) -> None:
        """What must be known, and stays."""


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

    def live(self, tps: float, p99_ns: int | None, phase: str) -> None:
        """The last interval of the trial: operations a second, their P99 in ns, and its phase."""

    def finished(self, verdict: str, reasons: Sequence[Message], *, in_block: bool = False) -> None:
        """The trial ended, with the reasons why it is not valid; `in_block`: its block is reported as a whole."""

    def block(self, place: str) -> None:
        """A block of a comparison ended."""

    def look(
        self, group: str, blocks: int, reason: Reason, verdicts: Sequence[Verdict], names: Sequence[str] = ()
    ) -> None:
        """A comparison was judged after so many blocks or rounds: the verdict of each pair, and the names."""

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


class NoLive:
    """No one is shown the figures."""

    def observe(self, interval: Interval) -> None:
        """Passed over."""

    def sample(self, samples: Sequence[Sample]) -> None:
        """Passed over."""
