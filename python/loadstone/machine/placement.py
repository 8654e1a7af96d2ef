"""Which CPUs servers and generator run on: different ones where there are two or more."""

import os
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import PlainSerializer

from loadstone.text.message import AnyText, said

OWN_CPUS = "own"
"""The word of a server's settings (`cpus`) for CPUs that the application does not share."""
SYSTEM_CPUS = Path("/sys/devices/system/cpu")
_SERVERS_MIN = 2
"""Servers keep so many CPUs where one goes to loadstone's own threads."""


@dataclass(frozen=True)
class Placement:
    """The CPUs of each side; empty where nothing is pinned."""

    server_cpus: tuple[int, ...]
    generator_cpus: tuple[int, ...]
    shared: bool
    """Whether servers and generator may run on one CPU, and so spoil each other's figures."""
    note: Annotated[AnyText, PlainSerializer(str, return_type=str)]
    """One line for a person and the environment's record."""
    beside: bool = False
    """Whether under some condition a server has the generator's CPU, for want of another."""
    lab_cpus: tuple[int, ...] = ()
    """CPUs of loadstone's threads that make no load: monitors, display, records. One of their own where there are four
    CPUs or more, else the generator's; a server's only where there is one CPU in all."""


def place(generator_threads: int = 1, cpus: Collection[int] = ()) -> Placement:
    """Split the CPUs that this process may use between servers and a generator of so many threads.

    `cpus`: those that it might use before it gave some up; empty: those of this thread.
    """
    if not hasattr(os, "sched_getaffinity"):
        return Placement(
            (),
            (),
            shared=True,
            note=said("{platform}: nothing is pinned, this system offers no way to", platform=sys.platform),
        )
    return split(_cores(cpus or os.sched_getaffinity(0)), generator_threads)


def own_cpus(server_cpus: Sequence[int], generator_cpus: Sequence[int]) -> tuple[int, ...]:
    """The CPUs of a server that shares none with the application: the last of the servers' CPUs.

    Where they have one alone, as on a machine of two CPUs, it is the generator's. Then both take time from each other:
    the server's share of it counts as time that the generator waited, and the gain rule bounds what that may cost.
    """
    return tuple(server_cpus[-1:] if len(server_cpus) > 1 else generator_cpus or server_cpus)


def application_cpus(server_cpus: Sequence[int], generator_cpus: Sequence[int]) -> tuple[int, ...]:
    """What is left for the application and the other servers, where a server has CPUs of its own."""
    own = own_cpus(server_cpus, generator_cpus)
    return tuple(cpu for cpu in server_cpus if cpu not in own) or tuple(server_cpus)


def with_own_cpus(placement: Placement, servers: Iterable[str]) -> Placement:
    """The placement with a note on the servers that have CPUs of their own; as it is where none has."""
    names = sorted(set(servers))
    if not names or not placement.server_cpus:
        return placement
    own = own_cpus(placement.server_cpus, placement.generator_cpus)
    beside = bool(set(own) & set(placement.generator_cpus))
    where: AnyText = f"CPU {_listed(own)}"
    if beside:
        where = said("the generator's {where}; there is no other, so the two share it", where=where)
    note = said(
        "{note}; under conditions that give it CPUs of its own, {names} on {where}",
        note=placement.note,
        names=", ".join(names),
        where=where,
    )
    return replace(placement, note=note, beside=beside)


def usable_cpus() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def split(cores: list[tuple[int, ...]], generator_threads: int = 1) -> Placement:
    """Split `cores`, each the tuple of its CPUs (two where it runs two threads).

    The generator gets the last CPUs, one a thread, and leaves one at least to the servers. Servers
    get the CPUs of the cores that the generator does not use, if there are any. Loadstone's other threads get a CPU
    that neither uses; of three or more CPUs of the servers' it is the last one.
    """
    cpus = [cpu for core in cores for cpu in core]
    if len(cpus) == 1:
        return Placement(
            (cpus[0],),
            (cpus[0],),
            shared=True,
            note=said("one CPU ({cpus}) for servers and generator", cpus=cpus[0]),
            lab_cpus=(cpus[0],),
        )
    required = min(generator_threads, len(cpus) - 1)
    generator = cpus[-required:]
    rest = [cpu for cpu in cpus if cpu not in generator]
    apart = [cpu for core in cores if not set(core) & set(generator) for cpu in core]
    servers = apart or rest
    beside = [cpu for cpu in rest if cpu not in servers]
    if not beside and len(servers) >= _SERVERS_MIN + 1:
        servers, beside = servers[:-1], servers[-1:]
    note = said(
        "servers on CPU {servers}, generator on CPU {generator}", servers=_listed(servers), generator=_listed(generator)
    )
    if not apart:
        note = said("{note}; they share a core of two threads", note=note)
    if required < generator_threads:
        note = said(
            "{note}; {threads} threads of the generator share {cpus}",
            note=note,
            threads=generator_threads,
            cpus=required,
        )
    lab = tuple(beside[-1:] or generator)
    return Placement(tuple(servers), tuple(generator), shared=False, note=note, lab_cpus=lab)


def _cores(usable: Iterable[int]) -> list[tuple[int, ...]]:
    """The usable CPUs grouped by the physical core that runs them, in order."""
    groups: dict[str, list[int]] = {}
    for cpu in sorted(usable):
        try:
            core = (SYSTEM_CPUS / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip()
        except OSError:
            core = str(cpu)
        groups.setdefault(core, []).append(cpu)
    return [tuple(group) for group in groups.values()]


def _listed(cpus: Iterable[int]) -> str:
    return ", ".join(str(cpu) for cpu in cpus)
