"""Guards one server process: run as `python -I -S guard.py FOLDER [LEASE]`; the standard library and `log_filter.py`.

The server is this program's child, and its standard input is a pipe that loadstone holds. When the pipe
closes (loadstone ended, however it ended) or on SIGTERM, the server gets its own signal to end, after two seconds
SIGKILL, and the folder is removed. Should the guard itself be killed, Linux kills the server with it.

Input, a line each: first the `Spec` as JSON, then `start`, `stop`, `hold` or `release`. Output, a line of JSON
each: `{"started": pid}`, `{"exited": status}` (negative: the signal), `{"failed": text}`, `{"held": true or false}`.
With a lease (a second argument, in seconds) silence for so long counts as the end of the pipe; `renew` is heard and
does nothing else. So a server ends, too, when whoever holds the pipe stands still.

A server that is held does not run: SIGSTOP went to it and to all that it started, and SIGCONT lets it go on.
The control group's freezer is not used for it: a process in a frozen group of version 1 does not even die of
SIGKILL, so that a guard that is killed would leave it behind for ever, and version 2 needs rights that most users
lack. A stopped process ends with its guard as any other, on every system. Before a held server is ordered to end
it is let go, so that it can.

What the server starts and leaves behind, even in a session of its own, becomes the guard's child on
Linux, and ends with the server. A server with limits enters its control groups before its program
runs; the groups are removed with the folder.
"""

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loadstone.machine.processes.log_filter import LogPump

if __name__ == "__main__":  # nothing but the standard library is found so far, and it goes before this
    sys.path.append(os.path.abspath(__file__).rsplit(os.sep, 4)[0])  # noqa: PTH100

from loadstone.machine.process_identity import signal_if, started
from loadstone.machine.processes.clean_up import clear, note_process

GRACE_S = 2.0
"""How long the server may take to end after its signal to."""
END_POLL_S = 0.002
PARENT_CHECK_S = 1.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


class Guard:
    """One server process at a time, started and stopped as ordered."""

    def __init__(self, folder: str, lease_s: float | None = None) -> None:
        self.folder = folder
        self.lease_s = lease_s
        self.heard_s = time.monotonic()
        self.spec: dict[str, Any] = {}
        self.child: subprocess.Popen[bytes] | None = None
        self.pump: LogPump | None = None
        self.held = False
        self.parent = os.getppid()
        self.libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
        if self.libc is not None:
            self.libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def serve(self) -> None:
        """Follow the input until it ends, a SIGTERM comes, or the parent is another."""
        wake = wake_on_signals()
        pending = b""
        with selectors.DefaultSelector() as selector:
            selector.register(0, selectors.EVENT_READ)
            selector.register(wake, selectors.EVENT_READ)
            while os.getppid() == self.parent and not self.is_over():
                ready = {key.fd for key, _ in selector.select(PARENT_CHECK_S)}
                if wake in ready and signal.SIGTERM in os.read(wake, 256):
                    return
                self.reap()
                if 0 in ready:
                    received = os.read(0, 65536)
                    if not received:
                        return
                    self.heard_s = time.monotonic()
                    *lines, pending = (pending + received).split(b"\n")
                    for line in lines:
                        self.obey(line.decode())

    def is_over(self) -> bool:
        return self.lease_s is not None and time.monotonic() - self.heard_s > self.lease_s

    def obey(self, line: str) -> None:
        if line == "renew":
            return
        if line == "start":
            self.start()
        elif line == "stop":
            self.end_child()
        elif line in ("hold", "release"):
            self.hold(line == "hold")
        else:
            self.spec = json.loads(line)

    def start(self) -> None:
        from loadstone.machine.processes.log_filter import LogPump  # only now: `main` says where it is

        pump = None
        reads, writes = self.spec["standard_input"], self.spec["standard_output"]
        try:
            pump = LogPump(self.spec["log"], self.spec["hidden"], self.spec["log_within"])
            self.child = subprocess.Popen(
                self.spec["command"],
                stdin=subprocess.DEVNULL if reads is None else reads,
                stdout=pump.writing if writes is None else writes,
                stderr=pump.writing,
                cwd=self.spec["cwd"],
                env={**os.environ, **self.spec["environment"]},
                start_new_session=True,
                preexec_fn=self.prepare_child,
            )
        except (OSError, subprocess.SubprocessError) as error:
            if pump is not None:
                pump.give_up()
            tell(failed=str(error))
        else:
            pump.begin()
            self.pump = pump
            self.held = False
            for fd in (reads, writes):
                if fd is not None:
                    os.close(fd)  # the other side is to observe the program's end, and the program ours
            note_process(self.folder, self.child.pid)
            tell(started=self.child.pid)

    def hold(self, held: bool) -> None:
        """Stop the server and all that it started, or let them go on."""
        self.held = held and self.child is not None
        if self.child is not None:
            signalled = signal_all(self.child.pid, signal.SIGSTOP if held else signal.SIGCONT)
            if held:
                await_stopped(signalled)
        tell(held=self.held)

    def prepare_child(self) -> None:
        """In the child, before the server's program: limit it, pin it, and tie its life to the guard's."""
        for group in self.spec["groups"]:
            with open(os.path.join(group, "cgroup.procs"), "w") as procs:  # noqa: PTH118, PTH123
                procs.write("0")
        if self.libc is not None:
            self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if self.spec["cpus"]:
                os.sched_setaffinity(0, self.spec["cpus"])
        os.umask(0o077)

    def reap(self) -> None:
        """Tell of a server that ended by itself, and end what it left behind."""
        if self.child is not None and self.libc is not None:
            reap_orphans(self.child.pid)
        if self.child is not None and has_ended(self.child):
            kill_group(self.child)
            self.tell_end(self.child)

    def tell_end(self, child: subprocess.Popen[bytes]) -> None:
        """Report the end of a server whose group was killed: from here on its process id may be another's."""
        child.wait()
        end_orphans()
        if self.pump is not None:
            self.pump.end()
        tell(exited=child.returncode)
        self.child = None

    def end_child(self) -> None:
        if self.child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, self.spec["end_signal"])
        # The signal to end waits for one that stands still, here or for whoever took turns with it when all ended.
        signal_all(self.child.pid, signal.SIGCONT)
        self.held = False
        deadline = time.monotonic() + GRACE_S
        while not has_ended(self.child) and time.monotonic() < deadline:
            time.sleep(END_POLL_S)
        kill_group(self.child)
        self.tell_end(self.child)

    def close(self) -> None:
        self.end_child()
        clear(self.folder)


