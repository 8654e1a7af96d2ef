"""What the command holds of a fleet: the connection to its scheduler, its members, and which of them are there."""

import asyncio
import concurrent.futures
import contextlib
import getpass
import os
import queue
import socket
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from loadstone.addons.fleet import certificates
from loadstone.addons.fleet.certificates import CertifiedPart, Credential
from loadstone.addons.fleet.cluster_seam import AgentFailed, AgentLost, Heard, Member
from loadstone.addons.fleet.dask_library import CONNECT_S, KEY, Client, reason, security, set_up
from loadstone.addons.fleet.identity import Identity, differences, own_identity
from loadstone.addons.fleet.launching import (
    INTERRUPTED,
    LOOPBACK,
    Launch,
    Launched,
    close_all,
    launch_by_ssh,
    launch_local,
    launch_scheduler,
)
from loadstone.addons.fleet.serving import CLAIM_S, let_go, ping, run_here
from loadstone.addons.fleet.spec import FleetSpec
from loadstone.safety.errors import DriveFailed, Interrupted, UserError
from loadstone.text.message import AnyText, Message, joined
from loadstone.text.message import said as said_as

T = TypeVar("T")
JOIN_S = 10.0
"""How long the first agent of a cluster that is there may take to show."""
NAMED_S = 120.0
"""How long as many agents may take as were named (`?agents=4`): nodes may have to be made for them first."""
END_S = 0.5
"""How long a process may take to end that Dask has missed."""
LOOK_S = 1.0
"""How often the members are looked after; Dask tells of one whose process ended at once."""
SEND_S = 5.0
"""How long what is sent without an answer may wait for those before it, and for its way; later it is not worth it."""


def open_cluster(
    spec: FleetSpec,
    *,
    folder: Path | None = None,
    claim: bool = True,
    listen: tuple[str, int] = (LOOPBACK, 0),
    credentials: Mapping[CertifiedPart, Credential] | None = None,
    empty: bool = False,
    stopped: Callable[[], bool] = lambda: False,
) -> "DaskCluster":
    """Connect to a fleet; one that is named by `local:` or `ssh:` is started first, and ends with `close`.

    `folder`: of the certificates for a fleet that is there; None: the default one. A fleet that is started gets new
    ones, which are in memory alone. `claim`: whether its agents are this command's alone from now on. `empty`: a
    scheduler without any member will do. `stopped`: whether the command is to end, and nothing more to be waited for.

    Raises:
        UserError: certificates are missing or not accepted, no scheduler answers, versions differ, or agents are used
            by another command; each names the agents.
        DriveFailed: an agent does not start.
        Interrupted: it was `stopped`.
    """
    if spec.address is not None:
        host, port = spec.address
        address = f"tls://[{host}]:{port}" if ":" in host else f"tls://{host}:{port}"
        credential = certificates.read(folder or certificates.default_folder(), "command")
        return _opened(
            DaskCluster(address, credential, {}, None, claim=claim, agents=spec.agents, empty=empty), stopped
        )
    issued = credentials or certificates.made()
    scheduler, address = launch_scheduler(listen, issued["scheduler"])
    try:
        if spec.agents is not None and spec.kind == "local":
            launched, launch = launch_local(spec.agents, address, issued["agent"], stopped)
        else:
            launched, launch = launch_by_ssh(spec.hosts, address, issued["agent"], stopped)
    except BaseException:
        scheduler.close()
        raise
    return _opened(DaskCluster(address, issued["command"], launched, scheduler, claim=claim, launch=launch), stopped)


