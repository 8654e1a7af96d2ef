"""What breaks in a fleet, many times each: what becomes of the run, its trials, its load and its processes.

Redis, a scheduler and two agents stand on hosts of their own (`fleet.namespaces`); a command drives three trials of
4 s at 400 SETs a second, of 7 s where a lease is to end the load, and in its second trial the fault comes. Each is
judged by what others saw: every SET by Redis's MONITOR, with the address that it came from; what is left by the marks
that processes inherit in their environment, and by the namespaces; trials by the lines of trials.jsonl before and
after; the rest by the command's status and the words that it wrote.

    kept      the lines of the trials that were finished are in the folder as they were
    load      no SET of an agent that lost its command is later than 5 s after that
    left      no process of the command is left, and none of an agent that ended; no engine 45 s after its command
    reason    what the trial, or the command, names
    status    of the command
    trials    their verdicts and agents

    scripts/bench fleet-faults [--times 10] [--beside 3] [--only WORDS] [--out FILE]

SIGTERM ends it after what is going on; with the same --out it goes on later.
"""

import argparse
import contextlib
import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self, TextIO

import psutil

from fleet.members import LOADSTONE, Members, members
from fleet.namespaces import Network
from loadstone.fleet import certificates

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
OLD = "import sys, loadstone; loadstone.__version__ = '0.0.9'; from loadstone.cli import main; main()"


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


@dataclass
class Seen:
    """What became of one."""

    at: float = 0.0
    """When the fault came."""
    quiet: tuple[str, ...] = ()
    """Agents that lost their command then."""
    quiet_till: float = float("inf")
    """When they had one again."""
    left: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """One fault, and what is right then."""

    name: str
    does: Callable[[Lab, Running, Seen], None]
    status: tuple[int, ...] = (3,)
    reason: str = ""
    """A pattern that the command's words, or a line of a trial, must match."""
    agents: tuple[str, ...] = ("agent-2",)
    """Of the last trial."""
    trials: int = PLANNED
    invalid: int | None = 1
    """Trials that are invalid; None: whatever."""
    options: tuple[str, ...] = ()
    times: int = 10
    trial_s: int = 4
    prepare: Callable[[Lab], dict[str, Any]] | None = None
    """Before the command begins: what `Lab.begin` takes then."""
    refused: bool = False
    """Nothing begins: no trial, no load."""


FAULTS: dict[str, Fault] = {}
LOST = ("agent-1",)


def fault(name: str, **more: Any) -> Callable[[Callable[[Lab, Running, Seen], None]], None]:
    """Declares one by what it does in the second trial."""

    def declared(does: Callable[[Lab, Running, Seen], None]) -> None:
        FAULTS[name] = Fault(name, does, **more)

    return declared


def gone(pids: Sequence[int], seen: Seen, within_s: float = 5.0) -> None:
    """Notes which of these processes do not end in time."""
    with contextlib.suppress(TimeoutError):
        until(lambda: not any(_runs(pid) for pid in pids), within_s, "gone")
    seen.left += [str(pid) for pid in pids if _runs(pid)]


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@fault("kill -9 of an agent's worker", trial_s=LONG_S, reason=r"agent-1: it left the fleet: its process ended")
def _(lab: Lab, _: Running, seen: Seen) -> None:
    seen.quiet = LOST
    there = lab.in_namespace("agent-1")
    lab.kill(lab.worker())
    gone(there, seen)


@fault("kill -9 of an agent's engine", reason=r"agent-1: its engine ended during the drive: it was killed by signal 9")
def _(lab: Lab, _: Running, seen: Seen) -> None:
    seen.quiet = LOST
    engine = lab.engine()
    lab.kill(engine)
    gone([engine.pid], seen)


@fault(
    "kill -9 of the scheduler",
    trial_s=LONG_S,
    trials=2,
    agents=(),
    reason=r"no agent is left \(.*connection to the scheduler was lost",
)
def _(lab: Lab, _: Running, seen: Seen) -> None:
    seen.quiet = AGENTS
    lab.kill(lab.worker("scheduler"))


@fault("kill -9 of the command", trial_s=LONG_S, status=(-9,), trials=1, invalid=0, agents=AGENTS)
def _(lab: Lab, running: Running, seen: Seen) -> None:
    seen.quiet = AGENTS
    engines = [lab.engine(name).pid for name in AGENTS]
    running.process.kill()
    gone(engines, seen, IDLE_S)
    seen.quiet_till = time.time()


