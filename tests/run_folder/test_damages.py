"""A damaged folder says so: no damage changes a report without a note, or a refusal, that names the file."""

import json
import os
import re
import shutil
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest
from tests.frozen_runs import unpacked

from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.checks.checks import judge_trial
from loadstone.run_folder.digests import DigestFile, Digests
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.reading import read_run
from loadstone.safety.errors import DriveFailed
from loadstone.text.sentences import render_message

from .damages import WELL, damaged, with_digests


@pytest.fixture(scope="module")
def finished(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run: Path = synthetic.write_run(tmp_path_factory.mktemp("runs"), finish=judge_trial)
    return run


@pytest.fixture
def path(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / finished.name))


@pytest.mark.fault(
    "a run's folder that a disk, a copy or an editor changed",
    "no figure changes without a note or a refusal that names the file",
    area="disk",
)
def test_no_damage_changes_a_report_in_silence(tmp_path: Path) -> None:
    run = with_digests(unpacked("pipeline", tmp_path))
    assert analyse(run).trials_done == 6
    found = list(damaged(run, 40, seed=3))
    assert [one for one in found if one.outcome not in WELL] == []
    assert {one.outcome for one in found} == WELL


def test_a_run_writes_the_digests_that_it_is_read_by(path: Path) -> None:
    written = (path / "digests.jsonl").read_text().splitlines()
    assert read_run(path).all_notes == ()
    again = with_digests(path)
    assert sorted((again / "digests.jsonl").read_text().splitlines()) == sorted(written)
    files = [json.loads(line)["file"] for line in written]
    assert {name: files.count(name) for name in files} == {
        "experiment.yaml": 1, "environment.json": 1, "plan.json": 1,
        "trials.jsonl": 5, "latency": 5, "intervals.jsonl": 5, "samples.jsonl": 5,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["trials.jsonl", "intervals.jsonl", "samples.jsonl"])
def test_a_figure_that_was_changed_is_not_used(name: str, path: Path) -> None:
    file = path / name
    first, rest = file.read_bytes().split(b"\n", 1)
    line = json.loads(first)
    line["duration_s" if "duration_s" in line else "unix_s"] += 1
    file.write_bytes(json.dumps(line).encode() + b"\n" + rest)
    run = read_run(path)
    (note,) = map(str, run.notes)
    assert note.startswith(f"{name}: ")
    kept = {"trials.jsonl": [one.trial for one in run.trials], "intervals.jsonl": run.intervals}.get(name, run.samples)
    assert sorted(kept) == ["b01-002", "b01-003", "b01-004", "b01-005"]


def test_lost_moved_and_repeated_lines_are_said(path: Path) -> None:
    file = path / "trials.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    for left, says in (
        (lines[:-1], "missing (1)"),
        (lines[1:], "missing (1)"),
        ([], "missing (5)"),
        ([lines[1], lines[0], *lines[2:]], "repeated, or in another order"),
        ([*lines, lines[0]], "repeated, or in another order"),
    ):
        file.write_bytes(b"".join(left))
        assert any(note.startswith("trials.jsonl: ") and says in note for note in map(str, read_run(path).notes)), says


@pytest.mark.parametrize("name", ["environment.json", "plan.json", "experiment.yaml"])
def test_a_changed_document_is_said(name: str, path: Path) -> None:
    file = path / name
    file.write_text(file.read_text().replace("small", "large").replace("6.1.0", "6.1.1"))
    assert [note.partition(":")[0] for note in map(str, read_run(path).notes)] == [name]


def test_a_damaged_digest_is_its_own_fault(path: Path) -> None:
    file = path / "digests.jsonl"
    text_before = file.read_text()
    place = text_before.rindex('"sha256":"') + len('"sha256":"')
    file.write_text(text_before[:place] + ("1" if text_before[place] == "0" else "0") + text_before[place + 1 :])
    run = read_run(path)
    assert [note.partition(":")[0] for note in map(str, run.notes)] == ["digests.jsonl"]
    assert len(run.trials) == 5


