"""What a run tells while it goes on, in its folder: `events.jsonl`, for pages and programs that follow it.

One line a second at most, and ever fewer as the file grows; what stays (looks, costs, the log) is written at once. It
is made from what the terminal is told, so nobody has to look at more than one file. A run does not depend on it: where
it cannot be written, it ends, and the run goes on.
"""

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from types import TracebackType
from typing import Any, Protocol, Self

from pydantic_core import to_jsonable_python

from loadstone.judge.verdict import CpuCost, Verdict
from loadstone.machine import clock as steady_clock
from loadstone.machine.process_identity import boot_id, started
from loadstone.report.live.known import LiveState
from loadstone.report.live.live_panel import LiveFigures
from loadstone.run_folder.look import Reason
from loadstone.safety import defect
from loadstone.safety.errors import Interrupted, LoadstoneError
from loadstone.safety.terminal import visible

FORMAT = 1
PAUSE_S = 1.0
"""Between two lines of what happens now."""
FULL_BYTES = 4 * 1024 * 1024
"""From this size on the pauses grow with the file: a day's file has some 25 MB."""
BYTES_MAX = 64 * 1024 * 1024
"""From here on only how the run ends is written."""
TEXT_MAX = 2000
"""Characters of a line of the log."""
EARLY_MAX = 200
"""Events of before the folder is there that are kept for it."""
CONDITIONS_MAX, KINDS_MAX = 64, 16
"""Number of conditions and kinds of errors that stand in a line."""

_PLACE = re.compile(r"[\s-]*b?\d[\d-]*$")
"""What follows the group in a trial's name: `storage b01`, `b01-007`, `saturation-001`."""
_BURST_S = 0.2
_WARMS = re.compile(r"\bb00\b")


class Lines(Protocol):
    """The file in the run's folder, see `run_folder.lines.LineFile`."""

    def append(self, record: Mapping[str, Any]) -> int: ...

    def size(self) -> int: ...

    def close(self) -> None: ...


@dataclass
class Totals:
    """What one condition did since this process began to measure it."""

    ok: int = 0
    measured_s: float = 0.0
    busy_ns: float = 0.0
    """Sum of the response times of the correct replies."""
    peak_per_s: float = 0.0
    errors: Counter[str] = field(default_factory=Counter)
    last: LiveFigures | None = None

    def add(self, figures: LiveFigures, *, warms: bool) -> None:
        """An interval more; rates are those of the measure phase, errors those of all phases. `warms`: it is of a
        warming block, of which nothing counts."""
        self.last = figures
        self.errors.update(figures.errors_by_kind)
        if figures.phase == "measure" and not warms:
            self.ok += figures.ok
            self.measured_s += figures.duration_s
            self.busy_ns += figures.ok * (figures.mean_ns or 0.0)
            self.peak_per_s = max(self.peak_per_s, figures.tps)

    def line(self) -> dict[str, Any]:
        """As it stands in a line."""
        last = self.last
        return {
            **({} if last is None else {"phase": last.phase, "tps": _short(last.tps), "users": last.users}),
            **({} if last is None else {"p50_ns": last.p50_ns, "p99_ns": last.p99_ns}),
            "mean_tps": _short(self.ok / self.measured_s) if self.measured_s > 0 else None,
            "mean_ns": round(self.busy_ns / self.ok) if self.ok else None,
            "peak_tps": _short(self.peak_per_s),
            "ok": self.ok,
            "errors": dict(self.errors.most_common(KINDS_MAX)),
        }


