"""A command in a stranger's folder runs nothing that lies there: no module beside it, no settings of its tools."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.machine.installed_programs import output_of
from tests.frozen_runs import unpacked

PACKAGE = Path(__file__).parents[2] / "python" / "loadstone"
LOADSTONE = Path(sys.executable).with_name("loadstone")
MODULES = ("loadstone/__init__", "json", "multiprocessing/__init__", "numpy", "altair", "time", "signal")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """It holds modules, each of which would leave a trace."""
    folder = tmp_path / "theirs"
    for name in MODULES:
        file = folder / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n")
    return folder


def ran(folder: Path) -> str:
    """What of the folder's own was run."""
    trace = folder.parent / "ran"
    return trace.read_text() if trace.exists() else ""


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=150, check=False)


@pytest.mark.fault("a stranger's folder holds modules of Python", "no command imports them", area="foreign")
@pytest.mark.parametrize(
    "words", [["redis", "-t", "get", "-n", "2000", "--share-machine", "--no-keep"], ["doctor"]], ids=" ".join
)
def test_no_command_imports_what_lies_beside(folder: Path, words: list[str]) -> None:
    done = command(folder, str(LOADSTONE), *words)
    assert ran(folder) == ""
    assert done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.fault("a stranger's folder holds modules of Python")
def test_no_picture_of_a_report_does(folder: Path) -> None:
    run = unpacked("pipeline", folder)
    done = command(folder, str(LOADSTONE), "report", str(run), "--format", "svg", "--quiet")
    assert ran(folder) == ""
    assert done.returncode == 0, done.stderr
    assert list(run.rglob("*.svg"))


def test_every_python_that_is_started_looks_for_modules_in_safe_places_alone() -> None:
    text = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    started = re.findall(r"[\[(]sys\.executable, \"(-\w)\"", text)
    assert len(started) > 8
    assert set(started) <= {"-I", "-P"}


@pytest.mark.fault(
    "a stranger's folder holds settings of Maven", "no tool is asked for its version there", area="foreign"
)
def test_a_tool_is_asked_for_its_version_elsewhere(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "mvn").write_text("#!/bin/sh\n[ ! -e .mvn/jvm.config ] || touch ran\npwd\n")
    (tools / "mvn").chmod(0o755)
    (folder / ".mvn").mkdir()
    (folder / ".mvn/jvm.config").touch()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"../tools{os.pathsep}{os.environ['PATH']}")
    assert output_of("mvn", "-v") == "/\n"
    assert not (folder / "ran").exists()
