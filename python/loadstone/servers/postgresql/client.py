"""pg8000's connection, for servers that need not be honest.

A server may request the password in a form that it can read, send replies without end, or such as belong to no
protocol. Here whatever it sends ends in an error of pg8000's, and a server that is not verified gets no password that
it can read.
"""

import contextlib
import json
import re
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from pg8000.core import CoreConnection
from pg8000.exceptions import Error, InterfaceError

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.bounds.deadlines import received, step_s
from loadstone.servers.transport import certificate_problem, tls_context
from loadstone.text.message import said
from loadstone.text.problem import Problem

MAINTENANCE = "postgres"
"""The database of every server, for questions that concern none of ours."""
REPLY_BYTES_MAX = 16 * 1024**2
"""How many bytes a statement may be answered with: far more than any of loadstone's own questions needs."""
READ_BYTES = 64
"""What each read counts beside its bytes: the smallest message takes so much more in memory than on its way."""
SSL_REQUEST = struct.pack("!ii", 8, 80877103)
CLEARTEXT, SASL_CONTINUE = 3, 11
ANSWERED = frozenset({0, 5, 10, SASL_CONTINUE, 12})
"""The requests of a log-in that a server gets an answer to that is not verified: MD5 and SCRAM, and that it is done."""
ROUNDS_MAX = 1_000_000
"""How often a password may have to be hashed for a log-in: a second or two. PostgreSQL's own number is 4,096."""
DIGITS_MAX = 100
JSON_MAX = 65_536
"""Characters of a value of JSON: the monitor's question alone asks for one, of some 20 names and figures."""


class PostgresqlProtocolViolation(InterfaceError):  # type: ignore[misc]  # pg8000 has no types
    """The server did what none that is honest does, or what only one that is known may do; the connection is closed."""


class _SocketFile:
    """A socket as a file that gives every read a deadline and counts what a reply has."""

    def __init__(self, sock: socket.socket, timeout_s: float) -> None:
        self._sock = sock
        self._file = sock.makefile("rb")
        self._pending = bytearray()
        self._timeout_s = timeout_s
        self.begin_reply()

    def begin_reply(self) -> None:
        """What comes now is the reply to another statement; nothing of one that failed is sent any more."""
        self._pending.clear()
        self._received_bytes = 0
        self._deadline_s = time.monotonic() + 2 * self._timeout_s

    def read(self, size: int) -> bytes:
        """Read `size` bytes. Raises InterfaceError."""
        self._received_bytes += size + READ_BYTES
        if size < 0 or self._received_bytes > REPLY_BYTES_MAX:
            raise PostgresqlProtocolViolation(
                said(
                    "its reply has more than {reply_bytes_max:,} bytes, more than loadstone requests",
                    reply_bytes_max=REPLY_BYTES_MAX,
                )
            )
        data = bytearray()
        while len(data) < size:
            self._require_time()
            self._sock.settimeout(step_s(self._timeout_s))
            more = self._file.read1(min(size - len(data), 1024**2))
            if not more:
                raise InterfaceError(said("it closed the connection"))
            received(len(more))
            data += more
        return bytes(data)

    def passed_on(self, size: int) -> None:
        """A message with so many bytes was handed on, and nothing of it is kept."""
        self._received_bytes -= size + 5 + 2 * READ_BYTES

    def _require_time(self) -> None:
        if time.monotonic() > self._deadline_s:
            raise PostgresqlProtocolViolation(
                said("its reply comes in drops, and is not whole within {timeout_s:g} s", timeout_s=2 * self._timeout_s)
            )

    def write(self, data: bytes) -> None:
        """Send later, by `flush`."""
        self._pending += data
        if len(self._pending) > 1024**2:
            self.flush()

    def flush(self) -> None:
        """Send what was written."""
        self._require_time()
        self._sock.settimeout(step_s(self._timeout_s))
        pending, self._pending = self._pending, bytearray()
        self._sock.sendall(pending)

    def close(self) -> None:
        """Close both. May be called more than once."""
        self._file.close()
        self._sock.close()


