"""For how much of the time a thread ran, and for how much it had no CPU because others had it.

Where neighbours take turns with it on one CPU, neither the generator nor the server is full of the time that it has:
each is idle while the other one waits for its CPU. What is the limit then is the thread that needed most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from loadstone.judge.validity.cpus import server_cpus
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.gain import lost_by_driver
from loadstone.record.facts import DRIVER

NEEDED, KEPT_FROM = 0.75, 0.1
"""J, by runs beside other programs that had a half and a quarter of the generator's CPU: it needed .80 to .88."""


@dataclass(frozen=True)
class CpuNeeded:
    """Shares of the time."""

    needed: float
    """It ran, or would have."""
    waited: float
    """Others had its CPU."""

    @property
    def is_the_limit(self) -> bool:
        """Whether that explains where the time went."""
        return self.needed >= NEEDED and self.waited >= KEPT_FROM


def needed_by_parts(found: TrialEvidence) -> dict[str, CpuNeeded]:
    """The driver's hottest thread, and the main threads of servers and subjects that were observed in one trial."""
    lost = lost_by_driver(found)
    ran = max((thread.working_s / thread.wall_s for thread in found.drive.threads if thread.wall_s > 0), default=0.0)
    parts = {DRIVER: CpuNeeded(ran + lost, lost)}
    cpus, placed = server_cpus(found), found.facts.placement
    if cpus is None or not cpus.observed or (placed is not None and placed.shared):
        return parts
    for name, part in found.server_parts.items():
        if part.main_thread_share is not None:
            waited = min(part.wait_share or 0.0, cpus.worst_others)
            parts[name] = CpuNeeded(part.main_thread_share + waited, waited)
    return parts


def typically_needed(trials: Sequence[Mapping[str, CpuNeeded]]) -> dict[str, CpuNeeded]:
    """The medians over several trials, of the parts that all of them have."""
    names = set.intersection(*(set(one) for one in trials)) if trials else set()
    return {
        name: CpuNeeded(median(one[name].needed for one in trials), median(one[name].waited for one in trials))
        for name in sorted(names)
    }
