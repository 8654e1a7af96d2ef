"""A conversation with a server ends in its time and its room, however many answers it has; each room keeps to it."""

import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from pathlib import Path

import pytest
from tests.rogues import GOOD, array, brief, bulk, dripping, rogue, without_end
from tests.servers.mariadb import rogue_mariadb
from tests.servers.postgresql import rogue_postgresql

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import SOFTWARE
from loadstone.measure.sampler import Sampler
from loadstone.monitors.monitor import Sample
from loadstone.run_folder.ledger import CreatedObject
from loadstone.safety.bounds.bounded_socket import BoundedSocket
from loadstone.safety.bounds.deadlines import (
    LOOK,
    OPENING,
    REMOVAL,
    SAMPLE,
    DeadlineExceeded,
    Purpose,
    ReplyTooLarge,
    deadline,
    extend_deadline,
    received,
    require_time,
    step_s,
)
from loadstone.safety.bounds.http_exchange import exchange
from loadstone.safety.errors import BadReply, ServerGone, UserError
from loadstone.servers import registry
from loadstone.servers.leftovers import remove_left
from loadstone.servers.memcached.control import MemcachedControl
from loadstone.servers.memcached.monitor import MemcachedMonitor
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.server import DeployContext
from tests import rogues

SHORT = Purpose(0.2, 1000, things_per_s=10.0, longest_s=0.5)
MEBIBYTE = 1024**2
SOON_S = 20.0
"""Far less than any of these servers would go on for, and far more than any bound here."""


@contextmanager
def soon(most_bytes: int = 64 * MEBIBYTE) -> Iterator[None]:
    """What is done here ends soon, and takes no more memory."""
    begun_s = time.monotonic()
    tracemalloc.start()
    try:
        yield
        assert time.monotonic() - begun_s < SOON_S
        assert tracemalloc.get_traced_memory()[1] < most_bytes
    finally:
        tracemalloc.stop()


def test_the_narrowest_conversation_holds_and_outside_of_any_there_is_none() -> None:
    assert step_s(7.0) == 7.0
    with deadline(Purpose(100.0, 10**9, 1.0, 100.0)), deadline(SHORT):
        assert step_s(7.0) <= 0.2
        with deadline(Purpose(100.0, 10**9, 1.0, 100.0)):
            time.sleep(0.25)
            with pytest.raises(DeadlineExceeded, match="took longer than"):
                require_time()
    require_time()


def test_what_it_is_about_earns_it_time_and_never_more_than_its_longest() -> None:
    with deadline(SHORT, things=1):
        assert 0.2 < step_s(7.0) <= 0.3
        extend_deadline(10**18)
        assert step_s(7.0) <= 0.5


def test_bytes_count_in_every_conversation_that_goes_on() -> None:
    with deadline(SHORT):
        with deadline(LOOK):
            received(900)
        received(100)
        with pytest.raises(ReplyTooLarge, match="in all"):
            received(1)


def test_each_thread_has_its_own() -> None:
    found: list[float] = []
    with deadline(SHORT):
        thread = threading.Thread(target=lambda: found.append(step_s(7.0)))
        thread.start()
        thread.join()
    assert found == [7.0]


def drips_stats(line: bytes, ended: threading.Event) -> rogues.Answer | None:
    """A line now and then, without end."""
    return without_end(b"STAT name 1\r\n", ended, 0.1) if line.startswith(b"stats") else None


def drips_info(words: list[bytes], ended: threading.Event) -> rogues.Answer:
    """Bytes of a long INFO, each of them in time."""
    if words[0] == b"INFO":
        return dripping(b"$100000\r\n" + b"x" * 100_000, 0.05, ended)
    return GOOD.get(words[0], b"+OK\r\n")


@contextmanager
def slow_mariadb() -> Iterator[int]:
    """Each answer comes in time; all of them do not."""

    def answer(statement: str) -> list[bytes]:
        time.sleep(0.4)
        return rogue_mariadb.one_value("1") if statement.startswith("SELECT") else [rogue_mariadb.OK]

    with rogue_mariadb.rogue(answer) as server:
        yield server.port


@contextmanager
def slow_postgresql() -> Iterator[int]:
    """The same."""
    usual = rogue_postgresql.value(b"1")

    def answer(statement: str, step: str) -> bytes:
        time.sleep(0.2)
        return usual(statement, step)

    with rogue_postgresql.rogue(answer) as server:
        yield server.port


DRIPS: dict[str, Callable[[], AbstractContextManager[int]]] = {
    "redis": lambda: rogue(rogues.redis(drips_info)),
    "memcached": lambda: rogue(rogues.memcached(drips_stats)),
    "mariadb": slow_mariadb,
    "postgresql": slow_postgresql,
}
"""For each software that is reached by URL a server that goes on and on."""


def settings(name: str, port: int) -> dict[str, str]:
    software = SOFTWARE[name]
    return {"kind": str(software.url_kind), "url": f"{software.schemes[0]}://127.0.0.1:{port}"}


def test_every_software_that_is_reached_by_url_is_played() -> None:
    assert set(DRIPS) == {one.name for one in SOFTWARE.values() if one.url_kind}


