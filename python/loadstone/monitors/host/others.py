"""What runs beside the condition: CPU time that processes which are none of its parts take of the watched CPUs.

All processes are looked at, each second. Those of loadstone that belong to other conditions are reported by name, all
others together, and by the names of their programs those that took most. A process's time goes to the CPU that each of
its threads ran on last. Processes that came and went between two looks are known by the time that their parent has of
its children, which is spread over the CPUs that they may have run on. Not counted: the kernel's own threads, which
work for whoever has them work, and this process.
"""

import contextlib
import os
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from loadstone.machine import process_table
from loadstone.monitors.metric import PROGRAM, by_name
from loadstone.monitors.metrics.host import HELPERS, OF_OTHERS, OTHERS, PROGRAMS
from loadstone.monitors.monitor import Monitor, Sample
from loadstone.monitors.watch import MonitorTargets

SHORTEST_S = 0.05
"""Less than for what the kernel counts in ticks: these times come to the nanosecond."""
_OWN = ""
"""Who owns what is not counted: the condition's parts, this process, and the kernel."""
NAMED_CORES = 0.02
"""A program that takes less of a CPU between two samples is not named."""
NAMES_MAX = 12
"""Number of programs that have a name of their own in a trial, so that nobody can fill the record with names."""


@dataclass
class _SeenProcess:
    """A process at the last look, since it began."""

    owner: str
    parent: int
    cpu_ns: int
    children_ns: int
    threads_ns: dict[int, int] = field(default_factory=dict)
    """Empty where it has one thread only."""


class InterferenceMonitor:
    """`others` of each CPU, and of part `others` who took it."""

    METRICS = by_name(OF_OTHERS)

    def __init__(
        self,
        cpus: Sequence[int],
        pids: Collection[int],
        parked: Mapping[str, Collection[int]],
        driving: Collection[int] = frozenset(),
    ) -> None:
        """See the arguments.

        Args:
            cpus: those that are watched.
            pids: the condition's own processes, and those that have their turns apart from it.
            parked: those of other conditions, by the names of their parts.
            driving: those that make the load at any time, with all below them.
        """
        self._cpus = tuple(dict.fromkeys(cpus))
        self._names = (*parked, HELPERS, PROGRAMS)
        self._owners = _owners(pids, parked)
        self._driving = driving
        self._uncounted: set[int] = set()
        self._known: dict[int, _SeenProcess] = {}
        self._taken = _TakenCpuTime()
        self._named: list[str] = []
        """Programs that were named so far: each goes on to have a figure, be it 0."""
        self._reported_s: list[float] = []
        """The moments of the first and the last sample."""
        self._look()
        self._before_s = time.monotonic()
        self._begun = False

    @classmethod
    def watching(cls, watch: MonitorTargets) -> list[Monitor]:
        """One for the host; none where it could not distinguish a part of the condition from other programs."""
        if not watch.cpus or not watch.complete or not process_table.pids():
            return []
        return [cls(watch.cpus, {*watch.pids.values(), *watch.in_turn}, watch.parked, watch.driving)]

    def sample(self, unix_s: float) -> Iterator[Sample]:
        """Shares since they were last reported."""
        now_s = time.monotonic()
        elapsed_s = now_s - self._before_s
        if elapsed_s < SHORTEST_S and self._begun:  # the first is reported in any case: the next one begins there
            return
        self._look()
        self._before_s, self._begun = now_s, True
        taken, self._taken = self._taken, _TakenCpuTime()
        by_cpu = taken.placed(elapsed_s)
        for cpu in self._cpus:
            yield Sample(unix_s, f"cpu{cpu}", "others", min(100.0, 100.0 * sum(by_cpu[cpu].values()) / elapsed_s))
        cores: defaultdict[str, float] = defaultdict(float)
        for cpu in self._cpus:
            for owner, spent_s in by_cpu[cpu].items():
                cores[owner] += spent_s / elapsed_s
                if owner.startswith(PROGRAM):
                    cores[PROGRAMS] += spent_s / elapsed_s
        for name in self._names:
            yield Sample(unix_s, OTHERS, name, cores[name])
        yield from self._programs(unix_s, cores)

    def _programs(self, unix_s: float, cores: Mapping[str, float]) -> Iterator[Sample]:
        """Those of the other programs that took most, each by its name; before it was noticed it took nothing."""
        most = sorted((name for name in cores if name.startswith(PROGRAM)), key=lambda name: -cores[name])
        for name in most:
            if cores[name] >= NAMED_CORES and name not in self._named and len(self._named) < NAMES_MAX:
                self._named.append(name)
                yield from (Sample(before_s, OTHERS, name, 0.0) for before_s in self._reported_s)
        for name in self._named:
            yield Sample(unix_s, OTHERS, name, cores.get(name, 0.0))
        self._reported_s = [*self._reported_s[:1], unix_s]

    def _look(self) -> None:
        """Add what every process took since the last look."""
        living = set(process_table.pids())
        self._uncounted &= living
        first = not self._known
        ended = _Ended(living, [self._known.pop(pid) for pid in self._known.keys() - living])
        for pid in living - self._uncounted:
            cpu_ns, before = process_table.cpu_ns(pid), self._known.get(pid)
            if cpu_ns is None or (before is not None and cpu_ns <= before.cpu_ns):
                continue
            now = process_table.process(pid)
            if now is None:
                continue
            owner = before.owner if before is not None else self._owner(pid, now)
            if owner == _OWN:
                self._uncounted.add(pid)
                continue
            threads_ns = process_table.threads_ns(pid) if now.threads > 1 else {}
            base = before or _SeenProcess(owner, now.parent, 0, 0)
            self._known[pid] = _SeenProcess(owner, now.parent, cpu_ns, now.children_ns, threads_ns)
            if not first:
                by_cpu_ns = _by_cpu(pid, now.cpu, cpu_ns - base.cpu_ns, threads_ns, base.threads_ns)
                unobserved_ns = ended.unknown_ns(pid, now.children_ns - base.children_ns)
                whose = f"{PROGRAM}{now.name}" if owner == PROGRAMS else owner
                self._taken.add(whose, pid, by_cpu_ns, unobserved_ns)

    def _owner(self, pid: int, process: process_table.Process) -> str:
        """Whose a process is: the owner of the nearest above it that has one."""
        if process.kernel:
            return _OWN
        while pid not in self._owners:
            if pid in self._driving:
                return _OWN
            if pid in self._uncounted or pid in self._known:
                return _OWN if pid in self._uncounted else self._known[pid].owner
            above = process_table.process(pid)
            if above is None or above.parent == 0:
                return PROGRAMS
            if above.parent == os.getpid():
                return HELPERS
            pid = above.parent
        return self._owners[pid]


