"""Starts the parts of a fleet that is started for a command: here, or on other machines by the system's `ssh`.

A part gets its order as one line of JSON on its standard input, its key in it: nothing secret stands on a command
line, in a variable or in a file of another machine. It ends when that input ends: with the command, however that ends.

By `ssh` nothing listens on the network: both ways between scheduler and agent lead through the log-in, from loopback to
loopback, and are TLS within. The log-in is the user's own: its keys, its known hosts, its `~/.ssh/config`.
"""

import itertools
import json
import os
import random
import select
import shlex
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from loadstone.addons.fleet.certificates import CertifiedPart, Credential
from loadstone.addons.fleet.cluster_seam import Role
from loadstone.addons.fleet.spec import SshHost
from loadstone.machine.ports import free_port
from loadstone.machine.processes.guarded_process import GuardedProcess, ProcessEnvironment
from loadstone.machine.processes.workspace import Workspace
from loadstone.safety.errors import DriveFailed, Interrupted
from loadstone.safety.terminal import plain
from loadstone.text.message import said

LOOPBACK = "127.0.0.1"
READY_S = 60.0
"""How long a part may take to log in, start and join."""
LOOK_S = 0.2
"""How soon it is noticed that a command is to stop while parts start."""
INTERRUPTED = said("interrupted before anything was measured")
END_S = 5.0
"""How long a part whose output ended may take to end itself."""
PROGRAM_VARIABLE = "LOADSTONE_FLEET_PROGRAM"
"""How `loadstone` is called on the machines that are logged in to; not set: as the shell there finds it."""
_REMOTE_PORTS = (20_000, 32_000)
"""Below the range from which Linux gives ports by itself."""
_TRIES = 5
_PORT_TAKEN = ("forwarding failed", "in use", "cannot listen")
_LINE_MAX = 65_536