@pytest.mark.fault("a run's folder that a disk, a copy or an editor changed")
def test_of_a_damaged_log_no_figure_is_made(tmp_path: Path) -> None:
    """Also in a folder of before, which has no digests: its total is held against the trial's counts."""
    run = unpacked("redis-rate", tmp_path)
    assert not (run / "digests.jsonl").exists()
    whole = analyse(run)
    row = next(row for table in whole.tables for row in table.rows if len(row.trials) > 1)
    log = run / "latency" / f"{row.trials[0]}.hlog"
    lines = log.read_text().splitlines(keepends=True)
    dropped = next(number for number, line in enumerate(lines) if ".response," in line and "warm" not in line)
    log.write_text("".join(lines[:dropped] + lines[dropped + 1 :]))
    found = analyse(run)
    damaged_row = next(one for table in found.tables for one in table.rows if one.label == row.label)
    assert row.response_ns is not None
    assert damaged_row.response_ns is None
    assert any(f"latency/{log.name}: it holds " in render_message(note) for note in found.notes)
    with pytest.raises(DriveFailed, match=rf"{log.name}: it holds [\d,]+ response times of the [\d,]+ correct replies"):
        read_run(run).logs.whole(row.trials[0], "response")


@pytest.mark.fault("a run's folder that a disk, a copy or an editor changed")
def test_a_log_in_the_place_of_another_is_seen(path: Path) -> None:
    one, other = (path / "latency" / f"b01-00{number}.hlog" for number in (1, 2))
    one.write_bytes(other.read_bytes())
    run = read_run(path)
    with pytest.raises(DriveFailed, match=r"b01-001\.hlog: it is not as the run wrote it"):
        run.logs.whole("b01-001", "response")
    assert run.logs.whole("b01-002", "response").total == run.trials[1].counts.ok
    assert [note.partition(":")[0] for note in map(str, run.all_notes)] == ["latency/b01-001.hlog"]


def test_a_crash_between_a_line_and_its_digest_loses_nothing(synthetic: ModuleType, path: Path) -> None:
    """Then the line has none, the run goes on, and its next lines have theirs."""
    file = path / "digests.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    assert len(read_run(path).trials) == 5
    planned = synthetic.make_run_plan().trials[1]
    with RunFolder.resume(path) as folder:
        synthetic.write_trial(folder, planned)
    run = read_run(path)
    assert run.all_notes == ()
    assert [trial.facts.attempt for trial in run.trials] == [1, 1, 1, 1, 2]
    assert sorted(Digests.read(path).lines["trials.jsonl"]) == [1, 2, 3, 4, 6]


def test_a_document_is_announced_before_it_is_written(path: Path) -> None:
    """So a crash in between leaves one that fits."""
    before = (path / "plan.json").read_bytes()
    with RunFolder.resume(path) as folder:
        folder.write_plan(read_run(path).plan.model_copy(update={"budget_s": 1200.0}))
    (path / "plan.json").write_bytes(before)
    assert read_run(path).all_notes == ()


def test_a_folder_of_before_is_gone_on_with(path: Path, synthetic: ModuleType) -> None:
    (path / "digests.jsonl").unlink()
    with RunFolder.resume(path) as folder:
        synthetic.write_trial(folder, synthetic.make_run_plan().trials[0])
    run = read_run(path)
    assert run.all_notes == ()
    assert len(run.trials) == 5
    file = path / "trials.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"order":1,', b'"order":2,'))
    assert [note.partition(":")[0] for note in map(str, read_run(path).notes)] == ["trials.jsonl"]


@pytest.mark.fault(
    "digests of a stranger's folder that name other files",
    "they are not read, and their line is said to be damaged",
    area="users",
)
@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../theirs", "nowhere", "./plan.json", "latency", "/proc/self/mem", ""]
)
def test_digests_lead_to_no_other_file(name: str, path: Path) -> None:
    (path.parent / "theirs").write_text("text-of-a-foreign-file")
    with closing(DigestFile(path)) as digests:
        digests.document(name, b"")
    (note,) = map(str, read_run(path).all_notes)
    assert re.fullmatch(r"digests\.jsonl: line \d+ is not readable and left out\.", str(note))


@pytest.mark.fault(
    "a latency log of a stranger's folder that is larger than a disk", "it is not read, and named", area="users"
)
def test_a_latency_log_without_an_end_is_not_read(path: Path) -> None:
    os.truncate(path / "latency" / "b01-001.hlog", 2**40)
    run = read_run(path)
    with pytest.raises(DriveFailed, match="it is larger than 2,147 MB"):
        run.logs.whole("b01-001", "response")
    (note,) = map(str, run.all_notes)
    assert str(note).startswith("latency/b01-001.hlog: cannot be read: it is larger than")


def test_a_sample_of_no_trial_is_left_out(path: Path) -> None:
    whole = read_run(path).samples
    with (path / "samples.jsonl").open("a") as file:
        for trial in (["b01-001"], {"a": 1}, 5, None):
            file.write(json.dumps({"format": 1, "trial": trial, "unix_s": 1, "part": "host", "values": {}}) + "\n")
    assert read_run(path).samples == whole