class DaskCluster:
    """See `cluster_seam.Cluster`."""

    def __init__(
        self,
        address: str,
        credential: Credential,
        launched: Mapping[str, Launched],
        scheduler: Launched | None,
        *,
        claim: bool,
        agents: int | None = None,
        launch: Launch | None = None,
        empty: bool = False,
    ) -> None:
        """`agents`: so many are waited for; None: those that were launched, or one. `launch`: starts one again."""
        self._launch, self._empty = launch, empty
        self._launching: set[str] = set()
        self._agents = agents
        self._until = time.monotonic() + (0.0 if agents is None else NAMED_S)
        """Until then a scheduler that does not answer is asked again."""
        self.address = address
        """Address of the scheduler."""
        self.identities: dict[str, Identity] = {}
        """What each member is, by its name, as it joined last."""
        self._credential = credential
        self._launched = dict(launched)
        self._scheduler = scheduler
        self._who = f"{_user()}@{socket.gethostname()}, process {os.getpid()}"
        self._token = uuid.uuid4().hex if claim else ""
        self._members: tuple[Member, ...] = ()
        self._addresses: dict[str, str] = {}
        self._gone: dict[str, AnyText] = {}
        self._heard: dict[str, list[Heard]] = {}
        self._said: queue.SimpleQueue[tuple[str, str, object] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._look: asyncio.Event | None = None
        self._ways: dict[str, asyncio.Lock] = {}
        self._closing = False
        self._renewed = 0.0
        self._opened: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._threads = [
            threading.Thread(target=self._serve, name="fleet", daemon=True),
            threading.Thread(target=self._tell, name="fleet-heard", daemon=True),
        ]

    def open(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """Connect, wait for the members, compare versions, claim them. Raises as `open_cluster`."""
        for thread in self._threads:
            thread.start()
        until = time.monotonic() + 2 * CONNECT_S + 2 * self._join_s
        while not concurrent.futures.wait([self._opened], LOOK_S / 5).done and time.monotonic() < until:
            if stopped():
                raise Interrupted.of(INTERRUPTED)
        self._opened.result(0)
        self._require_alike()
        if self._token:
            self._claim()

    @property
    def members(self) -> tuple[Member, ...]:
        """See `cluster_seam.Cluster`."""
        return self._members

    def call(self, member: Member, function: Callable[..., T], *args: object, timeout_s: float) -> T:
        """See `cluster_seam.Cluster`."""
        _require_function(function)
        why = self.lost().get(member.name)
        if why is not None:
            self._launch_again(member.name)
            raise AgentLost(member.name, why)
        asked = self._ask(member, function, args)
        try:
            answer = asked.result(timeout_s)
        except concurrent.futures.TimeoutError:
            asked.cancel()
            raise AgentLost(
                member.name, said_as("it did not answer within {timeout_s:g} s", timeout_s=timeout_s)
            ) from None
        except concurrent.futures.CancelledError:
            raise AgentLost(member.name, said_as("the fleet was closed")) from None
        if isinstance(answer, Exception):
            raise AgentLost(member.name, self._why_unreached(member.name, answer))
        if "failed" in answer:
            why = answer["failed"]
            raise AgentFailed(member.name, why if isinstance(why, Message) else str(why))
        result: T = answer["answer"]
        return result

    def _why_unreached(self, name: str, error: Exception) -> AnyText:
        """The system tells how a process ended a little after its connections break."""
        until = time.monotonic() + END_S
        while isinstance(error, OSError) and name not in self.lost() and time.monotonic() < until:
            time.sleep(0.02)
        ended = said_as("its process ended, or its link is down") if isinstance(error, OSError) else reason(error)
        return self.lost().get(name, said_as("it cannot be reached: {why}", why=ended))

    def send(self, member: Member, function: Callable[..., object], *args: object) -> None:
        """See `cluster_seam.Cluster`."""
        _require_function(function)
        self._run(self._sent(member, function, args))

    def send_all(self, members: Sequence[Member], function: Callable[..., object], *args: object) -> None:
        """See `cluster_seam.Cluster`. It is one message to the scheduler, which passes it on to each."""
        _require_function(function)
        self._run(self._sent_all(members, function, args))

    def listen(self, topic: str, heard: Heard) -> None:
        """See `cluster_seam.Cluster`."""
        with self._lock:
            self._heard.setdefault(topic, []).append(heard)
        asked = self._run(self._subscribe([topic]))
        with contextlib.suppress(concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            asked.result(CONNECT_S)

    def lost(self) -> Mapping[str, AnyText]:
        """See `cluster_seam.Cluster`."""
        with self._lock:
            return dict(self._gone)

    def end_fleet(self) -> None:
        """End the scheduler and all members, whoever started them."""
        with contextlib.suppress(concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            self._run(self._end_fleet()).result(CONNECT_S)

    def close(self) -> None:
        """See `cluster_seam.Cluster`."""
        if self._closing:
            return
        if self._token and self._loop is not None:
            asked = [self._ask(member, let_go, [self._token]) for member in self._members]
            concurrent.futures.wait(asked, 2.0)
        self._closing = True
        self._look_now()
        self._said.put(None)
        for thread in self._threads:
            if thread.is_alive() and self._opened.done():  # else it may wait for a scheduler that is not there
                thread.join(5.0)
        close_all(list(self._launched.values()))
        if self._scheduler is not None:
            self._scheduler.close()

    # --- in its own loop -----

    def _serve(self) -> None:
        with set_up():
            asyncio.run(self._live())

    async def _live(self) -> None:
        """Be connected until it is closed; a scheduler that went away is looked for again."""
        self._loop, self._look = asyncio.get_running_loop(), asyncio.Event()
        while not self._closing:
            try:
                await self._connected()
            except Exception as error:
                final = isinstance(error, UserError | DriveFailed) or time.monotonic() > self._until
                if not self._opened.done() and final:
                    self._opened.set_exception(
                        error if isinstance(error, UserError | DriveFailed) else self._unreachable(error)
                    )
                    return
            if not self._closing:
                await asyncio.sleep(LOOK_S)

    async def _connected(self) -> None:
        client: Any = Client(
            self.address,
            security=security(self._credential, "client"),
            asynchronous=True,
            timeout=CONNECT_S,
            set_as_default=False,
            direct_to_workers=False,
            name=KEY,
        )
        async with client:
            self._client = client
            try:
                if not self._opened.done():
                    await self._await_members(client)
                    self._opened.set_result(None)
                client.subscribe_topic("all", self._on_change)
                await self._subscribe(list(self._heard))
                assert self._look is not None
                while not self._closing and client.status == "running":
                    self._look.clear()
                    workers = await self._workers(client)
                    await self._let_end({member.name for member in self._members} - set(_addresses_of(workers)))
                    self._update(workers)
                    self._renew_claims()
                    await self._until_next_look(client, self._look)
            finally:
                self._client = None
                await self._let_end({member.name for member in self._members})
                self._all_lost(said_as("the connection to the scheduler was lost"))

    async def _until_next_look(self, client: Any, look: asyncio.Event) -> None:
        """Until a member came or went, the scheduler went, or a while is over."""
        until = time.monotonic() + LOOK_S
        while client.status == "running" and not look.is_set() and time.monotonic() < until:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(look.wait(), LOOK_S / 10)

    async def _workers(self, client: Any) -> dict[str, Any]:
        identity = await asyncio.wait_for(client.scheduler.identity(n_workers=-1), CONNECT_S)
        workers: dict[str, Any] = identity["workers"]
        return workers

    @property
    def _join_s(self) -> float:
        return JOIN_S if self._agents is None else NAMED_S

    async def _await_members(self, client: Any) -> None:
        """The members: those that were started, or all that are there. Raises UserError if there is none."""
        deadline = time.monotonic() + self._join_s
        needed = self._agents or (1 if self._token and not self._empty else 0)  # monitors alone may be listed
        while True:
            if self._closing:
                raise Interrupted.of(INTERRUPTED)
            workers = await self._workers(client)
            agents = sum(_role_of(info) == "agent" for info in workers.values())
            if (workers or self._empty) and agents >= needed and len(workers) >= len(self._launched):
                break
            if time.monotonic() > deadline:
                named = "" if self._agents is None else f" of {self._agents}"
                raise UserError(
                    "--fleet {address}: {agents}{named} agents are there; start more: loadstone fleet agent {address}",
                    address=self.address,
                    agents=agents,
                    named=named,
                )
            await asyncio.sleep(0.1)
        known = {str(info["name"]): self._identified(str(info["name"]), info) for info in workers.values()}
        order = list(self._launched) or sorted(known)
        addresses = _addresses_of(workers)
        self._members = tuple(
            Member(name, addresses[name], known[name].role or "agent", known[name].host)
            for name in order
            if name in known
        )
        self._update(workers)

    def _identified(self, name: str, info: Mapping[str, Any]) -> Identity:
        try:
            self.identities[name] = Identity.model_validate(info.get(KEY))
        except ValidationError:
            raise UserError(
                "--fleet {address}: {name} does not say which loadstone it is; start it by `loadstone "
                "fleet agent`, in the version that runs here",
                address=self.address,
                name=name,
            ) from None
        return self.identities[name]

    def _update(self, workers: Mapping[str, Any]) -> None:
        """Who is there, and who is not any more."""
        there = _addresses_of(workers)
        for member in self._members:
            address = there.get(member.name)
            if address is None:
                self._lose(member.name, None)
            elif address != self._addresses.get(member.name):  # it joined, or came back as another process
                try:
                    unlike = differences(own_identity(None), self._identified(member.name, workers[address]))
                except UserError as error:  # of another version, it says of itself what nobody here can read
                    if not self._opened.done():
                        raise
                    unlike = [error.message]
                with self._lock:
                    if unlike and self._opened.done():
                        self._gone[member.name] = said_as("it came back with {unlike}", unlike=joined("; ", unlike))
                        continue
                    self._addresses[member.name] = address
                    self._gone.pop(member.name, None)

    async def _let_end(self, names: set[str]) -> None:
        """Give members that are missed since now a moment to end: the system tells of an end a little after Dask
        does."""
        waited = [each for name in names - self.lost().keys() if (each := self._launched.get(name)) is not None]
        deadline = time.monotonic() + END_S
        while waited and not self._closing and time.monotonic() < deadline:
            waited = [launched for launched in waited if not launched.ended()]
            await asyncio.sleep(0.02)

    def _lose(self, name: str, why: AnyText | None) -> None:
        with self._lock:
            if name in self._gone:
                return
        launched = self._launched.get(name)
        why = (
            why
            or (launched and launched.ending())
            or said_as("it left the fleet: its process ended, or its link is down")
        )
        with self._lock:
            self._gone[name] = why
            self._addresses.pop(name, None)

    def _launch_again(self, name: str) -> None:
        """Start one that ended, in the background: who calls an agent that was lost wants it back."""
        launched, launch = self._launched.get(name), self._launch
        with self._lock:
            wanted = launched is not None and launch is not None and name not in self._launching
            if not wanted or self._closing or launched is None or not launched.ended():
                return
            self._launching.add(name)

        def start() -> None:
            assert launch is not None
            with contextlib.suppress(DriveFailed, UserError, OSError):  # it is tried again at the next call
                begun = launch(name)
                launched.close()
                self._launched[name] = begun
                if self._closing:
                    begun.close()
            self._launching.discard(name)

        threading.Thread(target=start, name="fleet-again", daemon=True).start()

    def _all_lost(self, why: AnyText) -> None:
        ending = self._scheduler.ending() if self._scheduler is not None and not self._closing else None
        for member in self._members:
            self._lose(
                member.name, why if ending is None else said_as("the fleet's scheduler is gone: {why}", why=ending)
            )

    def _on_change(self, event: tuple[float, Any]) -> None:
        message = event[1]
        if isinstance(message, dict) and message.get("action") in ("remove-worker", "add-worker"):
            self._look_now()

    def _look_now(self) -> None:
        loop, look = self._loop, self._look
        if loop is not None and look is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(look.set)

    async def _subscribe(self, topics: Sequence[str]) -> None:
        client = self._client
        if client is not None:
            for topic in topics:
                client.subscribe_topic(f"{KEY}/{topic}", lambda event, topic=topic: self._on_said(topic, event))

    def _on_said(self, topic: str, event: tuple[float, Any]) -> None:
        """The scheduler says from which address it came."""
        with self._lock:
            name = next((name for name, at in self._addresses.items() if at == event[1].get("worker")), None)
        if name is not None:
            self._said.put((topic, name, event[1].get("message")))

    def _tell(self) -> None:
        while (said := self._said.get()) is not None:
            topic, name, message = said
            with self._lock:
                heard = list(self._heard.get(topic, ()))
            for each in heard:
                each(name, message)

    def _ask(
        self,
        member: Member,
        function: Callable[..., object],
        args: Sequence[object],
    ) -> "concurrent.futures.Future[Any]":
        return self._run(self._asked(member, function, args))

    async def _asked(self, member: Member, function: Callable[..., object], args: Sequence[object]) -> Any:
        """What `run_here` answers there, or the error that kept the message or the answer from its way."""
        client, address = self._client, self._addresses.get(member.name)
        if client is None or address is None:
            return ConnectionError(said_as("it is not connected"))
        try:
            answers = await client.run(
                run_here, self._token, self._who, function, list(args), workers=[address], on_error="return"
            )
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            return error
        return answers[address]

    async def _sent(self, member: Member, function: Callable[..., object], args: Sequence[object]) -> None:
        """One after the other for each member: Dask's messages may overtake each other."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SEND_S), self._ways.setdefault(member.name, asyncio.Lock()):
                await self._asked(member, function, args)

    async def _sent_all(
        self, members: Sequence[Member], function: Callable[..., object], args: Sequence[object]
    ) -> None:
        client = self._client
        there = [at for member in members if (at := self._addresses.get(member.name)) is not None]
        if client is None or not there:
            return
        with contextlib.suppress(OSError, RuntimeError, ValueError, KeyError, TimeoutError):
            async with asyncio.timeout(SEND_S):
                await client.run(
                    run_here, self._token, self._who, function, list(args), workers=there, on_error="return"
                )

    async def _end_fleet(self) -> None:
        if self._client is not None:
            await self._client.shutdown()

    def _run(self, coroutine: Any) -> "concurrent.futures.Future[Any]":
        loop = self._loop
        if loop is None or loop.is_closed() or self._closing:
            coroutine.close()
            future: concurrent.futures.Future[Any] = concurrent.futures.Future()
            future.cancel()
            return future
        return asyncio.run_coroutine_threadsafe(coroutine, loop)

    # --- before the first byte of load -----

    def _require_alike(self) -> None:
        ours = own_identity(None)
        unlike = {name: differences(ours, theirs) for name, theirs in self.identities.items()}
        wrong = [f"{name} has {joined('; ', found)}" for name, found in unlike.items() if found]
        engines: dict[str, dict[str, list[str]]] = {}
        for name, theirs in self.identities.items():
            engines.setdefault(theirs.machine, {}).setdefault(theirs.engine, []).append(name)
        for machine, built in engines.items():
            if len(built) > 1 and machine != ours.machine:
                wrong.append(f"on {machine} there are unlike engines: {'; '.join(map(', '.join, built.values()))}")
        if wrong:
            raise UserError("--fleet: {wrong}. Install the same loadstone everywhere", wrong=". ".join(wrong[:5]))

    def _claim(self) -> None:
        asked = {member: self._ask(member, ping, []) for member in self._members}
        concurrent.futures.wait(asked.values(), CONNECT_S)
        for member, answer in asked.items():
            if not answer.done() or isinstance(answer.result(), Exception):
                raise DriveFailed("agent {name}: it does not answer", name=member.name)
            if "failed" in answer.result():
                raise UserError("agent {name}: {result}", name=member.name, result=answer.result()["failed"])

    def _renew_claims(self) -> None:
        """And have those that were started know that this command is there."""
        if (self._token or self._launched) and time.monotonic() > self._renewed + CLAIM_S / 5:
            self._renewed = time.monotonic()
            self._run(self._sent_all(self._members, ping, []))

    def _unreachable(self, error: Exception) -> Exception:
        return UserError(
            "--fleet {address}: no scheduler of this fleet answers there ({why}); start one by `loadstone fleet "
            "scheduler`, and see that both have certificates of the same making",
            address=self.address,
            why=reason(error),
        )


def _require_function(function: Callable[..., object]) -> None:
    """Such a function is sent by its name."""
    name = f"{function.__module__}.{function.__qualname__}"
    if "." in function.__qualname__ or "<" in function.__qualname__ or not function.__module__.startswith("loadstone."):
        raise TypeError(f"{name}: only functions on the level of a module of loadstone can be called on a member")


def _opened(cluster: DaskCluster, stopped: Callable[[], bool]) -> DaskCluster:
    try:
        cluster.open(stopped)
    except BaseException:
        cluster.close()
        raise
    return cluster


def _user() -> str:
    """Whose process this is; in a container that may be a number without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.geteuid()}"


def _addresses_of(workers: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the addresses by the names of the members that are there."""
    return {str(info["name"]): address for address, info in workers.items()}


def _role_of(info: Mapping[str, Any]) -> str:
    """Return the role of a member as Dask lists it; one that does not say is refused later, and counts till then."""
    said = info.get(KEY)
    return str(said.get("role")) if isinstance(said, Mapping) else "agent"
