"""Rows of data on their way into Redis: how they are packed, how replies are counted, what a failing server says."""

import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import redis
from tests.real_servers import PATIENCE_S, Certificates, Scripted, UserRedis, is_gone, wait_until

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.experiment.plan.required import RequiredData
from loadstone.safety.errors import Interrupted, ServerGone
from loadstone.servers import registry
from loadstone.servers.control import RowFiles
from loadstone.servers.data_rows import rows_of
from loadstone.servers.redis import rows as redis_rows
from loadstone.servers.redis.cluster_control import ClusterControl
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.pipe import UNANSWERED_MAX, Pipe, Replies
from loadstone.servers.redis.rows import Batch, Writing, batches, writing_of
from loadstone.servers.server import DeployContext

COLUMNS = {
    "id": "{number}",
    "text": 'é🂡 {{{random 3 lowercase}} 100 %d %% "\\" \x01\x85\u2028',
    "empty": "",
    "score": "{uniform -1..3}",
}
HASH = "HSET loadstone:post:{id} text {text} 'é {{b}} %b %' '<{id}|{empty}|{score}>' empty {empty} '' x"
COMMANDS = (HASH, "SET loadstone:json:{id} {json}", "INCR loadstone:count")
Start = Callable[..., UserRedis]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def rows(count: int, columns: Mapping[str, str] = COLUMNS) -> RowFiles:
    return rows_of(RequiredData(name="posts", rows=count, columns=columns, server="store"), DeployContext())


def writing(some: RowFiles, *commands: str) -> Writing:
    return writing_of(commands, some)


def reported(some: RowFiles) -> list[dict[str, str]]:
    """The rows, one by one."""
    lines = [line.decode().split("\t") for part in some.lines() for line in part]
    return [dict(zip(some.columns, line, strict=True)) for line in lines]


def as_json(row: Mapping[str, str]) -> str:
    values = {name: int(value) if name in ("id", "score") else value for name, value in row.items()}
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False)


def as_hash(row: Mapping[str, str]) -> dict[str, str]:
    between = f"<{row['id']}|{row['empty']}|{row['score']}>"
    return {"text": row["text"], "é {b}} %b %": between, "empty": row["empty"], "": "x"}


def arguments_of(row: Mapping[str, str]) -> list[list[str]]:
    """`COMMANDS` for one row."""
    fields = [word for pair in as_hash(row).items() for word in pair]
    return [
        ["HSET", f"loadstone:post:{row['id']}", *fields],
        ["SET", f"loadstone:json:{row['id']}", as_json(row)],
        ["INCR", "loadstone:count"],
    ]


def packed(words: list[str]) -> bytes:
    encoded = [word.encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in encoded)


def test_commands_are_packed_row_by_row() -> None:
    some = rows(1100)
    commands = writing(some, *COMMANDS).commands
    required = [words for row in reported(some) for words in arguments_of(row)]
    (lines,) = some.lines()
    assert Batch(lines, some).packed(commands) == b"".join(map(packed, required))
    assert list(Batch(lines, some).keyed(commands)) == [(words[1].encode(), packed(words)) for words in required]


@pytest.mark.parametrize("columns", [{"only": ""}, {"only": "x"}, {"first": "", "last": ""}])
def test_rows_of_nothing_and_commands_without_a_place_are_packed(columns: Mapping[str, str]) -> None:
    some = rows(3, columns)
    (lines,) = some.lines()
    constant = writing(some, "INCR loadstone:count").commands
    assert Batch(lines, some).packed(constant) == 3 * packed(["INCR", "loadstone:count"])
    (name, *_) = columns
    valued = writing(some, f"RPUSH loadstone:list {{{name}}}", "SET loadstone:last {json}").commands
    row = packed(["RPUSH", "loadstone:list", columns[name]])
    row += packed(["SET", "loadstone:last", json.dumps(columns, separators=(",", ":"))])
    assert Batch(lines, some).packed(valued) == 3 * row


