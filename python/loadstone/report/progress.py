"""What a person sees while a run goes on: what is measured now, what is decided, how long it still takes."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import TracebackType

from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from loadstone.record.look import Reason
from loadstone.report import format as fmt
from loadstone.report.columns import MARKS
from loadstone.report.terminal import STYLES, make_console

_BAR_MAX, _BAR_MIN = 24, 8
_WORDS_MIN = 12
"""Columns that a cut text keeps, however narrow the terminal is."""
_GAP = 2
_PHASES = {"ramp_up": "ramp-up", "warm_up": "warm-up"}
_ENDS: dict[Reason, str] = {
    "go on": "not decided yet, more blocks follow",
    "decided": "decided",
    "last look": "not decided, and this was the last look",
    "out of budget": "not decided, and the budget is spent",
    "spoiled": "given up, too many blocks were spoiled from outside",
}


class RunProgress:
    """The display of a run, on stderr.

    On a terminal it repaints when it is told something, at most once a call and never by itself, so that it takes no
    CPU from what is measured. Elsewhere it prints one line a finished trial of a table, and one a finished block of a
    comparison.
    """

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console or make_console()
        self._clock = clock
        self._screen: Live | None = None
        self._began_s = clock()
        self._left_s, self._at_most, self._told_s = 0.0, False, self._began_s
        self._decided: tuple[int, int] = (0, 0)
        self._finished: Counter[str] = Counter()
        self._block: Counter[str] = Counter()
        self._block_reasons: list[str] = []
        self._place = self._label = ""
        self._now = Text()

    def __enter__(self) -> "RunProgress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """The first trial is about to begin."""
        self._began_s = self._told_s = self._clock()
        if self._console.is_terminal:
            self._screen = Live(
                console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._screen.start()

    def left(self, seconds: float, at_most: bool) -> None:
        """How long the run still takes from now on; `at_most`: it may well end before."""
        self._left_s, self._at_most, self._told_s = seconds, at_most, self._clock()

    def decided(self, decided: int, of: int) -> None:
        """So many of all comparisons are decided."""
        self._decided = (decided, of)

    def trial(self, name: str, label: str, place: str) -> None:
        """Trial `name` of condition `label` begins; `place` says where in the run it stands."""
        self._place, self._label = fmt.plain(place), fmt.plain(label)
        self._now = Text(f"{fmt.plain(name)}: preparing", style="dim")
        self._paint()

    def live(self, tps: float, p99_ns: int | None, phase: str) -> None:
        """What the last second showed: operations a second, their P99, and the phase it belonged to."""
        self._now = Text.assemble(
            (f"{_PHASES.get(phase, phase):<8}", "dim"),
            (f"{fmt.rate(tps):>9}", "bold" if phase == "measure" else ""), (" TPS   P99 ", "dim"),
            f"{fmt.duration(p99_ns):>7}",
        )  # fmt: skip
        self._paint()

    def finished(self, verdict: str, reasons: Sequence[str], *, in_block: bool = False) -> None:
        """The trial ended; `in_block`: its block is told as a whole. What is not valid stays with its reasons."""
        self._finished[verdict] += 1
        if in_block:
            self._block[verdict] += 1
            self._block_reasons += reasons
        if (self._screen is None and not in_block) or (self._screen is not None and verdict != "valid"):
            self._told(verdict, f"{self._place}: {self._label}", verdict, reasons)
        self._paint()

    def block(self, place: str) -> None:
        """A block of a comparison ended: all trials told with `in_block` since the one before."""
        seen, reasons = self._block, self._block_reasons
        self._block, self._block_reasons = Counter(), []
        if self._screen is not None or not seen:
            return
        worst = next((kind for kind in ("invalid", "suspect") if seen[kind]), "valid")
        said = worst if len(seen) == 1 else ", ".join(f"{seen[kind]} {kind}" for kind in STYLES if seen[kind])
        more = [f"(And {len(reasons) - 1} more.)"] if len(reasons) > 1 else []
        self._told(worst, fmt.plain(place), said, [*reasons[:1], *more])

    def look(self, group: str, blocks: int, reason: Reason, words: Sequence[str]) -> None:
        """A comparison was judged: what became of it, and the verdict of each of its pairs."""
        refused = any(said.startswith(("INVALID", "NOT DECIDABLE")) for said in words)
        end = "ended" if reason == "decided" and refused else _ENDS[reason]
        head = f"{fmt.plain(group)}, after {fmt.count(blocks)} {'block' if blocks == 1 else 'blocks'}: {end}"
        if len(words) == 1:
            self._line(Text(f"{head}: {fmt.plain(words[0])}"))
            return
        self._line(Text(head))
        for said in words if reason != "go on" else ():
            self._line(Text(f"  {fmt.plain(said)}"))

    def note(self, text: str) -> None:
        """A sentence that stays on the screen."""
        self._line(Text(fmt.plain(text)))

    def stop(self) -> None:
        """Give the terminal back. May be called twice, and without a start."""
        if self._screen is not None:
            self._screen.stop()
            self._screen = None

    def left_words(self) -> str:
        """`about 4 min left`, counted down since it was told; `at most` where the run may end before."""
        left_s = max(0.0, self._left_s - (self._clock() - self._told_s))
        return f"{'at most' if self._at_most else 'about'} {fmt.rough_time(left_s)} left"

    def _told(self, verdict: str, what: str, said: str, reasons: Sequence[str]) -> None:
        """A line on what ended, with its mark; elsewhere than on a terminal with the time left."""
        sentence = " ".join([f"{said}.", *(fmt.plain(reason) for reason in reasons)]) if reasons else said
        left = "" if self._screen else f", {self.left_words()}"
        self._line(Text.assemble((f"{MARKS.get(verdict, '?')} ", STYLES.get(verdict, "")), f"{what}: {sentence}{left}"))

    def _line(self, text: Text) -> None:
        self._console.print(text, soft_wrap=True)

    def _paint(self) -> None:
        if self._screen is not None:
            self._screen.update(self._view(), refresh=True)

    def _view(self) -> Group:
        """Two lines: how far the run is, and what the trial does now."""
        now_s = self._clock()
        done_s = now_s - self._began_s
        all_s = done_s + max(0.0, self._left_s - (now_s - self._told_s))
        tally = Text("  ").join(
            Text(f"{self._finished[kind]} {kind}", style=STYLES[kind]) for kind in STYLES if self._finished[kind]
        )
        decided, of = self._decided
        fixed = [Text(self.left_words(), style="dim"), Text(f"{decided} of {of} decided" if of else ""), tally]
        room = self._console.width - sum(cell_len(one.plain) + _GAP for one in fixed)
        bar = min(_BAR_MAX, max(0, room - _GAP - cell_len(self._place)))
        head = _line_of(max(_WORDS_MIN, room - (bar + _GAP if bar >= _BAR_MIN else 0)), [Text(self._place), *fixed])
        if bar >= _BAR_MIN:
            line = Table.grid(padding=(0, _GAP))
            line.add_row(ProgressBar(total=max(1.0, all_s), completed=done_s, width=bar), head)
            head = line
        label_room = self._console.width - cell_len(self._now.plain) - _GAP
        return Group(head, _line_of(max(_WORDS_MIN, label_room), [Text(self._label, style="bold"), self._now]))


def _line_of(room: int, texts: list[Text]) -> Table:
    """The texts side by side; the first one is cut at `room` columns, so that the others are seen whole."""
    grid = Table.grid(padding=(0, _GAP, 0, 0))
    first = texts[0].copy()
    first.truncate(room, overflow="ellipsis")
    for _ in texts:
        grid.add_column(no_wrap=True)
    grid.add_row(first, *texts[1:])
    return grid
