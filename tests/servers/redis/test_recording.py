"""A recording is read to its end: its lines, what is sent again, under which keys, and what is left out and why."""

import struct
from pathlib import Path
from typing import Any

import pytest

from loadstone.experiment.plan.operations import RecordedLoad
from loadstone.safety.errors import UserError
from loadstone.servers.redis import recording
from loadstone.servers.redis.commands.table import BLOCKING, DATA, KEYLESS, REFUSED, SUBCOMMANDS
from loadstone.servers.redis.recorded_commands import IT_WAITS, NO_NAME, LeftOut, keys_of_command
from loadstone.servers.redis.recording import MonitorLine, read_line

SECRET = "s3cr3t-in-a-recording"


def read(folder: Path, *lines: str | bytes, end: bytes = b"\n") -> RecordedLoad:
    file = folder / "monitor.log"
    file.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + end)
    (folder / "prepared").mkdir(exist_ok=True)
    return recording.recorded_load(file, folder / "prepared")


def at(seconds: float, *arguments: str, client: str = "127.0.0.1:5000", database: int = 0) -> str:
    return f"{1_700_000_000 + seconds:.6f} [{database} {client}] " + " ".join(f'"{text}"' for text in arguments)


def rows(found: RecordedLoad) -> list[tuple[int, int, str, list[tuple[bytes, bool]]]]:
    """Milliseconds, client, command, and the arguments with whether they are keys."""
    content = found.prepared.read_bytes()
    assert content[:8] == b"recorded"
    place, read = 8, []
    while place < len(content):
        at_ns, client, operation, number, length = struct.unpack_from("<QIIII", content, place)
        place, end = place + 24, place + 24 + length
        texts = []
        while place < end:
            (size,) = struct.unpack_from("<I", content, place)
            if not size & 2:
                texts.append((content[place + 4 : place + 4 + (size >> 2)], bool(size & 1)))
            place += 4 + (size >> 2)
        assert (place, len(texts)) == (end, number & ~(1 << 31))
        read.append((round(at_ns / 1e6), client, found.commands[operation], texts))
    return read


def test_commands_keep_their_times_clients_bytes_and_keys(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "OK",
        at(0, "SELECT", "1"),
        at(0.5, "set", "a", r"v\x00\xff"),
        at(0.75, "MGET", "a", "b", client="unix:/tmp/s"),
        at(1.5, "GET", "a", client="[::1]:1", database=3),
    )
    assert rows(found) == [
        (0, 0, "SET", [(b"set", False), (b"a", True), (b"v\x00\xff", False)]),
        (250, 1, "MGET", [(b"MGET", False), (b"a", True), (b"b", True)]),
        (1000, 2, "GET", [(b"GET", False), (b"db3:a", True)]),
    ]
    assert (found.clients, found.length_s, found.number) == (3, 1.0, 3)
    assert set(found.left_out) == {("SELECT", REFUSED["SELECT"])}


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        (["ZUNIONSTORE", "d", "2", "a", "b"], [1, 3, 4]),
        (["XREAD", "COUNT", "5", "STREAMS", "a", "b", "0", "0"], [4, 5]),
        (["GEORADIUS", "a", "1", "2", "3", "km", "STORE", "b"], [1, 7]),
        (["OBJECT", "encoding", "a"], [2]),
        (["MSET", "a", "1", "b", "2"], [1, 3]),
        (["BITOP", "AND", "d", "a"], [2, 3]),
        (["JSON.MGET", "a", "b", "$"], [1, 2]),
        (["COPY", "a", "b"], [1, 2]),
        (["PUBLISH", "channel", "text"], [1]),
        (["PING"], []),
    ],
)
def test_every_key_position_is_found(command: list[str], keys: list[int]) -> None:
    found = keys_of_command(command[0], [text.encode() for text in command[1:]])
    assert sorted(place + 1 for place in found) == keys


@pytest.mark.parametrize(
    "name", sorted({*REFUSED, *BLOCKING, "KEYS", "SORT", "EVAL", "FLUSHALL", "CONFIG", "SUBSCRIBE"})
)
def test_what_reaches_further_waits_or_listens_is_left_out(name: str) -> None:
    with pytest.raises(LeftOut):
        keys_of_command(name, [b"a", b"1", b"b"])


