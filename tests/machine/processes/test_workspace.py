import fcntl
import os
import stat
from pathlib import Path

from loadstone.machine.processes.workspace import Workspace, sweep


def test_the_folder_is_for_our_eyes_only(tmp_path: Path) -> None:
    workspace = Workspace("redis", tmp_path)
    assert stat.S_IMODE(workspace.path.stat().st_mode) == 0o700
    workspace.remove()


def test_removing_twice_is_harmless(tmp_path: Path) -> None:
    workspace = Workspace("redis", tmp_path)
    (workspace.path / "data").mkdir()
    workspace.remove()
    workspace.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_is_not_swept(tmp_path: Path) -> None:
    workspace = Workspace("redis", tmp_path)
    sweep(tmp_path)
    assert workspace.path.exists()
    workspace.remove()


def test_a_folder_that_no_one_uses_is_swept(tmp_path: Path) -> None:
    workspace = Workspace("redis", tmp_path)
    os.close(workspace.lock_fd)
    sweep(tmp_path)
    assert not workspace.path.exists()


def test_folders_of_others_are_not_swept(tmp_path: Path) -> None:
    foreign = tmp_path / "loadstone-notes"
    foreign.mkdir()
    (foreign / "text").write_text("mine")
    sweep(tmp_path)
    assert (foreign / "text").read_text() == "mine"


def test_the_lock_is_shared_with_who_inherits_it(tmp_path: Path) -> None:
    workspace = Workspace("redis", tmp_path)
    heir = os.dup(workspace.lock_fd)
    os.close(workspace.lock_fd)
    sweep(tmp_path)
    assert workspace.path.exists()
    fcntl.flock(heir, fcntl.LOCK_UN)
    os.close(heir)
    sweep(tmp_path)
    assert not workspace.path.exists()
