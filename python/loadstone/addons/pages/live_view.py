"""What a run told so far, from the lines of its `events.jsonl`: what a page shows, and who comes late is sent.

The folder may be a stranger's: each value is looked at before it is kept, and nothing grows without end.
"""

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from pydantic import ValidationError

from loadstone.addons.pages.running import Writer
from loadstone.report import figure_format as fmt
from loadstone.run_folder.look import VerdictKind
from loadstone.safety.terminal import visible
from loadstone.text.message import Message, read_message

POINTS_MAX = 900
"""On the time axis; then two neighbours become one, and so on: a day has points of 2 minutes."""
GROUPS_MAX, PAIRS_MAX, LOOKS_MAX = 64, 64, 64
CONDITIONS_MAX, PARTS_MAX, KINDS_MAX = 128, 64, 16
LOG_MAX, STEPS_MAX = 300, 200
NAME_MAX, TEXT_MAX = 200, 2000
COUNT_BELOW = 1_000_000_000
"""No run has so many rounds or blocks."""
STATES = ("preparing", "running", "stopping", "reporting", "ended")
VERDICTS = frozenset(get_args(VerdictKind))
NOISY_CPUS = 0.1
"""CPUs that other programs take, beyond which the page says that the machine is noisy."""
OTHERS = "other programs"
_OF_PART = ("cpus", "rss_bytes", "connections")
_LARGEST = ("p99", "rss", "connections", "errors")
"""What of two neighbours becomes the larger; of all else the mean."""