def test_what_waits_for_streams_or_is_not_known_is_left_out() -> None:
    with pytest.raises(LeftOut, match=str(IT_WAITS)):
        keys_of_command("XREADGROUP", [b"GROUP", b"g", b"c", b"block", b"0", b"STREAMS", b"a", b">"])
    with pytest.raises(LeftOut, match=str(IT_WAITS)):
        keys_of_command("XREADGROUP", [b"GROUP", b"STREAMS", b"c", b"BLOCK", b"0", b"STREAMS", b"a", b">"])
    assert keys_of_command("XREADGROUP", [b"GROUP", b"g", b"block", b"COUNT", b"1", b"STREAMS", b"a", b">"]) == [6]
    for command in (["FT.SEARCH", "i"], ["ZUNIONSTORE", "d", "x", "a"], ["COPY", "a", "b", "DB", "1"], ["GET"]):
        with pytest.raises(LeftOut):
            keys_of_command(command[0], [text.encode() for text in command[1:]])
    assert not set(BLOCKING) - {*DATA, *KEYLESS}
    assert keys_of_command("XINFO", [b"STREAM", b"a"]) == (1,)
    assert "XINFO" in SUBCOMMANDS


def test_secrets_are_neither_kept_nor_named(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        at(0, "AUTH", SECRET),
        at(0, "HELLO", "3", "AUTH", "me", SECRET),
        at(0, "CONFIG", "SET", "requirepass", SECRET),
        at(0, f"{SECRET} as a name"),
        at(0, "SET", "a", "1"),
    )
    assert SECRET not in repr(found)
    assert SECRET.encode() not in found.prepared.read_bytes()
    assert {name for name, _ in found.left_out} == {"AUTH", "HELLO", "CONFIG", NO_NAME}
    with pytest.raises(UserError) as raised:
        read(tmp_path, at(0, "SET", "a", "1"), f'"AUTH" "{SECRET}"')
    assert SECRET not in str(raised.value)


def test_what_a_script_did_is_sent_in_its_place(tmp_path: Path) -> None:
    found = read(tmp_path, at(0, "EVAL", "return 1", "0"), at(0, "SET", "a", "1", client="lua"))
    assert [row[2] for row in rows(found)] == ["SET"]
    assert found.left_out == {("EVAL", REFUSED["EVAL"]): 1}


def test_a_transaction_is_whole_or_not_there(tmp_path: Path) -> None:
    found = read(tmp_path, at(0, "EXEC"), at(1, "MULTI"), at(1, "SET", "a", "1"), at(1, "EXEC"), at(2, "DISCARD"))
    assert [row[2] for row in rows(found)] == ["MULTI", "SET", "EXEC"]
    assert found.transactions
    assert sum(found.left_out.values()) == 2
    assert not read(tmp_path, at(0, "PING")).transactions


def test_times_may_go_back_a_little_and_no_more(tmp_path: Path) -> None:
    found = read(tmp_path, at(5, "GET", "a"), at(4.5, "GET", "b"), at(6, "GET", "c"))
    assert [row[0] for row in rows(found)] == [0, 0, 1000]
    assert found.set_forward == 1
    with pytest.raises(UserError, match=r"line 2: is 4\.500 s before the line before it; replay one"):
        read(tmp_path, at(5, "GET", "a"), at(0.5, "GET", "b"))


def test_the_last_line_may_be_cut_off(tmp_path: Path) -> None:
    found = read(tmp_path, at(0, "GET", "a"), at(1, "DEL", "b", "c")[:-4], end=b"")
    assert (found.number, found.cut_off) == (1, True)