@pytest.mark.fault(
    "your server answers each question just in time, or byte by byte", "one deadline ends the exchange", area="replies"
)
@pytest.mark.parametrize("name", DRIPS)
def test_a_server_that_answers_just_in_time_does_not_hold_a_run(name: str, tmp_path: Path) -> None:
    with DRIPS[name]() as port, brief(OPENING), soon():
        server = registry.make_server("theirs", settings(name, port))
        with pytest.raises(UserError, match=r"took longer than 1 s in all") as refused:
            server.start(DeployContext(work_root=tmp_path, only_asking=True))
    said = str(refused.value)
    assert "\n" not in said
    assert f"127.0.0.1:{port}" in said


@pytest.mark.fault("your server answers each question just in time, or byte by byte")
@pytest.mark.parametrize("name", DRIPS)
def test_nor_does_the_look_whether_it_is_there(name: str) -> None:
    def hangs(connection: socket.socket, ended: threading.Event) -> None:
        for piece in without_end(b"\0", ended, 0.05):
            connection.sendall(piece)

    with rogue(hangs) as port, brief(LOOK), soon():
        server = registry.make_server("theirs", settings(name, port))
        assert not server.alive()


@pytest.mark.fault("your server answers each question just in time, or byte by byte")
def test_a_monitor_does_not_hold_up_the_others() -> None:
    delivered: list[list[Sample]] = []
    with rogue(rogues.memcached(drips_stats)) as port, brief(SAMPLE, 0.5), soon():
        control = MemcachedControl(Endpoint(port=port), timeout_s=5.0)
        with Sampler([MemcachedMonitor("cache", control)], delivered.append, interval_s=60.0):
            pass
        control.close()
    assert [(one.metric, one.value) for one in delivered[0]] == [("answers", 0.0)]


def test_a_search_for_keys_that_never_ends_is_left() -> None:
    cursors = iter(range(1, 10**9))

    def answer(words: list[bytes], _: threading.Event) -> bytes:
        return array(bulk(str(next(cursors))), array()) if words[0] == b"SCAN" else GOOD.get(words[0], b"+OK\r\n")

    things = [CreatedObject("keys_beginning", "loadstone:00000001:")]
    with (
        rogue(rogues.redis(answer)) as port,
        brief(REMOVAL),
        RedisControl(Endpoint(port=port)) as control,
        soon(),
        pytest.raises(ServerGone, match=r"SCAN: its answers took longer than 1 s in all"),
        deadline(REMOVAL),
    ):
        list(remove_left(control, "run", things))


@pytest.mark.fault("Redis announces 2^60 values or endless replies", "one line, bounded memory", area="replies")
@pytest.mark.parametrize(
    ("reply", "came"),
    [
        (b"*1152921504606846976\r\n", "more than 1,000,000 values"),
        (b"*1000000000\r\n" * 100, "more than 1,000,000 values"),
    ],
    ids=["flat", "nested"],
)
def test_a_reply_that_announces_more_values_than_there_are_is_left(reply: bytes, came: str) -> None:
    def answer(words: list[bytes], ended: threading.Event) -> rogues.Answer:
        if words[0] != b"SCAN":
            return GOOD.get(words[0], b"+OK\r\n")
        return chain([reply], without_end(b"*0\r\n" * 20_000, ended))

    with (
        rogue(rogues.redis(answer)) as port,
        RedisControl(Endpoint(port=port), 20.0) as control,
        pytest.raises(BadReply, match=came),
    ):
        control.call("SCAN", "0")


@pytest.mark.fault("Redis announces 2^60 values or endless replies")
def test_an_info_of_a_gigabyte_is_left_before_it_is_taken_apart() -> None:
    def answer(words: list[bytes], ended: threading.Event) -> rogues.Answer:
        if words[0] != b"INFO":
            return GOOD.get(words[0], b"+OK\r\n")
        return chain([b"$1000000000\r\n"], without_end(b"name:1\r\n" * 9000, ended))

    with (
        rogue(rogues.redis(answer)) as port,
        RedisControl(Endpoint(port=port), 20.0) as control,
        soon(),
        pytest.raises(BadReply, match="INFO: it answered more than 4 MiB"),
    ):
        control.info()


@pytest.mark.fault("your server answers each question just in time, or byte by byte")
@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"], ids=["head", "body"]
)
def test_an_answer_of_http_that_drips_ends_in_its_time(head: bytes) -> None:
    def speak(connection: socket.socket, ended: threading.Event) -> None:
        connection.recv(65536)
        connection.sendall(head)
        for piece in without_end(b"a", ended, 0.1):
            connection.sendall(piece)

    with rogue(speak) as port, soon(), pytest.raises(TimeoutError):
        exchange("127.0.0.1", port, "/", within_s=1.0, body_max_bytes=200_000)


def test_a_socket_of_an_exchange_keeps_to_the_conversation_too() -> None:
    def speak(connection: socket.socket, ended: threading.Event) -> None:
        for piece in without_end(b"a", ended, 0.05):
            connection.sendall(piece)

    with rogue(speak) as port, socket.create_connection(("127.0.0.1", port)) as plain, soon():
        bounded = BoundedSocket(plain, step_s=20.0)
        bounded.begin(within_s=60.0, largest_bytes=MEBIBYTE)
        with deadline(SHORT), pytest.raises(DeadlineExceeded):
            bounded.makefile().read(1000)
