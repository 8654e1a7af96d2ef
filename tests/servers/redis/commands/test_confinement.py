"""What may be sent to a Redis of the user's: our table, what real servers say, and servers that do not say."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.real_servers import UserRedis

from loadstone.experiment.plan.workload_from_text import with_arguments
from loadstone.servers.control import CommandRefusal
from loadstone.servers.redis import packages
from loadstone.servers.redis.commands.arguments import argument_of
from loadstone.servers.redis.commands.confinement import (
    DATA_CATEGORIES,
    NEVER,
    keys_made,
    reaches_out,
    require_confined,
)
from loadstone.servers.redis.commands.info import UNKNOWN, ServerCommands
from loadstone.servers.redis.commands.table import DATA, KEYLESS, READING, REFUSED, STAYING, SUBCOMMANDS
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.url import parse_url

Start = Callable[..., UserRedis]
PREFIX = "loadstone:00000001:001:"
PASSING = [
    "SET {key} {value}",
    "set {key} {document} EX 10",
    "MSET {key} {value} loadstone:other {value}",
    "GET {{{key}}}",
    "LMOVE {key} {key}:other LEFT RIGHT",
    "ZUNIONSTORE {key}:sum 2 {key} loadstone:b WEIGHTS {uniform 1..3} 2",
    "GEORADIUS {key} {uniform -180..180} {uniform -80..80} 5 km STORE {key}:near",
    "XREADGROUP GROUP STREAMS c COUNT 5 STREAMS {key} >",
    "XGROUP CREATE {key} g $ MKSTREAM",
    "OBJECT ENCODING {key}",
    "COPY {key} {key}:copy REPLACE",
    "PUBLISH loadstone:channel {value}",
    "JSON.SET {key} $.field {field_json}",
    "JSON.MGET {key} loadstone:b $",
    *("PING", "ECHO {value}", "TIME", "DBSIZE", "WAIT 1 100", "WAITAOF 1 0 100", "MULTI", "EXEC"),
]
KNOWN_TO_STAY = frozenset({"BGREWRITEAOF", "BGSAVE", "FLUSHALL", "FLUSHDB", "INFO", "KEYS", "LASTSAVE", "MONITOR"})
KNOWN_TO_STAY |= {"ROLE", "SAVE", "SORT", "SORT_RO", "SWAPDB"}
"""What a server marks as dangerous or administrative, and yet reaches nothing but its data and its own figures."""
REFUSED_COMMANDS = [
    ("FLUSHALL", "it acts on the whole server"),
    ("flushdb ASYNC", "it acts on the whole server"),
    ("CONFIG SET appendonly no", "it acts on the whole server"),
    ("SHUTDOWN NOSAVE", "it acts on the whole server"),
    ("DEBUG SLEEP 0", "it acts on the whole server"),
    ("SWAPDB 0 1", "it acts on the whole server"),
    ("REPLICAOF NO ONE", "it acts on the whole server"),
    ("KEYS {key}", "it reaches keys that it does not name"),
    ("SORT {key} BY other:* STORE loadstone:x", "it reaches keys that it does not name"),
    ("MOVE {key} 1", "it reaches keys that it does not name"),
    ("EVAL redis.call('flushall') 1 {key}", "a script may reach any key"),
    ("FCALL f 1 {key}", "a script may reach any key"),
    ("SCRIPT FLUSH", "a script may reach any key"),
    ("SELECT 1", "it changes what the connection is"),
    ("CLIENT KILL TYPE normal", "it changes what the connection is"),
    ("RESET", "it changes what the connection is"),
    ("MONITOR", "it acts on the whole server"),
    ("PSUBSCRIBE *", "it turns the connection into a listener"),
    ("SET other {value}", "its key 'other' is not loadstone's"),
    ("SET {value} x", "its key '{value}' is not loadstone's"),
    ("SET {random 10 lowercase}{key} x", "its key '{random 10 lowercase}{key}' is not loadstone's"),
    ("SET Loadstone:x x", "its key 'Loadstone:x' is not loadstone's"),
    ("SET loadstone x", "its key 'loadstone' is not loadstone's"),
    ("MSET {key} x other x", "its key 'other' is not loadstone's"),
    ("RENAME {key} other", "its key 'other' is not loadstone's"),
    ("LMOVE other {key} LEFT RIGHT", "its key 'other' is not loadstone's"),
    ("COPY {key} {key}2 DB 3", "'DB' names another database"),
    ("COPY {key} {key}2 {random 2 lowercase} 3", "'{random 2 lowercase}' names another database"),
    ("SINTERSTORE {key} {key} other", "its key 'other' is not loadstone's"),
    ("BITOP AND {key} other", "its key 'other' is not loadstone's"),
    ("LMPOP 2 {key} other LEFT", "its key 'other' is not loadstone's"),
    ("LMPOP {uniform 1..2} {key} other LEFT", "the number of its keys is '{uniform 1..2}'"),
    ("ZUNIONSTORE other 1 {key}", "its key 'other' is not loadstone's"),
    ("GEORADIUS {key} 1 1 5 km STORE other", "its key 'other' is not loadstone's"),
    ("GEORADIUS {key} 1 1 5 km {random 5 lowercase} other", "'{random 5 lowercase}' may become STORE"),
    ("GEOSEARCHSTORE other {key} FROMLONLAT 1 1 BYRADIUS 5 km", "its key 'other' is not loadstone's"),
    ("XREAD COUNT 1 STREAMS other 0", "its key 'other' is not loadstone's"),
    ("XREAD {random 7 lowercase} other STREAMS {key} 0", "is given where an option or STREAMS is expected"),
    ("PUBLISH news {value}", "its key 'news' is not loadstone's"),
    ("JSON.MSET {key} $ 1 other $ 1", "its key 'other' is not loadstone's"),
    ("OBJECT FREQ other", "its key 'other' is not loadstone's"),
    ("MEMORY PURGE", "it does not work on a key"),
    ("XGROUP {value} {key} g", "it does not work on a key"),
    ("GE{random 1 lowercase} other", "its name is not always the same"),
]


def arguments(text: str) -> list[str]:
    found: list[str] = with_arguments({"args": text}, ())["args"]
    return found


def refusal(command: list[str], server: ServerCommands | None = None, prefix: str | None = PREFIX) -> str:
    with pytest.raises(CommandRefusal) as refused:
        require_confined(command, prefix, server)
    return str(refused.value)


@pytest.fixture(params=["embedded", "debian"])
def server(request: pytest.FixtureRequest, user_redis: Start) -> Iterator[ServerCommands]:
    """What a real server says of its commands: Redis 8 with RedisJSON, or the system's own Redis."""
    more: tuple[str, ...] = ()
    binary: Path | None = None
    if request.param == "debian":
        binary = request.getfixturevalue("debian_redis")
    elif (module := packages.find_json_module()) is not None:
        packages.need_json_module()
        more = ("--loadmodule", str(module))
    with RedisControl(parse_url(user_redis(*more, binary=binary).url)) as control:
        yield ServerCommands(control)


