"""What two runs are called beside each other, and when one began."""

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from loadstone.run_folder.files import age_of, run_names


@pytest.mark.parametrize(
    ("one", "other", "names"),
    [
        ("20261121T210000Z-documents", "20261121T223000Z-documents", ("run 21:00", "run 22:30")),
        ("20261121T210001Z-documents", "20261121T210002Z-documents", ("run 21:00:01", "run 21:00:02")),
        ("20261121T210000Z-documents", "20261122T210000Z-documents", ("run 2026-11-21", "run 2026-11-22")),
        ("20261121T210000Z-old", "20261121T223000Z-new", ("20261121T210000Z-old", "20261121T223000Z-new")),
        ("good", "20261121T223000Z-documents", ("good", "20261121T223000Z-documents")),
        ("x/documents", "y/documents", ("x", "y")),
        ("x/20261121T210000Z-documents", "y/20261121T210000Z-documents", ("x", "y")),
    ],
)
def test_runs_are_called_by_what_tells_them_apart(tmp_path: Path, one: str, other: str, names: tuple[str, str]) -> None:
    assert run_names(tmp_path / one, tmp_path / other) == names


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="other file systems hold no such time")
@pytest.mark.parametrize("seconds", [4e11, -4e11])
def test_a_renamed_run_began_in_a_year_that_can_be_told_whatever_its_files_say(seconds: float) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        (Path(folder) / "plan.json").touch()
        os.utime(Path(folder) / "plan.json", (seconds, seconds))
        assert 1970 <= datetime.fromtimestamp(age_of(Path(folder))[0], UTC).year < 10_000
