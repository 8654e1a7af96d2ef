"""What two runs are called beside each other."""

from pathlib import Path

import pytest

from loadstone.record.run_files import run_names


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
