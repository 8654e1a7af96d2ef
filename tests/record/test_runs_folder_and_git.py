"""The folder of runs and the user's git: their tree is as clean as before."""

import subprocess
from pathlib import Path

from loadstone.record.folder import new_directory


def status(tree: Path) -> str:
    return subprocess.run(["git", "status", "--porcelain"], cwd=tree, capture_output=True, text=True, check=True).stdout


def test_git_does_not_see_the_folder_that_runs_are_kept_in(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    run = new_directory(tmp_path / "runs", "gate")
    (run / "plan.json").write_text("{}")
    assert status(tmp_path) == ""


def test_a_folder_of_the_users_own_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    new_directory(tmp_path / "mine", "gate")
    assert not (tmp_path / "mine" / ".gitignore").exists()
