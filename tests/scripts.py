"""The scripts that `make docs` runs: as programs that compare alone, and as modules."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"


def script(name: str) -> ModuleType:
    """A script as a module, which imports its neighbours as it does as a program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPTS)
        return importlib.import_module(name)


def checked(name: str, *files: str) -> tuple[int, str]:
    """Status and stderr of a script that only compares: `(0, "")` where there is nothing to write."""
    command = [sys.executable, SCRIPTS / f"{name}.py", "--check", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr
