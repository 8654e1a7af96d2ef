"""What the machine had left: whether a server waited for its disk, and how much CPU time no one used."""

from dataclasses import dataclass

from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.record.facts import HOST

WAITING = 0.4
"""J: from so much of one CPU's time on, the disk is what a store waits for."""


WAITING_THREAD = 0.25
"""J: a server of one thread that waits for its disk for so much of the time does nothing else then."""


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
    of_thread: bool = False
    """Whether `share` is that of the server's only thread; then `wait_share` is not known."""


def disk_of(found: TrialEvidence) -> Disk | None:
    """The server that waits for the disk; None where none does, or it cannot be observed.

    By its own thread, where it has one and that was looked at; else by what the CPUs waited.
    """
    if (thread := _thread_at_the_disk(found)) is not None:
        return thread
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


def _thread_at_the_disk(found: TrialEvidence) -> Disk | None:
    parts = [(part.disk_share or 0.0, name) for name, part in found.server_parts.items() if found.server_of(name)]
    share, name = max(parts, default=(0.0, ""))
    if share < WAITING_THREAD:
        return None
    server = found.server_of(name) or name
    fsyncs = found.facts.seen.get(name, {}).get(found.kind_of(server).fsyncs or "")
    return Disk(share, server, 0.0, None if fsyncs is None else fsyncs.avg, of_thread=True)


def free_cpu(found: TrialEvidence) -> float:
    """CPU time of the machine that no one used, waiting for the disk included, as a share; 1 if not known."""
    idle, wait = found.facts.host.idle_share, found.facts.seen.get(HOST, {}).get("wa")
    return 1.0 if idle is None else idle + (wait.avg / 100 if wait is not None else 0.0)


def _writer(found: TrialEvidence) -> tuple[str, float | None] | None:
    """The store with most work on the disk, and its fsyncs; where none reports it, one that always writes a file."""
    observed = [store for store in found.stores if store in found.facts.seen]
    busiest, name = max(((_disk_work(found, store), store) for store in observed), default=(0.0, ""))
    if busiest > 0:
        fsyncs = found.facts.seen[name].get(found.kind_of(name).fsyncs or "")
        return name, None if fsyncs is None else fsyncs.avg
    kept = (store for store in observed if found.kind_of(store).disk_file in found.facts.seen[store])
    server = next(kept, None)
    return None if server is None else (server, None)


def _disk_work(found: TrialEvidence, store: str) -> float:
    """Reads, writes and fsyncs a second."""
    figures = found.facts.seen[store]
    return sum(figures[name].avg for name in found.kind_of(store).disk_rates if name in figures)