def test_a_batch_is_bounded_in_commands_and_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    some = rows(50)
    everything = [line for part in some.lines() for line in part]
    keys = writing(some, "INCR loadstone:n:{id}").commands
    assert [batch.rows for batch in batches(some, 1)] == [50]
    for name, limit in (("BATCH_COMMANDS", 30), ("BATCH_BYTES", 10 * max(map(len, everything)))):
        with monkeypatch.context() as patch:
            patch.setattr(redis_rows, name, limit)
            several = list(batches(some, 3))
        assert 2 < len(several) < 50
        assert sum(batch.rows for batch in several) == 50
        assert b"".join(batch.packed(keys) for batch in several) == Batch(everything, some).packed(keys)
    monkeypatch.setattr(redis_rows, "BATCH_BYTES", 1)
    assert [batch.rows for batch in batches(some, 3000)] == [1] * 50


REPLIES = b"+OK\r\n:1\r\n:-5\r\n$-1\r\n$6\r\n-a\r\nbc\r\n-WRONGTYPE of +OK\r\n$0\r\n\r\n:7\r\n-ERR later\r\n+\r\n"


@pytest.mark.parametrize("at_once", range(1, len(REPLIES) + 1))
def test_replies_are_counted_however_they_come(at_once: int) -> None:
    replies = Replies()
    pieces = [REPLIES[start : start + at_once] for start in range(0, len(REPLIES), at_once)]
    assert sum(map(replies.take, pieces)) == 10
    assert str(replies.refused) == "WRONGTYPE of +OK"


@pytest.mark.parametrize("received", [b"HTTP/1.1 400 Bad Request\r\n", b":1\r\n*1\r\n:1\r\n", b"$x\r\n", b"+a\rb\r\n"])
def test_what_is_no_reply_is_refused(received: bytes) -> None:
    with pytest.raises(redis.InvalidResponse, match="Protocol Error"):
        Replies().take(received)


def test_rows_arrive_as_they_are(user_redis: Start) -> None:
    some = rows(9000)  # more commands than may be without a reply
    counted: list[int] = []
    with RedisControl(Endpoint(port=user_redis().port)) as control:
        writing(some, *COMMANDS).write(control, some, counted.append)
        assert counted == sorted(counted)
        assert counted[-1] == 9000
        assert control.keys() == 2 * 9000 + 1
        assert control.count("GET loadstone:count") == 9000
        for row in reported(some)[::1000]:
            assert control.call("GET", f"loadstone:json:{row['id']}").decode() == as_json(row)
            found = control.call("HGETALL", f"loadstone:post:{row['id']}")
            assert {name.decode(): value.decode() for name, value in found.items()} == as_hash(row)


def test_a_log_in_and_tls_are_no_hindrance(user_redis: Start, debian_redis: Path, certificates: Certificates) -> None:
    files = ["--tls-cert-file", str(certificates.cert), "--tls-key-file", str(certificates.key)]
    files += ["--tls-ca-cert-file", str(certificates.ca), "--tls-auth-clients", "no"]
    user = ["--user", "lab", "on", ">secret", "~loadstone:*", "+@all"]
    theirs = user_redis(*files, *user, binary=debian_redis, tls=True)
    tls = Tls(ca_file=str(certificates.ca), server_name="localhost")
    some = rows(9000)
    with RedisControl(Endpoint(port=theirs.port, tls=tls, username="lab", password="secret", database=3)) as control:
        writing(some, "RPUSH loadstone:posts {json}").write(control, some, lambda _: None)
        found = [text.decode() for text in control.call("LRANGE", "loadstone:posts", 0, -1)]
    assert found == [as_json(row) for row in reported(some)]


