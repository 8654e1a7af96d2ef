"""The first words with a server, on a bare socket: is it there, does it speak TLS, is it Redis?

redis-py would name all of these 'connection error'; a person needs to know which one it is.
"""

import contextlib
import socket
import ssl

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.safety.bounds.bounded_socket import BoundedSocket
from loadstone.safety.errors import UserError
from loadstone.servers.transport import certificate_problem, error_text, tls_context
from loadstone.text.message import AnyText, said

PROBE_S = 3.0
"""How long each step may take."""
QUICK_S = 0.3
"""How long a handshake may take before a server is asked whether it speaks without TLS: a Redis without it waits for
the end of a line that never comes, and says nothing."""
NOT_TLS = said("it does not use TLS; write redis:// instead of rediss://")
_EXPECTS_TLS = said("it expects TLS; write rediss:// instead of redis://")
LINE_MAX_BYTES = 512
PING = b"*1\r\n$4\r\nPING\r\n"
TLS_RECORDS = (b"\x15\x03", b"\x16\x03")
"""How an answer begins that is TLS: an alert, a handshake."""

TURNED_AWAY = {
    b"-DENIED": said(
        "it is in protected mode (it said 'DENIED Redis is running in protected mode') and takes clients of its own "
        "machine only; set a password there (requirepass) and give it in the URL"
    ),
    b"-ERR max number of clients": said(
        "it accepts no more clients (it said 'ERR max number of clients reached'); raise maxclients there, or close "
        "some"
    ),
}
"""What a server says before it closes a connection that it did not want -> what that means."""


def probe(endpoint: Endpoint) -> None:
    """Returns if something that speaks the Redis protocol answers at `endpoint`, even with an error.

    Raises:
        UserError: it does not; one line with what was observed and the remedy.
    """
    where = said("server {address}", address=endpoint.label)
    context = tls_context(endpoint.tls) if endpoint.tls is not None else None
    with contextlib.ExitStack() as sockets:
        connection = sockets.enter_context(_connect(endpoint, where))
        if context is not None:
            connection = sockets.enter_context(_shaken(connection, context, endpoint, where))
        try:
            answer = _first_line(connection)
        except TimeoutError:
            raise UserError("{where}: {why}", where=where, why=_silent(endpoint)) from None
        except OSError as error:
            raise UserError("{where}: {why}", where=where, why=_broke_off(endpoint, error)) from None
    if not answer or answer.startswith(TLS_RECORDS):
        raise UserError("{where}: {why}", where=where, why=_broke_off(endpoint, None))
    if not answer.startswith((b"+PONG", b"-")):
        line = answer.splitlines()[0].decode(errors="replace")[:60]
        raise UserError(
            "{where}: what listens there is not Redis (it said '{line}'); give the address of a Redis server",
            where=where,
            line=line,
        )
    for message, text in TURNED_AWAY.items():
        if answer.startswith(message):
            raise UserError("{where}: {why}", where=where, why=text)


def _first_line(connection: socket.socket) -> bytes:
    """What it answers to a PING, up to the end of a line. Raises TimeoutError: it is not whole in time; OSError."""
    bounded = BoundedSocket(connection, PROBE_S)
    bounded.begin(PROBE_S, LINE_MAX_BYTES)
    bounded.sendall(PING)
    answer = b""
    while not answer.endswith(b"\n") and len(answer) < LINE_MAX_BYTES:
        more = bounded.recv(LINE_MAX_BYTES - len(answer))
        if not more or not (answer + more).startswith((b"+", b"-")):
            return answer + more
        answer += more
    return answer


def _connect(endpoint: Endpoint, where: AnyText) -> socket.socket:
    try:
        if endpoint.unix_path is None:
            return socket.create_connection((endpoint.host, endpoint.port), timeout=PROBE_S)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PROBE_S)
        try:
            connection.connect(endpoint.unix_path)
        except OSError:
            connection.close()
            raise
    except socket.gaierror as error:
        raise UserError(
            "{where}: no such host ({error}); check the name '{host}'",
            where=where,
            error=error_text(error),
            host=endpoint.host,
        ) from None
    except PermissionError as error:
        raise UserError(
            "{where}: not allowed to connect ({error}); run as a user who may", where=where, error=error_text(error)
        ) from None
    except TimeoutError:
        raise UserError(
            "{where}: no answer within {probe_s:g} s; check the address, and whether a firewall lets it through",
            where=where,
            probe_s=PROBE_S,
        ) from None
    except OSError as error:
        raise UserError(
            "{where}: nothing listens there ({error}); start a server there, or give another address",
            where=where,
            error=error_text(error),
        ) from None
    return connection