class _Socket:
    """What pg8000 takes for a socket that is connected."""

    def __init__(self, file: _SocketFile) -> None:
        self._file = file

    def makefile(self, mode: str) -> _SocketFile:  # noqa: ARG002 (pg8000 names its mode)
        return self._file

    def close(self) -> None:
        self._file.close()


class PostgresqlClient(CoreConnection):  # type: ignore[misc]  # pg8000 has no types
    """A connection to `endpoint`.

    Raises:
        UserError: a file for TLS cannot be read.
        Error: pg8000's; the server refused, or is not a PostgreSQL.
        OSError: it does not answer.
    """

    def __init__(self, endpoint: Endpoint, database: str, timeout_s: float) -> None:
        tls = endpoint.tls
        self._knows_server = tls is not None and tls.verify
        """Whether the one that answers is the server that was meant, and nobody listens."""
        sock = _encrypted(endpoint, timeout_s)
        self.file = _SocketFile(sock, timeout_s)
        try:
            with self._only_its_errors():
                super().__init__(
                    endpoint.username or "postgres",
                    database=database or MAINTENANCE,
                    password=endpoint.password or "",
                    host=None,
                    sock=_Socket(self.file),
                    ssl_context=False,
                    application_name="loadstone",
                    startup_params={"search_path": "public", "client_encoding": "UTF8", "DateStyle": "ISO"},
                )
        except BaseException:
            self.file.close()
            raise

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows that one statement gives; `values` take the places of its `$1`, `$2`..."""
        self.file.begin_reply()
        with self._only_its_errors():
            rows = self.execute_unnamed(statement, tuple(None if v is None else str(v) for v in values)).rows
        return [tuple(row) for row in rows or ()]

    def copy_in(self, statement: str, chunks: Iterable[bytes]) -> None:
        """Run a COPY FROM STDIN of these bytes."""
        self.file.begin_reply()
        with self._only_its_errors():
            self.execute_unnamed(statement, stream=chunks)

    def copy_out(self, statement: str, take: Callable[[bytes], object]) -> None:
        """Run a COPY TO STDOUT of any size; `take` is called with each line, its end included."""
        self.file.begin_reply()
        with self._only_its_errors():
            self.execute_unnamed(statement, stream=_Taker(take))

    def end(self) -> None:
        """Close the connection. May be called more than once."""
        with contextlib.suppress(Error, OSError, AttributeError, ValueError):
            self.close()
        self.file.close()

    # What follows takes the place of methods of pg8000's.

    def handle_AUTHENTICATION_REQUEST(self, data: bytes, context: Any) -> None:  # noqa: N802
        if data[:4] == struct.pack("!i", CLEARTEXT) and not self._knows_server:
            raise PostgresqlProtocolViolation(
                said(
                    "it asks for the password in a form that it can read, which is given to a server with a "
                    "verified certificate only; set scram-sha-256 in its pg_hba.conf, or add "
                    "?sslmode=verify-full"
                )
            )
        if not self._knows_server and int.from_bytes(data[:4]) not in ANSWERED:
            raise PostgresqlProtocolViolation(
                said("it requires a log-in that loadstone does not know; set scram-sha-256 in its pg_hba.conf")
            )
        if data[:4] == struct.pack("!i", SASL_CONTINUE):
            rounds = re.search(rb",i=([0-9]{1,19})(?:,|$)", data)
            if rounds is None or int(rounds[1]) > ROUNDS_MAX:
                raise PostgresqlProtocolViolation(
                    said("it requires the password to be hashed more than {rounds_max:,} times", rounds_max=ROUNDS_MAX)
                )
        super().handle_AUTHENTICATION_REQUEST(data, context)

    def handle_PARAMETER_STATUS(self, data: bytes, context: Any) -> None:  # noqa: ARG002, N802
        """None is kept; in another encoding than the one that was requested, texts could be made to mean anything."""
        if data.startswith(b"client_encoding\0") and data != b"client_encoding\0UTF8\0":
            raise PostgresqlProtocolViolation(said("it changes the encoding of texts"))

    def handle_NOTICE_RESPONSE(self, data: bytes, context: Any) -> None:  # noqa: N802
        """None is kept."""

    def handle_NOTIFICATION_RESPONSE(self, data: bytes, context: Any) -> None:  # noqa: N802
        """None is kept."""

    def handle_ROW_DESCRIPTION(self, data: bytes, context: Any) -> None:  # noqa: N802
        super().handle_ROW_DESCRIPTION(data, context)
        context.input_funcs = [VALUES.get(column["type_oid"], str) for column in context.columns]

    def handle_COPY_OUT_RESPONSE(self, data: bytes, context: Any) -> None:  # noqa: N802
        _require_copy(context)
        super().handle_COPY_OUT_RESPONSE(data, context)

    def handle_COPY_IN_RESPONSE(self, data: bytes, context: Any) -> None:  # noqa: N802
        _require_copy(context)
        super().handle_COPY_IN_RESPONSE(data, context)

    def handle_COPY_DATA(self, data: bytes, context: Any) -> None:  # noqa: N802
        super().handle_COPY_DATA(data, context)
        self.file.passed_on(len(data))

    @contextmanager
    def _only_its_errors(self) -> Iterator[None]:
        """pg8000 reads replies unchecked: one that is cut short or makes no sense raises whatever Python raises."""
        try:
            yield
        except (Error, OSError):
            raise
        except Exception as error:
            raise PostgresqlProtocolViolation(
                said("its reply is not of PostgreSQL's protocol ({name})", name=type(error).__name__)
            ) from error


def _require_copy(context: Any) -> None:
    if context.stream is None:
        raise PostgresqlProtocolViolation(said("it begins a COPY that no statement requested; nothing was sent"))


class _Taker:
    """What pg8000 writes the lines of a COPY to."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.write = write


