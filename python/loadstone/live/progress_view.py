"""The lines of a run's progress on a terminal: how far it is, what the trial does now, and its panel."""

from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from loadstone.live.live_figures import LiveFigures
from loadstone.live.live_panel import LivePanel
from loadstone.report import format as fmt

_BAR_MAX, _BAR_MIN = 24, 8
_TEXT_MIN = 12
"""Columns that a cut text keeps, however narrow the terminal is."""
_GAP = 2
_PHASES = {"ramp_up": "ramp-up", "warm_up": "warm-up"}


def phase_text(phase: str) -> str:
    """A phase as people write it."""
    return _PHASES.get(phase, phase)


@dataclass
class View:
    """What is known of the run just now."""

    began_s: float
    reported_s: float = 0.0
    """When the time left was reported."""
    left_s: float = 0.0
    at_most: bool = False
    decided: tuple[int, int] = (0, 0)
    invalid: int = 0
    place: str = ""
    label: str = ""
    now: Text = field(default_factory=Text)
    trail: str = ""
    """What was found so far of a saturation point."""
    panel: LivePanel = field(default_factory=LivePanel)

    def live(self, figures: LiveFigures) -> None:
        """What the last second showed."""
        self.panel.add(self.label, figures)
        phase = figures.phase
        self.now = Text.assemble(
            (f"{phase_text(phase):<8}", "dim"),
            (f"{fmt.rate(figures.tps):>9}", "bold" if phase == "measure" else ""), (" TPS   P99 ", "dim"),
            f"{fmt.duration(figures.p99_ns):>7}",
        )  # fmt: skip

    def left_text(self, now_s: float) -> str:
        """`about 4 min left`, counted down since it was reported; `at most` where the run may end before."""
        left_s = max(0.0, self.left_s - (now_s - self.reported_s))
        return f"{'at most' if self.at_most else 'about'} {fmt.rough_time(left_s)} left"

    def decided_text(self) -> str:
        """`2 of 5 decided`; empty where nothing is compared."""
        decided, of = self.decided
        return f"{decided} of {of} decided" if of else ""

    def render(self, now_s: float, width: int) -> Group:
        """The lines, for a terminal of `width` columns; before the first trial only what is done."""
        label_room = max(_TEXT_MIN, width - cell_len(self.now.plain) - _GAP)
        label = _line_of(label_room, [Text(self.label, style="bold"), self.now])
        if not self.place:
            return Group(label)
        done_s = now_s - self.began_s
        all_s = done_s + max(0.0, self.left_s - (now_s - self.reported_s))
        fixed = [Text(self.decided_text()), Text(f"{self.invalid} invalid" if self.invalid else "", style="red")]
        if self.left_s:
            fixed.insert(0, Text(self.left_text(now_s), style="dim"))
        room = width - sum(cell_len(one.plain) + _GAP for one in fixed)
        bar = min(_BAR_MAX, max(0, room - _GAP - cell_len(self.place)))
        head = _line_of(max(_TEXT_MIN, room - (bar + _GAP if bar >= _BAR_MIN else 0)), [Text(self.place), *fixed])
        if bar >= _BAR_MIN:
            line = Table.grid(padding=(0, _GAP))
            line.add_row(ProgressBar(total=max(1.0, all_s), completed=done_s, width=bar), head)
            head = line
        return Group(head, label, *self.panel.lines(self.label, width), *self._trail(width))

    def _trail(self, width: int) -> list[Text]:
        line = Text(self.trail, style="dim")
        line.truncate(width, overflow="ellipsis")
        return [line] if self.trail else []


def _line_of(room: int, texts: list[Text]) -> Table:
    """The texts side by side; the first one is cut at `room` columns, so that the others stay whole."""
    grid = Table.grid(padding=(0, _GAP, 0, 0))
    first = texts[0].copy()
    first.truncate(room, overflow="ellipsis")
    for _ in texts:
        grid.add_column(no_wrap=True)
    grid.add_row(first, *texts[1:])
    return grid
