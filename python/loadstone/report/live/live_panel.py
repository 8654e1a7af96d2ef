"""What stands below the lines of progress while there is load: latency, errors, CPU, and how the rate went so far."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from loadstone.drivers.outcome import AgentInterval, Interval
from loadstone.report import figure_format as fmt
from loadstone.report.live.agents import AgentsNow
from loadstone.report.live.known import LiveParts, LiveState
from loadstone.text.language import _, plural, translatable, translated

NOT_PARTS = frozenset({"generator", "host", "others"})
"""The generator's is that of its threads within the interval."""
ROWS_MAX, PARTS_MAX, INTERVALS = 6, 4, 40
_LEVELS = "▁▂▃▄▅▆▇█"
_GAP = "   "
_LABEL_MAX = 28
_BAR_MAX, _BAR_MIN = 24, 8
_TEXT_MIN = 12
"""Columns that a cut text keeps, however narrow the terminal is."""
_LINE_GAP = 2
_PHASES = {
    "ramp_up": translatable("ramp-up"),
    "warm_up": translatable("warm-up"),
    "measure": translatable("measure"),
    "drain": translatable("drain"),
}


@dataclass(frozen=True)
class LiveFigures:
    """The load over about a second."""

    phase: str
    tps: float
    """Correct replies a second."""
    p50_ns: int | None = None
    """P50 of the response time of the operation whose P50 is the largest; None without a reply."""
    p99_ns: int | None = None
    """P99 of the response time of the operation whose P99 is the largest; None without a reply."""
    errors: int = 0
    """Operations that failed, timeouts too."""
    generator_cpu: float = 0.0
    """CPUs that the generator's threads took."""
    ok: int = 0
    """Correct replies."""
    duration_s: float = 0.0
    mean_ns: float | None = None
    """Mean response time of correct replies; None without one."""
    errors_by_kind: Mapping[str, int] = field(default_factory=dict)
    users: int = 0
    """vUsers at its end."""
    agents: tuple[AgentInterval, ...] = ()
    """Intervals of a fleet's agents."""

    @classmethod
    def of(cls, interval: Interval) -> "LiveFigures | None":
        """None of an interval that has no length, and of a drain: then there is no load to show."""
        if interval.duration_s <= 0 or interval.phase == "drain":
            return None
        operations = interval.operations.values()
        ok = sum(operation.ok for operation in operations)
        timed = sum(operation.response_ns.count for operation in operations)
        busy_ns = sum(operation.response_ns.mean * operation.response_ns.count for operation in operations)
        kinds = Counter({"timeout": sum(operation.timeouts for operation in operations)})
        for operation in operations:
            kinds.update(operation.errors)
        return cls(
            phase=interval.phase,
            tps=ok / interval.duration_s,
            p50_ns=max((operation.response_ns.p50 for operation in operations), default=0) or None,
            p99_ns=max((operation.response_ns.p99 for operation in operations), default=0) or None,
            errors=kinds.total(),
            generator_cpu=sum(interval.cpu_s) / interval.duration_s,
            ok=ok,
            duration_s=interval.duration_s,
            mean_ns=busy_ns / timed if timed else None,
            errors_by_kind=+kinds,
            users=interval.users,
            agents=interval.agents,
        )


@dataclass
class LiveRow:
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

    def __init__(self, parts: LiveParts | None = None) -> None:
        self._rows: dict[str, LiveRow] = {}
        self._in_turn: dict[str, None] = {}
        """The conditions that are measured now, in the order in which they came first."""
        self.parts = parts or LiveParts()
        self.agents = AgentsNow()

    def begin(self) -> None:
        """Another trial begins, or other conditions take turns. What a condition did before stays known."""
        self._in_turn.clear()
        self.agents.begin()

    def add(self, label: str, figures: LiveFigures) -> None:
        """An interval of the condition `label`."""
        self._rows.setdefault(label, LiveRow()).add(figures)
        self._in_turn[label] = None
        self.agents.add(label, figures.agents)

    def figures_text(self, label: str) -> str:
        """`P50 0.28 ms, 0 errors, CPU: generator 62 %, redis 97 %` of this condition and just now; empty for none."""
        row = self._rows.get(label)
        if row is None or row.last is None:
            return ""
        return f"P50 {fmt.duration(row.last.p50_ns)}, {_errors(row.errors)}, {self._cpu_text(row.last)}"

    def lines(self, label: str, width: int) -> list[Text]:
        """The lines for a terminal of `width` columns; none before the first interval."""
        row, agents = self._rows.get(label), self.agents.lines(label, width)
        if row is None or not self._in_turn:
            return agents
        details = Text(self.figures_text(label), style="red" if row.errors else "dim")
        lines = [details, *(self._line(name, width) for name in list(self._in_turn)[-ROWS_MAX:])]
        for line in lines:
            line.truncate(width, overflow="ellipsis")
        return [*lines, *agents]

    def _line(self, label: str, width: int) -> Text:
        """Return a line that says how the rate of a condition went, with its range; its name and newest figures where
        several take turns."""
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
        limits = _(" {least} to {greatest} TPS", least=least, greatest=greatest) if len(self._in_turn) == 1 else ""
        room = max(0, width - cell_len(text.plain) - cell_len(limits))
        text.append(sparkline(list(row.rates)[-room:] if room else []), style="cyan")
        text.append(limits, style="dim")
        return text

    def _cpu_text(self, figures: LiveFigures) -> str:
        parts = [(part, found["cpus"]) for part, found in self.parts.now().items() if "cpus" in found]
        shown = [("generator", figures.generator_cpu), *[one for one in parts if one[0] not in NOT_PARTS][:PARTS_MAX]]
        texts = (
            f"{fmt.part_name(part)} {_('paused') if self.parts.is_held(part) else f'{100 * cpus:.0f} %'}"
            for part, cpus in shown
        )
        return f"CPU: {', '.join(texts)}"


