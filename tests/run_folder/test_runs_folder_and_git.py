"""The folder of runs and the user's git: their tree is as clean as before."""

import subprocess
from pathlib import Path

import pytest

from loadstone.run_folder.folder import make_root, new_directory, remove_root


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


def test_what_is_made_so_goes_and_what_is_the_users_stays(tmp_path: Path) -> None:
    made, theirs = tmp_path / "made", tmp_path / "theirs"
    make_root(made)
    remove_root(made)
    assert not made.exists()
    theirs.mkdir()
    (theirs / ".gitignore").write_text("*.log\n")
    with pytest.raises((OSError, ValueError)):
        remove_root(theirs)
    assert (theirs / ".gitignore").read_text() == "*.log\n"
