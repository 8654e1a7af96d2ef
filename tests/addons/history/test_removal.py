"""Runs that a person archives and removes: this user's own, by their names, never through a link."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from loadstone.addons.history.removal import archive_run, remove_run, restore_run
from loadstone.run_folder.folder import RunFolder
from loadstone.safety.errors import UserError

NAME = "20260102T000000Z-tiny"
PLAN = {"format": 1, "experiment": "tiny", "seed": 1, "quick": True, "as_published": False, "expected_s": 1.0}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    run = tmp_path / "runs" / NAME
    (run / "latency").mkdir(parents=True)
    (run / "plan.json").write_text(json.dumps(PLAN | {"trials": []}))
    (run / "latency" / "a.hlog").touch()
    return run.parent


def test_a_run_goes_to_the_archive_and_back(root: Path) -> None:
    archive_run(root, NAME)
    assert (root / "archive" / NAME / "latency" / "a.hlog").exists()
    assert not (root / NAME).exists()
    restore_run(root, NAME)
    archive_run(root, NAME)
    (root / NAME).mkdir()
    with pytest.raises(UserError, match="in the archive and beside it"):
        restore_run(root, NAME)
    remove_run(root, NAME, archived=True)
    assert list((root / "archive").iterdir()) == []


@pytest.mark.fault(
    "a page removes a run that is a link, another's, none, or goes on",
    "refused; nothing outside is touched",
    area="disk",
)
def test_only_a_run_of_ours_is_removed(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "kept").touch()
    (root / "link").symlink_to(root / NAME)
    (root / "none").mkdir()
    (root / NAME / "deep").symlink_to(theirs)
    for wrong in ("", ".", "..", "../theirs", f"{NAME}/latency", "a\0b", "nowhere", "link", "none"):
        for change in (remove_run, archive_run):
            with pytest.raises(UserError):
                change(root, wrong)
    with RunFolder.resume(root / NAME), pytest.raises(UserError, match="the run goes on; stop it first"):
        remove_run(root, NAME)
    owner = os.geteuid()
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: owner + 1)
        with pytest.raises(UserError, match="another user's"):
            remove_run(root, NAME)
    (root / NAME / "ledger.jsonl").write_text("{")
    (root / NAME / "ledger.jsonl").chmod(0o666)  # cannot be trusted to name nothing
    with pytest.raises(UserError, match="loadstone clean"):
        remove_run(root, NAME)
    (root / NAME / "ledger.jsonl").unlink()
    remove_run(root, NAME)
    assert sorted(path.name for path in root.iterdir()) == ["archive", "link", "none"]
    assert (theirs / "kept").exists()


@pytest.mark.parametrize("change", [archive_run, lambda root, name: remove_run(root, name, archived=True)])
def test_an_archive_behind_a_link_is_refused(change: Callable[[Path, str], None], root: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs" / NAME).mkdir(parents=True)
    (tmp_path / "theirs" / NAME / "plan.json").touch()
    (root / "archive").symlink_to(tmp_path / "theirs")
    with pytest.raises(UserError, match="it is a link"):
        change(root, NAME)
    assert (root / NAME / "plan.json").exists()
    assert (tmp_path / "theirs" / NAME / "plan.json").exists()
