"""What a PostgreSQL that means harm, or one that stands in its place, gets from loadstone: bounded, and one line."""

import contextlib
import os
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import pytest
from tests.real_servers import Certificates

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.safety.errors import LoadstoneError, ServerGone, UserError
from loadstone.servers.postgresql import client as module
from loadstone.servers.postgresql.control import PostgresqlControl
from loadstone.servers.postgresql.monitor import PostgresqlMonitor

from .rogue_postgresql import (
    JSON,
    NUMERIC,
    READY,
    WELCOME,
    Rogue,
    columns,
    error,
    message,
    on_execute,
    request,
    rogue,
    row,
    value,
)

PASSWORD = "a secret of the user's"
MEBIBYTE = 1024**2
SASL = request(10, b"SCRAM-SHA-256\0\0")


def control_of(server: Rogue, timeout_s: float = 10.0, tls: Tls | None = None) -> PostgresqlControl:
    endpoint = Endpoint(port=server.port, username="me", password=PASSWORD, tls=tls)
    return PostgresqlControl(endpoint, "loadstone", timeout_s)


@contextlib.contextmanager
def bounded(most_bytes: int) -> Iterator[None]:
    """What is done here takes no more memory, and ends soon even on a busy machine."""
    begun_s = time.monotonic()
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most_bytes
        assert time.monotonic() - begun_s < 30.0
    finally:
        tracemalloc.stop()


def refusal(
    server: Rogue, act: Callable[[PostgresqlControl], object], tls: Tls | None = None, timeout_s: float = 10.0
) -> str:
    with control_of(server, timeout_s, tls) as control, pytest.raises(LoadstoneError) as refused:
        act(control)
    said = str(refused.value)
    assert "\n" not in said
    assert PASSWORD not in said
    assert len(said) < 700
    return said


def ping(control: PostgresqlControl) -> None:
    control.ping()


@pytest.mark.fault("a database requests a readable password")
@pytest.mark.parametrize("verify", [None, False])
def test_no_password_is_sent_to_be_read_without_a_certificate_that_is_verified(
    verify: bool | None, certificates: Certificates
) -> None:
    tls = None if verify is None else Tls(verify=False)
    with encrypted(certificates) as server:
        assert "?sslmode=verify-full" in refusal(server, ping, tls)
        assert all(PASSWORD.encode() not in got for got in (*server.got, *server.begun))


def test_a_verified_server_may_read_it(certificates: Certificates) -> None:
    with encrypted(certificates) as server, control_of(server, tls=verified(certificates)) as control:
        control.ping()
        assert server.got == [PASSWORD.encode() + b"\0"]


def encrypted(certificates: Certificates) -> contextlib.AbstractContextManager[Rogue]:
    """One that requests the password as it is, with TLS for those who take it."""
    context = module.ssl.create_default_context(module.ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.cert, certificates.key)
    return rogue(login=(request(3), WELCOME), ssl_reply=b"S", tls=context)


def verified(certificates: Certificates) -> Tls:
    return Tls(ca_file=str(certificates.ca), server_name="localhost")


def test_what_md5_and_scram_give_is_not_the_password() -> None:
    first = request(11, b"r=x,s=c2FsdA==,i=4096")
    for login in ((request(5, b"salt"), WELCOME), (SASL, first, WELCOME)):
        with rogue(login=login) as server, control_of(server) as control:
            with contextlib.suppress(LoadstoneError):
                control.ping()
            assert server.got
            assert all(PASSWORD.encode() not in got for got in server.got)


@pytest.mark.fault("a database requests a readable password")
@pytest.mark.parametrize("code", [1, 2, 6, 7, 9, 13, 14, 99])
def test_a_log_in_that_is_not_known_gets_no_answer(code: int) -> None:
    with rogue(login=(request(code, b"token"), WELCOME)) as server:
        assert "a log-in that loadstone does not know; set scram-sha-256" in refusal(server, ping)
        assert not any(server.got)


@pytest.mark.fault("a database requests a readable password")
def test_a_log_in_that_would_take_for_ever_is_refused() -> None:
    """The nonce begins with the client's, so that the number is believed."""

    def first(got: list[bytes]) -> bytes:
        return request(11, got[0][got[0].index(b"r=") :] + b"more,s=c2FsdA==,i=2147483647")

    with rogue(login=(SASL, first, WELCOME)) as server, bounded(MEBIBYTE):
        assert "hashed more than" in refusal(server, ping)


