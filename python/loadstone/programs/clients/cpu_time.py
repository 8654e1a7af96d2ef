"""The CPU time and the memory of a driver's processes, read from outside again and again.

CPU time is interpolated in between. It is read from the kernel's clock of each process, so to the nanosecond; processes
that ended keep what they had at last. Nothing looks by itself: a thread that did would take time of the program's CPUs.
"""

import bisect
import time

from loadstone.machine import clock, process_table

EVERY_S = 0.25
"""How often what was read before is out of date."""
LOOK_AGAIN_S = 1.0
"""How often it is looked for processes that were started since."""


class CpuOfProgram:
    """CPU time and memory of all below a guard, from the first look to the last, without the guard's own.

    A process that leaves its parent, to go on by itself, is below the guard still. Not thread-safe.
    """

    def __init__(self, guard_pid: int | None) -> None:
        self._roots = set() if guard_pid is None else {guard_pid}
        self._spent_ns: dict[int, int] = {}
        """CPU time of those that were there when it was last looked for them."""
        self._ended_ns = 0
        """CPU time of those that were gone by then. Their ids may be others' since."""
        self._searched_s = self._looked_s = float("-inf")
        self._times_ns: list[int] = []
        self._cpu_ns: list[int] = []
        self.memory_bytes = 0
        """What they took of the machine's memory when they were last looked at."""
        self.peak_memory_bytes = 0
        """The most of it until now; one that began within the last second is left out."""
        self.look()

    def follow(self) -> None:
        """Read it if that was not done within the last `EVERY_S`."""
        if time.monotonic() - self._looked_s >= EVERY_S:
            self.look()

    def look(self) -> None:
        """Read it now."""
        self._looked_s = time.monotonic()
        if self._looked_s - self._searched_s >= LOOK_AGAIN_S:
            self._searched_s = self._looked_s
            spent_ns = process_table.tree_cpu_ns(self._roots)
            self._ended_ns += sum(spent for pid, spent in self._spent_ns.items() if pid not in spent_ns)
            self._spent_ns = {pid: spent for pid, spent in spent_ns.items() if pid not in self._roots}
        else:
            read = {pid: process_table.cpu_ns(pid) for pid in self._spent_ns}
            self._spent_ns |= {pid: ns for pid, ns in read.items() if ns is not None and ns >= self._spent_ns[pid]}
        self._times_ns.append(clock.unix_ns())
        self._cpu_ns.append(self._ended_ns + sum(self._spent_ns.values()))
        self.memory_bytes = sum(map(process_table.resident_bytes, self._spent_ns))
        self.peak_memory_bytes = max(self.peak_memory_bytes, self.memory_bytes)

    def between_s(self, start_unix_ns: int, end_unix_ns: int) -> float:
        """CPU seconds between two instants."""
        return max(0.0, self._at_ns(end_unix_ns) - self._at_ns(start_unix_ns)) / 1e9

    def _at_ns(self, unix_ns: int) -> float:
        place = bisect.bisect_left(self._times_ns, unix_ns)
        if place == 0:
            return float(self._cpu_ns[0])
        if place == len(self._times_ns):
            return float(self._cpu_ns[-1])
        before, after = self._times_ns[place - 1], self._times_ns[place]
        share = (unix_ns - before) / max(1, after - before)
        return self._cpu_ns[place - 1] + share * (self._cpu_ns[place] - self._cpu_ns[place - 1])