def test_each_node_of_a_cluster_gets_its_rows_in_their_order(context: DeployContext) -> None:
    server = registry.make_server("store", {"kind": "cluster", "nodes": 3})
    server.start(context)
    some = rows(5000)
    try:
        with server.control() as control:
            assert isinstance(control, ClusterControl)
            writing(some, HASH, "RPUSH loadstone:list {id}").write(control, some, lambda _: None)
            assert control.keys() == 5001
            assert all(node.keys() > 1000 for node in control.nodes)
            assert control.call("LRANGE", "loadstone:list", 0, -1) == [str(n).encode() for n in range(1, 5001)]
            with pytest.raises(ServerGone, match="WRONGTYPE"):
                writing(some, "INCR loadstone:list", "INCR loadstone:n:{id}").write(control, some, lambda _: None)
    finally:
        server.stop()


def test_an_error_for_some_row_is_one_line_and_no_reply_is_left_behind(user_redis: Start) -> None:
    some = rows(9000)
    commands = ("SETBIT loadstone:bits {score} 1", "SADD loadstone:ids {id}")
    with RedisControl(Endpoint(port=user_redis().port)) as control:
        with pytest.raises(ServerGone) as refused:
            writing(some, *commands).write(control, some, lambda _: None)
        said = f"server 127.0.0.1:{control.endpoint.port}: ERR bit offset is not an integer or out of range"
        assert str(refused.value) == said
        assert 0 < control.count("SCARD loadstone:ids") < 9000


def test_a_wish_to_stop_ends_it_once_all_that_was_sent_is_done(user_redis: Start) -> None:
    some = rows(9000)
    sent: list[int] = []

    def stop(count: int) -> None:
        sent.append(count)
        raise Interrupted("interrupted")

    with RedisControl(Endpoint(port=user_redis().port)) as control:
        with pytest.raises(Interrupted):
            writing(some, "SET loadstone:post:{id} {json}").write(control, some, stop)
        assert control.keys() == sent[0] < 9000


def test_a_server_that_dies_midway_is_one_line(user_redis: Start) -> None:
    theirs = user_redis()
    some = rows(20_000)

    def end(_: int) -> None:
        os.kill(theirs.pid, signal.SIGKILL)
        wait_until(lambda: is_gone(theirs.pid))

    with RedisControl(Endpoint(port=theirs.port)) as control, pytest.raises(ServerGone) as gone:
        writing(some, HASH).write(control, some, end)
    assert str(gone.value).startswith(f"server 127.0.0.1:{theirs.port}: ")
    assert str(gone.value).endswith("; it no longer answers")
    assert "\n" not in str(gone.value)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b":1\r\n:2\r\n", "Connection closed by server; it no longer answers"),
        (b":1\r\n:2\r\n:", "Connection closed by server; it no longer answers"),
        (b":1\r\nHTTP/1.1 400\r\n", r"it answered b'HTTP/1\.1 400"),
        (b":1\r\n-OOM command not allowed when used memory > 'maxmemory'.\r\n:3\r\n", "OOM command .* 'maxmemory'$"),
        (None, "timed out; it no longer answers"),
    ],
)
def test_what_is_wrong_with_the_replies_is_one_line(
    answer: bytes | None, said: str, scripted: Callable[[bytes | None], Scripted]
) -> None:
    some = rows(3)
    theirs = scripted(answer)
    patience_s = PATIENCE_S if answer is not None else 0.5
    with RedisControl(Endpoint(port=theirs.port), patience_s) as control:
        with pytest.raises(ServerGone, match=rf"^server 127\.0\.0\.1:{theirs.port}: .*{said}") as refused:
            writing(some, "INCR loadstone:count").write(control, some, lambda _: None)
        assert "\n" not in str(refused.value)


def test_only_so_many_commands_are_without_a_reply(scripted: Callable[[bytes | None], Scripted]) -> None:
    with RedisControl(Endpoint(port=scripted(None).port), timeout_s=0.5) as control, Pipe(control) as pipe:
        pipe.send(b"x", UNANSWERED_MAX)
        pipe.send(b"x", 0)
        with pytest.raises(ServerGone, match="timed out"):
            pipe.send(b"x", 1)