def has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether a child ended. Its process id stays its own until it is waited for, where the system can look so."""
    if child.returncode is not None or not hasattr(os, "waitid"):
        return child.poll() is not None
    with contextlib.suppress(ChildProcessError):
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return True


def kill_group(leader: subprocess.Popen[bytes]) -> None:
    """Kill what remains of the process group that `leader` leads, which was not waited for yet."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader.pid, signal.SIGKILL)


def await_stopped(pids: Iterable[int]) -> None:
    """Return when no thread of these runs any more: one that waits for a CPU or a disk stops only after it."""
    deadline = time.monotonic() + GRACE_S
    for pid in pids:
        while not is_stopped(pid) and time.monotonic() < deadline:
            time.sleep(0.001)


def is_stopped(pid: int) -> bool:
    """Whether no thread of a process runs, where /proc tells."""
    threads: list[str] = []
    with contextlib.suppress(OSError):
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    states = (stat_of(f"{pid}/task/{thread}")[:1] for thread in threads)
    return all(state in ([], [b"T"], [b"t"], [b"Z"], [b"X"]) for state in states)


def signal_all(leader: int, number: int) -> set[int]:
    """Send a signal to the process group of `leader` and to all else that this process has below it; all of them."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
    done = {leader}
    while new := descendants(os.getpid()) - done:  # until none was started meanwhile
        begun = {pid: ticks for pid in new if (ticks := started(pid)) is not None}
        below = descendants(os.getpid())  # read after its start: the process that started then is one of ours
        for pid in begun.keys() & below:
            signal_if(pid, number, partial(is_still, pid, begun[pid]))
        done |= new
    return done


def is_still(pid: int, started_ticks: int) -> bool:
    """Whether a process id is that of the process which started then."""
    return started(pid) == started_ticks


def end_orphans() -> None:
    """Kill and reap the children that this process got from a server that ended, and theirs."""
    while orphans := children():
        for pid in orphans:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def reap_orphans(leader: int) -> None:
    """Let go of what left the server and ended while the server, process `leader`, goes on."""
    with contextlib.suppress(ChildProcessError):
        while True:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None or ended.si_pid == leader:
                return
            os.waitpid(ended.si_pid, 0)


def children() -> list[int]:
    """This process's children, where /proc tells."""
    return [pid for pid, parent in parents().items() if parent == os.getpid()]


def descendants(root: int) -> set[int]:
    """All processes below `root`, where /proc tells."""
    parent_of = parents()
    below: set[int] = set()
    new = {root}
    while new:
        new = {pid for pid, parent in parent_of.items() if parent in new} - below
        below |= new
    return below


def parents() -> dict[int, int]:
    """Each process's parent, where /proc tells."""
    parent_of = {}
    for entry in os.listdir("/proc") if sys.platform == "linux" else ():  # noqa: PTH208
        if entry.isdecimal():
            fields = stat_of(int(entry))
            if fields:
                parent_of[int(entry)] = int(fields[1])
    return parent_of


def stat_of(pid: int | str) -> list[bytes]:
    """What /proc tells of a process or thread after its name: state, parent...; empty if it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123
        return stat.read().rpartition(b")")[2].split()
    return []


def wake_on_signals() -> int:
    """Make signals readable on a pipe, as one byte each; the end of it to read from.

    Handlers rather than SIG_IGN: the server must not inherit an ignored signal.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return reading


def tell(**message: object) -> None:
    """One line to loadstone; nothing if it is gone."""
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(message).encode() + b"\n")


def main() -> None:
    sys.path.append(os.path.abspath(__file__).rsplit(os.sep, 4)[0])  # noqa: PTH100
    guard = Guard(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else None)
    try:
        guard.serve()
    finally:
        guard.close()


if __name__ == "__main__":
    main()
