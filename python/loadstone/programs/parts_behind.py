"""The parts behind a service that loadstone neither started nor loads, such as its database: they are watched only.

They are named by the user (`--part`, `--server`), or found: who listens on this machine at the other end of a
connection that the service made. All are processes with a name, watched like the service's own: what they take of a CPU
is counted as theirs, and not as that of other programs. Nothing is sent to them, but INFO to a Redis that was named by
its URL.
"""

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from loadstone.experiment.software import software_by_program
from loadstone.machine import process_table
from loadstone.machine.listening_process import ConnectedServer, connected_servers, is_another_users
from loadstone.machine.process_identity import started
from loadstone.machine.start_context import LastingStep, silent
from loadstone.monitors.part_kind import WATCHED, WATCHED_PROGRAM
from loadstone.programs.ready import PartBehind, RunningSubject
from loadstone.servers.deployed import RunningServer
from loadstone.text.language import _

EVERY_S = 10.0
"""How often connections are looked at while a run goes on: that takes tenths of a second where there are thousands."""
MOST = 12
"""Number of parts that are found at most: a service that has more servers than that is not what is meant."""
_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


def kind_of(pid: int | None) -> str:
    """The kind of a part, by the program of its process."""
    process = None if pid is None else process_table.process(pid)
    software = None if process is None else software_by_program(process.name)
    return WATCHED_PROGRAM.name if software is None else f"{WATCHED}{software.name}"


@dataclass
class PartsBehind:
    """Those of a run: the ones that were named, and those that are found from then on."""

    named: Sequence[PartBehind] = ()
    finds: bool = True
    """Whether servers that a service has connections to are parts, too."""
    progress: Callable[[str], None] = silent
    _found: dict[tuple[int, int | None], str] = field(default_factory=dict)
    """Process, and its start -> its name: a part keeps it."""
    _behind: dict[frozenset[str], dict[str, PartBehind]] = field(default_factory=dict)
    """Names of services -> what was found behind them: connections come and go with the load, and with each start."""
    _looked_s: dict[frozenset[int], float] = field(default_factory=dict)
    """Processes of services -> when their connections were looked at last."""
    _seen: set[str] = field(default_factory=set)
    """Services that were looked at under load."""
    _hidden: set[str] = field(default_factory=set)
    """Services without a process, for which the reason was looked for."""
    _reported: set[str] = field(default_factory=set)

    def not_seen_at_work(self, service: str) -> bool:
        """Whether a service was never looked at under load; from now on it was."""
        unseen = self.finds and service not in self._seen
        self._seen.add(service)
        return unseen

    def of(
        self,
        servers: Mapping[str, RunningServer],
        subjects: Mapping[str, RunningSubject],
        *,
        at_once: bool = False,
    ) -> dict[str, PartBehind]:
        """The parts behind these services, by name. Says of each that is found that it counts.

        `at_once`: connections are looked at now, whenever that was done last.
        """
        named = {part.name: part for part in self.named}
        roots = [pid for one in subjects.values() for pid in one.subject.pids.values()]
        roots += [part.pid for part in self.named if part.name in subjects and part.pid is not None]
        self._say_who_is_hidden({name: one for name, one in subjects.items() if name not in named})
        if not self.finds or not roots:
            return named
        services = frozenset(subjects)
        kept = {name: one for name, one in self._behind.get(services, {}).items() if self._lives(one, roots)}
        now_s, last_s = time.monotonic(), self._looked_s.get(frozenset(roots))
        if last_s is not None and now_s - last_s < EVERY_S and not at_once:
            return named | kept
        self._looked_s[frozenset(roots)] = now_s
        servers_pids = {pid for one in servers.values() for pid in one.processes.values()}
        parts = {part.pid for part in (*named.values(), *kept.values()) if part.pid is not None}
        taken = {*named, *servers, *subjects, *(part for one in subjects.values() for part in one.subject.pids)}
        self._behind[services] = kept = kept | self._connected({*roots, *parts}, servers_pids, {*taken, *kept})
        return named | kept

    def _lives(self, part: PartBehind, roots: Collection[int]) -> bool:
        """Whether a part that was found still runs, as the process that it was, and is no service itself."""
        return part.pid not in roots and any(pid == part.pid and since == started(pid) for pid, since in self._found)

    def _connected(self, roots: Iterable[int], known: Collection[int], taken: Collection[str]) -> dict[str, PartBehind]:
        """What these processes have connections to, and what that has, without what is known already."""
        found: dict[str, PartBehind] = {}
        seen = process_table.tree([*roots, *known])
        own = _started_here()
        looked_at = process_table.tree(roots) - own
        while looked_at and len(found) < MOST:
            servers = [one for one in connected_servers(looked_at) if one.pid is None or one.pid not in seen | own]
            looked_at = set()
            for server in servers:
                if server.pid is None:
                    self._say_that_it_is_hidden(server)
                elif server.pid not in seen and len(found) < MOST:
                    tree = process_table.tree([server.pid])
                    if tree.isdisjoint((*roots, os.getpid())):  # what started the service, or us, is no part
                        name = self._name(server.pid, server, {*taken, *found})
                        found[name] = PartBehind(name, server.pid, kind_of(server.pid))
                        looked_at |= tree
                    seen |= tree
        return found

    def _name(self, pid: int, server: ConnectedServer, taken: Collection[str]) -> str:
        """What a part is called: as its software, or its program; with its port where that is taken."""
        which = (pid, started(pid))
        if which not in self._found:
            process = process_table.process(pid)
            program = "" if process is None else process.name
            software = software_by_program(program)
            name = _NAME.sub("_", program if software is None else software.name).strip("_.-") or "part"
            taken = {*taken, *(one for (other, since), one in self._found.items() if started(other) == since)}
            self._found[which] = name = f"{name}_{server.port}" if name in taken else name
            self._say(
                _(
                    "{program} (process {pid}) answers the service's connections to {address}: counted as the part "
                    "{name}; --part none leaves it out",
                    program=program,
                    pid=pid,
                    address=_address(server.host, server.port),
                    name=name,
                )
            )
        return self._found[which]

    def _say_that_it_is_hidden(self, server: ConnectedServer) -> None:
        self._say(
            _(
                "the service's connections to {address} are answered by another user's process, which may not be "
                "looked at: name it by --part NAME=PID, or run loadstone as root",
                address=_address(server.host, server.port),
            )
        )

    def _say_who_is_hidden(self, subjects: Mapping[str, RunningSubject]) -> None:
        unseen = {name: one for name, one in subjects.items() if not one.subject.pids and name not in self._hidden}
        self._hidden |= unseen.keys()
        for name, one in unseen.items():
            for endpoint in one.endpoints:
                if endpoint.unix_path is None and is_another_users(endpoint.host, endpoint.port):
                    self._say(
                        _(
                            "{name}: the process at {address} is another user's and may not be looked at: its CPU "
                            "and the parts behind it are not known; write --part {name}=PID, or run loadstone as root",
                            name=name,
                            address=_address(endpoint.host, endpoint.port),
                        )
                    )

    def _say(self, line: str) -> None:
        if line not in self._reported:
            self._reported.add(line)
            self.progress(LastingStep(line))


def _started_here() -> set[int]:
    """This process, and all that it started."""
    return process_table.tree([os.getpid()])


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
