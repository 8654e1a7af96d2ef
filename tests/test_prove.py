"""What scripts/prove calls proven, by stand-ins of what it runs: each proof finished on the commit that is named."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"
TABLE = Path("bench", "results", "prove.md")
PROOFS = ("tests/test_first.py", "tests/test_second.py")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with the script, two proofs, and a Python that says what stands in `says`."""
    for folder in ("scripts", "tests", "bench/results", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(SCRIPTS / "prove", tmp_path / "scripts" / "prove")
    for proof in PROOFS:
        (tmp_path / proof).write_text("# mark.prove\n")
    program(tmp_path / "scripts" / "calibrate", "true")
    program(tmp_path / ".venv" / "bin" / "cargo", "true")
    program(tmp_path / ".venv" / "bin" / "python", 'cat says; exit "$(cat status)"')
    (tmp_path / TABLE).write_text("")
    (tmp_path / ".gitignore").write_text("runs\nsays\nstatus\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@a.example", "commit", "--quiet", "-m", "all")
    return tmp_path


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/usr/bin/env bash\n{text}\n")
    path.chmod(0o755)


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def proven(tree: Path, says: str, status: int = 0) -> tuple[int, str]:
    """The script's status, and its table, where the tests say this."""
    (tree / "says").write_text(f"{says}\n")
    (tree / "status").write_text(str(status))
    path = f"{tree / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["scripts/prove"], cwd=tree, capture_output=True, text=True, check=False, env=os.environ | {"PATH": path}
    )
    return done.returncode, (tree / TABLE).read_text()


def test_each_proof_names_the_commit_although_the_table_changed_meanwhile(tree: Path) -> None:
    status, table = proven(tree, "== 2 passed in 1.00s ==")
    assert status == 0
    commit = git(tree, "describe", "--always")
    assert [line.split(" | ")[2] for line in table.splitlines() if ".py" in line] == [commit, commit]


def test_a_change_beside_the_table_is_said(tree: Path) -> None:
    (tree / PROOFS[0]).write_text("# mark.prove, changed\n")
    _, table = proven(tree, "== 2 passed in 1.00s ==")
    assert table.count("-dirty |") == 3


@pytest.mark.parametrize(
    ("says", "status"),
    [("== 1 passed, 1 skipped in 1.00s ==", 0), ("== 2 skipped in 1.00s ==", 0), ("== 1 failed in 1.00s ==", 1)],
)
def test_what_was_skipped_or_failed_is_not_proven(tree: Path, says: str, status: int) -> None:
    found, table = proven(tree, says, status)
    assert found == 1
    assert ".py" not in table


def test_a_part_of_several_commands_fails_with_the_first_of_them() -> None:
    """`run PART || ...` switches `set -e` off: what is not joined by `&&` goes on."""
    _, parts = (SCRIPTS / "calibrate").read_text().split("run() {\n  case $1 in\n")
    written = [part.strip().splitlines() for part in parts.split("esac")[0].split(";;")]
    several = [lines[1:] for lines in written if len(lines) > 2]
    commands = [[line for line in lines if line.strip()] for lines in several]
    assert len(commands) == 2
    assert [line for lines in commands for line in lines[:-1] if not line.endswith("&&")] == []
