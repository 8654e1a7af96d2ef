"""The list of a folder's runs."""

import json
import os
import re
import threading
from pathlib import Path
from types import ModuleType

import pytest
from pydantic_core import to_jsonable_python
from tests.run_folder.test_earlier_runs import run
from tests.run_folder.test_foreign_folder import SECRET
from tests.safety.bounds.test_files import BAD
from tests.test_start import LATER, command, loaded

from loadstone.addons.history.list_runs import list_runs, run_lines
from loadstone.run_folder.folder import RunFolder
from loadstone.text.message import verbatim


def test_the_newest_comes_first(tmp_path: Path) -> None:
    run(tmp_path, "20260102T000000Z-tiny", complete=True, answer=to_jsonable_python(verbatim("It\nis so.")))
    run(
        tmp_path,
        "20260103T000000Z-tiny",
        trials_done=3,
        trials_planned=9,
        complete=False,
        answer=to_jsonable_python(verbatim("Not yet.")),
    )
    run(tmp_path, "20260103T000000Z-tiny-2")
    (tmp_path / "no-run").mkdir()
    found = list_runs(tmp_path)
    assert [(one.name, one.state, one.headline) for one in found] == [
        ("20260103T000000Z-tiny-2", "not ended", ""),
        ("20260103T000000Z-tiny", "3 of 9 trials", "Not yet."),
        ("20260102T000000Z-tiny", "complete", "It is so."),
    ]
    assert {one.experiment for one in found} == {"tiny"}
    lines = run_lines(found, 60)
    assert re.match(r"20260102T000000Z-tiny +2026-01-0\d \d\d:\d\d  tiny  complete ", lines[2])
    assert max(map(len, lines)) <= 60


def test_where_there_is_no_folder_there_are_no_runs(tmp_path: Path) -> None:
    assert list_runs(tmp_path / "nowhere") == []


def test_a_run_that_goes_on_is_running(tmp_path: Path) -> None:
    path = run(tmp_path, "20260102T000000Z-tiny")
    plan = {"format": 1, "experiment": "tiny", "seed": 1, "quick": True, "as_published": False, "expected_s": 1.0}
    (path / "plan.json").write_text(json.dumps(plan | {"trials": []}))
    with RunFolder.resume(path):
        assert list_runs(tmp_path)[0].state == "running"
    assert list_runs(tmp_path)[0].state == "not ended"


@pytest.mark.fault("a run's folder holds huge or nested documents, or too many trials")
def test_an_analysis_that_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, it was taken for a run that had not ended."""
    monkeypatch.setattr("loadstone.addons.history.run_row.DOCUMENT_BYTES", 10_000)
    run(tmp_path, "20260103T000000Z-tiny", complete=True, answer="x" * 10_001)
    (run(tmp_path, "20260102T000000Z-tiny") / "analysis.json").mkdir()
    (run(tmp_path, "20260101T000000Z-tiny") / "analysis.json").write_text("[]")
    states = [one.state for one in list_runs(tmp_path)]
    assert states == [
        "analysis.json: it is larger than 0 MB",
        "analysis.json: it is a folder, and a file is expected there; move it away",
        "analysis.json: not an analysis",
    ]


@pytest.mark.parametrize("content", [*BAD, b'{"format": 1, "answer": {"a": 1}, "experiment": [], "trials_done": "x"}'])
def test_runs_lists_folders_whose_analysis_is_of_another_kind(content: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "20261122T000000Z-x"
    folder.mkdir()
    (folder / "plan.json").write_text(json.dumps({"format": 1}))
    (folder / "analysis.json").write_bytes(content)
    assert [one.name for one in list_runs(tmp_path)] == [folder.name]


@pytest.mark.fault("links, hard links, pipes and devices in a run's folder")
def test_a_named_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "20261122T000000Z-x"
    folder.mkdir()
    (folder / "plan.json").write_text("{}")
    os.mkfifo(folder / "analysis.json")
    done = threading.Thread(target=list_runs, args=(tmp_path,), daemon=True)
    done.start()
    done.join(60)
    assert not done.is_alive()


def test_it_shows_nothing_from_behind_a_link(synthetic: ModuleType, tmp_path: Path) -> None:
    path = synthetic.write_run(tmp_path / "runs", until=2)
    theirs = tmp_path / "theirs"
    theirs.write_text(json.dumps({"experiment": SECRET, "answer": SECRET}))
    (path / "analysis.json").symlink_to(theirs)
    assert SECRET not in "".join(run_lines(list_runs(path.parent)))


def test_it_loads_little() -> None:
    assert loaded(command("runs")) & LATER <= {"pydantic"}
