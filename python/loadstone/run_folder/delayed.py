"""Which share of a trial's operations loadstone itself may have made late by running on the servers' CPUs."""

from loadstone.run_folder.facts import DRIVER, LINK, OWN, PartCpu, TrialFacts

BUSY_MAX = 0.95
"""A server is not taken to be busier than that: behind a busier one a queue of ours would never end."""


def delayed_share(facts: TrialFacts) -> float:
    """Return the share at most; 0 where loadstone's own threads kept to other CPUs, or older runs did not count them.

    For a share f of the time our threads ran on the servers' CPUs. A server of one thread lost at most as much as that
    thread waited for a CPU. What came due in that time is late, and so is what queued behind it: a server that is busy
    for a share rho of the time catches up in 1 / (1 - rho) times the time that it lost.
    """
    lost = facts.lab_share or 0.0
    servers = [
        part
        for name, part in facts.parts.items()
        if name not in (DRIVER, OWN) and facts.kinds.get(name) != LINK and part.mean_share > 0
    ]
    waits = [part.wait_share for part in servers]
    if len(servers) == 1 and waits[0] is not None:
        lost = min(lost, waits[0])
    busy = max((_busy(part) for part in servers), default=0.0)
    return min(1.0, lost / (1 - min(busy, BUSY_MAX)))


def _busy(part: PartCpu) -> float:
    return part.mean_share if part.main_thread_share is None else part.main_thread_share