def bounded_number(value: object) -> float | None:
    """A finite number; None of anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) and abs(found) < 1e18 else None


def brief(value: float) -> float:
    """The number as JSON has it in fewest letters: 8 for 8.0."""
    return int(value) if float(value).is_integer() else value


def count_of(value: object) -> int | None:
    """A whole number of rounds or blocks, 1 at least; None of anything else."""
    found = bounded_number(value)
    return int(found) if found is not None and found.is_integer() and 1 <= found < COUNT_BELOW else None


def bounded_text(value: object, most: int = NAME_MAX) -> str:
    """A text of so many characters at most, on one line; empty of anything else."""
    return " ".join(visible(value[:most]).split()) if isinstance(value, str) else ""


def mapping(value: object, most: int) -> dict[str, Any]:
    """Return the first entries of a mapping; empty for anything else."""
    return {bounded_text(key): one for key, one in list(value.items())[:most]} if isinstance(value, Mapping) else {}


def entries(value: object, most: int) -> list[Any]:
    """Return the first entries of a list; empty for anything else."""
    return value[:most] if isinstance(value, list) else []


@dataclass(frozen=True)
class LiveVerdict:
    """The verdict of a pair at a look; ratios are ln(B / A)."""

    name: str
    kind: str
    count: int
    """Rounds or blocks."""
    margin: float
    estimate: float | None
    low: float | None
    high: float | None
    said: Message | None
    by_cost: "LiveVerdict | None" = None
    """What a request costs, where that alone answers the question."""

    @property
    def leading(self) -> "LiveVerdict":
        """What answers the question."""
        return self.by_cost or self

    @property
    def sentence(self) -> str:
        """The verdict in words; its kind alone where a stranger wrote what no sentence can be made of."""
        try:
            return fmt.sentence(self.said) if self.said is not None else self.kind
        except Exception:  # of a stranger's figures
            return self.kind


@dataclass
class Compared:
    """A group of pairs, with its looks so far."""

    name: str
    question: str = ""
    unit: str = "round"
    margin: float = 0.05
    planned: list[int] = field(default_factory=list)
    """At how many rounds or blocks it is looked at."""
    pairs: list[str] = field(default_factory=list)
    longer: int = 0
    reason: str = ""
    """Reason of the newest look."""
    looks: dict[str, list[LiveVerdict]] = field(default_factory=dict)
    """Looks of each pair, in their order."""


@dataclass(frozen=True)
class LiveAgent:
    """What an agent of a fleet did in its newest interval."""

    state: str
    """ready, silent or lost."""
    why: str
    figures: dict[str, float | None]
    """`tps`, `share`, `p99_ns`, `errors`, `cpus`, `late_s`."""


@dataclass
class LiveCost:
    """What a request of a condition cost a part, over its trials so far."""

    sum_ns: float = 0.0
    trials: int = 0
    last_ns: float = 0.0

    @property
    def mean_ns(self) -> float:
        """The mean of its trials."""
        return self.sum_ns / max(1, self.trials)


@dataclass
class LivePoint:
    """A moment on the time axis."""

    unix_s: float
    figures: dict[str, dict[str, float]]
    """What is shown (`tps`, `p99`, `cpus`, `cost`) -> of which condition or part -> the value."""

    def merged(self, other: "LivePoint") -> "LivePoint":
        """Two neighbours as one."""
        found: dict[str, dict[str, float]] = {}
        for what in {**self.figures, **other.figures}:
            mine, its = self.figures.get(what, {}), other.figures.get(what, {})
            both = {key: (mine[key], its[key]) for key in mine if key in its}
            found[what] = mine | its | {
                key: max(pair) if what in _LARGEST else sum(pair) / 2 for key, pair in both.items()
            }  # fmt: skip
        return LivePoint((self.unix_s + other.unix_s) / 2, found)


class LiveView:
    """All that a run told; `take` adds a line. `changed` counts the changes of each piece of the page."""

    PIECES = ("actions", "head", "answers", "conditions", "costs", "log")

    def __init__(self) -> None:
        self.began: dict[str, Any] = {}
        self.writer: Writer | None = None
        """Who tells; None before it began."""
        self.now: dict[str, Any] = _now(0.0, {})
        self.ended: dict[str, Any] | None = None
        self.groups: dict[str, Compared] = {}
        self.conditions: dict[str, dict[str, Any]] = {}
        """Those of the group that is measured, in the order in which they came."""
        self.newest: dict[str, dict[str, Any]] = {}
        """Those that had figures last: one condition, or all that take turns."""
        self.errors: Counter[str] = Counter()
        """Errors of all conditions by kind, of all that was measured."""
        self.parts: dict[str, dict[str, float]] = {}
        self.agents: dict[str, LiveAgent] = {}
        self.costs: dict[str, dict[str, LiveCost]] = {}
        self.log: deque[tuple[float, str]] = deque(maxlen=LOG_MAX)
        self.steps: deque[dict[str, Any]] = deque(maxlen=STEPS_MAX)
        self.points: list[LivePoint] = []
        self.thinned = 0
        """How often two neighbours were made one."""
        self.changed: dict[str, int] = dict.fromkeys(self.PIECES, 0)
        self.said = ""
        """What a screen reader says: the last change that matters."""
        self._group = ""
        """That the conditions are of."""
        self._errors_before: dict[tuple[str, str], dict[str, int]] = {}
        """What each condition of a group had told in this session."""
        self._tables = False
        """Whether the tables of figures now changed with the newest line."""
        self._others: deque[float] = deque(maxlen=5)
        """CPUs that other programs took, in the newest lines."""
        self._waiting: list[LivePoint] = []

    @property
    def state(self) -> str:
        """One of `STATES`, by the run's own word."""
        return "ended" if self.ended is not None else str(self.now["state"])

    def take(self, line: Mapping[str, Any]) -> None:
        """A line more; one that says nothing known is passed over."""
        unix_s = bounded_number(line.get("unix_s")) or 0.0
        match line.get("what"):
            case "began":
                self._begin(line)
            case "now":
                self._take_now(unix_s, line)
            case "look":
                self._look(line)
            case "cost":
                self._cost(unix_s, line)
            case "search":
                step = {key: bounded_number(line.get(key)) for key in ("users", "rate_per_s", "per_s")}
                self.steps.append({"label": bounded_text(line.get("label")), **step})
                self._change("answers")
            case "log":
                self.log.append((unix_s, bounded_text(line.get("text"), TEXT_MAX)))
                self._change("log")
            case "ended":
                self.ended = {
                    "status": bounded_number(line.get("status")),
                    "why": bounded_text(line.get("why"), TEXT_MAX),
                }
                self._change("head", "actions", "conditions")

    def _change(self, *pieces: str) -> None:
        for piece in pieces:
            self.changed[piece] += 1

    def _begin(self, line: Mapping[str, Any]) -> None:
        """A session began: what earlier ones found stands."""
        self.writer = Writer.of(line)
        self.began = {
            "unix_s": bounded_number(line.get("unix_s")),
            "experiment": bounded_text(line.get("experiment")),
            "question": bounded_text(line.get("question"), TEXT_MAX),
            "quick": line.get("quick") is True,
            "budget_s": bounded_number(line.get("budget_s")),
        }
        self.ended, self.now = None, _now(0.0, {})
        self._errors_before.clear()
        for one in entries(line.get("groups"), GROUPS_MAX):
            if isinstance(one, Mapping) and (name := bounded_text(one.get("name"))):
                group = self.groups.setdefault(name, Compared(name))
                group.question = bounded_text(one.get("question"), TEXT_MAX)
                group.unit = "block" if one.get("unit") == "block" else "round"
                group.margin = _margin(one.get("margin"))
                group.planned = [n for look in entries(one.get("looks"), LOOKS_MAX) if (n := count_of(look))]
                group.pairs = [bounded_text(pair) for pair in entries(one.get("pairs"), PAIRS_MAX)]
        self._change(*self.PIECES)

    def _take_now(self, unix_s: float, line: Mapping[str, Any]) -> None:
        before_s = self.now["unix_s"]
        self.now = _now(unix_s, line)
        new = {label: _figures(one) for label, one in mapping(line.get("conditions"), CONDITIONS_MAX).items()}
        if new and self.now["group"] != self._group:
            self._group = self.now["group"]
            self.conditions.clear()
        for label, figures in new.items():
            if label in self.conditions or len(self.conditions) < CONDITIONS_MAX:
                self.conditions[label] = figures
        self.parts = {
            part: {key: found for key in _OF_PART if (found := bounded_number(figures.get(key))) is not None}
            for part, figures in mapping(line.get("parts"), PARTS_MAX).items()
            if isinstance(figures, Mapping)
        }  # fmt: skip
        self.agents = {name: _agent(one) for name, one in mapping(line.get("agents"), PARTS_MAX).items()}
        self.newest = new or self.newest
        if (others := self.parts.pop("others", None)) is not None:
            self.parts[OTHERS] = others  # last, and as it is called
            self._others.extend([others["cpus"]] if "cpus" in others else [])
        tabled = bool(new or self.parts or self.agents)
        self._tables = tabled and not self._tables  # the figures now change in each second line: the tiles in each
        self._change("head", *(("conditions",) if self._tables else ()))
        lasted_s = max(1.0, unix_s - before_s) if before_s else 1.0
        errors = {label: round(self._new_errors(label, one) / lasted_s, 2) for label, one in new.items()}
        self._add(LivePoint(unix_s, {**({"errors": errors} if errors else {}), **self._shown(new)}))

    @property
    def noise_cpus(self) -> float | None:
        """CPUs that other programs take now; None where they take little."""
        mean = sum(self._others) / max(1, len(self._others))
        return mean if mean >= NOISY_CPUS else None

    def _new_errors(self, label: str, figures: Mapping[str, Any]) -> int:
        """The errors of a condition since its line before; they are added to those of all."""
        key = (self.now["group"], label)
        if key not in self._errors_before and len(self._errors_before) >= CONDITIONS_MAX * GROUPS_MAX:
            return 0
        told, before = figures["errors"], self._errors_before.get(key, {})
        self._errors_before[key] = told
        if told == before:
            return 0
        new = {kind: more for kind, n in told.items() if (more := n - before.get(kind, 0)) > 0}
        for kind, number in new.items():
            if kind in self.errors or len(self.errors) < KINDS_MAX:
                self.errors[kind] += number
        return sum(new.values())

    def _shown(self, new: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
        """What of a moment stands on the time axis."""
        shown: dict[str, dict[str, float]] = {}
        for what, key in (("tps", "tps"), ("p50", "p50_ns"), ("p99", "p99_ns"), ("users", "users")):
            shown[what] = {label: one[key] for label, one in new.items() if one[key] is not None}
        for what, key in (("cpus", "cpus"), ("rss", "rss_bytes"), ("connections", "connections")):
            shown[what] = {part: one[key] for part, one in self.parts.items() if key in one}
        return {what: figures for what, figures in shown.items() if figures}

    def _look(self, line: Mapping[str, Any]) -> None:
        name, count = bounded_text(line.get("group")), count_of(line.get("count"))
        if not name or count is None or (name not in self.groups and len(self.groups) >= GROUPS_MAX):
            return
        group = self.groups.setdefault(name, Compared(name))
        longer = int(bounded_number(line.get("longer")) or 0)
        if longer != group.longer:  # it began again with longer slices
            group.longer, group.looks = longer, {}
        group.reason = bounded_text(line.get("reason"))
        for one in entries(line.get("pairs"), PAIRS_MAX):
            if not isinstance(one, Mapping):
                continue
            cost = one.get("cost")
            by_cost = _judged(cost, count) if isinstance(cost, Mapping) else None
            judged = replace(_judged(one, count), by_cost=by_cost)
            looks = group.looks.setdefault(judged.name, [])
            before = looks[-1].leading.kind if looks else ""
            if looks and looks[-1].count >= judged.count:  # the same look again, of a session that went on
                looks.pop()
            looks.append(judged)
            del looks[:-LOOKS_MAX]
            leading = judged.leading
            if leading.kind != before and leading.kind != "undecided":
                self.said = f"{judged.name}: {leading.sentence}"
        self._change("answers", "head")

    def _cost(self, unix_s: float, line: Mapping[str, Any]) -> None:
        condition = bounded_text(line.get("condition"))
        if condition not in self.costs and len(self.costs) >= CONDITIONS_MAX:
            return
        shown: dict[str, float] = {}
        for part, one in mapping(line.get("parts"), PARTS_MAX).items():
            ns = bounded_number(one.get("ns")) if isinstance(one, Mapping) else None
            if ns is not None and ns >= 0:
                cost = self.costs.setdefault(condition, {}).setdefault(part, LiveCost())
                cost.sum_ns, cost.trials, cost.last_ns = cost.sum_ns + ns, cost.trials + 1, ns
                shown[f"{condition} · {part}"] = ns
        if shown:
            self._change("costs")
            self._add(LivePoint(unix_s, {"cost": shown}))

    def _add(self, point: LivePoint) -> None:
        """A moment more on the time axis, as coarse as the earlier ones."""
        self._waiting.append(point)
        if len(self._waiting) < 2**self.thinned:
            return
        while len(self._waiting) > 1:
            self._waiting = _halved(self._waiting)
        self.points += self._waiting
        self._waiting = []
        if len(self.points) > POINTS_MAX:
            self.points = _halved(self.points)
            self.thinned += 1


def _now(unix_s: float, line: Mapping[str, Any]) -> dict[str, Any]:
    state = line.get("state")
    return {
        "unix_s": unix_s,
        "state": state if isinstance(state, str) and state in STATES else "running" if line else "preparing",
        **{key: bounded_text(line.get(key)) for key in ("group", "trial", "label", "place", "step")},
        **{key: bounded_number(line.get(key)) for key in ("left_s", "decided", "of", "invalid", "generator_cpus")},
        "at_most": line.get("at_most") is True,
    }


def _halved(points: Sequence[LivePoint]) -> list[LivePoint]:
    pairs = [one.merged(other) for one, other in zip(points[::2], points[1::2], strict=False)]
    return [*pairs, *points[len(points) - len(points) % 2 :]]


def _margin(value: object) -> float:
    found = bounded_number(value)
    return found if found is not None and 0 < found < 10 else 0.05


def _figures(value: object) -> dict[str, Any]:
    given = value if isinstance(value, Mapping) else {}
    keys = ("tps", "p50_ns", "p99_ns", "mean_tps", "mean_ns", "peak_tps", "ok", "users")
    errors = {
        kind: int(n) for kind, one in mapping(given.get("errors"), KINDS_MAX).items() if (n := bounded_number(one))
    }
    return {
        **{key: bounded_number(given.get(key)) for key in keys},
        "phase": bounded_text(given.get("phase")),
        "errors": errors,
    }


def _agent(value: object) -> LiveAgent:
    given = value if isinstance(value, Mapping) else {}
    state = given.get("state")
    figures = {key: bounded_number(given.get(key)) for key in ("tps", "share", "p99_ns", "errors", "cpus", "late_s")}
    return LiveAgent(state if state in ("silent", "lost") else "ready", bounded_text(given.get("why")), figures)


def _judged(one: Mapping[str, Any], count: int) -> LiveVerdict:
    try:
        said = read_message(one.get("said"))
    except (ValidationError, RecursionError):
        said = None
    kind = one.get("kind")
    low, high, estimate = (_ratio(one.get(key)) for key in ("low", "high", "estimate"))
    if low is not None and high is not None and low > high:
        low = high = estimate = None
    return LiveVerdict(
        name=bounded_text(one.get("name")) or "?",
        kind=kind if isinstance(kind, str) and kind in VERDICTS else "undecided",
        count=count,
        margin=_margin(one.get("margin")),
        estimate=estimate,
        low=low,
        high=high,
        said=said,
    )


def _ratio(value: object) -> float | None:
    """A log ratio; None beyond what any figures give."""
    found = bounded_number(value)
    return found if found is not None and abs(found) < 50 else None
