"""Append-only files as recordings: whole, cut off and damaged."""

import re
from pathlib import Path

import pytest

from loadstone.safety.errors import UserError
from loadstone.servers.redis.append_only_file import AppendOnlyFile, open_commands
from loadstone.servers.redis.recording import MonitorLine

INCR = b"*2\r\n$4\r\nINCR\r\n$1\r\na\r\n"


def read(file: Path) -> tuple[list[tuple[int, MonitorLine]], bool]:
    with open_commands(file) as commands:
        assert isinstance(commands, AppendOnlyFile)
        return list(commands), commands.cut_off


def test_commands_have_their_databases_times_and_any_bytes(tmp_path: Path) -> None:
    file = tmp_path / "incr.aof"
    odd = b"*3\r\n$3\r\nSET\r\n$4\r\n\r\n*1\r\n$0\r\n\r\n"
    file.write_bytes(INCR + b"#TS:1700000000\r\n*2\r\n$6\r\nselect\r\n$1\r\n3\r\n" + odd + b"#anything\r\n" + INCR)
    at_ns = 1_700_000_000_000_000_000
    assert read(file) == (
        [
            (1, MonitorLine(0, 0, b"aof", (b"INCR", b"a"))),
            (3, MonitorLine(at_ns, 3, b"aof", (b"SET", b"\r\n*1", b""))),
            (4, MonitorLine(at_ns, 3, b"aof", (b"INCR", b"a"))),
        ],
        False,
    )


@pytest.mark.parametrize("length", range(1, len(INCR)))
def test_what_has_no_end_is_left_out(length: int, tmp_path: Path) -> None:
    file = tmp_path / "incr.aof"
    file.write_bytes(INCR * 2 + INCR[:length])
    commands, cut_off = read(file)
    assert (len(commands), cut_off) == (2, True)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (b"*1\r\n$-1\r\n", "command 3: is none of an append-only file"),
        (b"*0\r\n", "command 3: is none of an append-only file"),
        (b"$1\r\na\r\n", "command 3: is none of an append-only file"),
        (b"*" + b"1" * 100, "command 3: is none of an append-only file"),
        (b"*9999999\r\n", "command 3: 9,999,999 is more than the 1,048,576 that are read"),
        (b"*1\r\n$999999999\r\n", "command 3: 999,999,999 is more than the 67,108,864 that are read"),
        (b"*1\r\n$4\r\nPINGxx", "command 3: is none of an append-only file"),
        (b"*2\r\n$6\r\nSELECT\r\n$1\r\nx\r\n", "command 3: is none of an append-only file"),
    ],
)
def test_what_is_damaged_is_named(made: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "incr.aof"
    file.write_bytes(INCR * 2 + made)
    with pytest.raises(UserError, match=re.escape(said)):
        read(file)


def test_a_snapshot_is_no_recording(tmp_path: Path) -> None:
    file = tmp_path / "appendonly.aof"
    file.write_bytes(b"REDIS0011" + INCR)
    with pytest.raises(UserError, match=r"begins with a snapshot; name the commands behind it"), open_commands(file):
        pass