class Launched:
    """A part that runs until it is closed, or this process ends."""

    def __init__(self, what: str, command: Sequence[str], order: Mapping[str, Any]) -> None:
        """Raises DriveFailed if it cannot be started."""
        self.what = what
        self._lock = threading.Lock()
        reads, self._orders = os.pipe()
        self._answers, writes = os.pipe()
        workspace = Workspace("fleet")
        # What the part makes lies within, and goes with it: a part that is slow to end is killed before it tidies up.
        within = {"TMPDIR": str(workspace.path)}
        # It is loadstone itself, or ssh, which needs the user's agent.
        around = ProcessEnvironment(
            environment=within, inherited=tuple(os.environ), standard_input=reads, standard_output=writes
        )
        self._process = GuardedProcess(command, workspace, workspace.path / "log", surroundings=around)
        try:
            self._process.start()
            os.write(self._orders, json.dumps(order).encode() + b"\n")
        except OSError as error:
            self.close()
            raise DriveFailed("{what}: cannot be started: {error}", what=what, error=error) from None
        finally:
            os.close(reads)
            os.close(writes)

    def await_ready(self, deadline: float, stopped: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """What it says of itself once it is ready. Raises DriveFailed with its reason if it never is; Interrupted."""
        heard, closed = b"", False
        while (left := deadline - time.monotonic()) > 0 and len(heard) < _LINE_MAX:
            if stopped():
                raise Interrupted.of(INTERRUPTED)
            if not select.select([self._answers], [], [], min(left, LOOK_S))[0]:
                continue
            received = os.read(self._answers, 4096)
            if not received:
                closed = True
                break
            *lines, heard = (heard + received).split(b"\n")
            for line in lines:
                answer = _object(line)
                if "failed" in answer:
                    raise DriveFailed("{what}: {why}", what=self.what, why=plain(str(answer["failed"])))
                if "ready" in answer:
                    return answer
        if self._ended_within(END_S if closed else 0.0):
            raise DriveFailed(
                "{what}: it ended while it started{last_words}", what=self.what, last_words=self._last_words()
            )
        raise DriveFailed(
            "{what}: not ready within {ready_s:g} s{last_words}",
            what=self.what,
            ready_s=READY_S,
            last_words=self._last_words(),
        )

    def _ended_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self.ended():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def ended(self) -> bool:
        """Whether its process is gone."""
        with self._lock:
            return not self._process.alive()

    def ending(self) -> str | None:
        """Return how it ended; None while it runs."""
        if not self.ended():
            return None
        status = self._process.exit_status
        how = "" if status is None else f" (signal {-status})" if status < 0 else f" (status {status})"
        return f"its process ended{how}{self._last_words() if status and status > 0 else ''}"

    def close(self) -> None:
        """End it. May be called more than once."""
        with self._lock:
            for fd in (self._orders, self._answers):
                if fd >= 0:
                    os.close(fd)
            self._orders = self._answers = -1
            self._process.close()

    def _last_words(self) -> str:
        with self._lock:
            lines = [line for line in map(plain, self._process.log_lines()) if line]
        return f": {lines[-1][:300]}" if lines else ""


def launch_scheduler(listen: tuple[str, int], credential: Credential) -> tuple[Launched, str]:
    """A scheduler on this machine, and its address. Raises DriveFailed."""
    order = {"listen": list(listen), **_proof(credential)}
    launched = Launched("fleet: the scheduler", _own("scheduler"), order)
    try:
        return launched, str(launched.await_ready(time.monotonic() + READY_S)["ready"])
    except BaseException:
        launched.close()
        raise


Launch = Callable[[str], Launched]
"""Starts the agent of this name, or starts it again. Raises DriveFailed."""


def launch_local(
    number: int, scheduler: str, credential: Credential, stopped: Callable[[], bool] = lambda: False
) -> tuple[dict[str, Launched], Launch]:
    """Agents on this machine, by their names, and how one is started again.

    Raises DriveFailed, and Interrupted once `stopped`; none is left then.
    """
    names = [f"agent-{at}" for at in range(1, number + 1)]

    def launch(name: str) -> Launched:
        order = _member_order(name, "agent", scheduler, credential, (LOOPBACK, 0), None)
        return _ready(Launched(f"agent {name}", _own("agent"), order), stopped)

    return _all(names, launch), launch


def launch_by_ssh(
    hosts: Sequence[SshHost], scheduler: str, credential: Credential, stopped: Callable[[], bool] = lambda: False
) -> tuple[dict[str, Launched], Launch]:
    """An agent on each host, by the names of the hosts, and how one is started again.

    Raises DriveFailed, and Interrupted once `stopped`; none is left then.
    """
    named: dict[str, SshHost] = {}
    for host in hosts:
        names = (host.host if at == 1 else f"{host.host}-{at}" for at in itertools.count(1))
        named[next(name for name in names if name not in named)] = host

    def launch(name: str) -> Launched:
        for left in reversed(range(_TRIES)):
            try:
                return _by_ssh(name, named[name], scheduler, credential, stopped)
            except DriveFailed as error:
                if not left or not any(words in str(error).lower() for words in _PORT_TAKEN):
                    raise
        raise AssertionError

    return _all(list(named), launch), launch


def close_all(launched: Sequence[Launched]) -> None:
    """End all, side by side."""
    if launched:
        with ThreadPoolExecutor(min(32, len(launched))) as pool:
            list(pool.map(Launched.close, launched))


def _by_ssh(name: str, host: SshHost, scheduler: str, credential: Credential, stopped: Callable[[], bool]) -> Launched:
    back, there = _drawn_ports()
    here = free_port()
    order = _member_order(
        name, "agent", f"tls://{LOOPBACK}:{back}", credential, (LOOPBACK, there), f"tls://{LOOPBACK}:{here}"
    )
    command = ssh_command(host, {here: there}, {back: scheduler.removeprefix("tls://")})
    return _ready(Launched(f"agent {name} (by ssh)", command, order), stopped)


def _drawn_ports() -> tuple[int, int]:
    back, there = random.sample(range(*_REMOTE_PORTS), 2)
    return back, there


def ssh_command(host: SshHost, forward: Mapping[int, int], back: Mapping[int, str]) -> list[str]:
    """A log-in without questions that ends when the link is dead for 15 s, with ports of loopback joined both ways.

    `forward`: a port here to one there; `back`: a port there to an address here, as HOST:PORT.
    """
    options = {
        "BatchMode": "yes",
        "ConnectTimeout": "10",
        "ControlMaster": "no",
        "ControlPath": "none",
        "ExitOnForwardFailure": "yes",
        "ServerAliveCountMax": "3",
        "ServerAliveInterval": "5",
    }
    words = ["ssh", "-T", *(f"-o{name}={value}" for name, value in options.items())]
    words += [f"-L{LOOPBACK}:{ours}:{LOOPBACK}:{theirs}" for ours, theirs in forward.items()]
    words += [f"-R{LOOPBACK}:{theirs}:{ours}" for theirs, ours in back.items()]
    words += [] if host.port is None else [f"-p{host.port}"]
    words += [] if host.user is None else ["-l", host.user]
    return [*words, "--", host.host, _remote_program()]


def _remote_program() -> str:
    """A line for the shell there: the program that the user named, or the one on the path, or one where ours is."""
    named = os.environ.get(PROGRAM_VARIABLE)
    if named:
        return f"exec {named} fleet agent -"
    ours = shlex.quote(str(Path(sys.executable).with_name("loadstone")))
    return f'exec "$(command -v loadstone || echo {ours})" fleet agent -'


def _own(part: CertifiedPart) -> list[str]:
    return [sys.executable, "-P", "-m", "loadstone", "fleet", part, "-"]


def _member_order(
    name: str, role: Role, scheduler: str, credential: Credential, listen: tuple[str, int], contact: str | None
) -> dict[str, Any]:
    """`contact`: by which address others reach it, where that is not the one that it listens on."""
    member = {"name": name, "role": role, "scheduler": scheduler, "listen": list(listen), "contact": contact}
    return {**member, **_proof(credential)}


def _proof(credential: Credential) -> dict[str, str]:
    return {"authority": credential.authority, "own": credential.own}


def _ready(launched: Launched, stopped: Callable[[], bool]) -> Launched:
    try:
        launched.await_ready(time.monotonic() + READY_S, stopped)
    except BaseException:
        launched.close()
        raise
    return launched


def _all(names: Sequence[str], launch: Launch) -> dict[str, Launched]:
    with ThreadPoolExecutor(min(32, len(names))) as pool:
        futures = {name: pool.submit(launch, name) for name in names}
    failed = [error for future in futures.values() if (error := future.exception()) is not None]
    if failed:
        close_all([future.result() for future in futures.values() if future.exception() is None])
        raise failed[0]
    return {name: future.result() for name, future in futures.items()}


def _object(line: bytes) -> dict[str, Any]:
    """A line of JSON; nothing of what a shell on the way may print."""
    try:
        read = json.loads(line)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
