"""Real fleets on this machine, and what is left of them."""

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
from tests.calling import Running, called, calling

from loadstone.addons.fleet import certificates
from loadstone.addons.fleet.dask_cluster import DaskCluster, open_cluster
from loadstone.addons.fleet.spec import read_fleet

STATUS_S = 10.0


@contextlib.contextmanager
def local_fleet(agents: int = 2) -> Iterator[DaskCluster]:
    """A fleet of so many agents; none of its processes is left after it."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    cluster = open_cluster(read_fleet(f"local:{agents}"))
    started = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    try:
        yield cluster
    finally:
        cluster.close()
    await_true(lambda: not any(runs(process) for process in started), f"ended: {started}")


def runs(process: psutil.Process) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def await_true(condition: Callable[[], object], what: str, within_s: float = STATUS_S) -> None:
    """Return once a condition holds. Raises AssertionError."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(0.02)


@contextlib.contextmanager
def loadstone(*words: str, environment: dict[str, str] | None = None) -> Iterator[Running]:
    """The command as a process of its own; ended as a user ends it."""
    process = calling(*words, environment=environment)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STATUS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def certified(folder: Path) -> dict[str, str]:
    """New certificates in a folder, and the variable by which a command finds them."""
    certificates.write(folder, certificates.made())
    return {certificates.FOLDER_VARIABLE: str(folder)}


def done(*words: str, environment: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    """What a command did."""
    return called(*words, environment=environment, timeout=60, draws=False)


def line_of(process: Running, words: str, stream: str = "stderr") -> str:
    """The first line with these words that a command writes."""
    lines = process.stderr if stream == "stderr" else process.stdout
    assert lines is not None
    seen = []
    for line in lines:
        seen.append(line)
        if words in line:
            return line
    raise AssertionError(f"{words!r} not in {seen}")


def listening(pid: int) -> list[tuple[str, int]]:
    """The addresses at which a process listens."""
    return [
        (one.laddr.ip, one.laddr.port)
        for one in psutil.Process(pid).net_connections("tcp")
        if one.status == psutil.CONN_LISTEN
    ]


def text_of(folder: Path) -> bytes:
    """All that stands in the files below a folder."""
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
