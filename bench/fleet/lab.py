"""Hosts of a fleet to break: Redis, a scheduler and two agents, what may be done to them, and who saw what."""

import contextlib
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TextIO

import psutil

from bench.fleet.members import LOADSTONE, Members, members
from bench.fleet.namespaces import Network

AGENTS = ("agent-1", "agent-2")
LEASE_S = 5.0
IDLE_S = 45.0
"""An engine that nobody calls ends 30 s after its load, which ends with its lease."""
CLAIM_S = 16.0
"""So long agents stay those of a command that was killed."""
MARK = "LOADSTONE_BENCH_FAULTS"
PASSWORD = "bench"
RUN = (
    *("-t", "set", "-c", "8", "--rate", "400", "--repeat", "3", "--share-machine"),
    *("--budget", "10m"),
)
PLANNED = 3
LONG_S = 7
"""Of a trial after which load is seen that a lease should have ended."""


def until(condition: Callable[[], object], within_s: float, what: str) -> None:
    """Raises TimeoutError."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {within_s:g} s: {what}")
        time.sleep(0.05)


class Witness:
    """Every SET that Redis gets: when, and from which address."""

    def __init__(self, host: str) -> None:
        self._socket = socket.create_connection((host, 6379), 10)
        self._socket.sendall(f"AUTH {PASSWORD}\r\nMONITOR\r\n".encode())
        self._socket.settimeout(None)
        self.seen: dict[str, list[float]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        line = re.compile(rb'^\+(\d+\.\d+) \[\d+ ([0-9.]+):\d+\] "(?i:set)"')
        with contextlib.suppress(OSError, ValueError), self._socket.makefile("rb") as lines:
            for each in lines:
                if (found := line.match(each)) is not None:
                    self.seen.setdefault(found[2].decode(), []).append(float(found[1]))

    def close(self) -> None:
        """Listen no more."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


class Running:
    """A command under load, what it wrote and when."""

    def __init__(self, words: Sequence[str], environment: dict[str, str], folder: Path) -> None:
        self.folder = folder
        self.mark = os.urandom(8).hex()
        self.lines: list[tuple[float, str]] = []
        self.process = psutil.Popen(
            [*LOADSTONE, *words, "--out", str(folder)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **environment, MARK: self.mark}, start_new_session=True,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, args=(self.process.stderr,), daemon=True)
        self._reader.start()

    def _read(self, lines: TextIO) -> None:
        for line in lines:
            self.lines.append((time.time(), line.rstrip()))

    @property
    def said(self) -> str:
        return "\n".join(line for _, line in self.lines)

    def finished(self) -> list[str]:
        """The lines of its finished trials, as they stand in its folder."""
        (path,) = list(self.folder.glob("*/trials.jsonl")) or [None]
        if path is None:
            return []
        return [line for line in path.read_text().split("\n")[:-1] if '"trial"' in line]

    def wait(self, within_s: float) -> int:
        """Its status."""
        status = self.process.wait(within_s)
        self._reader.join(5)
        return int(status)

    def left(self) -> list[str]:
        """What runs of it: processes that inherited its mark."""
        return marked(self.mark)


