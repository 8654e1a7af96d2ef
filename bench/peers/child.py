"""A generator as a process of its own, and the CPU time that the kernel accounts to all of it."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

OVERDUE_S = 60.0
"""A peer that takes so much longer than planned is ended."""


@dataclass(frozen=True)
class Child:
    """A process that ended in good order."""

    text: str
    """Its stdout."""
    cpu_s: float
    """User and system time, of all its threads and of what it started and awaited."""


def pinned_to(cpus: Sequence[int]) -> Callable[[], None]:
    """For a process that is started: it runs on these CPUs; on any if there are none."""
    return lambda: os.sched_setaffinity(0, cpus) if cpus else None


def run_child(
    command: Sequence[str], cpus: Sequence[int], seconds: float, environment: Mapping[str, str] | None = None
) -> Child:
    """Run a program to its end. Raises CalledProcessError, or TimeoutExpired where it takes far longer than planned."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        before_s = _children_s()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            preexec_fn=pinned_to(cpus),
            env={**os.environ, **(environment or {})},
        )
        try:
            status = process.wait(seconds + OVERDUE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        texts = [_text(one) for one in (out, errors)]
    if status:
        sys.stderr.write(texts[1])
        raise subprocess.CalledProcessError(status, list(command[:1]), *texts)
    return Child(texts[0], _children_s() - before_s)


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _text(file: "tempfile._TemporaryFileWrapper[bytes]") -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