def sparkline(figures: list[float]) -> str:
    """A block a figure, from zero up to the greatest."""
    greatest = max(figures, default=0.0)
    if greatest <= 0:
        return _LEVELS[0] * len(figures)
    return "".join(_LEVELS[round(figure / greatest * (len(_LEVELS) - 1))] for figure in figures)


def _errors(errors: int) -> str:
    return plural(errors, "{n:,} error", "{n:,} errors")


def phase_text(phase: str) -> str:
    """Return what a phase is called in the reader's language."""
    return translated(_PHASES[phase]) if phase in _PHASES else phase


@dataclass
class View:
    """What is known of the run just now."""

    began_s: float
    known: LiveState = field(default_factory=LiveState)
    reports: bool = False
    """All is measured: nothing is left, and it is nowhere in the run."""
    label: str = ""
    now: Text = field(default_factory=Text)
    trail: str = ""
    """What a search has found so far."""
    panel: LivePanel = field(init=False)

    def __post_init__(self) -> None:
        self.panel = LivePanel(self.known.parts)

    @property
    def place(self) -> str:
        """Where in the run it stands; empty outside of what is measured."""
        return "" if self.reports else self.known.place

    def live(self, figures: LiveFigures) -> None:
        """What the last second showed."""
        self.panel.add(self.label, figures)
        phase = figures.phase
        self.now = Text.assemble(
            (f"{phase_text(phase):<8}", "dim"),
            (f"{fmt.rate(figures.tps):>9}", "bold" if phase == "measure" else ""), (" TPS   P99 ", "dim"),
            f"{fmt.duration(figures.p99_ns):>7}",
        )  # fmt: skip

    def left_s(self, now_s: float) -> float:
        """Seconds that the run still takes, as far as it was said."""
        return 0.0 if self.reports else self.known.left_s(now_s) or 0.0

    def left_text(self, now_s: float) -> str:
        """`about 4 min left`, counted down since it was reported; `at most` where the run may end before."""
        time = fmt.rough_time(self.left_s(now_s))
        return _("at most {time} left", time=time) if self.known.at_most else _("about {time} left", time=time)

    def has_left(self) -> bool:
        """Whether it was said how long the run takes."""
        return not self.reports and self.known.is_left

    def decided_text(self) -> str:
        """`2 of 5 decided`; empty where nothing is compared."""
        decided, of = self.known.decided
        return _("{decided} of {of} decided", decided=decided, of=of) if of and not self.reports else ""

    def render(self, now_s: float, width: int) -> Group:
        """The lines, for a terminal of `width` columns; before the first trial only what is done."""
        label_room = max(_TEXT_MIN, width - cell_len(self.now.plain) - _LINE_GAP)
        label = _line_of(label_room, [Text(self.label, style="bold"), self.now])
        if not self.place:
            return Group(label)
        done_s = now_s - self.began_s
        all_s = done_s + self.left_s(now_s)
        invalid = self.known.invalid
        fixed = [Text(self.decided_text()), Text(_("{n} invalid", n=invalid) if invalid else "", style="red")]
        if self.has_left():
            fixed.insert(0, Text(self.left_text(now_s), style="dim"))
        room = width - sum(cell_len(one.plain) + _LINE_GAP for one in fixed)
        bar = min(_BAR_MAX, max(0, room - _LINE_GAP - cell_len(self.place)))
        bar = 0 if self.known.left_s(now_s) is None else bar
        head = _line_of(max(_TEXT_MIN, room - (bar + _LINE_GAP if bar >= _BAR_MIN else 0)), [Text(self.place), *fixed])
        if bar >= _BAR_MIN:
            line = Table.grid(padding=(0, _LINE_GAP))
            line.add_row(ProgressBar(total=max(1.0, all_s), completed=done_s, width=bar), head)
            head = line
        return Group(head, label, *self.panel.lines(self.label, width), *self._trail(width))

    def _trail(self, width: int) -> list[Text]:
        line = Text(self.trail, style="dim")
        line.truncate(width, overflow="ellipsis")
        return [line] if self.trail else []


def _line_of(room: int, texts: list[Text]) -> Table:
    """The texts side by side; the first one is cut at `room` columns, so that the others stay whole."""
    grid = Table.grid(padding=(0, _LINE_GAP, 0, 0))
    first = texts[0].copy()
    first.truncate(room, overflow="ellipsis")
    for _each in texts:
        grid.add_column(no_wrap=True)
    grid.add_row(first, *texts[1:])
    return grid
