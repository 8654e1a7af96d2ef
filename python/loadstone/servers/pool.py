"""The servers of a run: one for each name and settings, kept up until the run ends."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.key_time import MANY
from loadstone.experiment.plan.required import OWN_HOST, named_host
from loadstone.machine.placement import OWN_CPUS, own_cpus
from loadstone.machine.processes.idle import hold, release
from loadstone.machine.start_context import Stays
from loadstone.run_folder.ledger import CreatedObjects, Ledger, describe
from loadstone.safety.bounds.deadlines import LOOK, REMOVAL, deadline
from loadstone.safety.errors import LoadstoneError, ServerGone, UserError
from loadstone.servers.control import FailsOver
from loadstone.servers.delay_line import DelayLine, link_of
from loadstone.servers.deployed import RunningServer
from loadstone.servers.leftovers import remove_earlier
from loadstone.servers.patience import is_busy, patiently, timed_out
from loadstone.servers.remote_host import HostLost
from loadstone.servers.remote_part import HostedServer, RemoteCapable
from loadstone.servers.server import DeployContext, ManyEndpoints, Server
from loadstone.text.language import _

PATIENCE_S = 20.0
"""How long a server of the user's that hangs, or is busy, is waited for at the end, to remove what is ours there."""
MONITOR_TIMEOUT_S = 0.8
"""Below the monitors' second: a server that hangs must not hold up the other monitors."""


class ServerPool:
    """Servers by their name and settings."""

    def __init__(
        self,
        make: Callable[[str, Mapping[str, Any]], Server],
        context: DeployContext,
        make_room: Callable[[], None],
    ) -> None:
        """`make_room` is called before a server is started."""
        self._make = make
        self._context = context
        self._make_room = make_room
        self._running: dict[str, RunningServer] = {}

    def need(self, required: Mapping[str, Mapping[str, Any]]) -> dict[str, RunningServer]:
        """The servers by name; started if they do not run yet, restarted if they died.

        Raises:
            UserError: one cannot be started or cannot serve.
            ServerGone: one that is not ours does not answer any more.
        """
        return {name: self._served(name, settings) for name, settings in required.items()}

    def restart(self, required: Iterable[Mapping[str, Mapping[str, Any]]]) -> None:
        """Those of ours among these that run are started again, each once. Raises UserError."""
        keys = dict.fromkeys(_key(name, settings) for servers in required for name, settings in servers.items())
        for key in keys:
            running = self._running.get(key)
            if running is not None and running.server.ours and running.server.alive():
                release(running.server)
                running.close()
                self._running[key] = _deployed(running.server, running.server.restart(), running.traces, running.line)

    def all(self) -> Iterable[RunningServer]:
        """Every server that was started."""
        return self._running.values()

    def hold_all_but(self, needed: Iterable[RunningServer]) -> list[Server]:
        """Hold those still that are not needed now; these."""
        kept = {id(deployed.server) for deployed in needed}
        idle = [deployed.server for deployed in self._running.values() if id(deployed.server) not in kept]
        for server in idle:
            hold(server)
        return idle

    def _served(self, name: str, settings: Mapping[str, Any]) -> RunningServer:
        """It runs. One of ours that goes away while it starts is no reason to end the run."""
        key = _key(name, settings)
        running = self._running.get(key)
        server = self._made(name, settings) if running is None else running.server
        release(server)
        try:
            return self._one(key, server, settings)
        except ServerGone as gone:
            if server.ours and not isinstance(gone, HostLost):
                raise UserError.of(gone.message) from None
            raise

    def _made(self, name: str, settings: Mapping[str, Any]) -> Server:
        server = self._make(name, settings)
        if named_host(settings) is None:
            return server
        if not isinstance(server, RemoteCapable):
            raise TypeError(f"server {name}: a {type(server).__name__} has no named host")
        return HostedServer(name, settings, server)

    def _placed(self, settings: Mapping[str, Any]) -> DeployContext:
        """With the CPUs and the host that these settings give the server."""
        shared, beside = self._context.cpus, self._context.generator_cpus
        own = settings.get("cpus") == OWN_CPUS and bool(shared)
        cpus = own_cpus(shared, beside) if own else shared
        return replace(self._context, cpus=cpus, own_host=settings.get("host") == OWN_HOST)

    def _one(self, key: str, server: Server, settings: Mapping[str, Any]) -> RunningServer:
        running = self._running.get(key)
        if running is None:
            self._make_room()
            number = 1 + sum(deployed.server.name == server.name for deployed in self._running.values())
            context = self._placed(settings).with_own_log(number)
            self._running[key] = self._first(server, context, settings)
        elif not running.server.alive():
            running.close()
            self._running[key] = _deployed(running.server, running.server.restart(), running.traces, running.line)
        elif dict(running.server.pids) != running.pids:  # it was restarted by others
            running.close()
            endpoint = running.server.control().endpoint
            self._running[key] = _deployed(running.server, endpoint, running.traces, running.line)
        elif running.line is not None and not running.line.alive():
            running.close()
            self._context.progress(_("starting the link of {name} again", name=server.name))
            self._running[key] = _deployed(server, server.control().endpoint, running.traces, running.line)
        elif running.line is None and isinstance(server, ManyEndpoints):
            running.endpoints = server.endpoints  # slots may have moved since
        return self._running[key]

    def _first(self, server: Server, context: DeployContext, settings: Mapping[str, Any]) -> RunningServer:
        """A server that is needed for the first time; of one that is not ours, what an earlier session left is gone."""
        link = link_of(settings)
        line = None if link is None else DelayLine(server.name, link, context.generator_cpus)
        try:
            deployed = _deployed(server, server.start(context), line=line)
            if not server.ours:
                deployed.traces = CreatedObjects(deployed.control.place(server.name), context.ledger)
                _note_copies(deployed, context.ledger)
                remove_earlier(deployed.traces, deployed.control)
        except BaseException:
            if line is not None:
                line.stop()
            if not server.ours or line is not None:
                with suppress(LoadstoneError):
                    server.stop()
            raise
        return deployed

    def stop(self, *, leaves: bool = False) -> None:
        """Remove our traces from servers that are not ours, stop those that are, and close every connection.

        `leaves`: millions of keys stay, which is said. So does all that is being removed when the user does not wait.

        Raises:
            KeyboardInterrupt: the user did not wait; all the rest was done.
        """
        interrupted = False
        while self._running:
            _, deployed = self._running.popitem()
            deadline_s = time.monotonic() + PATIENCE_S
            if deployed.line is not None:
                deployed.line.stop()
            stays = interrupted or (leaves and any(thing.count >= MANY for thing in deployed.traces.things))
            if stays:
                self._remark_kept(deployed)
            steps: list[Callable[[], None]] = [deployed.close, partial(_stop, deployed.server)]
            if not stays:
                steps.insert(0, partial(_leave_as_it_was, deployed))
            for step in steps:
                try:
                    self._patiently(step, deployed, deadline_s)
                except LoadstoneError as error:
                    self._remark_left(deployed, error)
                except KeyboardInterrupt:
                    if not stays:
                        self._remark_kept(deployed)
                    stays = interrupted = True
        if interrupted:
            raise KeyboardInterrupt

    def _patiently(self, step: Callable[[], None], deployed: RunningServer, deadline_s: float) -> None:
        """Do it; again for a while where a server that is not ours does not answer in time, or is busy for now.

        Raises LoadstoneError.
        """

        def may_later(gone: BaseException) -> bool:
            return not deployed.server.ours and (timed_out(gone) or is_busy(gone))

        def waits() -> None:
            self._context.progress(
                _("waiting until {name} answers, to remove what loadstone made there", name=deployed.server.name)
            )

        patiently(step, deadline_s, may_later, waits)

    def _remark_kept(self, deployed: RunningServer) -> None:
        """Say what stays because nobody waited for its removal."""
        left = _left(deployed)
        if deployed.server.ours or not left:
            return
        told = _(
            "left on {server}: {left}; to remove it: {advice}",
            server=deployed.server.name,
            left=left,
            advice=self._context.ledger.advice,
        )
        self._context.progress(Stays(told))

    def _remark_left(self, deployed: RunningServer, error: LoadstoneError) -> None:
        left, advice = _left(deployed), "" if deployed.server.ours else self._context.ledger.advice
        told = _(
            "{server}: not everything that loadstone made could be removed ({why})",
            server=deployed.server.name,
            why=error,
        )
        told = _("{told}; what stays: {left}", told=told, left=left) if left else told
        told = _("{told}; when it answers: {advice}", told=told, advice=advice) if advice else told
        self._context.progress(Stays(told))