@pytest.mark.parametrize("text", PASSING)
def test_a_command_on_our_keys_passes(text: str) -> None:
    if text == "GET {{{key}}}":  # a hash tag before the prefix is another name
        assert "is not loadstone's" in refusal(arguments(text))
    else:
        require_confined(arguments(text), PREFIX)


@pytest.mark.parametrize(("text", "why"), REFUSED_COMMANDS)
def test_any_other_command_is_refused(text: str, why: str) -> None:
    assert why in refusal(arguments(text))


def test_real_servers_agree(server: ServerCommands) -> None:
    for text in PASSING:
        if text != "GET {{{key}}}":
            require_confined(arguments(text), PREFIX, server)
    for text, why in REFUSED_COMMANDS:
        assert why in refusal(arguments(text), server)


SAMPLES = {
    **dict.fromkeys(("LMPOP", "ZMPOP"), "2 loadstone:a loadstone:b MIN"),
    **dict.fromkeys(("SINTERCARD", "ZDIFF", "ZINTER", "ZINTERCARD", "ZUNION"), "2 loadstone:a loadstone:b"),
    **dict.fromkeys(("BLMPOP", "BZMPOP"), "1 2 loadstone:a loadstone:b MIN"),
    **dict.fromkeys(("ZDIFFSTORE", "ZINTERSTORE", "ZUNIONSTORE"), "loadstone:c 2 loadstone:a loadstone:b"),
    "XREAD": "COUNT 1 STREAMS loadstone:a loadstone:b 0 0",
    "XREADGROUP": "GROUP g c STREAMS loadstone:a loadstone:b > >",
    "GEORADIUS": "loadstone:a 1 1 1 km STORE loadstone:b STOREDIST loadstone:c",
    "GEORADIUSBYMEMBER": "loadstone:a m 1 km STORE loadstone:b",
    "JSON.MSET": "loadstone:a $ 1 loadstone:b $ 1",
    **dict.fromkeys(("MSET", "MSETNX"), "loadstone:a 1 loadstone:b 1"),
}
CHANNELS = ("PUBLISH", "SPUBLISH")
FINDS_LESS = ("JSON.MGET",)
"""A server finds the first key alone: why both are queried."""


