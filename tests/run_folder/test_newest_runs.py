"""Which ad hoc runs are removed: the oldest of those that are marked, and nothing else, whatever stands beside them."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.run_folder import newest_runs
from loadstone.run_folder.files import KEPT, LEDGER, PLAN
from loadstone.run_folder.newest_runs import mark, remove_old, unmark


def run(root: Path, name: str, *, marked: bool = True) -> Path:
    """A run's folder with a folder below it, and a link that leads out of it."""
    folder = root / name
    (folder / "latency").mkdir(parents=True)
    (folder / "latency" / "b01-001.hlog").write_text("log")
    (folder / PLAN).write_text("{}")
    (folder / "aside").symlink_to(root.parent / "elsewhere")
    if marked:
        mark(folder)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").write_text("stays")
    root = tmp_path / "runs"
    root.mkdir()
    return root


def name(second: int, kind: str = "redis") -> str:
    return f"20261125T1000{second:02}Z-{kind}"


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def test_the_newest_stay_and_the_one_just_made_among_them(root: Path) -> None:
    made = [run(root, name(second, kind)) for second, kind in enumerate(["redis", "http", "redis", "redis"])]
    remove_old(root, made[-1], newest=3)
    assert names(root) == [name(1, "http"), name(2), name(3)]
    assert (root.parent / "elsewhere" / "precious").read_text() == "stays"


def test_one_that_was_made_when_the_clock_was_wrong_is_not_removed_at_once(root: Path) -> None:
    for second in range(3):
        run(root, name(second))
    late = run(root, "19990101T000000Z-redis")
    remove_old(root, late, newest=3)
    assert names(root) == ["19990101T000000Z-redis", name(1), name(2)]


@pytest.mark.fault("the clock was ahead, or is set back, between runs", "runs are kept in their order", area="disk")
def test_runs_of_a_clock_that_was_ahead_do_not_push_out_those_that_follow(root: Path) -> None:
    for second in range(3):
        run(root, f"20990101T0000{second:02}Z-redis")
    for second in range(3):
        remove_old(root, run(root, name(second)), newest=3)
    assert names(root) == [name(0), name(1), name(2)]


def test_numbers_of_one_second_count(root: Path) -> None:
    for number in ("", "-2", "-10"):
        run(root, f"{name(0)}{number}")
    remove_old(root, run(root, name(1)), newest=3)
    assert names(root) == [f"{name(0)}-10", f"{name(0)}-2", name(1)]


@pytest.mark.fault(
    "ad hoc runs accumulate", "the newest 20 without `--out` are kept; no other folder is removed", area="disk"
)
def test_what_was_not_made_so_stays(root: Path) -> None:
    """A run of `loadstone run`, one renamed, a copy, one of another's making, a link, a file, one that is no run."""
    run(root, name(0), marked=False)
    run(root, name(1)).rename(root / "baseline")
    shutil.copytree(run(root, name(2)), root / "copy", symlinks=True)
    shutil.rmtree(root / name(2))
    (root / "copy").rename(root / name(2))
    odd = run(root, name(3), marked=False)
    for number, text in enumerate(
        ("", "[", "[]", '{"format": 1}', json.dumps({"format": 1, "name": name(3)}), "[" * 99)
    ):
        (odd / KEPT).write_text(text)
        remove_old(root, root / "x", newest=1)
        assert odd.is_dir(), number
    outside = run(root.parent, name(4))
    (root / name(4)).symlink_to(outside)
    (root / name(5)).write_text("a file")
    linked = run(root, name(6), marked=False)
    mark(outside)
    (linked / KEPT).symlink_to(outside / KEPT)
    before = names(root)
    run(root, name(7))
    remove_old(root, run(root, name(8)), newest=1)
    assert names(root) == [*before[:-1], name(8), before[-1]]
    assert (outside / PLAN).is_file()


@pytest.mark.fault("ad hoc runs accumulate")
def test_one_that_is_written_to_or_needed_stays(root: Path) -> None:
    written, needed = run(root, name(0)), run(root, name(1))
    (needed / LEDGER).symlink_to("nowhere")  # one that cannot be trusted may name anything
    directory = os.open(written, os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_EX)
    try:
        remove_old(root, run(root, name(2)), newest=1)
        assert names(root) == [name(0), name(1), name(2)]
    finally:
        os.close(directory)
    remove_old(root, root / name(2), newest=1)
    assert names(root) == [name(1), name(2)]


def test_one_that_is_gone_on_with_is_none_of_them(root: Path) -> None:
    resumed, other = run(root, name(0)), run(root, name(1), marked=False)
    assert unmark(resumed)
    assert not unmark(resumed)
    assert not unmark(other)
    remove_old(root, run(root, name(2)), newest=1)
    assert names(root) == [name(0), name(1), name(2)]
    mark(resumed)
    remove_old(root, root / name(2), newest=1)
    assert names(root) == [name(1), name(2)]


def test_what_was_interrupted_is_gone_on_with(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = run(root, name(0))

    def broken(*_: object, **__: object) -> None:
        raise OSError("disk")

    with monkeypatch.context() as patched:
        patched.setattr(newest_runs.shutil, "rmtree", broken)
        remove_old(root, run(root, name(1)), newest=1)
    assert folder.is_dir()
    assert not (folder / PLAN).exists(), "it is listed no more"
    remove_old(root, root / name(1), newest=1)
    assert names(root) == [name(1)]


def test_a_folder_that_others_may_write_to_is_left_alone(root: Path) -> None:
    run(root, name(0))
    root.chmod(0o777)
    remove_old(root, run(root, name(1)), newest=1)
    assert names(root) == [name(0), name(1)]


def test_what_is_not_there_or_full_of_nothing_is_no_error(root: Path) -> None:
    remove_old(root / "nowhere", root / "x")
    remove_old(root, root / "x")
    mark(root / "nowhere")
    assert not unmark(root / "nowhere")


@pytest.mark.fault("ad hoc runs accumulate")
def test_two_at_once_remove_each_run_once(root: Path) -> None:
    for second in range(40):
        run(root, name(second))
    code = (
        "import sys; from pathlib import Path; from loadstone.run_folder.newest_runs import remove_old\n"
        "sys.stdin.readline(); remove_old(Path(sys.argv[1]), Path('x'), newest=6)"
    )
    others = [
        subprocess.Popen([sys.executable, "-c", code, str(root)], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    said = []
    for other in others:
        assert other.stdin is not None
        other.stdin.write(b"\n")
        other.stdin.flush()
    for other in others:
        said.append((other.communicate(timeout=60)[1], other.returncode))
    assert said == [(b"", 0)] * 3
    left = names(root)
    assert left[-5:] == [name(second) for second in range(35, 40)]
    assert len(left) <= 6, left
