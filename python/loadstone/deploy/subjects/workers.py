"""The worker processes of a replica: each answers on a port of its own, too, and one that is lost is noticed."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil

from loadstone.bounds.numbers import whole_number
from loadstone.deploy.processes.ports import free_port
from loadstone.deploy.subjects.manifest import WORKERS_MAX, Run
from loadstone.errors import UserError
from loadstone.machine.process_identity import started


@dataclass(frozen=True)
class Worker:
    """A worker that was ready; its number counts from 1."""

    number: int
    port: int
    pid: int | None
    """None where the system does not say who listens on its port."""
    started_ticks: int | None = None

    def lost(self) -> bool:
        """Whether its process ended, whoever took its place."""
        return self.pid is not None and self.started_ticks is not None and started(self.pid) != self.started_ticks


def worker_count(run: Run, environment: Mapping[str, str], subject: str) -> int:
    """How many workers a replica has, 0 where its manifest says nothing of any.

    Raises:
        UserError: the environment has no such variable, or no such number.
    """
    if run.workers is None or isinstance(run.workers, int):
        return run.workers or 0
    text = environment.get(run.workers)
    if text is None:
        raise UserError(
            f"subject {subject}: run.workers: the environment has no '{run.workers}'; add it, or correct it"
        )
    number = whole_number(text)
    if number is None or not 1 <= number <= WORKERS_MAX:
        raise UserError(
            f"subject {subject}: environment.{run.workers}: '{text[:40]}' is no number of workers; "
            f"write one from 1 to {WORKERS_MAX}"
        )
    return number


def worker_ports(count: int, taken: int) -> tuple[int, ...]:
    """So many free ports, without `taken`."""
    found: dict[int, None] = {}
    while len(found) < count:
        if (port := free_port()) != taken:
            found[port] = None
    return tuple(found)


def workers_at(ports: Sequence[int]) -> tuple[Worker, ...]:
    """The workers that listen on these ports."""
    pids: dict[int, set[int]] = {port: set() for port in ports}
    with contextlib.suppress(psutil.Error, OSError):
        for one in psutil.net_connections("tcp"):
            if one.status == psutil.CONN_LISTEN and one.laddr and one.laddr.port in pids and one.pid is not None:
                pids[one.laddr.port].add(one.pid)
    found = [next(iter(pids[port])) if len(pids[port]) == 1 else None for port in ports]
    return tuple(
        Worker(number, port, pid, None if pid is None else started(pid))
        for number, (port, pid) in enumerate(zip(ports, found, strict=True), 1)
    )


def loss_of(workers: Sequence[Worker]) -> str:
    """Which of the workers were lost, to follow `died during the trial: `; empty if all run."""
    gone = [f"worker {one.number} (process {one.pid})" for one in workers if one.lost()]
    if not gone:
        return ""
    return f"{', '.join(gone)} of its {len(workers)} worker{'s' if len(workers) > 1 else ''} ended"
