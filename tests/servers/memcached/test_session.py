"""loadstone's own questions to a memcached: real ones, and one that answers nonsense."""

from collections.abc import Callable

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.errors import BadReply, ServerGone, UserError
from loadstone.servers.memcached.control import MemcachedControl
from loadstone.servers.memcached.local import LocalMemcached
from loadstone.servers.memcached.session import MemcachedSession

Start = Callable[..., object]
Script = Callable[[dict[bytes, bytes]], int]
MN = {b"mn": b"MN\r\n"}
ROOM = MN | {b"stats": b"STAT limit_maxbytes 64000000\r\nSTAT curr_items 0\r\nEND\r\n"}


def refusal(port: int, **login: str) -> str:
    control = MemcachedControl(Endpoint(port=port, **login), timeout_s=2.0)  # type: ignore[arg-type]
    with control, pytest.raises(UserError) as refused:
        control.facts()
    text = str(refused.value)
    assert text.startswith(f"server 127.0.0.1:{port}: ")
    assert "\n" not in text
    assert "hunter2" not in text
    return text


def test_values_are_stored_read_counted_and_removed(memcached: LocalMemcached) -> None:
    with memcached.control() as control:
        assert control.call("ms", "loadstone:a", "a value\r\nof two lines", "T60") == b"HD"
        assert control.call("mg", "loadstone:a", "v") == b"a value\r\nof two lines"
        assert control.call("mg", "loadstone:b", "v") == b"EN"
        control.call("ms", "loadstone:n", "7")
        assert control.keys() == 2
        assert control.present(["loadstone:a", "loadstone:b"]) == [True, False]
        assert control.count("mg loadstone:n v") == 7
        assert control.count("mg loadstone:none v") == 0
        assert control.count("stats curr_items") == 2
        assert control.remove_keys(["loadstone:a", "loadstone:b"]) == 1
        assert control.keys() == 1


def test_numbered_keys_are_removed_and_no_others(memcached: LocalMemcached) -> None:
    with memcached.control() as control:
        control.pipelined([("ms", f"loadstone:t:{number:012d}", "x") for number in range(2500)])
        control.call("ms", "loadstone:t:other", "x")
        assert control.remove_numbered("loadstone:t:", 2500) == 2500
        assert control.keys() == 1
        with pytest.raises(UserError, match="only keys that begin with 'loadstone:'"):
            control.remove_numbered("theirs:", 1)


def test_a_restart_is_another_start(memcached: LocalMemcached) -> None:
    with memcached.control() as control:
        before = control.snapshot()
    memcached.restart()
    with memcached.control() as control:
        after = control.snapshot()
    assert before.run_id != after.run_id


def test_the_counters_are_those_of_the_meta_commands(memcached: LocalMemcached) -> None:
    with memcached.control() as control:
        before = control.snapshot()
        control.pipelined([("ms", "loadstone:a", "x")] * 3)
        control.pipelined([("mg", "loadstone:a", "v")] * 5 + [("mg", "loadstone:none", "v")] * 2)
        control.pipelined([("md", "loadstone:a"), ("md", "loadstone:a")])
        control.call("ms", "loadstone:n", "7")
        control.pipelined([("ma", "loadstone:n", "v")] * 4)
        after = control.snapshot()
    grown = {name: after.commands[name].calls - before.commands[name].calls for name in after.commands}
    assert grown == {"ms": 4, "mg": 7, "md": 2, "ma": 4}
    figures = {name: after.figures[name] - before.figures[name] for name in ("keyspace_hits", "keyspace_misses")}
    assert figures == {"keyspace_hits": 5, "keyspace_misses": 2}


@pytest.mark.parametrize("text", ["flush_all", "stats", "stats none", "mg loadstone:text v", "get loadstone:a", ""])
def test_what_is_no_count_is_refused(memcached: LocalMemcached, text: str) -> None:
    with memcached.control() as control:
        control.call("ms", "loadstone:text", "text")
        with pytest.raises(UserError, match=r"^count '"):
            control.count(text)


def test_a_wrong_password_is_refused_and_none_is_ever_stored(
    memcached: LocalMemcached, users_memcached: Callable[..., object]
) -> None:
    port = memcached._endpoint.port
    assert "requires a password" in refusal(port)
    assert "refuses the password of user 'loadstone'" in refusal(port, username="loadstone", password="hunter2")
    theirs = users_memcached()
    assert "requires no password" in refusal(theirs.port, username="ann", password="hunter2")  # type: ignore[attr-defined]
    with MemcachedSession(Endpoint(port=theirs.port)) as session:  # type: ignore[attr-defined]
        assert session.keys() == 0


@pytest.mark.parametrize(
    ("answers", "part"),
    [
        ({b"mn": b"ERROR\r\n"}, "does not know the meta commands"),
        ({b"mn": b"-ERR unknown command 'mn'\r\n"}, "not memcached (it said '-ERR unknown command"),
        ({b"mn": b"HTTP/1.1 400 Bad Request\r\n"}, "not memcached (it said 'HTTP/1.1 400"),
        ({b"mn": b""}, "closed the connection"),
        (ROOM | {b"ms": b"CLIENT_ERROR bad data chunk\r\n"}, "does not know the meta commands"),
        (ROOM | {b"ms": b"OK\r\n", b"md": b"OK\r\n"}, "does not know the meta commands (it said 'OK')"),
        (
            ROOM | {b"ms": b"SERVER_ERROR out of memory storing object\r\n"},
            "it takes no writes (SERVER_ERROR out of memory",
        ),
    ],
)
def test_what_cannot_be_loaded_is_named_in_one_line(
    scripted_memcached: Script, answers: dict[bytes, bytes], part: str
) -> None:
    assert part in refusal(scripted_memcached(answers))


@pytest.mark.parametrize(
    "stats",
    [b"STAT pid\r\nEND\r\n", b"NO such thing\r\n", b"END\r\n", b"STAT a b\r\n" * 20_000, b"x" * 20_000, b"STAT\r\n"],
)
def test_statistics_that_are_none_are_a_typed_error(scripted_memcached: Script, stats: bytes) -> None:
    port = scripted_memcached(MN | {b"stats": stats})
    with MemcachedControl(Endpoint(port=port), timeout_s=2.0) as control, pytest.raises(ServerGone):
        control.snapshot()


def test_a_value_of_another_length_is_a_typed_error(scripted_memcached: Script) -> None:
    port = scripted_memcached(MN | {b"mg a": b"VA 99999999999\r\n", b"mg b": b"VA x\r\n", b"mg c": b"VA 5\r\nab\r\n"})
    with MemcachedSession(Endpoint(port=port), timeout_s=0.5) as session:
        for key in ("a", "b"):
            with pytest.raises(BadReply):
                session.call("mg", key, "v")
        with pytest.raises(ServerGone):
            session.call("mg", "c", "v")


def test_a_server_that_is_gone_says_so() -> None:
    with MemcachedSession(Endpoint(port=1)) as session, pytest.raises(ServerGone, match=r"^server 127\.0\.0\.1:1: "):
        session.ping()