@fault("Ctrl-C", status=(130,), trials=1, invalid=None, agents=(), reason=r"interrupted|to resume|--resume")
def _(_lab: Lab, running: Running, seen: Seen) -> None:
    seen.quiet = AGENTS
    running.process.send_signal(signal.SIGINT)


@fault("SIGSTOP of a worker for 2 s", status=(0, 3), invalid=None, agents=AGENTS)
def _(lab: Lab, _: Running, _seen: Seen) -> None:
    lab.stop(lab.worker())
    time.sleep(2)
    lab.go_on()


@fault("SIGSTOP of an engine for 2 s", status=(0, 3), invalid=None, agents=AGENTS, reason=r"own_stalls.*agent-1")
def _(lab: Lab, _: Running, _seen: Seen) -> None:
    lab.stop(lab.engine())
    time.sleep(2)
    lab.go_on()


@fault(
    "SIGSTOP of worker and engine for 2 s", status=(0, 3), invalid=None, agents=AGENTS, reason=r"own_stalls.*agent-1"
)
def _(lab: Lab, _: Running, _seen: Seen) -> None:
    lab.stop(lab.worker(), lab.engine())
    time.sleep(2)
    lab.go_on()


def stand_still(lab: Lab, seen: Seen, *processes: psutil.Process) -> None:
    """For 60 s, and look at what comes after it."""
    seen.quiet = LOST
    lab.stop(*processes)
    time.sleep(60)
    lab.go_on()
    seen.more["went_on_s"] = time.time() - seen.at
    time.sleep(8)


SILENT = r"agent-1: (it was )?not heard for|agent-1: it did not answer"


@fault("SIGSTOP of a worker for 60 s", trial_s=LONG_S, reason=SILENT, times=3)
def _(lab: Lab, _: Running, seen: Seen) -> None:
    stand_still(lab, seen, lab.worker())


@fault("SIGSTOP of an engine for 60 s", trial_s=LONG_S, reason=SILENT, times=3)
def _(lab: Lab, _: Running, seen: Seen) -> None:
    stand_still(lab, seen, lab.engine())


@fault("SIGSTOP of worker and engine for 60 s", trial_s=LONG_S, reason=SILENT, times=3)
def _(lab: Lab, _: Running, seen: Seen) -> None:
    stand_still(lab, seen, lab.worker(), lab.engine())


@fault("link to the command down for 1 s", status=(0, 3), invalid=None, agents=AGENTS)
def _(lab: Lab, _: Running, _seen: Seen) -> None:
    lab.cut()
    time.sleep(1)
    lab.joined()


@fault("link to the command down for 5 s", trial_s=LONG_S, reason=SILENT)
def _(lab: Lab, _: Running, seen: Seen) -> None:
    seen.quiet = LOST
    lab.cut()
    time.sleep(5)
    lab.joined()


@fault("link to the command down for good", trial_s=LONG_S, reason=SILENT)
def _(lab: Lab, _: Running, seen: Seen) -> None:
    seen.quiet = LOST
    lab.cut()


@fault("cable of an agent pulled for good", reason=SILENT)
def _(lab: Lab, _: Running, seen: Seen) -> None:
    seen.quiet = LOST
    lab.network.link("agent-1", up=False)


@fault(
    "the command's own link down for good", trial_s=LONG_S, trials=2, agents=(),
    reason=r"no agent is left \(no agent is heard: the link to the scheduler",
)  # fmt: skip
def _(lab: Lab, _: Running, seen: Seen) -> None:
    seen.quiet = AGENTS
    lab.cut("scheduler", to=lab.network.here)


@fault("5 % of the packets lost, for good", status=(0, 3), invalid=None, agents=AGENTS)
def _(lab: Lab, _: Running, _seen: Seen) -> None:
    lab.cut(share=0.05)


@fault("30 % of the packets lost, for good", status=(0, 3), invalid=None, agents=())
def _(lab: Lab, _: Running, _seen: Seen) -> None:
    lab.cut(share=0.3)


def clock_off(seconds: int) -> Callable[[Lab], dict[str, Any]]:
    def prepare(lab: Lab) -> dict[str, Any]:
        lab.again(before=("unshare", "--time", "--monotonic", str(seconds)))
        return {}

    return prepare


