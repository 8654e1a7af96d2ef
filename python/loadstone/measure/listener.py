"""Who is told how the goals of a run get on: the seam to whatever shows it."""

from collections.abc import Callable, Sequence
from typing import Protocol

from loadstone.experiment.plan.rounds import Rounds
from loadstone.judge.verdict import Verdict
from loadstone.run_folder.look import Reason
from loadstone.text.message import Message


class Told(Protocol):
    """Who is told how a goal gets on; see `report.live.progress.RunProgress`."""

    def decided(self, decided: int, of: int) -> None:
        """So many of all comparisons are decided."""

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
        """A step of the search for a saturation point ended: so many users, correct replies a second."""

    def rated(self, rate_per_s: float, *, kept: bool) -> None:
        """A rate was offered, and the objective was kept or not."""

    def announced(self, label: str, said: Message) -> None:
        """What happens next to the search for a saturation point, and why; what was said is not said again."""

    def estimated(self, label: str, sweeps: int, said: Message) -> None:
        """What so many sweeps say of a condition's saturation point."""

    def detail(self, text: str) -> None:
        """Something that only those need who want to know everything."""


Tell = Callable[[Told], None]
"""Tells what there is to be told, at the moment at which it is called."""
