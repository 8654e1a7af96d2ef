"""The monitors of a fleet, beside servers and applications on other machines: their figures on this one's time line.

They are asked at the moments of the other monitors. One that does not answer in time is left out for a while; what it
did not say is missing, as with any monitor, and the run goes on.

`begin_watch` and `sample_watch` are called on a member with the role `monitor`: it looks when it is asked, and each
figure has the time of its machine's CLOCK_MONOTONIC, which the command turns into its own.
"""

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict
from typing import Any, Self, TypeVar

from loadstone.addons.fleet.clocks import ClockMeasurement, measure_clock_offset
from loadstone.addons.fleet.cluster_seam import NO_MESSAGE, TICKS_END, AgentFailed, AgentLost, Cluster, Member
from loadstone.machine import clock as steady_clock
from loadstone.machine import process_table
from loadstone.machine.listening_process import serving
from loadstone.monitors import catalogue
from loadstone.monitors.metric import by_name
from loadstone.monitors.monitor import OTHER_MACHINE, Monitor, Sample
from loadstone.monitors.watch import MonitorTargets
from loadstone.run_folder.facts import HOST
from loadstone.servers import registry
from loadstone.text.message import AnyText

T = TypeVar("T")
MonitorReply = dict[str, Any]
Observed = list[tuple[int, str, str, float]]
"""Each a time in nanoseconds, part, metric and value. The machine's part is `HOST`."""
WATCHES_MAX = 16
"""Watches of conditions that take turns; of more the oldest are over."""
BEGIN_S = 10.0
"""How long a monitor may take to find the processes of the parts."""
BEGUN_S = 3.0
"""Time that a condition waits for that; the parts of one that is slower are known later."""
ANSWER_S = 2.0
AT_ONCE_S = 0.5
"""Time that a moment waits for all; one that is slower does not delay the others, and is told at the next moment."""
AGAIN_S = 2.0
"""Time that a monitor is left out after it did not answer."""
CLOCK_S = 30.0
"""After so long its clock is compared anew."""
EXCHANGES = 10
FIGURES_MAX = 100_000
"""Limit for one look at one machine: there are some 60 figures of each part."""
CALLERS = 16
"""Monitors that are asked at once."""