def _json(text: str) -> Any:
    """A value of JSON: in memory, lists in a list take 25 times as much as their text. Raises ValueError."""
    if len(text) > JSON_MAX:
        raise Problem("more than {largest_bytes:,} bytes", largest_bytes=JSON_MAX)
    return json.loads(text)


def _number(text: str) -> Decimal:
    """A number that may become an integer: of `1e999999999` that would take for ever. Raises ValueError."""
    value = Decimal(text)
    if value.is_finite() and value.adjusted() > DIGITS_MAX:
        raise Problem("more than {digits_max} digits", digits_max=DIGITS_MAX)
    return value


VALUES: Mapping[int, Callable[[str], object]] = {
    **dict.fromkeys((20, 21, 23, 26), int),
    **dict.fromkeys((700, 701), float),
    **dict.fromkeys((114, 3802), _json),
    16: "t".__eq__,
    1700: _number,
}
"""How a value is read, by PostgreSQL's number of its type; a text if by none: pg8000's own trust what they read."""


def _encrypted(endpoint: Endpoint, timeout_s: float) -> socket.socket:
    """A connection, encrypted where the endpoint says so. Raises Untrusted without TLS, and OSError."""
    tls = endpoint.tls
    context = tls_context(tls) if tls is not None else None
    sock = socket.create_connection((endpoint.host, endpoint.port), step_s(timeout_s))
    if tls is None or context is None:
        return sock
    try:
        _require_tls(sock)
        return context.wrap_socket(sock, server_hostname=tls.server_name or endpoint.host)
    except ssl.SSLCertVerificationError as error:
        sock.close()
        raise PostgresqlProtocolViolation(certificate_problem(error, "?sslmode=require")) from None
    except BaseException:
        sock.close()
        raise


def _require_tls(sock: socket.socket) -> None:
    """Request TLS. Raises Untrusted if the server has none."""
    sock.sendall(SSL_REQUEST)
    if sock.recv(1) != b"S":
        raise PostgresqlProtocolViolation(
            said(
                "it does not support TLS; turn TLS on there, or add ?sslmode=disable to its URL: then "
                "anyone on the network path can read the log-in and the data"
            )
        )
