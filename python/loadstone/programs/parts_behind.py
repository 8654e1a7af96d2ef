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
from loadstone.machine.listening_process import (
    ConnectedServer,
    closed_connections,
    connected_servers,
    is_another_users,
    shown_address,
    unix_servers,
)
from loadstone.machine.process_identity import started
from loadstone.machine.start_context import LastingStep, silent
from loadstone.monitors.part_kind import WATCHED, WATCHED_PROGRAM
from loadstone.programs.ready import PartBehind, RunningSubject
from loadstone.servers.deployed import RunningServer
from loadstone.text.language import _

EVERY_S = 10.0
"""How often connections are looked at while a run goes on: that takes tenths of a second where there are thousands."""
UNIX_S = 0.3
"""How long connections by Unix sockets are looked at while the service is at work."""
SHORT_LEAST, SHORT_QUIET = 3, 0.25
"""A server was asked for the service's requests if it got so many connections while these were sent, and in as long a
time without them this share at most."""
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
    _passing: list[ConnectedServer] = field(default_factory=list)
    """Those that were connected to by Unix sockets while services were at work, and perhaps by these."""
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
        asked_from_s: float | None = None,
    ) -> dict[str, PartBehind]:
        """The parts behind these services, by name. Says of each that is found that it counts.

        `at_once`: connections are looked at now, whenever that was done last. `asked_from_s`: when the services
        began to be sent requests (monotonic), until now; what they connected to for each is looked for, too.
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
        at_work = at_once and asked_from_s is None
        found = self._connected({*roots, *parts}, servers_pids, {*taken, *kept}, at_work, asked_from_s)
        self._behind[services] = kept = kept | found
        return named | kept

    def _lives(self, part: PartBehind, roots: Collection[int]) -> bool:
        """Whether a part that was found still runs, as the process that it was, and is no service itself."""
        return part.pid not in roots and any(pid == part.pid and since == started(pid) for pid, since in self._found)

    def _connected(
        self,
        roots: Iterable[int],
        known: Collection[int],
        taken: Collection[str],
        at_work: bool,
        asked_from_s: float | None,
    ) -> dict[str, PartBehind]:
        """What these processes have connections to, and what that has, without what is known already."""
        found: dict[str, PartBehind] = {}
        seen = process_table.tree([*roots, *known])
        own = _started_here()
        looked_at = process_table.tree(roots) - own
        others = [] if asked_from_s is None else self._closed(looked_at, seen | own, asked_from_s)
        if at_work:
            others, self._passing = unix_servers(looked_at, UNIX_S)
        while looked_at and len(found) < MOST:
            connected = [*connected_servers(looked_at), *others]
            servers = [one for one in connected if one.pid is None or one.pid not in seen | own]
            looked_at, others = set(), []
            for server in servers:
                if server.pid is None:
                    self._say_that_it_is_hidden(server)
                elif server.pid not in seen and len(found) < MOST:
                    tree = process_table.tree([server.pid])
                    # What started the service, or us, is no part; nor is what has ended.
                    if tree.isdisjoint((*roots, os.getpid())) and process_table.process(server.pid) is not None:
                        name = self._name(server.pid, server, {*taken, *found})
                        found[name] = PartBehind(name, server.pid, kind_of(server.pid))
                        looked_at |= tree
                    seen |= tree
        return found

    def _closed(self, services: Collection[int], known: Collection[int], asked_from_s: float) -> list[ConnectedServer]:
        """The servers that the services connected to for each request, as the number of connections follows these."""
        length_s = time.monotonic() - asked_from_s
        during = [*closed_connections(services, length_s), *self._passing]
        if not (during := [one for one in during if one.closed >= SHORT_LEAST and one.pid not in known]):
            return []
        until_s = time.monotonic() + length_s
        passing = unix_servers(services, UNIX_S).passing if self._passing else []
        time.sleep(max(until_s - time.monotonic(), 0.0))
        after = {one.address: one.closed for one in (*closed_connections(services, length_s), *passing)}
        for one in during:
            if one.closed * SHORT_QUIET < after.get(one.address, 0):
                self._say(
                    _(
                        "whether the service connects to {address} for its requests cannot be told, as others do: if "
                        "so, add --part NAME={pid}",
                        address=one.address,
                        pid="PID" if one.pid is None else one.pid,
                    )
                )
        return [one for one in during if one.closed * SHORT_QUIET >= after.get(one.address, 0)]

    def _name(self, pid: int, server: ConnectedServer, taken: Collection[str]) -> str:
        """What a part is called: as its software, or its program; with its port where that is taken."""
        which = (pid, started(pid))
        if which not in self._found:
            process = process_table.process(pid)
            program = "" if process is None else process.name
            software = software_by_program(program)
            name = _NAME.sub("_", program if software is None else software.name).strip("_.-") or "part"
            taken = {*taken, *(one for (other, since), one in self._found.items() if started(other) == since)}
            mark = _NAME.sub("_", server.mark)
            self._found[which] = name = f"{name}_{mark}" if name in taken else name
            line = _(
                "{program} (process {pid}) answers the service's connections to {address}: counted as the part "
                "{name}; --part none leaves it out",
                program=program,
                pid=pid,
                address=server.address,
                name=name,
            )
            self._say(line if not server.closed else _short(program, pid, server, name))
        return self._found[which]

    def _say_that_it_is_hidden(self, server: ConnectedServer) -> None:
        self._say(
            _(
                "the service's connections to {address} are answered by another user's process, which may not be "
                "looked at: name it by --part NAME=PID, or run loadstone as root",
                address=server.address,
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
                            address=shown_address(endpoint.host, endpoint.port),
                        )
                    )

    def _say(self, line: str) -> None:
        if line not in self._reported:
            self._reported.add(line)
            self.progress(LastingStep(line))


def _started_here() -> set[int]:
    """This process, and all that it started."""
    return process_table.tree([os.getpid()])


def _short(program: str, pid: int, server: ConnectedServer, name: str) -> str:
    """That a server was connected to for each request. Not all connections by Unix sockets are seen."""
    times = _(
        "{program} (process {pid}) was connected to {closed} times at {address} while the service was sent requests, "
        "and not after: counted as the part {name}; --part none leaves it out",
        program=program,
        pid=pid,
        closed=server.closed,
        address=server.address,
        name=name,
    )
    seen = _(
        "{program} (process {pid}) was connected to at {address} while the service was sent requests, and not after: "
        "counted as the part {name}; --part none leaves it out",
        program=program,
        pid=pid,
        address=server.address,
        name=name,
    )
    return seen if server.address.startswith(("/", "@")) else times
