"""A machine disturbed on purpose: busy loops that come and go on CPUs, and a compiler beside them."""

import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from loadstone.safety.errors import UserError

ON_S = OFF_S = 3.0
_LOOP = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
while True:
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        pass
    time.sleep(float(sys.argv[3]))
"""
_COMPILER = """
import subprocess, sys
while subprocess.run(["cc", "-O2", "-c", sys.argv[1], "-o", "/dev/null"]).returncode == 0:
    pass
"""
FUNCTIONS = 2000
"""Of the file that is compiled again and again; it takes a few seconds."""


class Disturbance:
    """Everything that disturbs, from `with` to its end. Raises UserError where there is no C compiler."""

    def __init__(self, cpus: tuple[int, ...], *, compiler: bool = True) -> None:
        self._cpus, self._compiler = cpus, compiler
        self._running: list[subprocess.Popen[bytes]] = []
        self._folder = tempfile.TemporaryDirectory(prefix="loadstone-disturbance-")

    def __enter__(self) -> Self:
        if self._compiler and subprocess.run(["which", "cc"], capture_output=True, check=False).returncode:
            raise UserError("cc: there is no C compiler on this machine to disturb it with; install gcc or clang")
        source = Path(self._folder.name) / "work.c"
        source.write_text("".join(_function(number) for number in range(FUNCTIONS)))
        for cpu in self._cpus:
            self._start(_LOOP, str(cpu), str(ON_S), str(OFF_S))
        if self._compiler:
            self._start(_COMPILER, str(source))
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for one in self._running:
            one.kill()
        for one in self._running:
            one.wait()
        self._folder.cleanup()

    def _start(self, program: str, *arguments: str) -> None:
        self._running.append(subprocess.Popen([sys.executable, "-c", program, *arguments]))


def _function(number: int) -> str:
    loop = f"for(int i=0;i<n;i++)s+=x[i]*s/(i+{number}.5);"
    return f"double f{number}(double *x, int n){{double s={number};{loop}return s;}}\n"
