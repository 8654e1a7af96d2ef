"""PyMySQL's connection, for servers that need not be honest.

In this protocol a server may answer any statement with a request for a file of the client's machine, and any log-in
with a request for the password in a form that it can read; it may send replies without end, or such as belong to no
protocol. Here a server gets the rows that are meant for it and nothing else, and whatever it sends ends in an error of
PyMySQL's.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql import _auth
from pymysql.connections import MySQLResult
from pymysql.constants import CLIENT, CR

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.bounds.deadlines import received, require_time, step_s
from loadstone.safety.bounds.replies import shortened
from loadstone.servers.transport import tls_context
from loadstone.text.message import AnyText, said, text_of

REPLY_BYTES_MAX = 64 * 1024**2
"""How many bytes a statement may be answered with: far more than any of loadstone's own questions needs."""
READ_BYTES = 64
"""What each read counts beside its bytes: the smallest row takes so much more in memory than on its way."""
CHUNK_BYTES = 64 * 1024
READABLE = ("mysql_clear_password", "dialog", "sha256_password", "mysql_old_password")
"""Plugins of which it is known that a server, or whoever stands in its place, can read the password or compute it."""
SHA2 = "caching_sha2_password"
ANSWERED = ("mysql_native_password", "client_ed25519", SHA2)
"""The plugins that a server gets an answer to that is not verified, none of which shows it the password."""
FAST, FULL = 3, 4
"""What a server says next in `caching_sha2_password`: it knows the password, or requires it in a readable form."""


class MariaDbProtocolViolation(pymysql.OperationalError):
    """The server did what none that is honest does, or what only one that is known may do; the connection is closed."""


@dataclass(frozen=True)
class _Upload:
    """What the statement that runs may be answered with a request for."""

    name: bytes
    """Random: no other statement's, and no file's."""
    content: bytes


class _Result(MySQLResult):
    """A reply, which may request the upload of its statement and no file."""

    def _read_load_local_packet(self, first_packet: Any) -> None:
        connection: Any = self.connection
        connection.send_upload(first_packet.get_all_data()[1:])
        packet = connection._read_packet()
        if not packet.is_ok_packet():
            raise connection.refuse(said("its reply to the rows that it was sent is not of MariaDB's protocol"))
        self._read_ok_packet(packet)  # type: ignore[attr-defined]


