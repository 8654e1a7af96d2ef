"""The ledger of a run: nothing is made that it does not hold."""

import json
import os
import resource
import stat
from contextlib import closing
from pathlib import Path

import pytest

from loadstone.run_folder.ledger import CreatedObject, ServerIdentity
from loadstone.run_folder.ledger_file import RunLedger, is_needed, read_ledger
from loadstone.safety.errors import UserError

REDIS = ServerIdentity("redis", "redis://127.0.0.1:6379/0", False)
ONE, TWO = CreatedObject("key", "loadstone:one"), CreatedObject("keys_beginning", "loadstone:two:")
KINDS = ("key", "keys_beginning")


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "ledger.jsonl").read_text().splitlines()]


def test_it_is_made_with_its_first_line_and_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with closing(RunLedger(tmp_path)) as ledger:
            assert not (tmp_path / "ledger.jsonl").exists()
            ledger.makes(REDIS, [ONE, ONE])
            ledger.makes(REDIS, [ONE])
    finally:
        os.umask(before)
    assert [line["what"] for line in lines(tmp_path)] == ["run", "makes"]
    assert stat.S_IMODE((tmp_path / "ledger.jsonl").stat().st_mode) == 0o600


def test_what_was_removed_is_not_left(tmp_path: Path) -> None:
    with closing(RunLedger(tmp_path)) as ledger:
        ledger.makes(REDIS, [ONE, TWO])
        ledger.removed(REDIS, ONE)
        ledger.removed(REDIS, ONE)
        assert ledger.left() == {REDIS: [TWO]}
    assert is_needed(tmp_path)
    with closing(RunLedger(tmp_path)) as ledger:
        assert ledger.left() == {REDIS: [TWO]}
        assert ledger.earlier_lines() != []
        ledger.removed(REDIS, TWO)
        assert ledger.earlier_lines() == []
    assert not is_needed(tmp_path)


def test_what_an_earlier_session_left_is_given_out_once_and_by_any_name_of_its_server(tmp_path: Path) -> None:
    with closing(RunLedger(tmp_path)) as ledger:
        ledger.makes(REDIS, [ONE, TWO])
        assert ledger.take_earlier(REDIS, KINDS) == [], "it is of this session"
    renamed = ServerIdentity("cache", "redis://localhost:6379/0", True)
    with closing(RunLedger(tmp_path)) as ledger:
        assert ledger.take_earlier(ServerIdentity("redis", "redis://127.0.0.1:6379/1", False), KINDS) == []
        assert ledger.take_earlier(renamed, KINDS) == [ONE, TWO]
        assert ledger.take_earlier(renamed, KINDS) == []
        assert ledger.left() == {renamed: [ONE, TWO]}
        ledger.removed(renamed, ONE)
    found = read_ledger(tmp_path)
    assert found is not None
    assert list(found.open) == [(renamed, TWO)]
    assert len({line["run"] for line in lines(tmp_path) if line["what"] == "run"}) == 1


@pytest.mark.fault("the ledger cannot be written")
def test_a_full_disk_refuses(tmp_path: Path) -> None:
    with closing(RunLedger(tmp_path)) as ledger:
        ledger.makes(REDIS, [ONE])
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "ledger.jsonl").stat().st_size + 9, limits[1]))
        try:
            with pytest.raises(UserError, match="no space left to write"):
                ledger.makes(REDIS, [TWO])
            ledger.removed(REDIS, ONE)  # that it is gone cannot be written, and need not be
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    found = read_ledger(tmp_path)
    assert found is not None
    assert list(found.open) == [(REDIS, ONE)]


def test_one_process_at_a_time_has_it(tmp_path: Path) -> None:
    with closing(RunLedger(tmp_path)) as ledger:
        ledger.makes(REDIS, [ONE])
        with pytest.raises(UserError, match="the run goes on, or is being cleaned up"):
            RunLedger(tmp_path)
    RunLedger(tmp_path).close()


def test_a_line_that_a_kill_cut_off_was_not_made_yet(tmp_path: Path) -> None:
    with closing(RunLedger(tmp_path)) as ledger:
        ledger.makes(REDIS, [ONE, TWO])
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    with closing(RunLedger(tmp_path)) as ledger:
        assert ledger.left() == {REDIS: [ONE]}
        ledger.makes(REDIS, [TWO])
    assert [line["what"] for line in lines(tmp_path)] == ["run", "makes", "run", "makes"]


def test_an_empty_file_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").touch(0o600)
    with closing(RunLedger(tmp_path)) as ledger:
        ledger.makes(REDIS, [ONE])
    assert is_needed(tmp_path)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    (tmp_path / "ledger.jsonl").symlink_to(theirs)
    with pytest.raises(UserError, match="it is a link"):
        RunLedger(tmp_path)
    assert not theirs.exists()
