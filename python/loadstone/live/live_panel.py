"""What stands below the lines of progress while there is load: latency, errors, CPU, and how the rate went so far."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.text import Text

from loadstone.live.live_figures import LiveFigures
from loadstone.observe.sample import Sample
from loadstone.report import format as fmt

CPU = "cpu_share"
"""The metric of a part that is shown, in CPUs."""
NOT_PARTS = frozenset({"generator", "host"})
"""The generator's is that of its threads within the interval."""
ROWS_MAX, PARTS_MAX, INTERVALS = 6, 4, 40
_LEVELS = "▁▂▃▄▅▆▇█"
_GAP = "   "
_LABEL_MAX = 28


RECENT_S = 3.0
"""What was observed longer ago is not now."""


@dataclass
class Row:
    """What one condition did so far."""

    rates: deque[float] = field(default_factory=lambda: deque(maxlen=INTERVALS))
    """Correct replies a second, of the newest intervals of its measurements."""
    errors: int = 0
    last: LiveFigures | None = None

    def add(self, figures: LiveFigures) -> None:
        """An interval more."""
        self.last = figures
        self.errors += figures.errors
        if figures.phase == "measure":
            self.rates.append(figures.tps)


class LivePanel:
    """A few lines; as many rows as conditions take turns."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._in_turn: dict[str, None] = {}
        """The conditions that are measured now, in the order in which they came first."""
        self._cpu: dict[str, Sample] = {}
        self._still: set[str] = set()
        """Parts that are held (a condition that does not have its turn): what they used before is not now."""
        self._newest_s = 0.0

    def begin(self) -> None:
        """Another trial begins, or other conditions take turns. What a condition did before stays known."""
        self._in_turn.clear()

    def add(self, label: str, figures: LiveFigures) -> None:
        """An interval of the condition `label`."""
        self._rows.setdefault(label, Row()).add(figures)
        self._in_turn[label] = None

    def sample(self, samples: Iterable[Sample]) -> None:
        """What the monitors observed. From any thread: the newest share of each part is kept."""
        for one in samples:
            self._newest_s = max(self._newest_s, one.unix_s)
            if one.metric == CPU and one.part not in NOT_PARTS:
                self._cpu[one.part] = one
            elif one.metric == "stopped":
                (self._still.add if one.value > 0 else self._still.discard)(one.part)

    def figures_text(self, label: str) -> str:
        """`P50 0.28 ms, 0 errors, CPU: generator 62 %, redis 97 %` of this condition and just now; empty for none."""
        row = self._rows.get(label)
        if row is None or row.last is None:
            return ""
        return f"P50 {fmt.duration(row.last.p50_ns)}, {_errors(row.errors)}, {self._cpu_text(row.last)}"

    def lines(self, label: str, width: int) -> list[Text]:
        """The lines for a terminal of `width` columns; none before the first interval."""
        row = self._rows.get(label)
        if row is None or not self._in_turn:
            return []
        details = Text(self.figures_text(label), style="red" if row.errors else "dim")
        lines = [details, *(self._line(name, width) for name in list(self._in_turn)[-ROWS_MAX:])]
        for line in lines:
            line.truncate(width, overflow="ellipsis")
        return lines

    def _line(self, label: str, width: int) -> Text:
        """How the rate of a condition went, with its range; its name and newest figures where several take turns."""
        row = self._rows[label]
        text = Text()
        if len(self._in_turn) > 1 and row.last is not None:
            name = Text(label)
            name.truncate(min(_LABEL_MAX, width // 3), overflow="ellipsis", pad=True)
            text.append_text(name)
            text.append(f"{_GAP}{fmt.rate(row.last.tps):>9} TPS{_GAP}P99 {fmt.duration(row.last.p99_ns):>7}{_GAP}")
        if not row.rates:
            return text
        least, greatest = fmt.rate(min(row.rates)), fmt.rate(max(row.rates))
        limits = f" {least} to {greatest} TPS" if len(self._in_turn) == 1 else ""
        room = max(0, width - cell_len(text.plain) - cell_len(limits))
        text.append(sparkline(list(row.rates)[-room:] if room else []), style="cyan")
        text.append(limits, style="dim")
        return text

    def _cpu_text(self, figures: LiveFigures) -> str:
        recent = [one for one in list(self._cpu.values()) if self._newest_s - one.unix_s <= RECENT_S][:PARTS_MAX]
        parts = [("generator", figures.generator_cpu), *((one.part, one.value) for one in recent)]
        shown = (
            f"{fmt.plain(part)} {'paused' if part in self._still else f'{100 * cpus:.0f} %'}" for part, cpus in parts
        )
        return f"CPU: {', '.join(shown)}"


def sparkline(figures: list[float]) -> str:
    """A block a figure, from zero up to the greatest."""
    greatest = max(figures, default=0.0)
    if greatest <= 0:
        return _LEVELS[0] * len(figures)
    return "".join(_LEVELS[round(one / greatest * (len(_LEVELS) - 1))] for one in figures)


def _errors(errors: int) -> str:
    return f"{fmt.count(errors)} {'error' if errors == 1 else 'errors'}"