def nothing(_lab: Lab, _running: Running, _seen: Seen) -> None:
    """The fault was there before."""


for seconds in (1, -1):
    fault(f"clock {seconds:+d} s off", status=(0, 3), invalid=0, agents=AGENTS, prepare=clock_off(seconds))(nothing)


@fault(
    "lost, waited for, and back with its clock 1 s back", status=(3,), agents=AGENTS,
    options=("--lost-agent", "wait"), reason=r"waiting for agent-1",
)  # fmt: skip
def _(lab: Lab, _: Running, seen: Seen) -> None:
    seen.quiet = LOST
    lab.kill(lab.worker())
    time.sleep(7)
    seen.quiet_till = time.time()
    lab.again(before=("unshare", "--time", "--monotonic", "-1"))


@fault(
    "lost, waited for, and back", status=(3,), agents=AGENTS,
    options=("--lost-agent", "wait"), reason=r"waiting for agent-1",
)  # fmt: skip
def _(lab: Lab, _: Running, seen: Seen) -> None:
    seen.quiet = LOST
    lab.kill(lab.worker())
    time.sleep(7)
    seen.quiet_till = time.time()
    lab.again()


@fault(
    "scheduler killed and started again", trial_s=LONG_S, agents=AGENTS, options=("--lost-agent", "wait"),
    reason=r"connection to the scheduler was lost",
)  # fmt: skip
def _(lab: Lab, _: Running, seen: Seen) -> None:
    seen.quiet = AGENTS
    lab.kill(lab.worker("scheduler"))
    time.sleep(1)
    lab.restart_scheduler()
    seen.quiet_till = seen.at + LEASE_S  # what comes later is load of the next trial


@fault("an agent's disk full in a trial", status=(0, 3), invalid=0, agents=AGENTS, prepare=lambda lab: small_disk(lab))
def _(lab: Lab, _: Running, _seen: Seen) -> None:
    lab.fill()


def small_disk(lab: Lab) -> dict[str, Any]:
    lab.again(before=("env", f"TMPDIR={lab.disk}"))
    return {}


NOWHERE = (
    'mount --bind "$LOADSTONE_FLEET_CERTIFICATES" /mnt && export LOADSTONE_FLEET_CERTIFICATES=/mnt && '
    'mount --bind "$0" /var/tmp && mount --bind "$0" /tmp && cd /tmp && exec "$@"'
)
"""No place for files but one that is full."""


def full_at_start(lab: Lab) -> dict[str, Any]:
    """The agent has no place for files at all."""
    lab.fleet.end("agent-1")
    lab.fill()
    joins = [*LOADSTONE, "fleet", "agent", lab.fleet.address]
    log = lab.start("agent-1", ["unshare", "-m", "sh", "-c", NOWHERE, str(lab.disk), *joins])
    until(lambda: "tries again" in log.read_text(), 60, "it says why")
    return {"agents": None, "log": log}


@fault(
    "an agent's disk full at its start", status=(0, 3), invalid=0, prepare=full_at_start,
    reason=r"(?i)no space left|disk is full|temporary directory",
)  # fmt: skip
def _(_lab: Lab, _running: Running, _seen: Seen) -> None:
    """It is no member."""


def old_version(lab: Lab) -> dict[str, Any]:
    lab.fleet.end("agent-1")
    log = lab.start("agent-1", [sys.executable, "-c", OLD, "fleet", "agent", lab.fleet.address])
    until(lambda: "joined" in log.read_text(), 30, "it joined")
    return {}


fault(
    "an agent of another version", status=(2,), refused=True, prepare=old_version,
    reason=r"agent-1 has loadstone 0\.0\.9 there, .* here.*Install the same loadstone everywhere",
)(nothing)  # fmt: skip


def issued(lab: Lab, earlier: timedelta = timedelta(0)) -> dict[str, str]:
    folder = Path(tempfile.mkdtemp(dir=lab.folder))
    certificates.write(folder, certificates.made(now=datetime.now(UTC) - earlier))
    return {certificates.FOLDER_VARIABLE: str(folder)}


fault(
    "the command's certificate of another making", status=(2,), refused=True,
    prepare=lambda lab: {"environment": issued(lab), "agents": None},
    reason=r"no scheduler of this fleet answers there .*certificates of the same making",
)(nothing)  # fmt: skip
fault(
    "the command's certificate expired", status=(2,), refused=True,
    prepare=lambda lab: {"environment": issued(lab, timedelta(days=30))}, reason=r"expired .* UTC, .*make new ones",
)(nothing)  # fmt: skip