@pytest.mark.fault("no TLS, or a certificate of another CA or name")
@pytest.mark.parametrize(
    ("reply", "said"),
    [(b"N", "does not support TLS"), (b"E", "does not support TLS"), (b"S" + WELCOME, ""), (b"S", "")],
)
@pytest.mark.parametrize("verify", [True, False])
def test_a_server_without_tls_gets_nothing(reply: bytes, said: str, verify: bool) -> None:
    with rogue(ssl_reply=reply) as server, bounded(16 * MEBIBYTE):
        assert said in refusal(server, ping, Tls(verify=verify), timeout_s=1.0)
        assert all(b"user\0me" not in begun for begun in server.begun)


@pytest.mark.fault("a database breaks its protocol, drips or never ends a reply")
@pytest.mark.parametrize(
    "reply",
    [
        message("D", b"", length=2**31 - 1),
        message("D", b"", length=-(2**31)),
        message("Z", b"", length=0),
        message("\x07", b"what"),
        message("D", b"\x00"),
        message("T", b"\xff\xff"),
        message("E", b"\xff\xff\xff"),
        message("E"),
        message("d", b"1\n") + READY,
        message("G", b"\0\0\0") + READY,
        message("H", b"\0\0\0") + message("d", b"1\n") + READY,
        message("S", b"client_encoding\0punycode\0") + READY,
        message("R", b"\0\0\0\x03") + READY,
        b"",
    ],
    ids=repr,
)
def test_what_is_no_reply_is_one_line_within_its_time(reply: bytes) -> None:
    with rogue(on_execute(reply)) as server, bounded(4 * MEBIBYTE), control_of(server, 0.5) as control:
        with pytest.raises(LoadstoneError) as refused:
            control.ping()
        assert "\n" not in str(refused.value)
        assert not any(server.got)


