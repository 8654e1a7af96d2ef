"""What a person sees while a run goes on: which trial, what it does now, how long it still takes."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from loadstone.report import format as fmt
from loadstone.report.columns import MARKS
from loadstone.report.terminal import STYLES, make_console

_PHASES = {"ramp_up": "ramp-up", "warm_up": "warm-up"}


class RunProgress:
    """The display of a run, on stderr.

    On a terminal it repaints when it is told something, at most once a call and never by itself, so that it takes no
    CPU from what is measured. Elsewhere it prints one line a finished trial.
    """

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console or make_console()
        self._clock = clock
        self._screen: Live | None = None
        self._total = 0
        self._expected_s = 0.0
        self._began_s = 0.0
        self._last_end_s = 0.0
        self._finished: Counter[str] = Counter()
        self._first = self._number = 0
        self._label = ""
        self._now = Text()

    def __enter__(self) -> "RunProgress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, total_trials: int, expected_s: float) -> None:
        """Begin: `total_trials` of the whole run (those of a resumed run included), `expected_s` for what is left."""
        self._total, self._expected_s = total_trials, expected_s
        self._began_s = self._last_end_s = self._clock()
        self._line(Text(f"{fmt.count(total_trials)} trials, about {fmt.rough_time(expected_s)}"))
        if self._console.is_terminal:
            self._screen = Live(
                console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._screen.start()

    def trial(self, name: str, label: str, n: int) -> None:
        """Trial `name` of condition `label` begins, the `n`-th of the run, counted from 1."""
        self._first = self._first or n
        self._number, self._label = n, fmt.plain(label)
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

    def finished(self, verdict: str, reasons: Sequence[str]) -> None:
        """The trial ended. What is not valid stays on the screen with its reasons."""
        self._finished[verdict] += 1
        self._last_end_s = self._clock()
        if self._screen is None or verdict != "valid":
            said = " ".join([f"{verdict}.", *(fmt.plain(reason) for reason in reasons)]) if reasons else verdict
            line = f"trial {self._number} of {self._total}: {self._label}: {said}"
            left = "" if self._screen else f", about {fmt.rough_time(self.left_s())} left"
            self._line(Text.assemble((f"{MARKS.get(verdict, '?')} ", STYLES.get(verdict, "")), line, left))
        self._paint()

    def note(self, text: str) -> None:
        """A sentence that stays on the screen."""
        self._line(Text(fmt.plain(text)))

    def stop(self) -> None:
        """Give the terminal back. May be called twice, and without a start."""
        if self._screen is not None:
            self._screen.stop()
            self._screen = None

    def left_s(self) -> float:
        """Seconds that the run still takes: by the plan at first, then by the mean length of the trials so far."""
        done = self._finished.total()
        if not done:
            return max(0.0, self._expected_s - (self._clock() - self._began_s))
        each_s = (self._last_end_s - self._began_s) / done
        to_do = self._total - (self._first - 1) - done
        return max(0.0, to_do * each_s - (self._clock() - self._last_end_s))

    def _line(self, text: Text) -> None:
        self._console.print(text, soft_wrap=True)

    def _paint(self) -> None:
        if self._screen is not None:
            self._screen.update(self._view(), refresh=True)

    def _view(self) -> Group:
        """Two lines: how far the run is, and what the trial does now."""
        done = self._finished.total()
        tally = Text("  ").join(
            Text(f"{self._finished[kind]} {kind}", style=STYLES[kind]) for kind in STYLES if self._finished[kind]
        )
        head = Table.grid(padding=(0, 2))
        for _ in range(4):
            head.add_column(no_wrap=True)
        head.add_row(
            ProgressBar(total=max(1, self._total), completed=done, width=24),
            f"trial {self._number} of {self._total}",
            Text(f"{fmt.rough_time(self.left_s())} left", style="dim"),
            tally,
        )
        body = Table.grid(padding=(0, 2))
        body.add_column(no_wrap=True, overflow="ellipsis", max_width=max(12, self._console.width - 40))
        body.add_column(no_wrap=True)
        body.add_row(Text(self._label, style="bold"), self._now)
        return Group(head, body)
