"""What a newcomer types first, and what the command answers: a line that says what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def loadstone(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "loadstone", *words]
    wide = {**os.environ, "COLUMNS": "80"}
    return subprocess.run(command, cwd=folder, env=wide, capture_output=True, text=True, check=False)


def test_without_a_command_it_prints_its_help_as_it_is(tmp_path: Path) -> None:
    bare, asked = loadstone(folder=tmp_path), loadstone("--help", folder=tmp_path)
    assert (bare.returncode, asked.returncode) == (2, 0)
    assert bare.stdout == asked.stdout
    assert asked.stdout.startswith("Usage: loadstone [OPTIONS] COMMAND")
    assert len(asked.stdout.splitlines()) > 10
    assert "..." not in asked.stdout.partition("Commands:")[2], "a line is cut"


def test_an_experiment_that_is_shown_may_be_tried(tmp_path: Path) -> None:
    done = loadstone("show", "json-documents", "--quick", folder=tmp_path)
    assert done.stdout.endswith("\ntry it: loadstone run json-documents --quick\n")


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("show", "Missing argument 'EXPERIMENT|FILE.yaml': name an experiment (`loadstone list`)"),
        ("report latst", "latst: there is no such folder; did you mean 'latest'?"),
        (
            "run json-documents --server redis=localhost:6379",
            "--server redis=...: it begins with no scheme; write redis=redis://localhost:6379",
        ),
        (
            "run json-documents --server redis=me:hunter2@localhost:6379",
            "--server redis=...: it begins with no scheme; write redis=redis://HOST:PORT",
        ),
    ],
)
def test_a_slip_is_answered_by_what_to_write(command: str, error: str, tmp_path: Path) -> None:
    done = loadstone(*command.split(), folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"loadstone: {error}\n")