def test_what_is_stored_is_known_before(tmp_path: Path) -> None:
    value = "x" * 1000
    once = read(tmp_path, at(0, "SET", "a", value)).stored_bytes
    assert 1000 < once < 2000
    again = read(tmp_path, at(0, "SET", "a", value), at(0, "SET", "a", value), at(0, "GET", "b")).stored_bytes
    assert again == once
    assert read(tmp_path, at(0, "RPUSH", "a", value), at(0, "RPUSH", "a", value)).stored_bytes > 2000
    for far in (("SETRANGE", "a", "99999999", "x"), ("BITFIELD", "a", "SET", "u1", "799999999", "1"),
                ("BITFIELD", "a", "INCRBY", "u8", "#12499999", "1"), ("SETBIT", "a", "799999999", "1")):  # fmt: skip
        assert 9e7 < read(tmp_path, at(0, *far), at(0, *far)).stored_bytes < 2e8


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ([], "holds no command (0 lines); record with: redis-cli MONITOR > FILE"),
        (["OK"], "holds no command"),
        (["{}"], "line 1: is no line of MONITOR; such a line is: 1700000000.123456 [0 127.0.0.1:5000]"),
        ([at(0, "GET", "a"), "rubbish", at(1, "GET", "b")], "line 2: is no line of MONITOR"),
        ([b"\xff\xfe\x00"], "line 1: is no line of MONITOR"),
        (
            [at(0, "FLUSHALL"), at(0, "FLUSHALL")],
            "that is sent again (2 lines); most of all 2 FLUSHALL: it acts",
        ),
    ],
)
def test_bad_input_is_named_in_one_line(tmp_path: Path, lines: list[Any], error: str) -> None:
    with pytest.raises(UserError) as raised:
        read(tmp_path, *lines)
    assert error in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"cannot be read \(No such file or directory\); name a recording"):
        recording.recorded_load(tmp_path / "none.log", tmp_path)
    with pytest.raises(UserError, match="cannot be read"):
        recording.recorded_load(tmp_path, tmp_path)
    monkeypatch.setattr(recording, "LINE_MAX_BYTES", 100)
    with pytest.raises(UserError, match="line 1: is longer than 0 MB; remove it"):
        read(tmp_path, at(0, "SET", "a", "x" * 200))
    monkeypatch.undo()
    monkeypatch.setattr(recording, "COMMANDS_MAX", 1)
    with pytest.raises(UserError, match="more than 1 commands; take a part"):
        read(tmp_path, at(0, "PING"), at(0, "PING"))
    monkeypatch.undo()
    monkeypatch.setattr(recording, "_require_room", lambda *_: recording.shutil.disk_usage(tmp_path / "no"))
    with pytest.raises(UserError, match="cannot be read"):
        read(tmp_path, at(0, "PING"))


def test_a_command_has_its_time_its_client_and_its_bytes() -> None:
    found = read_line(
        rb'1700000000.123456 [3 127.0.0.1:5000] "SET" "key" "v\x00\n\"\\\a\b\t\r'.replace(b"'", b"") + b'"'
    )
    assert found == MonitorLine(
        1_700_000_000_123_456_000, 3, b"127.0.0.1:5000", (b"SET", b"key", b'v\x00\n"\\\a\b\t\r')
    )


@pytest.mark.parametrize(
    "client", [b"127.0.0.1:5000", b"[::1]:60866", b"unix:/run/my redis.sock", b"lua", b"10.0.0.1:1"]
)
def test_every_kind_of_client_is_known(client: bytes) -> None:
    found = read_line(b"1.5 [0 " + client + b'] "PING"')
    assert found is not None
    assert (found.client, found.at_ns, found.arguments) == (client, 1_500_000_000, (b"PING",))


def test_an_argument_may_be_empty_or_look_like_a_client() -> None:
    found = read_line(rb'1.0 [0 lua] "SET" "" "[0 lua] \"x\" \\"')
    assert found is not None
    assert found.arguments == (b"SET", b"", b'[0 lua] "x" \\')


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"OK",
        b"rubbish",
        b'1700000000 [0 127.0.0.1:1] "GET" "a"',
        b'1.0 [x 127.0.0.1:1] "GET" "a"',
        b'1.0 [0 127.0.0.1:1] "GET" "a',
        b'1.0 [0 127.0.0.1:1] "GET" a',
        b'1.0 [0 127.0.0.1:1] GET "a"',
        b'1.0 [0 127.0.0.1:1] "GET""a"',
        b"1.0 [0 127.0.0.1:1]",
        b'1.0 [0 127.0.0.1:1] "GET" "a\\"',
    ],
)
def test_what_is_no_such_line_is_none(line: bytes) -> None:
    assert read_line(line) is None