def _shaken(connection: socket.socket, context: ssl.SSLContext, endpoint: Endpoint, where: AnyText) -> ssl.SSLSocket:
    """With TLS: at once, or over another connection where it takes longer and the server does speak TLS."""
    connection.settimeout(QUICK_S)
    try:
        encrypted = _encrypted(connection, context, endpoint, where)
    except TimeoutError:
        connection.close()
    else:
        encrypted.settimeout(PROBE_S)
        return encrypted
    if _speaks_plainly(endpoint, QUICK_S):
        raise UserError("{where}: {why}", where=where, why=NOT_TLS)
    try:
        return _encrypted(_connect(endpoint, where), context, endpoint, where)
    except TimeoutError:
        raise UserError("{where}: {why}", where=where, why=_silent(endpoint)) from None


def _encrypted(connection: socket.socket, context: ssl.SSLContext, endpoint: Endpoint, where: AnyText) -> ssl.SSLSocket:
    name = (endpoint.tls.server_name if endpoint.tls is not None else None) or endpoint.host
    try:
        return context.wrap_socket(connection, server_hostname=name)
    except ssl.SSLCertVerificationError as error:
        raise UserError("{where}: {why}", where=where, why=certificate_problem(error, "?verify=no")) from None
    except TimeoutError:
        raise
    except OSError as error:
        if "handshake failure" in error_text(error).lower().replace("_", " "):
            raise UserError("{where}: {why}", where=where, why=_broke_off(endpoint, error)) from None
        raise UserError(
            "{where}: the TLS handshake failed ({error}); if the server does not use TLS, write redis:// "
            "instead of rediss://",
            where=where,
            error=error_text(error),
        ) from None


def _silent(endpoint: Endpoint) -> AnyText:
    """Why a server that took the connection does not answer."""
    if endpoint.tls is None and _speaks_tls(endpoint):
        return _EXPECTS_TLS
    if endpoint.tls is not None and _speaks_plainly(endpoint, PROBE_S):
        return NOT_TLS
    return said(
        "it accepts the connection and does not answer for {seconds:g} s; it is stopped or overloaded, or it is not "
        "Redis",
        seconds=PROBE_S,
    )


def _broke_off(endpoint: Endpoint, error: OSError | None) -> AnyText:
    """Why a server closed the connection instead of answering."""
    message = error_text(error) if error is not None else said("it closed the connection")
    if endpoint.tls is not None:  # the server looks at the client's certificate after the client's handshake
        return said(
            "it hangs up on us ({why}); it may want a client's certificate: add ?cert_file=FILE&key_file=FILE",
            why=message,
        )
    if _speaks_tls(endpoint):
        return _EXPECTS_TLS
    return said(
        "it closed the connection instead of answering ({why}); it is not Redis, or accepts no more clients",
        why=message,
    )


def _speaks_tls(endpoint: Endpoint) -> bool:
    if endpoint.unix_path is not None:
        return False
    context = tls_context(Tls(verify=False))
    try:
        with (
            socket.create_connection((endpoint.host, endpoint.port), timeout=PROBE_S) as connection,
            context.wrap_socket(connection, server_hostname=endpoint.host),
        ):
            return True
    except ssl.SSLError as error:
        return "alert" in str(error).lower()
    except OSError:
        return False


def _speaks_plainly(endpoint: Endpoint, within_s: float) -> bool:
    try:
        with socket.create_connection((endpoint.host, endpoint.port), timeout=within_s) as connection:
            connection.sendall(PING)
            return connection.recv(1) in (b"+", b"-")
    except OSError:
        return False
