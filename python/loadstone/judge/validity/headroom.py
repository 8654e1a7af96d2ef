"""What the machine had left: whether a server waited for its disk, and how much CPU time nobody used."""

from dataclasses import dataclass

from loadstone.judge.validity.evidence import TrialEvidence

WAITING = 0.4
"""J: from so much of one CPU's time on, the disk is what a store waits for."""
HOST = "host"


@dataclass(frozen=True)
class Disk:
    """A server that waits for the disk."""

    share: float
    """Time that CPUs had nothing to do but wait for it, of one CPU."""
    server: str
    wait_share: float
    """The same of all CPUs, as vmstat's `wa` has it."""
    fsyncs_per_s: float | None
    """None where they are not known."""


def disk_of(found: TrialEvidence) -> Disk | None:
    """The server that waits for the disk; None where none does, or it cannot be observed."""
    wait = found.facts.seen.get(HOST, {}).get("wa")
    placed = found.facts.placement
    if wait is None or placed is None:
        return None
    cpus = len({*placed.server_cpus, *placed.generator_cpus}) or 1
    share = wait.avg / 100 * cpus
    writer = _writer(found)
    if share < WAITING or writer is None:
        return None
    server, fsyncs_per_s = writer
    return Disk(share, server, wait.avg / 100, fsyncs_per_s)


def free_cpu(found: TrialEvidence) -> float:
    """CPU time of the machine that nobody used, waiting for the disk included, as a share; 1 if not known."""
    idle, wait = found.facts.host.idle_share, found.facts.seen.get(HOST, {}).get("wa")
    return 1.0 if idle is None else idle + (wait.avg / 100 if wait is not None else 0.0)


def _writer(found: TrialEvidence) -> tuple[str, float | None] | None:
    """The MariaDB that reads and writes most, with its fsyncs; without one the Redis that keeps an append-only file."""
    busiest, name = max(((_disk_work(found, part), part) for part in found.mariadbs), default=(0.0, ""))
    if busiest > 0:
        fsyncs = found.facts.seen[name].get("fsyncs_per_s")
        return name, None if fsyncs is None else fsyncs.avg
    kept = (
        part for part, seen in found.facts.seen.items() if "aof_current_size" in seen and part in found.facts.servers
    )
    server = next(kept, None)
    return None if server is None else (server, None)


def _disk_work(found: TrialEvidence, part: str) -> float:
    """Reads, writes and fsyncs a second."""
    figures = found.facts.seen[part]
    names = ("disk_reads_per_s", "disk_writes_per_s", "fsyncs_per_s")
    return sum(figures[name].avg for name in names if name in figures)