@pytest.mark.fault("a database breaks its protocol, drips or never ends a reply")
@pytest.mark.parametrize(
    "endless",
    [
        message("N", b"x" * MEBIBYTE),
        message("N", b"x" * MEBIBYTE) + message("1", length=4 - MEBIBYTE),
        message("S", b"name\0value\0"),
        message("A", b"\0\0\0\x01channel\0" + b"x" * 1000 + b"\0"),
        row(b"22"),
        message("1"),
        message("T", b"\0\0"),
    ],
    ids=["notices", "negative", "parameters", "notifications", "rows", "ends", "columns"],
)
def test_what_never_ends_is_cut_off(endless: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPLY_BYTES_MAX", MEBIBYTE // 2)
    often = endless * max(1, 65536 // len(endless))
    with rogue(on_execute(b""), endless=often) as server, bounded(24 * MEBIBYTE):
        assert "more than" in refusal(server, ping)


@pytest.mark.fault("a database requests a file, or rows that no statement offers")
@pytest.mark.parametrize("code", ["G", "H"])
def test_a_copy_that_no_statement_requested_is_named(code: str) -> None:
    with rogue(on_execute(message(code, b"\0\0\0") + message("d", b"1\n") + READY)) as server:
        assert "a COPY that no statement requested; nothing was sent" in refusal(server, ping)


@pytest.mark.fault("a database breaks its protocol, drips or never ends a reply")
@pytest.mark.parametrize("endless", [message("d", b"line\n"), row(b"22"), message("N", b"x" * 10_000)])
def test_a_copy_without_end_ends_in_its_time_and_room(endless: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPLY_BYTES_MAX", MEBIBYTE)
    copying = message("H", b"\0\0\0")
    with (
        rogue(on_execute(copying), endless=endless * 1000) as server,
        control_of(server, 1.0) as control,
        bounded(24 * MEBIBYTE),
        pytest.raises(UserError),
    ):
        control.copy_out("COPY x TO STDOUT", lambda _: None)


def test_lines_of_a_copy_are_not_kept_and_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPLY_BYTES_MAX", 65536)
    lines = message("d", b"x" * 999 + b"\n") * 500
    sizes: list[int] = []
    reply = message("H", b"\0\0\0") + lines + message("c") + READY
    with rogue(on_execute(reply)) as server, control_of(server) as control:
        control.copy_out("COPY x TO STDOUT", lambda line: sizes.append(len(line)))
    assert sizes == [1000] * 500


@pytest.mark.fault("a database breaks its protocol, drips or never ends a reply")
def test_replies_that_come_in_drops_end_in_their_time() -> None:
    with rogue() as server, control_of(server, 1.0) as control:
        control.ping()
        server.pause_s = 0.5
        with bounded(MEBIBYTE), pytest.raises(LoadstoneError, match=r"in drops|timed out"):
            control.ping()


@pytest.mark.fault("a database breaks its protocol, drips or never ends a reply")
@pytest.mark.parametrize("data", [b"1e999999999", b"9" * 5000, b"NaN", b"-1e400", b"three", b"[" * 100_000])
@pytest.mark.parametrize("kind", [NUMERIC, JSON])
def test_numbers_that_are_none_raise_errors_of_ours_alone(data: bytes, kind: int) -> None:
    with rogue(value(data, kind)) as server, control_of(server) as control, bounded(32 * MEBIBYTE):
        for question in (
            lambda: control.count_rows("loadstone_post"),
            lambda: control.count("loadstone_post"),
            lambda: list(PostgresqlMonitor("db", control).sample(1.0)),
            control.facts,
            lambda: control.tables(),
            control.start,
        ):
            with contextlib.suppress(LoadstoneError):
                question()


def test_an_error_of_many_lines_is_one() -> None:
    with rogue(on_execute(error(b"first\r\nsecond\n\n" + b"x" * 99_999) + READY)) as server:
        assert "first second xxx" in refusal(server, ping)


def test_a_version_that_is_a_text_of_an_attacker_stays_short() -> None:
    def answer(_: str, step: str) -> bytes:
        rows = row(b"server_version_num", b"150000") + row(b"server_version", b"15\x1b[31m" * 9999 + b" x")
        steps = {"P": message("1"), "D": columns(25, 25), "E": message("2") + rows + message("C", b"SELECT 2\0")}
        return steps[step] + READY

    with rogue(answer) as server, control_of(server) as control:
        version = control.facts().version
    assert len(version) <= 40
    assert version.isprintable()


def test_a_server_that_never_answers_is_given_up() -> None:
    with (
        rogue(login=()) as server,
        control_of(server, 0.3) as control,
        bounded(MEBIBYTE),
        pytest.raises(ServerGone, match="timed out"),
    ):
        control.ping()


@pytest.mark.fault("a database breaks its protocol, drips or never ends a reply")
@pytest.mark.parametrize("sequences", [[], [b"a", b"b"]], ids=["none", "two"])
def test_a_sequence_that_is_not_one_row_is_one_line(sequences: list[bytes]) -> None:
    rows = b"".join(row(name) for name in sequences)
    with rogue(on_execute(message("2") + rows + message("C", b"SELECT\0") + READY)) as server:
        assert "one row was expected" in refusal(server, lambda control: control._count_on("loadstone_post", ("id",)))


@pytest.mark.fault("a database names a folder that can be none", "its room is unknown; the run goes on", area="replies")
def test_a_folder_that_is_none_has_no_known_room() -> None:
    with rogue(value(b"/var\0lib")) as server, control_of(server) as control:
        assert control.shortage([], "db", os.getpid()) == ""


@pytest.mark.fault("a database breaks its protocol, drips or never ends a reply")
def test_json_takes_no_more_memory_than_its_reply_may_have() -> None:
    lists = b"[" + b"[]," * 1_000_000 + b"[]]"
    with rogue(value(lists, JSON)) as server, bounded(24 * MEBIBYTE):
        refusal(server, ping)


@pytest.mark.fault("a database breaks its protocol, drips or never ends a reply")
def test_a_line_of_escapes_takes_no_more_memory_than_its_bytes() -> None:
    line = b"x\\n" * 300_000
    reply = message("H", b"\0\0\0") + message("d", line + b"\n") + message("c") + READY
    with rogue(on_execute(reply)) as server, control_of(server) as control, bounded(8 * MEBIBYTE):
        assert control.crc32_sum("loadstone_post", ("id",)) == zlib.crc32(b"x\n" * 300_000)


def test_a_number_that_no_record_can_hold_is_no_count() -> None:
    with rogue(value(b"9" * 4000, 20)) as server:
        assert "as no PostgreSQL does" in refusal(server, lambda control: control.count_rows("loadstone_post"))
