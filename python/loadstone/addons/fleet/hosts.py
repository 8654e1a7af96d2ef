"""The machines of a fleet on which a run's servers and applications are started by name; see `servers.remote_host`.

A machine is that of a member with the role `monitor`, which observes them, too. What is started there is ordered by
calls and answered by polls; nothing with a deadline rests on them (`hosting`).
"""

import contextlib
import itertools
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

from loadstone.addons.fleet import hosting
from loadstone.addons.fleet.cluster_seam import AgentFailed, AgentLost, Cluster, Member
from loadstone.machine.start_context import LastingStep, Step
from loadstone.safety.errors import Interrupted, LoadstoneError, UserError
from loadstone.servers.remote_host import HostedKind, HostLost, HostReply
from loadstone.text.message import said

T = TypeVar("T")
ANSWER_S = 20.0
"""How long a member may take for what it does at once; it ends an application in some seconds."""
POLL_S = 0.1
SHORTEST_POLL_S = 0.02


class FleetHosts:
    """The machines of a cluster; a context, within which the leases of what was started are renewed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._run = uuid.uuid4().hex
        self._used: dict[str, Member] = {}
        self._numbers = itertools.count(1)
        self._over = threading.Event()
        self._renewing = threading.Thread(target=self._renew, name="fleet-leases", daemon=True)

    def __enter__(self) -> Self:
        self._renewing.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._renewing.join()

    def host(self, name: str) -> "_Host":
        """The machine of the monitor that is called so, or that runs on a machine called so. Raises UserError."""
        monitors = [member for member in self._cluster.members if member.role == "monitor"]
        named = [member for member in monitors if member.name == name] or [
            member for member in monitors if member.host == name
        ]
        if len(named) == 1:
            self._used[named[0].name] = named[0]
            return _Host(self._cluster, named[0], self._run, self._numbers)
        known = ", ".join(sorted(member.name for member in named or monitors)) or said("none")
        if named:
            raise UserError(
                "host: {name}: several monitors of the fleet run there; write the name of one: {known}",
                name=name,
                known=known,
            )
        raise UserError(
            "host: {name}: no monitor of the fleet is called so, and none runs on a machine called so; there are: "
            "{known}; start it there: loadstone fleet agent SCHEDULER --role monitor --name {name}",
            name=name,
            known=known,
        )

    def _renew(self) -> None:
        while not self._over.wait(hosting.RENEW_S):
            for member in list(self._used.values()):
                self._cluster.send(member, hosting.renew, self._run)


class _Host:
    """See `named_host.NamedHost`."""

    def __init__(self, cluster: Cluster, member: Member, run: str, numbers: "itertools.count[int]") -> None:
        self.name = member.name
        self._cluster, self._member, self._run, self._numbers = cluster, member, run, numbers

    def part(self, kind: HostedKind, name: str, settings: Mapping[str, Any]) -> "_PartOnHost":
        """See `named_host.NamedHost`."""
        made = _PartOnHost(self._cluster, self._member, self._run, f"{name}-{next(self._numbers)}")
        made.make(kind, name, settings)
        return made


class _PartOnHost:
    """See `named_host.HostedPart`."""

    def __init__(self, cluster: Cluster, member: Member, run: str, part: str) -> None:
        self._cluster, self._member, self._of = cluster, member, (run, part)

    def make(self, kind: HostedKind, name: str, settings: Mapping[str, Any]) -> None:
        self._call(hosting.make, kind, name, dict(settings))

    def carry_out(
        self, order: str, given: Mapping[str, Any], progress: Callable[[str], None], going_on: Callable[[], None]
    ) -> HostReply:
        """See `named_host.HostedPart`."""
        self._call(hosting.begin, order, dict(given))
        pause_s = SHORTEST_POLL_S
        while True:
            heard = self._call(hosting.heard)
            _pass_on(heard["said"], progress)
            if (done := heard["done"]) is not None:
                return self._answered(done)
            try:
                going_on()
            except Interrupted:
                with contextlib.suppress(LoadstoneError):
                    self._call(hosting.interrupt)
                raise
            time.sleep(pause_s)
            pause_s = min(POLL_S, 1.5 * pause_s)

    def ask(self, question: str) -> HostReply:
        """See `named_host.HostedPart`."""
        return self._call(hosting.answer, question)

    def close(self) -> Mapping[str, str]:
        """See `named_host.HostedPart`."""
        with contextlib.suppress(LoadstoneError):  # its lease ends it
            return self._call(hosting.stop)
        return {}

    def _answered(self, done: Mapping[str, Any]) -> HostReply:
        if "interrupted" in done:
            raise HostLost(
                "host {name}: it did not hear of this command for {seconds:g} s",
                name=self._member.name,
                seconds=hosting.LEASE_S,
            )
        if "failed" in done:
            raise UserError("host {name}: {why}", name=self._member.name, why=done["failed"])
        answer: HostReply = done["answer"]
        return answer

    def _call(self, function: Callable[..., T], *args: object) -> T:
        try:
            return self._cluster.call(self._member, function, *self._of, *args, timeout_s=ANSWER_S)
        except AgentLost as lost:
            raise HostLost("host {name}: {why}", name=self._member.name, why=lost.why) from None
        except AgentFailed as failed:
            raise UserError("host {name}: {why}", name=self._member.name, why=failed.why) from None


def _pass_on(lines: Sequence[Sequence[Any]], progress: Callable[[str], None]) -> None:
    for text, about, is_remark in lines:
        progress(LastingStep(text, about) if is_remark else Step(text, about))