def stranger(lab: Lab, earlier: timedelta, words: str) -> dict[str, Any]:
    lab.fleet.end("agent-1")
    log = lab.start("agent-1", [*LOADSTONE, "fleet", "agent", lab.fleet.address], issued(lab, earlier))
    until(lambda: words in log.read_text(), 30, words)
    return {"agents": None, "log": log}


fault(
    "an agent's certificate of another making", status=(0, 3), invalid=0, reason=r"agent-1: cannot join",
    prepare=lambda lab: stranger(lab, timedelta(0), "cannot join"),
)(nothing)  # fmt: skip
fault(
    "an agent's certificate expired", status=(0, 3), invalid=0, reason=r"agent\.pem expired .* UTC, .*make new ones",
    prepare=lambda lab: stranger(lab, timedelta(days=30), "expired"),
)(nothing)  # fmt: skip


def judged(lab: Lab, one: Fault) -> dict[str, Any]:
    """Have a fault happen once, and say what became of it."""
    seen = Seen()
    begun = time.time()
    prepared = {} if one.prepare is None else one.prepare(lab)
    log: Path | None = prepared.pop("log", None)
    running = lab.begin("--duration", f"{PLANNED * one.trial_s}s", *one.options, **prepared)
    try:
        before = []
        if not one.refused:
            before = _second_trial(lab, running, begun)
            seen.at = time.time()
            one.does(lab, running, seen)
        status = running.wait(120)
        ended = time.time()
        with contextlib.suppress(TimeoutError):
            until(lambda: not running.left(), 10, "nothing left")
        left = [*seen.left, *running.left()]
        if seen.quiet and ended - seen.at < LEASE_S + 3 and seen.quiet_till > ended:
            time.sleep(LEASE_S + 3 - (ended - seen.at))
        return _row(lab, one, seen, running, status, before, left, ended, begun, log)
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            running.process.kill()
        shutil.rmtree(running.folder, ignore_errors=True)
        lab.repair()
        if seen.quiet:  # nobody may have told these agents that they are free
            time.sleep(CLAIM_S)


def _second_trial(lab: Lab, running: Running, begun: float) -> list[str]:
    """Waits until the second one is under load for a second; the lines of what was finished till then."""
    until(lambda: len(running.finished()) == 1 or running.process.poll() is not None, 90, "one trial")
    at = time.time()
    there = [name for name in AGENTS if lab.sets(begun, at)[name]]
    until(lambda: all(lab.sets(at)[name] for name in there) or running.process.poll() is not None, 60, "two trials")
    if running.process.poll() is not None:
        raise RuntimeError(f"the command ended before the fault: {running.said[-1500:]}")
    time.sleep(1.0)
    return running.finished()


def _row(
    lab: Lab, one: Fault, seen: Seen, running: Running, status: int, before: list[str], left: list[str],
    ended: float, begun: float, log: Path | None,
) -> dict[str, Any]:  # fmt: skip
    lines = running.finished()
    trials = [json.loads(line) for line in lines]
    verdicts = [trial["verdict"] for trial in trials]
    agents = [agent["name"] for agent in (trials[-1]["facts"]["drive"] or {}).get("agents", [])] if trials else []
    late = {name: round(max(times) - seen.at, 3) for name, times in lab.sets(seen.at, seen.quiet_till).items() if times}
    flagged = [_flagged(trial) for trial in trials]
    words = "\n".join([running.said, *(f"{line}" for each in flagged for line in each), log.read_text() if log else ""])
    named = next((at - seen.at for at, line in running.lines if one.reason and re.search(one.reason, line)), None)
    right = {
        "kept": lines[: len(before)] == before,
        "load": all(late.get(name, 0.0) <= LEASE_S for name in seen.quiet),
        "left": not left,
        "reason": not one.reason or re.search(one.reason, words) is not None,
        "status": status in one.status,
        "trials": (
            not trials and not any(lab.sets(begun).values())
            if one.refused
            else len(trials) == one.trials
            and (one.invalid is None or verdicts.count("invalid") == one.invalid)
            and (not one.agents or agents == list(one.agents))
        ),
        "one line": "Traceback" not in words,
    }
    wrong = [name for name, good in right.items() if not good]
    return {
        "fault": one.name,
        "right": not wrong,
        "wrong": wrong,
        "status": status,
        "verdicts": verdicts,
        "agents_of_the_last": agents,
        "last_load_after_s": {name: late[name] for name in seen.quiet if name in late},
        "flagged": flagged[1:2] if verdicts.count("invalid") <= 1 else flagged,
        "named_after_s": None if named is None or one.refused else round(named, 3),
        "run_ended_after_s": None if one.refused else round(ended - seen.at, 2),
        "left": left,
        **({"cut_within_s": round(lab.cut_at - seen.at, 3)} if lab.cut_at > seen.at > 0 else {}),
        **seen.more,
        **({"said": words[-2500:] if not wrong else words[-6000:]} if wrong else {}),
    }


