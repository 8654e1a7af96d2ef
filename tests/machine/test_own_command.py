"""Lines to paste begin with what the shell of the user finds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.machine.installation import own_command

INSTALLED = Path(sys.executable).parent / "loadstone"


def _called(monkeypatch: pytest.MonkeyPatch, folder: Path, called: str, *, path: Path) -> str:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setattr(sys, "argv", [called])
    return own_command()


def _program(folder: Path) -> Path:
    folder.mkdir(parents=True)
    program = folder / "loadstone"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_it_is_the_path_where_the_shell_does_not_find_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = _program(tmp_path / "a copy" / ".venv" / "bin")
    nowhere = tmp_path / "nowhere"
    assert _called(monkeypatch, tmp_path / "a copy", ".venv/bin/loadstone", path=nowhere) == ".venv/bin/loadstone"
    assert _called(monkeypatch, tmp_path / "a copy", str(program), path=nowhere) == ".venv/bin/loadstone"
    assert _called(monkeypatch, program.parent, "./loadstone", path=nowhere) == "./loadstone"
    assert _called(monkeypatch, tmp_path, str(program), path=nowhere) == "'a copy/.venv/bin/loadstone'"
    assert _called(monkeypatch, Path("/"), str(program), path=program.parent) == "loadstone"
    assert _called(monkeypatch, tmp_path, "/usr/bin/pytest", path=nowhere) == "loadstone"


def test_what_init_prints_can_be_pasted(tmp_path: Path) -> None:
    """Where only the folder of this Python has the command."""
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    command = [str(INSTALLED), "init", "mine.yaml"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    line = done.stdout.splitlines()[-1].removeprefix("try it: ").replace(" run ", " show ").removesuffix(" --quick")
    subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True, check=True)