class RunEvents:
    """Takes what the terminal is told, and writes it into the run's folder once there is one."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, unix_clock: Callable[[], float] = steady_clock.unix_s
    ) -> None:
        self.stopping = False
        """Set by a signal's handler, which must not write: a stop was requested."""
        self.status = 0
        """The exit status, once it is known."""
        self._clock, self._unix_clock = clock, unix_clock
        self._file: Lines | None = None
        self._writing = threading.Lock()
        self._early: list[dict[str, Any]] = []
        self._bytes = 0
        self._ended = False
        self._written_s = float("-inf")
        self._state = "preparing"
        self._now: dict[str, Any] = {}
        """Where in the run it is; keys as they stand in a line."""
        self.known = LiveState()
        self._group = ""
        """What is measured: `table`, `at-rate`, a comparison. Of each a condition has figures of its own."""
        self._totals: dict[tuple[str, str], Totals] = {}
        self._new: dict[str, Totals] = {}
        """Conditions with figures that no line has yet."""
        self._live_s = float("-inf")
        """When the newest of them came: all that take turns come at once, and stand in one line."""
        self._held = False
        self._agents: dict[str, Mapping[str, Any]] = {}
        self._longer: Counter[str] = Counter()

    # The file

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The run ended, with its `status` or by an error."""
        if error is None:
            self.ended(self.status)
        elif isinstance(error, LoadstoneError):
            self.ended(error.exit_status, str(error))
        elif isinstance(error, KeyboardInterrupt):
            self.ended(Interrupted.exit_status, "interrupted")
        else:
            self.ended(defect.STATUS, f"a defect of loadstone: {type(error).__name__}")

    def open(self, file: Lines, **about: Any) -> None:
        """The run's folder is there: what was told so far is written, after who writes (`about`: what is planned).

        From here on the file is closed by `ended`.
        """
        self._file, self._bytes = file, file.size()
        pid = os.getpid()
        began = {"pid": pid, "pid_started_ticks": started(pid) or 0, "boot": boot_id()}
        self._write("began", **began, **about)
        early, self._early = self._early, []
        for line in early:
            self._append(line)

    def ended(self, status: int, why: str = "") -> None:
        """The run ended with this exit status, and why if that is not 0. Nothing follows; may be called again."""
        if not self._ended:
            self._state = "ended"
            self._write_now(always=True)
            self._write("ended", status=status, why=_clipped(why))
            self._ended = True
        with self._writing:
            if self._file is not None:
                self._file.close()
                self._file = None

    # Where it is

    def state(self, state: str) -> None:
        """`running` or `reporting`."""
        if self._state != state:
            self._state = state
            self._write_now(always=True)

    def trial(self, name: str) -> None:
        """A trial begins, or other conditions take turns; `known` has where that is already."""
        if self._new:  # what the ones before did at their end
            self._write_now(always=True)
        self._state = "running" if self._state == "preparing" else self._state
        self._group = _PLACE.sub("", name)
        self._now |= {"trial": name, "group": self._group, "label": self.known.label, "step": ""}
        self._write_now()

    def step(self, text: str) -> None:
        """What is done outside of trials."""
        self._now["step"] = _clipped(text)
        self._write_now()

    # Figures

    def live(self, label: str, figures: LiveFigures) -> None:
        """What a condition did over about a second."""
        key = self._group, label
        if key in self._totals or len(self._totals) < CONDITIONS_MAX:
            totals = self._totals.setdefault(key, Totals())
            totals.add(figures, warms=bool(_WARMS.search(self._now.get("trial", ""))))
            self._new[label] = totals
            self._live_s = self._clock()
        self._now["generator_cpus"] = _short(figures.generator_cpu, 3)
        if self._clock() - self._written_s > 2 * PAUSE_S:  # else with the next samples: then all that take turns are in
            self._write_now()

    def observed(self) -> None:
        """The monitors looked at the parts. From any thread."""
        self._write_now()

    def agents(self, agents: Mapping[str, Mapping[str, Any]]) -> None:
        """What the agents of a fleet do now, by their names: numbers, texts and booleans."""
        self._agents = dict(agents)

    # What stays

    def log(self, text: str) -> None:
        """A line that stays on the terminal."""
        self._write("log", text=_clipped(text))

    def look(
        self,
        group: str,
        count: int,
        reason: Reason,
        verdicts: Sequence[Verdict],
        names: Sequence[str] = (),
        costs: Sequence[Verdict | None] = (),
    ) -> None:
        """A comparison was judged after so many blocks or rounds; `costs`: where those alone answer."""
        pairs = [
            {"name": name or group, **_pair(one), **({} if cost is None else {"cost": _pair(cost)})}
            for name, one, cost in zip_longest(names, verdicts, costs)
            if one is not None
        ]
        self._write("look", group=group, longer=self._longer[group], count=count, reason=reason, pairs=pairs)

    def lengthened(self, group: str) -> None:
        """A comparison begins again with longer slices: its looks before count no more."""
        self._longer[group] += 1

    def cost(self, condition: str, trial: str, costs: Mapping[str, CpuCost]) -> None:
        """What a request cost each part in a trial that was judged."""
        if costs:
            self._write("cost", condition=condition, trial=trial, parts={part: _cost(c) for part, c in costs.items()})

    def searched(self, label: str, **step: Any) -> None:
        """A step of a search for a load: `users` or `rate_per_s`, `per_s`, `kept`."""
        self._write("search", label=label, **step)

    # Lines

    def _write_now(self, *, always: bool = False) -> None:
        """A line on what happens now, unless there was one a moment ago."""
        if self._ended or not self._writing.acquire(blocking=always):  # another thread writes one
            return
        try:
            pause_s = PAUSE_S * max(1.0, self._bytes / FULL_BYTES)
            if always or self._clock() - self._written_s > 0.9 * pause_s:  # samples come a little early, or late
                self._written_s = self._clock()
                self._held = not (always or self._held) and self._clock() - self._live_s < _BURST_S
                self._write("now", **self._line_now(self._held))
        finally:
            self._writing.release()

    def _line_now(self, held: bool) -> dict[str, Any]:
        known = self.known
        decided, of = known.decided
        new, self._new = ({}, self._new) if held else (self._new, {})
        return {
            "state": "stopping" if self.stopping and self._state == "running" else self._state,
            **self._now,
            **({"place": known.place} if known.place else {}),
            **({"decided": decided, "of": of} if of else {}),
            "at_most": known.at_most,
            "left_s": _short(known.left_s(self._clock()), 1),
            "invalid": known.invalid,
            "conditions": {label: totals.line() for label, totals in list(new.items())},
            "parts": {
                part: {name: _short(value, 3) for name, value in found.items()}
                for part, found in known.parts.now().items()
            },
            **({"agents": self._agents} if self._agents else {}),
        }

    def _write(self, what: str, **figures: Any) -> None:
        self._append({"format": FORMAT, "unix_s": round(self._unix_clock(), 3), "what": what, **figures})

    def _append(self, line: dict[str, Any]) -> None:
        if self._file is None:
            if len(self._early) < EARLY_MAX and line["what"] != "now":
                self._early.append(line)
            return
        if self._ended or (self._bytes > BYTES_MAX and line["what"] != "ended"):
            return
        try:
            self._bytes += self._file.append(line)
        except (LoadstoneError, ValueError):  # no space: what is measured says so, and this line is missing
            return


def _pair(verdict: Verdict) -> dict[str, Any]:
    known = verdict.kind != "invalid"
    return {
        "kind": verdict.kind,
        "winner": verdict.winner_name,
        "unit": verdict.unit,
        "metric": verdict.metric,
        "larger_is_faster": verdict.larger_is_faster,
        "margin": verdict.margin,
        "level": _short(verdict.level, 6),
        "estimate": _short(verdict.estimate, 6) if known else None,
        "low": _short(verdict.low, 6) if known else None,
        "high": _short(verdict.high, 6) if known else None,
        "said": to_jsonable_python(verdict.said),
    }


def _cost(cost: CpuCost) -> dict[str, float | None]:
    return {"ns": _short(cost.ns, 1), "low_ns": _short(cost.low_ns, 1), "high_ns": _short(cost.high_ns, 1)}


def _clipped(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= TEXT_MAX else f"{shown[: TEXT_MAX - 4]} ..."


def _short(value: float | None, digits: int = 2) -> Any:
    """Return the value with `digits` digits behind the point; None for what is no number: JSON has no infinity."""
    return None if value is None or value != value or abs(value) == float("inf") else round(value, digits)