def test_our_table_has_the_keys_that_a_server_finds(server: ServerCommands) -> None:
    compared = 0
    for name, keys_of in DATA.items():
        words = SAMPLES.get(name, " ".join(f"loadstone:{letter}" for letter in "abcdefghi")).split()
        if server.info(name) is UNKNOWN or name in CHANNELS:
            continue
        for length in range(len(words), 0, -1):  # some have a fixed number of arguments
            if (found := server.keys([name, *words[:length]])) is not None:
                break
        ours = [key.example.encode() for key in keys_of([argument_of(word, None) for word in words[:length]])]
        assert set(found or []) <= set(ours), name
        assert name in FINDS_LESS or len(ours) == len(found or []), name
        compared += 1
    assert compared > 150


def test_every_command_of_a_server_is_decided_on(server: ServerCommands) -> None:
    """None that a server marks as dangerous is in our table, and none of its own is in no table."""
    control = server._control
    names = [entry[0].decode().upper() for entry in control.call(b"COMMAND")]
    assert len(names) > 200
    for name in names:
        info = server.info(name)
        assert info is not None
        assert name in {*DATA, *KEYLESS, *SUBCOMMANDS, *REFUSED} or info.marks & DATA_CATEGORIES, name
        if name in {*DATA, *KEYLESS}:
            assert not info.marks & {*NEVER}, name


@pytest.mark.fault(
    "an experiment sends its Redis a command that may reach files, modules or others", "it asks first", area="foreign"
)
def test_a_server_of_ours_is_sent_unasked_what_stays_within_its_data(server: ServerCommands) -> None:
    """A command that loadstone does not know asks, whatever a server knows it as."""
    names = {entry[0].decode().upper() for entry in server._control.call(b"COMMAND")}
    asking = {name for name in names if reaches_out([name.lower()])}
    assert asking == names - STAYING
    assert {"CONFIG", "DEBUG", "EVAL", "FUNCTION", "MIGRATE", "MODULE", "REPLICAOF", "RESTORE", "SHUTDOWN"} <= asking
    dangerous = {name for name in names & STAYING if (info := server.info(name)) and info.marks & {*NEVER}}
    assert dangerous == KNOWN_TO_STAY & names
    for unknown in ("NEWCOMMAND", "GRAPH.QUERY", "{key}", "SET\r\nCONFIG", ""):
        assert reaches_out([unknown])
    assert reaches_out([])