class _TakenCpuTime:
    """CPU time since the last sample, by owner and CPU."""

    def __init__(self) -> None:
        self._pinned: defaultdict[int, Counter[str]] = defaultdict(Counter)
        """CPU -> owner -> nanoseconds of processes that may run nowhere else."""
        self._moving: defaultdict[int, Counter[str]] = defaultdict(Counter)
        """Processes that may have run there: they ran there last."""

    def add(self, owner: str, pid: int, by_cpu_ns: Mapping[int, int], anywhere_ns: int) -> None:
        """What a process took, and what others below it took that are gone."""
        allowed: Collection[int] = by_cpu_ns
        with contextlib.suppress(OSError):
            allowed = os.sched_getaffinity(pid)
        kind = self._pinned if len(allowed) == 1 else self._moving
        for cpu, spent_ns in by_cpu_ns.items():
            kind[cpu][owner] += max(0, spent_ns)
        for cpu in allowed:
            kind[cpu][owner] += anywhere_ns // len(allowed)

    def placed(self, elapsed_s: float) -> defaultdict[int, defaultdict[str, float]]:
        """CPU -> owner -> seconds; what a CPU cannot have given ran on others that had time left."""
        placed_s: defaultdict[int, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        room_s = dict.fromkeys(range(os.cpu_count() or 1), elapsed_s)
        elsewhere_s: defaultdict[str, float] = defaultdict(float)
        for cpu in {*self._pinned, *self._moving}:
            pinned_s, moving_s = (sum(kind[cpu].values()) / 1e9 for kind in (self._pinned, self._moving))
            kept_s = max(0.0, min(moving_s, elapsed_s - pinned_s))
            room_s[cpu] = max(0.0, elapsed_s - pinned_s - kept_s)
            for owner, spent_ns in self._pinned[cpu].items():
                placed_s[cpu][owner] += spent_ns / 1e9
            for owner, spent_ns in self._moving[cpu].items():
                placed_s[cpu][owner] += spent_ns / 1e9 * kept_s / moving_s if moving_s else 0.0
                elsewhere_s[owner] += spent_ns / 1e9 * (1 - kept_s / moving_s) if moving_s else 0.0
        whole_s = max(sum(room_s.values()), sum(elsewhere_s.values()))
        for owner, spent_s in elsewhere_s.items():
            for cpu, left_s in room_s.items():
                placed_s[cpu][owner] += spent_s * left_s / whole_s if whole_s else 0.0
        return placed_s


class _Ended:
    """Processes that ended since the last look, and so count among their parents' children."""

    def __init__(self, living: Collection[int], ended: Iterable[_SeenProcess]) -> None:
        self._known_ns: Counter[int] = Counter()
        """Parent -> what its ended children are known to have taken before."""
        self._orphans_ns = 0
        """Time of those whose parents ended, too: they count with whoever took them over."""
        for process in ended:
            spent_ns = process.cpu_ns + process.children_ns
            if process.parent in living:
                self._known_ns[process.parent] += spent_ns
            else:
                self._orphans_ns += spent_ns

    def unknown_ns(self, parent: int, grown_ns: int) -> int:
        """Return the part of the growth of a parent's time of ended children that they took after they were looked at
        last."""
        left_ns = max(0, grown_ns - self._known_ns[parent])
        orphans_ns = min(left_ns, self._orphans_ns)
        self._orphans_ns -= orphans_ns
        return left_ns - orphans_ns


def _owners(pids: Collection[int], parked: Mapping[str, Collection[int]]) -> dict[int, str]:
    """Process -> the part that it belongs to. What guards a process is counted with it."""
    owners = {pid: name for name, some in parked.items() for pid in some} | dict.fromkeys(pids, _OWN)
    for pid, name in list(owners.items()):
        process = process_table.process(pid)
        guard = process_table.process(process.parent) if process is not None else None
        if process is not None and guard is not None and guard.parent == os.getpid():
            owners.setdefault(process.parent, name)
    return owners | {os.getpid(): _OWN}


def _by_cpu(
    pid: int, cpu: int, spent_ns: int, threads_ns: Mapping[int, int], before_ns: Mapping[int, int]
) -> dict[int, int]:
    """CPU -> what a process took of it: each thread where it ran last, those that ended where the first did."""
    by_cpu_ns: Counter[int] = Counter()
    left_ns = spent_ns
    for thread, ran_ns in threads_ns.items():
        grown_ns = min(left_ns, ran_ns - before_ns.get(thread, 0))
        if grown_ns > 0:
            on = process_table.thread_cpu(pid, thread)
            by_cpu_ns[cpu if on is None else on] += grown_ns
            left_ns -= grown_ns
    by_cpu_ns[cpu] += left_ns
    return dict(by_cpu_ns)
