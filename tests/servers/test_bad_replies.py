"""Servers that answer what is no answer: one typed line, whatever came."""

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.programs.subjects.url import UrlSubject
from loadstone.safety.bounds.bounded_socket import BoundedSocket
from loadstone.safety.bounds.deadlines import ReplyTooLarge
from loadstone.safety.bounds.http_exchange import NotHttp, exchange
from loadstone.safety.bounds.replies import describe_unreadable
from loadstone.safety.errors import BadReply, LoadstoneError, ServerGone, UserError
from loadstone.servers.redis import connection as redis_connection
from loadstone.servers.redis import probe as probe_module
from loadstone.servers.redis.cluster_control import ClusterControl
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.memory import RedisMemoryUse, foreign_keys
from loadstone.servers.redis.monitor import RedisMonitor, snapshot
from loadstone.servers.redis.pipe import Pipe, Replies
from loadstone.servers.redis.requirements import inspect_server
from loadstone.servers.server import DeployContext, ServerFacts
from tests import rogues

DEEP = b"*1\r\n" * 100_000 + b":1\r\n"
DIGITS = b":" + b"9" * 5000 + b"\r\n"
BAD = {
    "nested": DEEP,
    "digits": DIGITS,
    "an integer": b":1\r\n",
    "a list": b"*2\r\n:1\r\n:2\r\n",
    "nothing": b"$-1\r\n",
    "no reply at all": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "bytes": b"$4\r\n\xff\xfe\x1b\x00\r\n",
    "a length that is none": b"$many\r\n",
    "too many": b"*99999999999999999999999\r\n",
    "truncated": b"$100\r\nabc",
    "half a line": b"+OK",
    "keys that are numbers": b"*2\r\n$1\r\n0\r\n*1\r\n:1099511627776\r\n",
    "keys that are nothing": b"*2\r\n$1\r\n0\r\n*1\r\n$-1\r\n",
}
GOOD = {
    b"PING": b"+PONG\r\n",
    b"SET": b"+OK\r\n",
    b"UNLINK": b":1\r\n",
    b"CONFIG": b"*0\r\n",
    b"INFO": b"$21\r\nredis_version:8.0.0\r\n\r\n",
}
COMMAND = re.compile(rb"\*\d+\r\n\$\d+\r\n(\w+)\r\n")
Serve = Callable[[Callable[[bytes], bytes]], Endpoint]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts servers that answer each command by a function of its name, and close after an answer that is none."""
    with contextlib.ExitStack() as stack:

        def start(answer: Callable[[bytes], bytes]) -> Endpoint:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def speak(connection: socket.socket) -> None:
                with contextlib.suppress(OSError), connection:
                    while received := connection.recv(65536):
                        for name in COMMAND.findall(received) or [received]:
                            said = answer(name)
                            connection.sendall(said)
                            if said not in GOOD.values():
                                return

            def accept() -> None:
                with contextlib.suppress(OSError):
                    while True:
                        connection, _ = listener.accept()
                        threading.Thread(target=speak, args=(connection,), daemon=True).start()

            thread = threading.Thread(target=accept, daemon=True)
            thread.start()

            def end() -> None:
                with contextlib.suppress(OSError):
                    listener.shutdown(socket.SHUT_RDWR)
                thread.join()

            stack.callback(end)
            return Endpoint(port=listener.getsockname()[1])

        yield start


def one_line(error: BaseException, endpoint: Endpoint) -> str:
    said = str(error)
    assert "\n" not in said
    assert len(said) < 400
    assert not set(said) & set("\x1b\x00\r")
    assert str(endpoint.port) in said
    return said


CALLS: dict[str, Callable[[RedisControl], object]] = {
    "info": lambda control: control.info(),
    "commandstats": lambda control: control.commandstats(),
    "config": lambda control: control.config_get(["save"]),
    "keys": lambda control: control.keys(),
    "present": lambda control: control.present(["a", "b"]),
    "scan": lambda control: control.remove_beginning("loadstone:x"),
    "numbered": lambda control: control.remove_numbered("loadstone:x", 3),
    "snapshot": lambda control: snapshot(control),
    "foreign keys": lambda control: foreign_keys(control, RedisMemoryUse.of({"db0": {"keys": 5}})),
}


@pytest.mark.fault("malformed replies on a control connection", "one line names the server, status 2", area="replies")
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("call", CALLS)
def test_every_question_gets_an_answer_or_one_typed_line(call: str, bad: str, serve: Serve) -> None:
    endpoint = serve(lambda _: BAD[bad])
    with RedisControl(endpoint, 20.0) as control:
        try:
            CALLS[call](control)
        except ServerGone as error:
            if call != "snapshot":
                one_line(error, endpoint)


@pytest.mark.fault("malformed replies on a control connection")
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("command", GOOD)
def test_a_server_that_cannot_be_understood_is_refused_in_one_line(command: bytes, bad: str, serve: Serve) -> None:
    endpoint = serve(lambda name: BAD[bad] if name == command else GOOD.get(name, b"+OK\r\n"))
    with contextlib.suppress(UserError):
        try:
            inspect_server(endpoint, timeout_s=20.0)
        except UserError as error:
            one_line(error, endpoint)
            raise


@pytest.mark.fault("malformed replies on a control connection")
@pytest.mark.parametrize(
    ("bad", "came"),
    [
        ("nested", "lists in lists without end"),
        ("digits", "a number of thousands of digits"),
        ("an integer", "int 1"),
        ("a list", r"list \[1, 2\]"),
        ("nothing", ""),
        ("no reply at all", "b'HTTP/1.1 400 Bad Request"),
    ],
)
def test_the_line_names_server_command_and_what_came(bad: str, came: str, serve: Serve) -> None:
    endpoint = serve(lambda _: BAD[bad])
    with RedisControl(endpoint, 20.0) as control, pytest.raises(BadReply) as caught:
        control.info()
    assert re.match(
        f"server {endpoint.label}: INFO: it answered {came}.*was expected", one_line(caught.value, endpoint)
    )
    assert caught.value.exit_status == 3


def test_a_scan_that_stands_still_is_left() -> None:
    control, left = RedisControl(Endpoint()), [[b"7", []]] * 5
    control.call = lambda *_: left.pop()  # type: ignore[method-assign]
    with pytest.raises(BadReply, match="the cursor 7 once more"):
        control.remove_beginning("loadstone:x:")
    assert len(left) == 3


@pytest.mark.parametrize("number", [-1, 0, 2**31, 2**64, 10**400])
def test_a_process_that_cannot_be_is_none(number: int, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
    reported = f"redis_version:8.0.0\r\nprocess_id:{number}\r\n{memory}".encode()
    monkeypatch.setitem(GOOD, b"INFO", b"$%d\r\n%s\r\n" % (len(reported), reported))
    assert inspect_server(serve(lambda name: GOOD.get(name, b"+OK\r\n")), timeout_s=20.0).process_id is None


@pytest.mark.fault("a monitored server answers nonsense", "the monitor says so; the run goes on", area="replies")
@pytest.mark.parametrize("bad", BAD)
def test_a_monitor_says_that_it_does_not_answer(bad: str, serve: Serve) -> None:
    with RedisControl(serve(lambda _: BAD[bad]), 20.0) as control:
        observed = {sample.metric: sample.value for sample in RedisMonitor("redis", control).sample(0.0)}
    assert observed["answers"] in (0.0, 1.0)
    assert all(isinstance(value, float) for value in observed.values())


@pytest.mark.fault("malformed replies on a control connection")
@pytest.mark.parametrize("bad", BAD)
def test_a_cluster_that_answers_nonsense_is_one_line(bad: str, serve: Serve) -> None:
    endpoint = serve(lambda _: BAD[bad]).model_copy(update={"slots": ((0, 16383),)})
    control = ClusterControl([endpoint], 20.0)
    for call in (lambda: control.info(), lambda: control.call("UNLINK", "a", "b"), lambda: control.keys()):
        with contextlib.suppress(LoadstoneError):
            call()
    control.close()


@pytest.mark.fault("Redis announces 2^60 values or endless replies")
def test_a_reply_without_end_is_not_kept(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_connection, "REPLY_MAX_BYTES", 1 << 20)
    endpoint = serve(lambda _: b"$9000000\r\n" + b"x" * 9_000_000)
    with RedisControl(endpoint, 20.0) as control, pytest.raises(BadReply, match="more than 1 MiB"):
        control.info()


@pytest.mark.parametrize("sent", [b"$999999999\r\nabc", b":" + b"1" * 100_000])
def test_a_reply_to_data_is_short(sent: bytes) -> None:
    with pytest.raises(Exception, match="Protocol Error"):
        Replies().take(sent)


@pytest.mark.fault("malformed replies on a control connection")
def test_data_that_is_answered_with_nonsense_is_one_line(serve: Serve) -> None:
    endpoint = serve(lambda _: b"*1\r\n:1\r\n")
    with RedisControl(endpoint, 20.0) as control, pytest.raises(BadReply) as caught, Pipe(control) as pipe:
        pipe.send(b"*1\r\n$4\r\nPING\r\n", 1)
    one_line(caught.value, endpoint)


class Dripping:
    """A socket of which a byte comes at every step; a step takes a second of a clock that only it moves."""

    def __init__(self, clock: list[float], sent: bytes) -> None:
        self.clock, self.sent, self.timeouts = clock, sent, []  # type: ignore[var-annotated]

    def settimeout(self, seconds: float) -> None:
        self.timeouts.append(seconds)

    def recv_into(self, buffer: bytearray, _: int = 0) -> int:
        self.clock[0] += 1.0
        buffer[0] = self.sent[0]
        self.sent = self.sent[1:]
        return 1


@pytest.mark.fault("your server answers each question just in time, or byte by byte")
def test_what_drips_ends_with_the_exchange_and_not_with_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("loadstone.safety.bounds.bounded_socket.time.monotonic", lambda: clock[0])
    dripping = Dripping(clock, b"x" * 100)
    bounded = BoundedSocket(dripping, step_s=5.0)  # type: ignore[arg-type]
    bounded.begin(within_s=10.0, largest_bytes=100)
    with pytest.raises(TimeoutError, match="too slowly"):
        bounded.makefile().read(100)
    assert clock[0] == 10.0
    assert dripping.timeouts == [5.0] * 6 + [4.0, 3.0, 2.0, 1.0], "no step may outlast the exchange"


def test_more_than_is_expected_ends_the_exchange() -> None:
    here, there = socket.socketpair()
    with here, there:
        bounded = BoundedSocket(here, step_s=20.0)
        bounded.begin(within_s=20.0, largest_bytes=10)
        there.sendall(b"x" * 11)
        with pytest.raises(ReplyTooLarge):
            bounded.makefile().read(11)


@pytest.mark.fault("malformed replies on a control connection")
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 30_000, (ReplyTooLarge, NotHttp)),
        (b"HTTP/1.1 200 OK\r\na: " + b"b" * 200_000, (ReplyTooLarge, NotHttp)),
        (b"HTTP/1.1 many\r\n\r\n", NotHttp),
        (b"\xff\xfe\x1b\r\n\r\n", NotHttp),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", NotHttp),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", NotHttp),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 200_000, ReplyTooLarge),
        (b"", (NotHttp, OSError)),
    ],
)
def test_an_answer_of_http_is_bounded(answer: bytes, error: type[Exception], serve: Serve) -> None:
    endpoint = serve(lambda _: answer)
    with pytest.raises(error):
        exchange(endpoint.host, endpoint.port, "/", within_s=20.0, body_max_bytes=1000)


@pytest.mark.fault("malformed replies on a control connection")
@pytest.mark.parametrize("answer", [b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 30_000, b"\x1b]52;c;AAAA\x07\r\n\r\n", b""])
def test_a_subject_that_answers_nonsense_is_one_line(answer: bytes, serve: Serve, tmp_path: Path) -> None:
    endpoint = serve(lambda _: answer)
    subject = UrlSubject("app", [f"http://127.0.0.1:{endpoint.port}"])
    with pytest.raises(UserError) as caught:
        subject.start(DeployContext(work_root=tmp_path))
    one_line(caught.value, endpoint)


SAID_BY_PYTHON = {
    "invalid literal for int() with base 10: 'huge'": "'huge'",
    "could not convert string to float: 'nan '": "'nan '",
    "not enough values to unpack (expected 2, got 1)": "another number of values",
    "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte": "bytes that are no text",
    "'int' object is not iterable": "another kind of value",
    "'list' object has no attribute 'items'": "another kind of value",
    "list index out of range": "another kind of value",
    "keys that are no texts": "keys that are no texts",
}


@pytest.mark.parametrize("said", SAID_BY_PYTHON)
def test_what_python_says_of_a_reply_becomes_what_came(said: str) -> None:
    assert str(describe_unreadable(ValueError(said))) == SAID_BY_PYTHON[said]


def test_a_length_that_is_none_is_shown_as_it_came(serve: Serve) -> None:
    endpoint = serve(lambda _: b"$many\r\n")
    with RedisControl(endpoint, 20.0) as control, pytest.raises(BadReply, match="INFO: it answered b'many', and a"):
        control.info()


def test_a_first_answer_in_drops_is_no_other_software(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_module, "PROBE_S", 0.5)

    def speak(connection: socket.socket, ended: threading.Event) -> None:
        for piece in rogues.dripping(b"+PONG\r\n" * 100, 0.2, ended):
            connection.sendall(piece)

    with rogues.rogue(speak) as port, pytest.raises(UserError, match=r"does not answer for 0\.5 s"):
        probe_module.probe(Endpoint(port=port))


@pytest.mark.fault("`rediss://` leads to a Redis without TLS", "refused at once", area="replies")
def test_a_server_without_tls_is_found_out_without_waiting_for_its_handshake(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for the end of a line, and says nothing."""
    monkeypatch.setattr(probe_module, "PROBE_S", 60.0)

    def speak(connection: socket.socket, _: threading.Event) -> None:
        with connection.makefile("rb") as received:
            for line in received:
                if line == b"PING\r\n":
                    connection.sendall(b"+PONG\r\n")

    begun_s = time.monotonic()
    with rogues.rogue(speak) as port, pytest.raises(UserError, match="it does not use TLS; write redis://"):
        probe_module.probe(Endpoint(port=port, tls=Tls(verify=False)))
    assert time.monotonic() - begun_s < 30.0


@pytest.mark.fault("malformed replies on a control connection")
@pytest.mark.parametrize("bad", ["digits", "a list", "too long", "bytes"])
def test_a_count_that_is_no_number_of_64_bits_is_one_line(bad: str, serve: Serve) -> None:
    endpoint = serve(lambda _: {**BAD, "too long": b"$20\r\n" + b"9" * 20 + b"\r\n"}[bad])
    with RedisControl(endpoint, 20.0) as control, pytest.raises(LoadstoneError) as refused:
        control.count("GET loadstone:counter")
    assert "\n" not in str(refused.value)


@pytest.mark.fault("malformed replies on a control connection")
def test_what_a_server_says_of_itself_is_kept_short_and_printable() -> None:
    text = "8\x1b[2J\n" + "x" * 100_000
    facts = ServerFacts(text, text, text, text, modules={text: text}, details={"os": text})
    kept = (facts.software, facts.version, facts.mode, facts.role, *facts.modules, *facts.modules.values())
    for one in (*kept, facts.details["os"]):
        assert len(one) <= 120
        assert one.isprintable()