class FleetMonitors:
    """Adds what the monitors of a cluster see to what is seen from here; a context."""

    def __init__(
        self,
        cluster: Cluster,
        here: Callable[[MonitorTargets], Sequence[Monitor]],
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`here`: the monitors of this machine; `note`: told in a line when a monitor is lost, once each."""
        self._here, self._note = here, note
        self._beside = tuple(_Member(cluster, one, self._lost) for one in cluster.members if one.role == "monitor")
        self._numbers = itertools.count(1)
        self._noted: set[str] = set()
        self._pool = ThreadPoolExecutor(CALLERS, "fleet-monitors")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def watching(self, watch: MonitorTargets) -> list[Monitor]:
        """All monitors for what a run lets them see."""
        monitors = list(self._here(watch))
        if self._beside:
            monitors.append(BesideServers(self._beside, self._pool, f"watch-{next(self._numbers)}", watch))
        return monitors

    def _lost(self, member: Member, why: AnyText) -> None:
        if member.name not in self._noted:
            self._noted.add(member.name)
            self._note(f"monitor {member.name}: {why}; its figures may be missing")


class _Member:
    """One of the monitors."""

    def __init__(self, cluster: Cluster, member: Member, lost: Callable[[Member, AnyText], None]) -> None:
        self._cluster, self._member, self._lost = cluster, member, lost
        self._clock: ClockMeasurement | None = None
        self._not_before_s = 0.0
        self.machine = f"{member.name}{OTHER_MACHINE}"

    def begin(self, watch: str, parts: Sequence[dict[str, object]]) -> set[str] | None:
        """Have it watch; the parts that it found. None: it does not answer."""
        answer = self._ask(lambda: self._began(watch, parts))
        return None if answer is None else set(answer)

    def sample(self, watch: str, parts: Sequence[dict[str, object]]) -> tuple[float, Observed]:
        """What it sees now, and when that was as this process tells the time; nothing if it does not answer."""

        def asked() -> tuple[float, Observed]:
            clock = self._compared()
            observed = self._observed(self._cluster.call(self._member, sample_watch, watch, timeout_s=ANSWER_S))
            if observed is None:  # it is another process by now
                self._began(watch, parts)
            if not observed:
                return 0.0, []
            now_ns = time.monotonic_ns()
            ago_ns = now_ns - (observed[0][0] - clock.at(now_ns).offset_ns)
            return (steady_clock.unix_ns() - ago_ns) / 1e9, observed

        return self._ask(asked) or (0.0, [])

    def _began(self, watch: str, parts: Sequence[dict[str, object]]) -> list[str]:
        """The parts that it found, of those that it was asked for."""
        self._compared()
        answer: object = self._cluster.call(self._member, begin_watch, watch, list(parts), timeout_s=BEGIN_S)
        pids = answer.get("pids") if isinstance(answer, dict) else None
        if not isinstance(pids, dict):
            raise AgentFailed(self._member.name, NO_MESSAGE)
        return [str(part["part"]) for part in parts if part["part"] in pids]

    def _observed(self, answer: object) -> Observed | None:
        """What it sees: each a time, a part, a metric of ours and a value. Raises AgentFailed: it is something else."""
        if answer is None:
            return None
        if not isinstance(answer, list) or len(answer) > FIGURES_MAX or not all(map(_is_figure, answer)):
            raise AgentFailed(self._member.name, NO_MESSAGE)
        return [(at_ns, part, metric, float(value)) for at_ns, part, metric, value in answer]

    def _compared(self) -> ClockMeasurement:
        clock = self._clock
        if clock is None or time.monotonic_ns() - clock.at_ns > CLOCK_S * 1e9:
            clock = self._clock = measure_clock_offset(self._cluster, self._member, EXCHANGES)
        return clock

    def _ask(self, ask: Callable[[], T]) -> T | None:
        if time.monotonic() < self._not_before_s:
            return None
        try:
            return ask()
        except (AgentLost, AgentFailed) as problem:
            self._not_before_s = time.monotonic() + AGAIN_S
            self._clock = None
            self._lost(self._member, problem.why)
            return None


def _is_figure(row: object) -> bool:
    match row:
        case [int(at_ns), str(), str(metric), int() | float()]:
            return abs(at_ns) < TICKS_END and metric in BesideServers.METRICS
        case _:
            return False


class BesideServers:
    """What all monitors of a fleet see of one condition."""

    METRICS = by_name(metric for metric in catalogue.METRICS.values() if metric.part in (HOST, "process"))

    def __init__(self, beside: Sequence[_Member], pool: ThreadPoolExecutor, name: str, watch: MonitorTargets) -> None:
        self._beside, self._pool, self._name = beside, pool, name
        self._parts = [{"part": part, **asdict(where)} for part, where in watch.elsewhere.items()]
        self._begun: list[Future[set[str] | None] | None] = [self._begin(one) for one in beside]
        self._of: list[set[str]] = [set() for _ in beside]
        """The parts of each member: of two on one machine the first one that told of them has them."""
        wait([one for one in self._begun if one is not None], BEGUN_S)
        self._take_parts()
        self._asked: list[Future[tuple[float, Observed]] | None] = [None] * len(beside)

    def sample(self, unix_s: float) -> Iterator[Sample]:  # noqa: ARG002 (each has the time of its own machine)
        """See `monitors.monitor.Monitor`. What comes too late for this moment is told at the next one."""
        self._take_parts()
        for at, member in enumerate(self._beside):
            if self._asked[at] is None and self._begun[at] is None:
                self._asked[at] = self._pool.submit(member.sample, self._name, self._parts)
        wait([one for one in self._asked if one is not None], AT_ONCE_S)
        for at, asked in enumerate(self._asked):
            if asked is not None and asked.done():
                self._asked[at] = None
                yield from self._told(at, *asked.result())

    def _begin(self, member: _Member) -> "Future[set[str] | None]":
        return self._pool.submit(member.begin, self._name, self._parts)

    def _take_parts(self) -> None:
        """Take the parts of the monitors that have begun by now; one that did not answer is asked again."""
        for at, begun in enumerate(self._begun):
            if begun is not None and begun.done():
                found = begun.result()
                self._begun[at] = self._begin(self._beside[at]) if found is None else None
                self._of[at] = (found or set()).difference(*self._of)

    def _told(self, at: int, at_s: float, observed: Observed) -> Iterator[Sample]:
        """The samples of one member."""
        names = {HOST: self._beside[at].machine, **{part: part for part in self._of[at]}}
        for at_ns, part, metric, value in observed:
            if part in names:
                yield Sample(at_s + (at_ns - observed[0][0]) / 1e9, names[part], metric, value)
        for name in names.values() if observed else ():
            yield Sample(at_s, name, "machine_number", float(at + 1))


class _Watch:
    """What is watched for one condition."""

    def __init__(self, parts: list[MonitorReply]) -> None:
        self.cpus = os.cpu_count() or 1  # of the machine: what serves is not confined as this process is
        found = {part["part"]: (part, serving(part["host"], part["port"])) for part in parts}
        self.pids = {name: pid for name, (_, pid) in found.items() if pid is not None}
        # What serves by several processes is observed with all of them, as a server with one a connection is.
        many = [
            name for name, pid in self.pids.items() if found[name][0]["many_processes"] or process_table.children(pid)
        ]
        stores = frozenset(name for name in self.pids if found[name][0]["stores"])
        self._monitors = registry.monitors_of_machine(
            MonitorTargets(pids=self.pids, trees=frozenset(many), stores=stores)
        )

    def sample(self) -> Observed:
        """All figures now."""
        at_ns, observed = time.monotonic_ns(), Observed()
        for monitor in self._monitors:
            observed += [
                (at_ns, sample.part, sample.metric, sample.value)
                for sample in monitor.sample(0.0)
                if sample.part in (HOST, *self.pids)
            ]
        return observed + [(at_ns, part, "machine_cpus", float(self.cpus)) for part in (HOST, *self.pids)]


_WATCHES_LOCK = threading.Lock()
_WATCHES: dict[str, _Watch] = {}


def begin_watch(watch: str, parts: list[MonitorReply]) -> MonitorReply:
    """Watch this machine from now on, and those of the parts whose processes run here.

    Args:
        watch: what it is called by `sample_watch`.
        parts: each with `part`, its name; `host` and `port` where it serves; `many_processes`: whether all below the
            first are observed; `stores`: whether it may wait for its disk.

    Returns:
        `pids` by part, of those that are here, and how many `cpus` this machine has.
    """
    begun = _Watch(parts)
    with _WATCHES_LOCK:
        _WATCHES[watch] = begun
        while len(_WATCHES) > WATCHES_MAX:
            del _WATCHES[next(iter(_WATCHES))]
    return {"pids": begun.pids, "cpus": begun.cpus}


def sample_watch(watch: str) -> Observed | None:
    """What is to be seen now: gauges, and rates since this was asked last. None: there is no such watch."""
    with _WATCHES_LOCK:
        begun = _WATCHES.get(watch)
        return None if begun is None else begun.sample()
