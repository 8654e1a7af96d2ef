"""The faults: what each does in the second trial, and what is right then."""

import contextlib
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from bench.fleet.lab import AGENTS, IDLE_S, LEASE_S, LONG_S, PLANNED, Lab, Running, until
from bench.fleet.members import LOADSTONE
from loadstone.addons.fleet import certificates

OLD = "import sys, loadstone; loadstone.__version__ = '0.0.9'; from loadstone.cli.main import main; main()"


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


Members = Callable[[Lab], Sequence[psutil.Process]]
STOPPED: dict[str, tuple[Members, str]] = {
    "a worker": (lambda lab: [lab.worker()], ""),
    "an engine": (lambda lab: [lab.engine()], r"own_stalls.*agent-1"),
    "worker and engine": (lambda lab: [lab.worker(), lab.engine()], r"own_stalls.*agent-1"),
}
"""What is stopped, and what is said of it where that is short."""
SILENT = r"agent-1: (it was )?not heard for|agent-1: it did not answer"


def stands_still(members: Members, seconds: int) -> Callable[[Lab, Running, Seen], None]:
    def does(lab: Lab, _: Running, seen: Seen) -> None:
        if seconds > LEASE_S:
            seen.quiet = LOST
        lab.stop(*members(lab))
        time.sleep(seconds)
        lab.go_on()
        if seconds > LEASE_S:
            seen.more["went_on_s"] = time.time() - seen.at
            time.sleep(8)  # and look at what comes after it

    return does


for who, (members, said_of_it) in STOPPED.items():
    fault(f"SIGSTOP of {who} for 2 s", status=(0, 3), invalid=None, agents=AGENTS, reason=said_of_it)(
        stands_still(members, 2)
    )
    fault(f"SIGSTOP of {who} for 60 s", trial_s=LONG_S, reason=SILENT, times=3)(stands_still(members, 60))


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


def comes_back(*before: str) -> Callable[[Lab, Running, Seen], None]:
    """Its worker ends, and it joins again, begun behind these words."""

    def does(lab: Lab, _: Running, seen: Seen) -> None:
        seen.quiet = LOST
        lab.kill(lab.worker())
        time.sleep(7)
        seen.quiet_till = time.time()
        lab.again(before=before)

    return does


for clock, before in (
    (" with its clock 1 s back", ("unshare", "--time", "--monotonic", "-1")),
    ("", ()),
):
    fault(
        f"lost, waited for, and back{clock}", status=(3,), agents=AGENTS,
        options=("--lost-agent", "wait"), reason=r"waiting for agent-1",
    )(comes_back(*before))  # fmt: skip


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