def test_a_command_that_our_table_lacks_is_what_the_server_says(
    server: ServerCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of a Redis to come: here they are taken out of our table."""
    for name in ("HSET", "ZUNIONSTORE", "LCS"):
        monkeypatch.delitem(DATA, name)  # type: ignore[arg-type]
    for name in ("FLUSHALL", "CONFIG", "EVAL", "PSUBSCRIBE", "SELECT", "RANDOMKEY", "DEBUG"):
        monkeypatch.delitem(REFUSED, name)  # type: ignore[arg-type]
    require_confined(arguments("HSET {key} f {value}"), PREFIX, server)
    require_confined(arguments("ZUNIONSTORE {key} 1 loadstone:b"), PREFIX, server)
    assert "its key 'other' is not loadstone's" in refusal(arguments("HSET other f {value}"), server)
    assert "its key 'other' is not loadstone's" in refusal(arguments("LCS {key} other"), server)
    assert "'{uniform 1..2}' is not always the same" in refusal(
        arguments("ZUNIONSTORE {key} {uniform 1..2} {key} other"), server
    )
    for text in ("FLUSHALL", "DEBUG OBJECT {key}"):
        assert "the server marks it as @dangerous" in refusal(arguments(text), server)
    assert "the server marks it as @scripting" in refusal(arguments("EVAL x 1 {key}"), server)
    for text in ("CONFIG SET save {key}", "PSUBSCRIBE {key}", "SELECT 1"):
        assert "the server does not mark it as a command on data" in refusal(arguments(text), server)
    assert "the server finds no key in it" in refusal(arguments("RANDOMKEY"), server)
    assert "the server does not know it" in refusal(arguments("WIPE {key}"), server)


@pytest.mark.fault("a command was renamed by `rename-command`", "it is judged by its original name", area="commands")
def test_a_renamed_command_is_what_it_was(user_redis: Start) -> None:
    names = [("FLUSHALL", "WIPE"), ("SET", "PUT"), ("RANDOMKEY", "GET"), ("GET", "FETCH")]
    options = [word for old, new in names[:2] for word in ("--rename-command", old, new)]
    swapped = ["--rename-command", "GET", "FETCH", "--rename-command", "KEYS", "GET"]
    with RedisControl(parse_url(user_redis(*options, *swapped).url)) as control:
        server = ServerCommands(control)
        require_confined(arguments("PUT {key} {value}"), PREFIX, server)
        assert "its key 'other' is not loadstone's" in refusal(arguments("PUT other {value}"), server)
        assert "it acts on the whole server" in refusal(arguments("WIPE"), server)
        assert "it reaches keys that it does not name" in refusal(arguments("GET {key}"), server)


def test_a_user_who_may_not_ask_is_confined_by_our_table(user_redis: Start) -> None:
    theirs = user_redis()
    with theirs.client() as client:
        client.execute_command("ACL", "SETUSER", "me", "on", ">it", "~loadstone:*", "+@all", "-@dangerous", "-command")
    with RedisControl(parse_url(theirs.url.replace("redis://", "redis://me:it@"))) as control:
        server = ServerCommands(control)
        assert server.info("SET") is None
        require_confined(arguments("SET {key} {value}"), PREFIX, server)
        assert "its key 'other' is not loadstone's" in refusal(arguments("SET other {value}"), server)
        assert "it acts on the whole server" in refusal(arguments("FLUSHALL"), server)
        assert "the server does not report what it does" in refusal(arguments("TOPK.ADD {key} x"), server)


@pytest.fixture
def answering() -> Iterator[Callable[[bytes], str]]:
    """Starts a server that gives the same answer to every question; its URL."""
    with contextlib.ExitStack() as stack:

        def start(answer: bytes) -> str:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def serve() -> None:
                with contextlib.suppress(OSError):
                    connection, _ = listener.accept()
                    with connection:
                        while connection.recv(4096):
                            connection.sendall(answer)

            threading.Thread(target=serve, daemon=True).start()
            return f"redis://127.0.0.1:{listener.getsockname()[1]}"

        yield start


@pytest.mark.parametrize(
    "answer",
    [
        b"-ERR unknown command 'COMMAND'\r\n",
        b"-NOPERM this user has no permissions to run the 'command|info' command\r\n",
        b"+OK\r\n",
        b":5\r\n",
        b"*0\r\n",
        b"*2\r\n$-1\r\n$-1\r\n",
        b"*1\r\n:3\r\n",
        b"*1\r\n*1\r\n$3\r\nset\r\n",
        b"*1\r\n*6\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
    ],
)
def test_a_server_that_does_not_say_leaves_it_to_our_table(answering: Callable[[bytes], str], answer: bytes) -> None:
    with RedisControl(parse_url(answering(answer))) as control:
        server = ServerCommands(control)
        require_confined(arguments("SET {key} {value}"), PREFIX, server)
        assert "its key 'other' is not loadstone's" in refusal(arguments("SET other {value}"), server)
        assert "it acts on the whole server" in refusal(arguments("CONFIG SET save x"), server)
        assert "the server does not report what it does" in refusal(arguments("NEW.SET {key} x"), server)


def test_a_row_never_names_a_key_of_its_own() -> None:
    """In the commands of a data set `{key}` is a column, whatever it holds."""
    require_confined(["SET", "loadstone:post:{id}", "{key}"], None)
    assert "its key '{key}' is not loadstone's" in refusal(["SET", "{key}", "x"], prefix=None)


def test_a_prefix_of_others_is_refused() -> None:
    assert "{key} begins with 'shop:'" in refusal(["SET", "{key}", "x"], prefix="shop:")


@pytest.mark.parametrize("text", ["a\r\n*1\r\n$8\r\nFLUSHALL\r\n", "\x00", "é🂡", "loadstone:\r\nFLUSHALL"])
def test_odd_bytes_stay_in_their_argument(user_redis: Start, text: str) -> None:
    """RESP gives each argument its length, so that nothing in one ends it."""
    theirs = user_redis()
    with RedisControl(parse_url(theirs.url)) as control, theirs.client() as client:
        client.set("other", "theirs")
        require_confined(["SET", "{key}", text], PREFIX, ServerCommands(control))
        control.call("SET", PREFIX, text)
        assert client.get("other") == "theirs"


def test_what_only_reads_is_no_writer(server: ServerCommands) -> None:
    for name in DATA:
        info = server.info(name)
        if info is not UNKNOWN and info is not None:
            assert name not in READING or "write" not in info.marks, name
            assert name in READING or info.marks & {"write", "@pubsub"} or name in WRITES_A_LITTLE, name


WRITES_A_LITTLE = ("PFCOUNT",)
"""It may store what it counted."""


def test_keys_beside_the_plans_are_known_so_that_they_can_be_removed() -> None:
    texts = [
        *("SET {key} x", "SADD loadstone:tags {value}", "RENAME {key} {key}:old", "HSET loadstone:shop:{seq} f x"),
        *("GET loadstone:fixture", "PING", "SET other x", "FLUSHALL", "LMPOP {uniform 1..2} {key} x LEFT"),
        *("XGROUP CREATE loadstone:log g $ MKSTREAM", "OBJECT ENCODING loadstone:fixture"),
    ]
    made = keys_made([arguments(text) for text in texts], PREFIX)
    assert made == ({"loadstone:tags", "loadstone:log"}, {"loadstone:00000001:", "loadstone:shop:"})


def test_a_key_that_differs_has_a_name_before_what_differs() -> None:
    require_confined(arguments("SET loadstone:shop:{value} x"), PREFIX)
    assert "write 'loadstone:NAME:' before what differs" in refusal(arguments("SET loadstone:{value} x"))
    assert "write 'loadstone:NAME:' before what differs" in refusal(arguments("SET loadstone:a{seq} x"))