def _flagged(trial: dict[str, Any]) -> list[str]:
    """The checks that refuse or doubt it, with the reason."""
    return [
        f"{check['verdict']} {check['name']}: {json.dumps(check['reason'])[:300]}"
        for check in trial["checks"]
        if check["verdict"] in ("invalid", "suspect")
    ]


# --- many side by side ---


def work() -> None:
    """A lab that does what it is told by a line each."""
    with contextlib.ExitStack() as held:
        lab: Lab | None = None
        for line in sys.stdin:
            one = FAULTS[line.strip()]
            try:
                if lab is None:
                    lab = held.enter_context(Lab.made())
                row = judged(lab, one)
            except Exception as error:  # a lab that is beside itself: a new one for the next
                row = {
                    "fault": one.name,
                    "right": False,
                    "wrong": ["trial"],
                    "said": f"{type(error).__name__}: {error}",
                }
                held.close()
                time.sleep(3.0)  # the kernel removes its hosts a little later
                lab = None
            print(json.dumps(row), flush=True)


def main() -> None:
    """All faults, so often, in labs side by side."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, help="how often each (10; 3 where one takes more than a minute)")
    parser.add_argument("--beside", type=int, default=3, help="fleets side by side (3)")
    parser.add_argument("--only", default="", help="faults whose name has these words")
    parser.add_argument("--out", type=Path, help="a line each is added here; what stands there is not done again")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        work()
        return
    wanted = [one for one in FAULTS.values() if asked.only in one.name]
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    rows = (
        [] if asked.out is None or not asked.out.exists() else list(map(json.loads, asked.out.read_text().splitlines()))
    )
    done = {one.name: sum(row["fault"] == one.name for row in rows) for one in wanted}
    number = {one.name: min(one.times, asked.times or one.times) for one in wanted}
    for turn in range(max(number.values())):
        for one in sorted(wanted, key=lambda one: one.times):
            if done[one.name] <= turn < number[one.name]:
                todo.put(one.name)
    enough = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: enough.set())
    telling = threading.Lock()

    def lab() -> None:
        with subprocess.Popen(
            [sys.executable, "-m", "fleet.faults", "--work"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            with contextlib.suppress(queue.Empty):
                while not enough.is_set():
                    child.stdin.write(todo.get_nowait() + "\n")
                    child.stdin.flush()
                    row = json.loads(child.stdout.readline())
                    with telling:
                        rows.append(row)
                        _told(row, asked.out)
            child.stdin.close()

    labs = [threading.Thread(target=lab) for _ in range(asked.beside)]
    for each in labs:
        each.start()
    for each in labs:
        while each.is_alive():  # a signal is to be noticed meanwhile
            each.join(0.5)
    for one in wanted:
        own = [row for row in rows if row["fault"] == one.name]
        last = [at for row in own for at in row.get("last_load_after_s", {}).values()]
        named = sorted(row["named_after_s"] for row in own if row.get("named_after_s") is not None)
        print(
            f"{one.name:<52} {sum(row['right'] for row in own):>2} of {len(own):<2}"
            f" {'' if not last else f'last load {max(last):5.2f} s':<18}"
            f" {'' if not named else f'named {named[0]:.2f} to {named[-1]:.2f} s'}"
        )
    sys.exit(0 if all(row["right"] for row in rows) else 1)


def _told(row: dict[str, Any], out: Path | None) -> None:
    print(f"{row['fault']}: {'right' if row['right'] else 'WRONG: ' + ', '.join(row['wrong'])}", flush=True)
    if out is not None:
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
