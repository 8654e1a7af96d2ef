"""Ad hoc runs without `--out`: where they are afterwards, how many, and what happens where there is no place."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.calling import called
from tests.end_to_end.conftest import EXPERIMENT
from tests.end_to_end.test_load_commands import DONE, loadstone

SHORT = ("redis", "-t", "get", "-c", "4", "-n", "500")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "here"


def names(here: Path) -> list[str]:
    return sorted(path.name for path in (here / "runs").glob("[!.]*"))


def test_what_just_ran_has_a_report(here: Path) -> None:
    done = loadstone(*SHORT, folder=here)
    assert done.returncode in DONE, done.stderr
    (name,) = names(here)
    last = done.stderr.splitlines()[-1]
    assert last == f"kept: runs/{name} (the newest 20 are); its report: loadstone report latest"
    quiet = loadstone(*SHORT, "-q", folder=here)
    assert quiet.returncode in DONE, quiet.stderr
    assert (quiet.stderr, len(quiet.stdout.splitlines())) == ("", 1)
    csv = loadstone(*SHORT, "--csv", folder=here)
    assert len(csv.stdout.splitlines()) == 2
    newest = names(here)[-1]
    assert csv.stderr.splitlines()[-1].startswith(f"kept: runs/{newest} ")
    report = called("report", "latest", folder=here)
    assert report.returncode == 0, report.stderr
    assert report.stderr.startswith(f"Written to runs/{newest}: ")
    assert (here / "runs" / newest / "report.html").is_file()


@pytest.mark.fault("ad hoc runs accumulate")
def test_only_the_newest_are_kept_and_those_of_out_for_good(here: Path) -> None:
    kept = loadstone(*SHORT, "-q", "--out", "runs", folder=here)
    assert kept.returncode in DONE, kept.stderr
    (for_good,) = names(here)
    assert loadstone(*SHORT, "-q", folder=here).returncode in DONE
    (first,) = set(names(here)) - {for_good}
    for number in range(20):  # as 20 runs of a later year leave them
        later = here / "runs" / f"2999010{1 + number // 10}T00000{number % 10}Z-redis"
        later.mkdir(mode=0o700)
        (later / "plan.json").write_text("{}")
        note = {"format": 1, "name": later.name, "inode": later.stat().st_ino, "order": 100 + number}
        (later / "kept.json").write_text(json.dumps(note))
    assert loadstone(*SHORT, "-q", folder=here).returncode in DONE
    left = names(here)
    assert for_good in left
    assert first not in left
    assert len(left) == 21, left
    assert len([name for name in left if name.startswith("2999")]) == 19


def test_none_is_kept_where_none_is_wanted(here: Path) -> None:
    done = loadstone(*SHORT, "--no-keep", folder=here)
    assert done.returncode in DONE, done.stderr
    assert "kept" not in done.stderr
    assert not list(here.iterdir())
    both = loadstone(*SHORT, "--no-keep", "--out", "x", folder=here)
    assert both.returncode == 2
    assert "--no-keep, --out: leave one of them out" in both.stderr


def test_a_run_of_an_experiment_is_not_one_of_them(here: Path) -> None:
    assert "--no-keep" in called("redis", "--help").stdout
    here.mkdir()
    (here / "x.yaml").write_text(EXPERIMENT.replace("MEASURE", "300 ms"))
    made = loadstone("run", "x.yaml", "--only", "operation=set", "--only", "workers=1", "--quiet", folder=here)
    assert made.returncode in DONE, made.stderr
    (name,) = names(here)
    assert not (here / "runs" / name / "kept.json").exists()


@pytest.fixture(params=["a file", "read-only", "full"])
def without_room(request: pytest.FixtureRequest, here: Path) -> Iterator[Path]:
    """A folder in which no folder of a run can be made."""
    here.mkdir()
    if request.param == "a file":
        (here / "runs").write_text("mine")
        yield here
        return
    options = "ro" if request.param == "read-only" else "size=64k"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", here], capture_output=True).returncode:
        pytest.skip("this user may not mount a file system")
    try:
        yield here
    finally:
        subprocess.run(["umount", here], check=True)


@pytest.mark.fault(
    "the folder for an ad hoc run is read-only or full", "figures are printed, with the reason", area="disk"
)
def test_the_figures_are_printed_where_there_is_no_room_for_the_run(
    without_room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    before = list(without_room.iterdir())
    done = loadstone(*SHORT, folder=without_room)
    assert done.returncode in DONE, done.stderr
    assert re.search(r"^\S get +[\d—]", done.stdout, re.MULTILINE), done.stdout
    last = done.stderr.splitlines()[-1]
    assert last.startswith("this run is not kept: --out runs: "), done.stderr
    assert done.stderr.count("not kept") == 1
    assert list(without_room.iterdir()) == before
    assert list((tmp_path / "temporary").iterdir()) == []
    meant = loadstone(*SHORT, "--out", "runs", folder=without_room)
    assert meant.returncode == 2, "who names a place gets it, or an error"
