"""Files that others wrote: never waited for, never without end, always one line."""

import json
import os
from pathlib import Path

import pytest

from loadstone.run_folder import lines
from loadstone.run_folder.lines import LineReader
from loadstone.run_folder.reading import read_experiment, read_plan, read_run
from loadstone.safety.bounds import files
from loadstone.safety.bounds.files import load_json, read_bytes, read_json, read_text, why
from loadstone.safety.errors import UserError


def test_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b'\xef\xbb\xbf{"a": "\xc3\xa9"}')
    assert read_text(tmp_path / "a") == '{"a": "é"}'
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert read_bytes(tmp_path / "link").endswith(b"}")


@pytest.mark.fault("links, hard links, pipes and devices in a run's folder")
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: os.mkfifo(path), "not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
        (lambda path: path.symlink_to(path), "Too many levels"),
        (lambda path: path.write_bytes(b"x" * 101), "larger than"),
        (lambda path: path.write_bytes(b"ab\xff"), r"not text in UTF-8 \(byte 2\)"),
        (lambda _: None, "No such file"),
    ],
)
def test_what_is_none_is_one_line_and_never_waited_for(make: object, says: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    make(path)  # type: ignore[operator]
    with pytest.raises(UserError, match=rf"file: cannot be read: .*{says}"):
        read_text(path, 100)


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, "{", "\x00", ""])
def test_json_of_strangers_is_a_value_or_a_value_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError) as caught:
        read_json(tmp_path / "a.json")
    assert "\n" not in str(why(caught.value))


BAD = [b"[" * 100_000, b'{"format": 1, "seed": ' + b"9" * 5000 + b"}", b"\xff", b"null", b"[]", b'{"format": 2}', b"{"]


@pytest.mark.fault("a run's folder holds huge or nested documents, or too many trials")
@pytest.mark.parametrize("content", BAD)
def test_a_folder_with_damaged_documents_is_one_line(content: bytes, tmp_path: Path) -> None:
    for name in ("experiment.yaml", "environment.json", "plan.json", "analysis.json"):
        (tmp_path / name).write_bytes(content)
    for read in (read_run, read_plan, read_experiment):
        with pytest.raises(UserError) as caught:
            read(tmp_path)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400 + len(str(tmp_path))


@pytest.mark.fault("a run's folder holds huge or nested documents, or too many trials")
@pytest.mark.parametrize("kind", ["pipe", "long line"])
def test_lines_of_a_folder_are_bounded(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LINE_MAX_BYTES", 100)
    path = tmp_path / "trials.jsonl"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_text('{"format": 1}\n' + "x" * 200 + "\n")
    with pytest.raises(UserError, match=r"trials\.jsonl(: .*not a regular file|, line 2: longer than any)"):
        list(LineReader(path))


def test_half_a_character_is_written_as_an_escape() -> None:
    name = os.fsdecode(b"x\xff")
    for dump in (lines.dump_line, lines.dump_document):
        assert json.loads(dump({"name": name})) == {"name": name}


@pytest.mark.fault(
    "a run's folder holds huge or nested documents, or too many trials", "one line; memory stays bounded", area="disk"
)
def test_json_of_millions_of_empty_lists_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "VALUES_MAX", 1000)
    with pytest.raises(ValueError, match="more than 1,000 values"):
        files.load_json(b"[" + b"[]," * 1000 + b"1]")
    assert files.load_json(b'["' + b"x" * 2000 + b'"]') == ["x" * 2000]


def test_half_a_character_becomes_a_mark_and_a_whole_one_stays() -> None:
    assert files.load_json(rb'{"a\ud800": ["\ud83d\ude00", "\udfff"]}') == {"a\ufffd": ["\U0001f600", "\ufffd"]}


@pytest.mark.fault("a run's folder holds huge or nested documents, or too many trials")
def test_a_file_of_lines_that_are_none_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "DAMAGED_MAX", 10)
    (tmp_path / "samples.jsonl").write_bytes(b"\n" * 20)
    with pytest.raises(UserError, match=r"samples\.jsonl: more than 10 lines cannot be read"):
        list(LineReader(tmp_path / "samples.jsonl"))


@pytest.mark.fault("a run's folder holds huge or nested documents, or too many trials")
def test_a_file_of_lines_that_is_larger_than_what_is_read_is_left(tmp_path: Path) -> None:
    with (tmp_path / "samples.jsonl").open("wb") as file:
        file.truncate(lines.FILE_MAX_BYTES + 1)
    with pytest.raises(UserError, match=r"samples\.jsonl: 2,147 MB, and at most 2,147 MB are read; keep a copy"):
        list(LineReader(tmp_path / "samples.jsonl"))


@pytest.mark.parametrize("number", ["1" * 21, "-" + "9" * 400])
def test_a_number_that_64_bits_cannot_hold_is_refused(number: str) -> None:
    """A float cannot be made of hundreds of digits: what divides such a time would be a defect."""
    with pytest.raises(ValueError, match="too many digits"):
        load_json(b'{"at": %s}' % number.encode())
    held = {"at": 2**64 - 1, "text": number}
    assert load_json(json.dumps(held).encode()) == held
