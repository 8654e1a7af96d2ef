"""What of a recording a cluster takes, and to which node transactions go."""

from pathlib import Path

import pytest
from redis.crc import key_slot
from tests.servers.redis.test_recording import at, read, rows

from loadstone.safety.errors import UserError
from loadstone.servers.redis import recording
from loadstone.servers.redis.recorded_commands import (
    IN_SEVERAL_SLOTS,
    NOTHING_IN_IT,
    OF_ANOTHER_SLOT,
    WITH_ARGUMENTS,
    deciding,
)

PREFIX = b"loadstone:0123abcd:001:"


@pytest.mark.parametrize(
    ("first", "second", "is_one_slot"),
    [
        ("{a}1", "2{a}3{b}", True),
        ("{a}", "a", False),
        ("a", "a", True),
        ("a", "b", False),
        ("{}a", "{}b", False),
        ("a{}{b}", "a{}{c}", False),
        ("a{b", "a{c", False),
        ("}{a}", "x{a}", True),
        ("{{a}}1", "{{a}2", True),
        ("", "", True),
    ],
)
def test_keys_share_a_slot_by_their_tags_or_by_being_the_same(first: str, second: str, *, is_one_slot: bool) -> None:
    assert (deciding(first.encode()) == deciding(second.encode())) is is_one_slot
    assert (key_slot(PREFIX + first.encode()) == key_slot(PREFIX + second.encode())) is is_one_slot


def numbers(prepared: Path) -> list[bool]:
    """Of each command whether a cluster takes it."""
    content, place, found = prepared.read_bytes(), 8, []
    while place < len(content):
        number, length = (int.from_bytes(content[at : at + 4], "little") for at in (place + 16, place + 20))
        found.append(number < 1 << 31)
        place += 24 + length
    return found


def test_a_command_whose_keys_are_in_several_slots_is_marked(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        at(0, "MSET", "a{t}", "1", "b{t}", "2"),
        at(0, "MSET", "a", "1", "b", "2"),
        at(0, "MGET", "a", "a"),
        at(0, "RENAME", "{t}", "{u}"),
        at(0, "SUNIONSTORE", "{t}d", "{t}a", "{t}b"),
        at(0, "MGET", "a", "{t}", database=3),
        at(0, "PING"),
    )
    assert numbers(found.prepared) == [True, False, True, False, True, False, True]
    assert found.not_in_a_cluster == {
        ("MSET", IN_SEVERAL_SLOTS): 1,
        ("RENAME", IN_SEVERAL_SLOTS): 1,
        ("MGET", IN_SEVERAL_SLOTS): 1,
    }
    assert (found.number, found.number_in_a_cluster, found.left_out) == (7, 4, {})


def test_multi_goes_with_the_first_key_of_its_transaction(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        at(0, "multi"),
        at(1, "GET", "other", client="127.0.0.1:2"),
        at(2, "PING"),
        at(2, "SET", "k{t}", "1"),
        at(2, "SET", "l{t}", "1"),
        at(2, "SET", "k{u}", "1"),
        at(2, "EXEC"),
        at(3, "SET", "k{u}", "1"),
    )
    assert [(row[0], row[1], row[2], row[3][0][0]) for row in rows(found)] == [
        (0, 0, "GET", b"GET"),
        (1000, 1, "PING", b"PING"),
        (1000, 1, "MULTI", b"multi"),
        (1000, 1, "SET", b"SET"),
        (1000, 1, "SET", b"SET"),
        (1000, 1, "SET", b"SET"),
        (1000, 1, "EXEC", b"EXEC"),
        (2000, 1, "SET", b"SET"),
    ]
    assert numbers(found.prepared) == [True, True, True, True, True, False, True, True]
    assert found.not_in_a_cluster == {("SET", OF_ANOTHER_SLOT): 1}
    assert b"k{t}" in found.prepared.read_bytes().split(b"multi")[1][:8], "what decides on its node"
    assert found.sent["MULTI"] == 1


def test_a_transaction_without_keys_has_its_multi_with_its_end(tmp_path: Path) -> None:
    found = read(tmp_path, at(0, "MULTI"), at(0, "PING"), at(0, "EXEC"), at(0, "GET", "a"))
    assert [row[2] for row in rows(found)] == ["PING", "MULTI", "EXEC", "GET"]
    assert found.not_in_a_cluster == {}


def test_a_multi_that_nothing_follows_is_left_out(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        at(0, "MULTI"),
        at(1, "MULTI"),
        at(1, "DISCARD"),
        at(2, "MULTI", "x"),
        at(3, "MULTI", client="[::1]:1"),
        at(3, "GET", "a"),
    )
    assert [row[2] for row in rows(found)] == ["MULTI", "DISCARD", "GET"]
    assert found.left_out == {("MULTI", NOTHING_IN_IT): 2, ("MULTI", WITH_ARGUMENTS): 1}
    assert found.clients == 1


def test_open_transactions_are_as_few_as_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "CLIENTS_MAX", 2)
    lines = [at(0, "MULTI", client=f"127.0.0.1:{number}") for number in range(3)]
    read(tmp_path, *lines[:2], at(1, "PING"))
    with pytest.raises(UserError, match="line 3: more than 2 clients; take a part of the file"):
        read(tmp_path, *lines)
    with pytest.raises(UserError, match="line 3: more than 2 clients"):
        read(tmp_path, *(at(0, "PING", client=f"127.0.0.1:{number}") for number in range(3)))
