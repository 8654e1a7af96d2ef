"""Who is told how a run and its goals get on, and who takes its figures: the seams to whatever shows them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.rounds import Rounds
from loadstone.judge.verdict import CpuCost, Verdict
from loadstone.monitors.monitor import Sample
from loadstone.run_folder.look import Reason
from loadstone.text.message import Message


class ProgressListener(Protocol):
    """Who is told how a goal gets on; see `report.live.progress.RunProgress`."""

    def decided(self, decided: int, of: int) -> None:
        """Tell that `decided` of all `of` comparisons are decided."""

    def look(
        self,
        group: str,
        blocks: int,
        reason: Reason,
        verdicts: Sequence[Verdict],
        names: Sequence[str] = (),
        costs: Sequence[Verdict | None] = (),
    ) -> None:
        """A comparison was judged after so many blocks or rounds: the verdict of each pair, and the names.

        `costs`: of each pair the verdict by what a request costs, where that alone answers its question.
        """

    def lengthened(self, group: str, rounds: Rounds | None, carried: Message) -> None:
        """A comparison begins again with these slices (None: whole trials), because of what is carried over."""

    def forecast(self, group: str, forecast: Message) -> None:
        """What the next look at a comparison would show."""

    def searched(self, users: int, per_s: float) -> None:
        """A step of a search for a load ended: so many users, correct replies a second."""

    def rated(self, rate_per_s: float, *, kept: bool) -> None:
        """A rate was offered, and the objective was kept or not."""

    def announced(self, label: str, said: Message) -> None:
        """What happens next to a search for a load, and why; what was said is not said again."""

    def estimated(self, label: str, sweeps: int, said: Message) -> None:
        """What so many sweeps say of the load that is searched for."""

    def detail(self, text: str) -> None:
        """Something that only those need who want to know everything."""


Notice = Callable[[ProgressListener], None]
"""Tells what there is to be told, at the moment at which it is called."""


class Listener(ProgressListener, Protocol):
    """Who is told how a run gets on; see `report.live.progress.RunProgress`."""

    def start(self) -> None:
        """Something is measured from now on."""

    def stop(self) -> None:
        """Nothing is measured for a while."""

    def left(self, seconds: float, at_most: bool) -> None:
        """Tell that so many seconds are left; `at_most`: it may well take less."""

    def trial(self, name: str, label: str, place: str) -> None:
        """A trial begins: its name, what is measured, and where in the run it stands."""

    def place(self, place: str) -> None:
        """The trial goes on somewhere else in the run."""

    def interval(self, interval: Interval, label: str = "") -> None:
        """An interval of the load ended; `label`: of which condition, where several take turns."""

    def sample(self, samples: Sequence[Sample]) -> None:
        """The monitors observed something. From any thread."""

    def cost(self, condition: str, trial: str, costs: Mapping[str, CpuCost]) -> None:
        """What a request of a condition cost each part in one trial."""

    def finished(self, verdict: str, reasons: Sequence[Message], *, in_block: bool = False) -> None:
        """A trial was recorded: how it was judged, and why."""

    def block(self, place: str) -> None:
        """A block ended."""

    def step(self, text: str) -> None:
        """What is being done between trials."""


class Exporter(Protocol):
    """Who takes all figures as they come in; see `report.live.prometheus.LiveExporter`."""

    def observe(self, interval: Interval, condition: str = "") -> None:
        """What the load of a condition did over about a second."""

    def sample(self, samples: Iterable[Sample]) -> None:
        """What the monitors saw at one moment."""

    def cost(self, condition: str, costs: Mapping[str, CpuCost]) -> None:
        """What a request of a condition cost each part, over its trials so far."""