def _left(deployed: RunningServer) -> str:
    """What stays of what loadstone made on a server; empty: nothing."""
    return ", ".join(map(describe, deployed.traces.things))


def _key(name: str, settings: Mapping[str, Any]) -> str:
    return json.dumps([name, settings], sort_keys=True, default=str)


def _deployed(
    server: Server, endpoint: Endpoint, traces: CreatedObjects | None = None, line: DelayLine | None = None
) -> RunningServer:
    """A server that runs at this endpoint, through its line if it has one. Raises UserError if that cannot be."""
    endpoints = server.endpoints if isinstance(server, ManyEndpoints) else (endpoint,)
    if line is not None:
        if len(endpoints) > 1:
            raise UserError(
                "servers.{server}.link: a cluster's nodes name each other's own addresses to its clients, which "
                "a line cannot change; leave out link, or load a single server",
                server=server.name,
            )
        endpoint = line.reach(endpoint)
        endpoints = (endpoint,)
    return RunningServer(
        server=server,
        endpoint=endpoint,
        endpoints=endpoints,
        control=server.control(),
        monitor=server.control(MONITOR_TIMEOUT_S),
        pids=dict(server.pids),
        traces=traces or CreatedObjects(),
        line=line,
    )


def _note_copies(deployed: RunningServer, ledger: Ledger) -> None:
    """Where the server is copied to, of software that says so: after a failover it is there that keys are removed."""
    place, control = deployed.traces.place, deployed.control
    if place is not None and isinstance(control, FailsOver):
        with suppress(LoadstoneError), deadline(LOOK):
            copies = control.copies(place.server)
            if copies is not None:
                ledger.copied(place, copies)


def _leave_as_it_was(deployed: RunningServer) -> None:
    if not deployed.server.ours:
        with deadline(REMOVAL):
            deployed.control.remove_traces(deployed.traces)


def _stop(server: Server) -> None:
    with nullcontext() if server.ours else deadline(REMOVAL):
        server.stop()
