"""The one thread that reads folders into the index, while pages look at it."""

import json
import threading
import time
from pathlib import Path

import pytest

from loadstone.addons.history.index import Index, parse_query
from loadstone.addons.history.renewal import IndexRenewal
from loadstone.addons.history.run_row import RunRow

RUNS = 60


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """Of runs that no one has looked at."""
    for number in range(RUNS):
        folder = tmp_path / "runs" / f"20260102T0000{number:02}Z-tiny"
        folder.mkdir(parents=True)
        (folder / "plan.json").write_text(json.dumps({"experiment": "tiny"}))
    return Index(tmp_path / "runs", tmp_path / "index")


def test_who_looks_gets_what_is_there_while_a_thread_reads_the_rest(index: Index) -> None:
    go_on, waits = threading.Event(), threading.Event()
    threads: set[str] = set()

    def words(row: RunRow) -> str:
        threads.add(threading.current_thread().name)
        if row.name.endswith("30Z-tiny"):  # of the second batch
            waits.set()
            assert go_on.wait(20)
        return ""

    reader = IndexRenewal(index, words)
    reader.renew(0)
    assert waits.wait(20)
    began = time.monotonic()
    left = reader.renew(20)
    assert time.monotonic() - began < 15, "it was waited for a reader that has much to do"
    assert 0 < left < RUNS
    assert index.find(parse_query(""), 1).total == RUNS - left
    go_on.set()
    end = time.monotonic() + 20
    while reader.renew(5) and time.monotonic() < end:
        time.sleep(0.01)
    assert index.find(parse_query(""), 1).total == RUNS
    assert threads == {"history"}


def test_what_changed_before_one_looks_is_seen(index: Index) -> None:
    reader = IndexRenewal(index, lambda _: "")
    assert reader.renew(20) == 0
    for number in range(5):
        (index.root / "20260102T000000Z-tiny" / "tags.json").write_text(f'{{"format": 1, "tags": ["t{number}"]}}')
        assert reader.renew(20) == 0
        assert index.find(parse_query(f"tag:t{number}"), 1).total == 1


def test_who_waits_learns_why_it_cannot_be_read(index: Index) -> None:
    def fails(_: RunRow) -> str:
        raise RuntimeError("a defect")

    reader = IndexRenewal(index, fails)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="a defect"):
            reader.renew(20)
