"""The index of runs against folders: frozen runs, what strangers wrote, and what changes meanwhile."""

import json
import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from tests.frozen_runs import unpacked

from loadstone.addons.history import index as of_index
from loadstone.addons.history.index import Index, parse_query
from loadstone.addons.history.list_runs import change_tags
from loadstone.addons.history.removal import archive_run
from loadstone.addons.history.run_row import line_of, read_row, words_of
from loadstone.addons.history.tags import read_tags
from loadstone.judge.analysis.analyse import analyse
from loadstone.report.json_report import render
from loadstone.run_folder.folder import RunFolder
from loadstone.safety.errors import UserError

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs as they were measured, one of them without its analysis."""
    root = tmp_path_factory.mktemp("frozen")
    for name in ("redis-rate", "jedis-vs-lettuce", "pipeline"):
        run = unpacked(name, root)
        if name != "pipeline":
            (run / "analysis.json").write_bytes(render(analyse(run))["analysis.json"])
    return root


def found(index: Index, text: str = "", *, archived: bool = False) -> list[str]:
    index.renew(words_of=words_of)
    return sorted(row.name for row in index.find(parse_query(text, archived=archived), most=-1).rows)


def test_frozen_runs_are_found_by_what_they_say(frozen: Path, tmp_path: Path) -> None:
    index = Index(frozen, tmp_path / "index")
    assert found(index) == ["jedis-vs-lettuce", "pipeline", "redis-rate"]
    row = read_row(frozen / "jedis-vs-lettuce")
    assert row.experiment == "jedis-vs-lettuce"
    assert (row.state, row.why) == ("complete", "")
    assert {"redis", "mariadb"} <= {one.split()[0] for one in row.versions.split(", ")}
    assert len(row.found) == len(analyse(frozen / "jedis-vs-lettuce").families[0].comparisons)
    assert line_of(row)[1].headline
    word = next(iter(line_of(row)[1].headline.split()))
    assert "jedis-vs-lettuce" in found(index, word)
    assert found(index, "experiment:jedis-vs-lettuce") == ["jedis-vs-lettuce"]
    assert found(index, f"verdict:{row.kinds[0]} LETTUCE") == ["jedis-vs-lettuce"]
    assert found(index, "verdict:faster tag:none") == []
    assert line_of(read_row(frozen / "pipeline"))[1].state == "not ended"
    for odd in ('"', "tag:", "%", "_", "'; DROP TABLE runs; --", "\0", "x" * 1000):
        found(index, odd)


def run(root: Path, name: str, **files: object) -> Path:
    path = root / name
    path.mkdir(parents=True)
    for file, content in {"plan": {"format": 1, "experiment": "tiny"}, **files}.items():
        (path / f"{file}.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_folders_name_is_no_number_beyond_what_an_index_holds(tmp_path: Path) -> None:
    path = run(tmp_path / "runs", f"20260102T000000Z-tiny-{'9' * 200}")
    assert found(Index(path.parent, tmp_path / "index")) == [path.name]


def test_tags_and_notes_are_kept_in_the_folder(tmp_path: Path) -> None:
    path = run(tmp_path / "runs", "20260102T000000Z-tiny")
    index = Index(path.parent, tmp_path / "index")
    assert found(index, "tag:baseline") == []
    change_tags(path, ["baseline", "v8.2"], [], "After the\nkernel update.")
    assert found(index, "tag:baseline kernel") == [path.name]
    assert found(index, "tag:base") == []
    change_tags(path, [], ["baseline"], None)
    assert (read_tags(path).tags, read_tags(path).note) == (("v8.2",), "After the\nkernel update.")
    for wrong in (["two words"], ["<b>"], [""], ["x" * 41], [str(number) for number in range(21)]):
        with pytest.raises(UserError, match="tag"):
            change_tags(path, wrong, [], None)
    with pytest.raises(UserError, match=r"no such tag; it has: v8\.2"):
        change_tags(path, [], ["gone"], None)
    (path / "tags.json").write_text(json.dumps({"format": 1, "tags": [SCRIPT]}))
    assert read_row(path).why.startswith("tags.json: cannot be read")
    archive_run(path.parent, path.name)
    assert found(index) == []
    assert found(index, archived=True) == [path.name]


def test_what_strangers_wrote_is_a_line_that_says_so(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    theirs = run(tmp_path, "theirs", analysis={"experiment": "secret-of-theirs"})
    run(root, "20260102T000000Z-a", plan="{", analysis={"format": 2})
    run(root, f"{SCRIPT.replace('/', '|')}", analysis={"experiment": SCRIPT, "answer": {"kind": SCRIPT}, "families": 3})
    run(root, "0.1", analysis={"format": 1, "experiment": "tiny", "answer": "set is FASTER than get by 5 % [4, 6]."})
    (run(root, "linked") / "analysis.json").symlink_to(theirs / "analysis.json")
    (root / "whole").symlink_to(theirs)
    sparse = run(root, "sparse")
    with (sparse / "analysis.json").open("wb") as file:
        file.truncate(10 * 2**30)
    long = run(root, "long", analysis={"families": [{"comparisons": [{"primary": {"kind": "of later"}}] * 9}]})
    with (long / "trials.jsonl").open("w") as file:
        file.write("{}\n" * 1_000_000)
    os.mkfifo(run(root, "pipe") / "environment.json")
    run(root, "deep", analysis="[" * 100_000)
    run(root, "odd", analysis=r'{"experiment": "\ud800", "trials_done": 1e999}')
    (root / os.fsdecode(b"half\xff")).mkdir()
    (root / os.fsdecode(b"half\xff") / "plan.json").write_text("{}")
    index = Index(root, tmp_path / "index")
    began = time.monotonic()
    index.renew(words_of=words_of)
    assert time.monotonic() - began < 5
    rows = {row.name: row for row in index.find(parse_query(""), most=-1).rows}
    assert len(rows) == 11
    for name in ("20260102T000000Z-a", "linked", "sparse", "pipe", "deep", "odd", "0.1"):
        assert rows[name].state == "unread"
        assert rows[name].why
    assert rows["0.1"].why == "recorded by loadstone 0.1: loadstone 0.2.0 reads it, this version does not"
    assert "secret-of-theirs" not in rows["linked"].model_dump_json()
    assert not rows["whole"].ours
    assert rows["sparse"].size_bytes < 100_000
    assert rows["long"].found == ()


@pytest.mark.fault(
    "the index of runs is damaged, foreign or cannot be written", "made anew from the folders", area="disk"
)
@pytest.mark.parametrize("kind", ["rubbish", "cut", "of another folder", "another's", "of another version", "a folder"])
def test_a_broken_or_foreign_index_is_made_anew(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "index"
    path = run(tmp_path / "runs", "20260102T000000Z-tiny")
    assert found(Index(path.parent, file)) == [path.name]
    if kind == "rubbish":
        file.write_bytes(b"rubbish" * 1000)
    elif kind == "cut":
        file.write_bytes(file.read_bytes()[:5000])
    elif kind == "of another folder":
        assert found(Index(tmp_path / "nowhere", file)) == []
    elif kind == "another's":
        file.unlink()
        with sqlite3.connect(file) as base:
            base.execute("CREATE TABLE runs (x)")
    elif kind == "of another version":
        with sqlite3.connect(file) as base:
            base.execute(f"PRAGMA user_version = {of_index.VERSION + 1}")
    else:
        file.unlink()
        file.mkdir()
    assert found(Index(path.parent, file)) == [path.name]


def test_folders_that_come_and_go_meanwhile(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    for number in range(40):
        run(root, f"20260102T0000{number:02}Z-tiny", analysis={"complete": True})
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            for number in range(40):
                folder = root / f"20260102T0000{number:02}Z-tiny"
                folder.rename(root / f".gone-{number}")
                (root / f".gone-{number}").rename(folder)

    errors: list[BaseException] = []

    def look() -> None:
        index = Index(root, tmp_path / "index")
        try:
            for _ in range(15):
                index.renew(words_of=words_of)
                index.find(parse_query("tiny"), most=50)
        except BaseException as error:
            errors.append(error)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    churner = threading.Thread(target=churn)
    for one in (churner, *lookers):
        one.start()
    for one in lookers:
        one.join()
    stop.set()
    churner.join()
    assert errors == []
    assert len(found(Index(root, tmp_path / "index"))) == 40


def test_a_run_that_is_looked_at_can_be_begun_and_ended(tmp_path: Path) -> None:
    plan = {"format": 1, "experiment": "tiny", "seed": 1, "quick": True, "as_published": False, "expected_s": 1.0}
    path = run(tmp_path / "runs", "20260102T000000Z-tiny", plan=plan | {"trials": []})
    index = Index(path.parent, tmp_path / "index")
    with RunFolder.resume(path):
        index.renew()
        assert index.find(parse_query(""), 1).rows[0].running
    index.renew()
    assert not index.find(parse_query(""), 1).rows[0].running
    later = index.renew(deadline_s=time.monotonic())
    assert (later.read, later.left) == (0, 0)
