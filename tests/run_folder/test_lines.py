"""JSON-lines files: whole lines or none, and reading what a crash left."""

import errno
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.run_folder.lines import LineFile, LineReader, write_error, write_file
from loadstone.safety.errors import LoadstoneError, UserError

LINE = {"format": 1, "trial": "b01-001", "text": "ünïcode\nand a newline"}


def read(path: Path) -> tuple[list[int], LineReader]:
    reader = LineReader(path)
    return [number for number, _ in reader], reader


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "a.jsonl")
    file.append(LINE)
    file.append({"format": 1, "number": 2})
    file.sync()
    file.close()
    assert [record for _, record in LineReader(tmp_path / "a.jsonl")] == [LINE, {"format": 1, "number": 2}]


def test_a_missing_file_has_no_lines(tmp_path: Path) -> None:
    numbers, reader = read(tmp_path / "a.jsonl")
    assert numbers == []
    assert reader.notes() == []


def test_opening_takes_a_half_written_line_away(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"format":1,"n":1}\n{"format":1,"n"' + b"x" * 200_000)
    file = LineFile(path)
    file.append({"format": 1, "n": 2})
    file.close()
    assert [record["n"] for _, record in LineReader(path)] == [1, 2]


def test_opening_a_file_without_any_whole_line_empties_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"format":1')
    LineFile(path).close()
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00" * 40,
        b"not json",
        b"[1, 2]",
        b'{"no": "format"}',
        b'{"format": NaN}',
        b'{"format": 1e200}',
        b"[" * 5000,
        b"\xff\xfe{",
        b"",
    ],
)
def test_a_damaged_line_is_left_out_and_named(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"format":1}\n' + garbage + b'\n{"format":1}\n')
    numbers, reader = read(path)
    assert numbers == [1, 3]
    assert reader.notes() == ["a.jsonl: line 2 is not readable and left out."]


def test_a_cut_off_last_line_is_left_out_and_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"format":1}\n{"format":1}')
    numbers, reader = read(path)
    assert numbers == [1]
    assert reader.notes() == ["a.jsonl: the last line (2) is cut off and left out."]


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"format":1}\n{"format":2}\n')
    with pytest.raises(UserError, match=r"a\.jsonl, line 2: format 2 is not known .* reads format 1"):
        list(LineReader(path))


def test_figures_that_are_none_are_refused_before_they_are_written(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "a.jsonl")
    with pytest.raises(ValueError, match="JSON"):
        file.append({"format": 1, "rate": float("nan")})
    file.close()
    assert (tmp_path / "a.jsonl").read_bytes() == b""


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_no_space_is_the_users_to_mend(number: int) -> None:
    error = write_error(OSError(number, os.strerror(number)), Path("runs/x"))
    assert isinstance(error, UserError)
    assert "no space left" in str(error)
    assert "\n" not in str(error)


def test_other_failures_are_not() -> None:
    error = write_error(OSError(errno.EIO, os.strerror(errno.EIO)), Path("runs/x"))
    assert not isinstance(error, UserError)
    assert "Input/output error" in str(error)


WRITE_UNTIL_FULL = """
import json, resource, sys
from pathlib import Path
from loadstone.safety.errors import UserError
from loadstone.run_folder.lines import LineFile, write_file

limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
path = Path(sys.argv[1])
file = LineFile(path)
written = 0
try:
    while True:
        file.append({"format": 1, "n": written, "filler": "x" * 90})
        written += 1
except UserError as error:
    print(json.dumps({"written": written, "error": str(error)}))
"""


@pytest.mark.fault("the disk of the run's folder is full")
@pytest.mark.parametrize("limit", [1000, 1023, 4096])
def test_a_full_disk_leaves_whole_lines(tmp_path: Path, limit: int) -> None:
    """A limit on the size of files makes short writes and then errors, as a full disk does."""
    path = tmp_path / "a.jsonl"
    reported = subprocess.run(
        [sys.executable, "-c", WRITE_UNTIL_FULL, str(path), str(limit)], capture_output=True, text=True, check=True
    )
    outcome = json.loads(reported.stdout)
    assert "no space left" in outcome["error"]
    assert path.read_bytes().endswith(b"\n")
    assert [record["n"] for _, record in LineReader(path)] == list(range(outcome["written"]))
    assert outcome["written"] > 0


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_file(path, b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(UserError, match="no space left"):
            write_file(path, b"new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_folder_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(LoadstoneError, match="cannot be written: No such file"):
        LineFile(tmp_path / "missing" / "a.jsonl")