def marked(mark: str) -> list[str]:
    """The processes with this mark in their environment."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == mark:
                found.append(f"{process.pid} {' '.join(process.cmdline())[:120]}")
    return found


@dataclass
class Lab:
    """Redis, scheduler and agents on hosts of their own."""

    network: Network
    fleet: Members
    witness: Witness
    folder: Path
    disk: Path
    """Of 400 kB: agents that are to run out of it have their files there."""
    altered: set[str] = field(default_factory=set)
    """Members that are not as at first."""
    stopped: list[psutil.Process] = field(default_factory=list)
    cut_at: float = 0.0
    """When the last cut was in force for certain."""

    @classmethod
    @contextlib.contextmanager
    def made(cls) -> Iterator[Self]:
        """A new one; nothing of it is left after it."""
        os.environ[MARK] = f"lab-{os.getpid()}"
        with contextlib.ExitStack() as held:
            network = held.enter_context(Network(("db", "scheduler", *AGENTS)))
            db = network.address("db")
            serve = ["redis-server", "--bind", db, "--requirepass", PASSWORD, "--save", "", "--dir", "/tmp"]
            network.start("db", serve, stdout=subprocess.DEVNULL)
            until(lambda: _answers(db), 10, "redis listens")
            folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="fleet-faults-")))
            disk = folder / "disk"
            disk.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k,mode=1777", "tmpfs", disk], check=True)
            held.callback(subprocess.run, ["umount", "-l", str(disk)], check=False)
            witness = held.enter_context(contextlib.closing(Witness(db)))
            fleet = held.enter_context(members(network, "scheduler", AGENTS))
            yield cls(network, fleet, witness, folder, disk)

    def begin(self, *more: str, agents: int | None = 2, environment: dict[str, str] | None = None) -> Running:
        """A command that makes load."""
        named = self.fleet.address + ("" if agents is None else f"?agents={agents}")
        url = f"redis://:{PASSWORD}@{self.network.address('db')}"
        kept = Path(tempfile.mkdtemp(dir=self.folder, prefix="run-"))
        return Running(["redis", url, *RUN, "--fleet", named, *more], environment or self.fleet.environment, kept)

    def worker(self, name: str = "agent-1") -> psutil.Process:
        """The process that is the member."""
        return psutil.Process(self.fleet.processes[name].pid)

    def engine(self, name: str = "agent-1") -> psutil.Process:
        """Its engine's process."""
        return next(child for child in self.worker(name).children() if "engine_process" in " ".join(child.cmdline()))

    def kill(self, process: psutil.Process) -> None:
        """As the kernel does."""
        process.kill()

    def stop(self, *processes: psutil.Process) -> None:
        """Have them stand still until `go_on`."""
        for process in processes:
            process.suspend()
        self.stopped += processes

    def go_on(self) -> None:
        """Have all go on."""
        for process in self.stopped:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()
        self.stopped.clear()

    def cut(self, host: str = "agent-1", share: float | None = None, to: str | None = None) -> None:
        """Drop all packets between a host and the scheduler, or that share of them; the way to Redis stays."""
        there = to or self.network.address("scheduler")
        some = [] if share is None else ["-m", "statistic", "--mode", "random", "--probability", str(share)]
        rules = [
            f"-A {chain} {way} {there} {' '.join(some)} -j DROP" for chain, way in (("INPUT", "-s"), ("OUTPUT", "-d"))
        ]
        subprocess.run(
            [*self.network.enter(host), "iptables-restore", "-w", "--noflush"],
            input="\n".join(["*filter", *rules, "COMMIT", ""]), text=True, check=True,
        )  # fmt: skip
        self.cut_at = time.time()

    def joined(self) -> None:
        """Drop none any more, and plug all cables in."""
        for host in ("scheduler", *AGENTS):
            self.network.run(host, "iptables", "-w", "-F")
            self.network.link(host, up=True)

    def again(self, name: str = "agent-1", before: Sequence[str] = ()) -> None:
        """Start a member as another process."""
        with contextlib.suppress(KeyError):
            self.fleet.end(name)
        self.altered.discard(name)
        if before:
            self.altered.add(name)
        self.fleet.join(name, before=before)

    def start(self, name: str, command: Sequence[str], environment: dict[str, str] | None = None) -> Path:
        """A process on a host that is no member of the fleet's making; its log."""
        log = self.folder / f"{name}-{time.monotonic_ns()}.log"
        with log.open("w") as out:
            self.fleet.processes[name] = self.network.start(
                name, command, environment={**self.fleet.environment, **(environment or {})}, stdout=out, stderr=out
            )
        self.altered.add(name)
        return log

    def restart_scheduler(self) -> None:
        """As after a crash."""
        with contextlib.suppress(KeyError):
            self.fleet.end("scheduler")
        self.fleet.schedule("scheduler")

    def repair(self) -> None:
        """All as at first."""
        self.go_on()
        self.joined()
        (self.disk / "full").unlink(missing_ok=True)
        if self.fleet.processes["scheduler"].poll() is not None:
            self.restart_scheduler()
        for name in AGENTS:
            if (
                name in self.altered
                or name not in self.fleet.processes
                or self.fleet.processes[name].poll() is not None
            ):
                self.again(name)

    def fill(self) -> None:
        """Leave no byte on the small disk."""
        with contextlib.suppress(OSError), (self.disk / "full").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def in_namespace(self, name: str) -> list[int]:
        """The processes on a host."""
        said = subprocess.run(
            ["ip", "netns", "pids", self.network.namespace(name)], capture_output=True, text=True, check=True
        ).stdout
        return [int(pid) for pid in said.split()]

    def sets(self, since: float, till: float = float("inf")) -> dict[str, list[float]]:
        """When each agent's SETs came in that time."""
        return {
            name: [at for at in list(self.witness.seen.get(self.network.address(name), ())) if since < at <= till]
            for name in AGENTS
        }


def _answers(host: str) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, 6379), 1):
        return True
    return False
