"""What the CPUs of servers and generator did in the measure phase: busy, stolen by the host, used by other programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from loadstone.bounds.numbers import whole_number
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.headroom import free_cpu
from loadstone.record.facts import AvgMax


@dataclass(frozen=True)
class CpuUse:
    """One side's CPUs, as shares of the time of one of them; None: it was not observed."""

    number: int
    busy: float | None
    """Everything that is not idle, stolen time included, on average over the CPUs."""
    stolen: float
    """What the host gave to other machines, on average."""
    others: float
    """What processes took that are none of the condition's, on average."""
    worst_stolen: float
    """Of the CPU from which most was stolen."""
    worst_others: float
    """Of the CPU of which other programs took most."""
    observed: bool
    """Whether others were observed at all."""


def server_cpus(found: TrialEvidence) -> CpuUse | None:
    """The CPUs of servers and subjects; of those on this host that no one placed all that are watched.

    None where the servers are not observed at all.
    """
    placed = found.facts.placement
    if placed is not None:
        if not placed.server_cpus:
            return None
        return _of(found, placed.server_cpus) or _from_totals(found, placed.server_cpus, placed.generator_cpus)
    watched = [int(part[3:]) for part in found.facts.seen if part[:3] == "cpu" and whole_number(part[3:]) is not None]
    on_this_host = bool(found.server_parts)
    return _of(found, watched) if on_this_host and watched else None


def generator_cpus(found: TrialEvidence) -> CpuUse | None:
    """The CPUs of the driver's threads; None where they are the servers', too, or not known."""
    placed = found.facts.placement
    cpus = found.plan.cpus if placed is None else () if placed.shared else placed.generator_cpus
    if not cpus:
        return None
    return _of(found, cpus) or _stolen_only(found, cpus)


def _of(found: TrialEvidence, cpus: Sequence[int]) -> CpuUse | None:
    """From what was observed of each CPU; None of a run that was made before that was recorded.

    In a phase of less than half a second the kernel's ticks say nothing, and only who else ran is known.
    """
    figures = [found.facts.seen.get(f"cpu{cpu}", {}) for cpu in cpus]
    ticks = all("busy" in one and "stolen" in one for one in figures)
    if not figures or not (ticks or all("others" in one for one in figures)):
        return None
    return CpuUse(
        number=len(cpus),
        busy=fmean(_share(one, "busy") for one in figures) if ticks else None,
        stolen=fmean(_share(one, "stolen") for one in figures),
        others=fmean(_share(one, "others") for one in figures),
        worst_stolen=max(_share(one, "stolen") for one in figures),
        worst_others=max(_share(one, "others") for one in figures),
        observed=all("others" in one for one in figures),
    )


def _share(figures: Mapping[str, AvgMax], name: str) -> float:
    return min(1.0, max(0.0, figures[name].avg / 100)) if name in figures else 0.0


def _from_totals(found: TrialEvidence, servers: Sequence[int], generator: Sequence[int]) -> CpuUse | None:
    """From the machine's totals, as older runs have them: what the driver's side did not use was the servers'."""
    everything = len({*servers, *generator})
    stolen = min(1.0, (found.facts.host.steal_share or 0.0) * everything / len(servers))
    if found.facts.host.idle_share is None:
        return CpuUse(len(servers), None, stolen, 0.0, stolen, 0.0, observed=False) if stolen else None
    busy = min(1.0, max(0.0, (everything * (1 - free_cpu(found)) - found.own_share) / len(servers)))
    stolen = min(stolen, busy)
    return CpuUse(len(servers), busy, stolen, 0.0, stolen, 0.0, observed=False)


def _stolen_only(found: TrialEvidence, cpus: Sequence[int]) -> CpuUse | None:
    """Older runs have one share of stolen time for all CPUs: it is counted on the servers' side, and once."""
    return (
        CpuUse(len(cpus), None, 0.0, 0.0, 0.0, 0.0, observed=False)
        if found.facts.host.steal_share is not None
        else None
    )
