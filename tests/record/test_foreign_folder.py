"""A folder that another user laid out decides nothing, and nothing outside of it is written to."""

import os
from pathlib import Path

import pytest

from loadstone.errors import UserError
from loadstone.record.lines import LineFile
from loadstone.runs import folder_to_resume

THEIRS = b"a line of another's\nand half a li"


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe"])
def test_lines_are_written_to_a_file_of_the_folder_alone(kind: str, tmp_path: Path) -> None:
    theirs, planted = tmp_path / "theirs", tmp_path / "trials.jsonl"
    theirs.write_bytes(THEIRS)
    if kind == "pipe":
        os.mkfifo(planted)
    else:
        planted.symlink_to(theirs if kind == "link" else tmp_path / "made")
    before = set(Path("/proc/self/fd").iterdir()) if Path("/proc/self/fd").exists() else set()
    with pytest.raises(UserError, match=r"trials\.jsonl: it is a link or no plain file"):
        LineFile(planted)
    assert theirs.read_bytes() == THEIRS
    assert not (tmp_path / "made").exists()
    if before:
        assert len(set(Path("/proc/self/fd").iterdir())) == len(before)


def test_only_its_own_user_goes_on_with_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "20261122T101112Z-shop"
    folder.mkdir(mode=0o755)
    assert folder_to_resume(folder) == folder
    folder.chmod(0o757)
    with pytest.raises(UserError, match=r"every user may write to it.*chmod o-w"):
        folder_to_resume(folder)
    folder.chmod(0o700)
    link = tmp_path / "link"
    link.symlink_to(folder)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    for named in (folder, link):
        with pytest.raises(UserError, match=f"belongs to the user with the id {owner}"):
            folder_to_resume(named)


def test_a_folder_that_is_not_there_is_named_later(tmp_path: Path) -> None:
    assert folder_to_resume(tmp_path / "nowhere") == tmp_path / "nowhere"
