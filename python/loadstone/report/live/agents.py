"""The agents of a fleet while a run goes on: what each does, and whether it is still there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from loadstone.drivers.outcome import AgentInterval, AgentState
from loadstone.report import figure_format as fmt
from loadstone.text.language import _, in_language

EACH_MAX = 4
"""Number of agents up to which each has a line; of more, those that differ most are named in one line."""
TROUBLED_MAX = 3
"""Number of lines for agents that are lost or silent."""
TOLD_MAX = 64
"""Number of agents that stand in a line of events."""
LATE_S = 1.0
"""What comes so much later than it ended is worth a word: its link, or its machine, is behind."""
_NAME_MAX = 20


@dataclass
class AgentsNow:
    """The newest interval of each agent of a condition, and how each agent is."""

    _intervals: dict[str, Sequence[AgentInterval]] = field(default_factory=dict)
    """Intervals by condition."""
    _states: dict[str, AgentState] = field(default_factory=dict)

    def add(self, label: str, agents: Sequence[AgentInterval]) -> None:
        """What the agents did in the newest interval of a condition."""
        if agents:
            self._intervals[label] = agents

    def states(self, states: Sequence[AgentState]) -> None:
        """Take the states of all agents. Where one is lost, its trial is over: what the others did in it is not now."""
        lost = {one.name for one in states if one.state == "lost"}
        if lost - {name for name, one in self._states.items() if one.state == "lost"}:
            self._intervals.clear()
        self._states = {one.name: one for one in states}

    def begin(self) -> None:
        """Another trial begins: what was is not now."""
        self._intervals.clear()

    def lines(self, label: str, width: int) -> list[Text]:
        """For a terminal of so many columns; none without a fleet."""
        there = self._there(label)
        if len(self._states) <= EACH_MAX:
            lines = [self._line(name, there) for name in self._states if name in there or self._trouble(name)]
        else:
            troubled = [name for name in self._states if self._trouble(name)]
            lines = [self._all(there)] if there else []
            lines += [Text(f"{_name(name)}  {self._trouble(name)}", style="red") for name in troubled[:TROUBLED_MAX]]
            if len(troubled) > TROUBLED_MAX:
                more = _("and {n} more agents are lost or silent", n=len(troubled) - TROUBLED_MAX)
                lines.append(Text(more, style="red"))
        for line in lines:
            line.truncate(width, overflow="ellipsis")
        return lines

    def told(self, label: str) -> dict[str, Mapping[str, Any]]:
        """Return the agents as data; of many those in trouble first."""
        there = self._there(label)
        whole = sum(one.ok for one in there.values())
        names = sorted(self._states, key=lambda name: not self._trouble(name))[:TOLD_MAX]
        return {name: self._told(self._states[name], there.get(name), whole) for name in names}

    def _there(self, label: str) -> dict[str, AgentInterval]:
        lost = {name for name, one in self._states.items() if one.state == "lost"}
        found = self._intervals.get(label, ())
        return {one.name: one for one in found if one.name not in lost and one.duration_s > 0}

    def _trouble(self, name: str) -> str:
        one = self._states[name]
        lost = _("lost: {why}", why=fmt.plain(in_language(one.why))) if one.why else _("lost")
        return {"ready": "", "silent": _("not heard"), "lost": lost}[one.state]

    def _line(self, name: str, there: Mapping[str, AgentInterval]) -> Text:
        trouble, one = self._trouble(name), there.get(name)
        if trouble or one is None:
            return Text(f"{_name(name)}  {trouble}", style="red")
        whole = sum(each.ok for each in there.values())
        share = f"{100 * one.ok / whole:3.0f} %" if whole else "  — %"
        figures = f"{fmt.rate(one.ok / one.duration_s):>9} TPS  {share}  P99 {fmt.duration(one.p99_ns or None):>7}"
        late = _("  {seconds:.1f} s behind", seconds=one.late_s) if (one.late_s or 0.0) > LATE_S else ""
        errors = _("  {n} errors", n=fmt.count(one.errors)) if one.errors else ""
        line = f"{_name(name)}  {figures}  CPU {100 * one.cpu_s / one.duration_s:.0f} %{late}{errors}"
        return Text(line, style="yellow" if late or errors else "dim")

    def _all(self, there: Mapping[str, AgentInterval]) -> Text:
        rates = {name: one.ok / one.duration_s for name, one in there.items()}
        least, most = min(rates, key=rates.__getitem__), max(rates, key=rates.__getitem__)
        cpus = [one.cpu_s / one.duration_s for one in there.values()]
        late = max(there.values(), key=lambda one: one.late_s or 0.0)
        line = _(
            "{n} agents: {low} ({lowest}) to {high} ({highest}) TPS, CPU {least:.0f} to {most:.0f} %",
            n=len(there),
            low=fmt.rate(rates[least]),
            lowest=_name(least, 0),
            high=fmt.rate(rates[most]),
            highest=_name(most, 0),
            least=100 * min(cpus),
            most=100 * max(cpus),
        )
        if (late.late_s or 0.0) <= LATE_S:
            return Text(line, style="dim")
        behind = _("{line}, {name} {seconds:.1f} s behind", line=line, name=_name(late.name, 0), seconds=late.late_s)
        return Text(behind, style="yellow")

    def _told(self, state: AgentState, one: AgentInterval | None, whole: int) -> dict[str, Any]:
        told: dict[str, Any] = {"state": state.state, **({"why": in_language(state.why)} if state.why else {})}
        if one is not None:
            told |= {
                "tps": round(one.ok / one.duration_s, 2),
                "offered_per_s": round(one.offered / one.duration_s, 2),
                "share": round(one.ok / whole, 4) if whole else None,
                "errors": one.errors,
                "p99_ns": one.p99_ns or None,
                "cpus": round(one.cpu_s / one.duration_s, 3),
                "late_s": None if one.late_s is None else round(one.late_s, 3),
            }
        return told


def _name(name: str, width: int = 10) -> str:
    shown = fmt.plain(name)
    return (shown if len(shown) <= _NAME_MAX else f"{shown[: _NAME_MAX - 1]}…").ljust(width)