class MariaDbClient(pymysql.Connection):  # its stub knows no generic parameter that must be given
    """A connection to `endpoint`, not made yet. Sends no file; `load` sends bytes."""

    _auth_plugin_name: str
    _rfile: Any
    _sock: Any

    def __init__(self, endpoint: Endpoint, database: str, timeout_s: float, *, loads: bool) -> None:
        """`loads`: whether `load` will be used; without it the server is offered no upload.

        Raises:
            UserError: a file for TLS cannot be read.
        """
        tls = endpoint.tls
        self._upload: _Upload | None = None
        self._timeout_s = timeout_s
        self._begin_reply()
        self._knows_server = endpoint.unix_path is not None or (tls is not None and tls.verify)
        """Whether the one that answers is the server that was meant, and no one listens."""
        super().__init__(
            # The certificate's name; where it is another than the host's, the socket is made by the caller.
            host=(tls.server_name if tls is not None else None) or endpoint.host,
            port=endpoint.port,
            unix_socket=endpoint.unix_path,
            user=endpoint.username,
            password=(endpoint.password or "").encode(),
            database=database or None,
            connect_timeout=max(1, round(timeout_s)),
            read_timeout=timeout_s,
            write_timeout=timeout_s,
            autocommit=True,
            charset="utf8mb4",
            local_infile=False,  # PyMySQL would send whatever file the server names
            client_flag=CLIENT.LOCAL_FILES if loads else 0,
            ssl=tls_context(tls) if tls is not None else None,
            ssl_disabled=tls is None,
            auth_plugin_map={} if self._knows_server else _Plugins({SHA2: _Sha2}),
            defer_connect=True,
        )

    def load(self, statement: str, content: bytes) -> None:
        """Run a LOAD DATA LOCAL INFILE whose file's name is written `%s`, and send `content` as that file.

        Raises:
            Untrusted: the server requested something else.
            pymysql.Error: it refused.
        """
        name = f"loadstone-{secrets.token_hex(16)}"
        self._upload = _Upload(name.encode(), content)
        try:
            self.query(statement.replace("%s", f"'{name}'", 1))
        finally:
            self._upload = None

    def send_upload(self, name: bytes) -> None:
        """Send the upload of the statement that runs, if it is that which the server requests."""
        upload = self._upload
        if upload is None or upload.name != name:
            shown = ascii(name.decode(errors="backslashreplace")[:300])
            raise self.refuse(
                said(
                    "it requested the file {file} of this machine, which no statement offered; nothing was sent. Do "
                    "not trust this server",
                    file=shown,
                )
            )
        content = memoryview(upload.content)
        for start in range(0, len(content), CHUNK_BYTES):
            self.write_packet(bytes(content[start : start + CHUNK_BYTES]))
        self.write_packet(b"")

    def refuse(self, why: AnyText) -> MariaDbProtocolViolation:
        """The error to raise; the connection is closed, without a message to the server."""
        self._force_close()  # type: ignore[attr-defined]
        return MariaDbProtocolViolation(CR.CR_UNKNOWN_ERROR, why)

    def refuse_plugin(self, plugin: str) -> MariaDbProtocolViolation:
        """The error for a plugin by which the password could be read; it has not been sent."""
        if plugin not in (*READABLE, SHA2):
            return self.refuse(
                said(
                    "it requires the plugin '{plugin}', which loadstone does not know; use an account with {known}",
                    plugin=plugin,
                    known=", ".join(ANSWERED),
                )
            )
        return self.refuse(
            said(
                "it requires the password by '{plugin}', in a form that it can read; loadstone sends that only to a "
                "server with a verified certificate: use an account with another plugin (as ed25519), or add ?ssl=yes",
                plugin=plugin,
            )
        )

    # What follows takes the place of methods of PyMySQL's.

    def connect(self, sock: Any = None) -> None:
        self._begin_reply()
        with self._only_its_errors():
            super().connect(sock)

    def query(self, sql: Any, unbuffered: bool = False) -> int:
        with self._only_its_errors():
            return super().query(sql, unbuffered)

    def _get_server_information(self) -> None:
        super()._get_server_information()  # type: ignore[misc]
        plugin = self._auth_plugin_name
        if plugin not in ("", *ANSWERED) and not self._knows_server:
            raise self.refuse_plugin(plugin)

    def _execute_command(self, command: int, sql: Any) -> None:
        self._begin_reply()
        super()._execute_command(command, sql)  # type: ignore[misc]

    def _begin_reply(self) -> None:
        require_time()
        self._received_bytes = 0
        self._deadline_s = time.monotonic() + 2 * self._timeout_s

    def _read_bytes(self, num_bytes: int) -> bytes:
        self._received_bytes += num_bytes + READ_BYTES
        if self._received_bytes > REPLY_BYTES_MAX:
            raise self.refuse(
                said("its reply has more than {most:,} bytes, more than loadstone requests", most=REPLY_BYTES_MAX)
            )
        data = bytearray()
        while len(data) < num_bytes:
            if time.monotonic() > self._deadline_s:
                raise self.refuse(
                    said("its reply comes in drops, and is not whole within {seconds:g} s", seconds=2 * self._timeout_s)
                )
            try:
                self._sock.settimeout(step_s(self._timeout_s))
                self._current_timeout = None  # PyMySQL sets its own again before it writes
                more = self._rfile.read1(num_bytes - len(data))  # one receive at most, of `read_timeout` at most
            except OSError as error:
                raise self._lost(text_of(error)) from error
            except BaseException:
                self._force_close()  # type: ignore[attr-defined]  # what follows would be taken for another's reply
                raise
            if not more:
                raise self._lost("it closed the connection")
            received(len(more))
            data += more
        return bytes(data)

    def _lost(self, why: AnyText) -> pymysql.OperationalError:
        self._force_close()  # type: ignore[attr-defined]
        return pymysql.OperationalError(CR.CR_SERVER_LOST, f"Lost connection to MySQL server during query ({why})")

    def _read_query_result(self, unbuffered: bool = False) -> int | None:  # noqa: ARG002  # never used here
        self._result = None
        result = _Result(self)
        result.read()
        self._result = result
        if result.server_status is not None:
            self.server_status = result.server_status
        return result.affected_rows

    @contextmanager
    def _only_its_errors(self) -> Iterator[None]:
        """PyMySQL reads replies unchecked: one that is cut short or makes no sense raises whatever Python raises."""
        try:
            yield
        except (pymysql.Error, OSError) as error:
            if "acket sequence number wrong" not in str(error):
                raise
            raise self.refuse(said("its reply is not of MariaDB's protocol (its packets are out of order)")) from error
        except RuntimeError as error:  # a plugin that needs a library which is not here
            raise self.refuse(" ".join(str(error).split())) from error
        except Exception as error:
            raise self.refuse(
                said("its reply is not of MariaDB's protocol ({kind})", kind=type(error).__name__)
            ) from error


class _Plugins(dict[str, Any]):
    """What answers the plugins of a server that is not verified; PyMySQL itself answers those that it gets None for."""

    def get(self, name: Any, default: Any = None) -> Any:
        """Return the plugin by its name as text or bytes."""
        plugin = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
        return super().get(plugin, default) if plugin in ("", *ANSWERED) else _Refused


class _Refused:
    """A plugin that is not used with this server."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def authenticate(self, packet: Any) -> Any:
        plugin = packet.get_all_data()[1:].partition(b"\0")[0]  # after the byte that requests another plugin
        raise self._connection.refuse_plugin(shortened(ascii(plugin.decode(errors="replace"))[1:-1], 80))


class _Sha2:
    """`caching_sha2_password` as far as no password is sent: what goes out cannot be read by whoever gets it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def authenticate(self, packet: Any) -> Any:
        connection = self._connection
        if packet.is_auth_switch_request():
            salt = packet.read_all().removesuffix(b"\0")
            connection.write_packet(_auth.scramble_caching_sha2(connection.password, salt))
            packet = connection._read_packet()
        if not packet.is_extra_auth_data():
            return packet
        if packet.get_all_data()[1:2] == bytes([FAST]):
            return connection._read_packet()
        raise connection.refuse_plugin(SHA2)
