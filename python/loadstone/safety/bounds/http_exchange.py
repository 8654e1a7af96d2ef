"""One HTTP request and its answer, within a time and a size: for what becomes ready, answers, or tells figures.

`http.client` has a timeout for each step alone: an answer whose head drips, a byte now and then, never ends.
"""

import contextlib
import http.client
import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loadstone.safety.bounds.bounded_socket import BoundedSocket

HEAD_MAX_BYTES = 64 * 1024
_MALFORMED = (http.client.HTTPException, ValueError, AttributeError, IndexError)


class NotHttp(Exception):
    """What answered does not speak HTTP."""


@dataclass(frozen=True)
class HttpResponse:
    """Status and body; the body is empty where none was read."""

    status: int
    body: bytes = b""


def exchange(
    host: str,
    port: int,
    path: str,
    *,
    method: str = "GET",
    within_s: float,
    body_max_bytes: int = 0,
    context: ssl.SSLContext | None = None,
) -> HttpResponse:
    """Send a request without a body and read its answer; redirects are not followed, nor is a proxy used.

    Args:
        host: name or address.
        port: of TCP.
        path: begins with `/`.
        method: as in HTTP.
        within_s: for all of it, from the connection to the last byte.
        body_max_bytes: a larger body is an error; 0: it is not read.
        context: TLS; None: without.

    Raises:
        OSError: there is no connection, or it breaks; TimeoutError, TooMuch: it is late or too large.
        NotHttp: it answers something else.
        ValueError: host or path cannot be sent.
    """
    deadline_s = time.monotonic() + within_s
    connection = http.client.HTTPConnection(host, port)
    connection.putrequest(method, path, skip_accept_encoding=True)  # nothing is sent yet
    with _connected(host, port, deadline_s, context) as bounded:
        bounded.begin(max(0.0, deadline_s - time.monotonic()), HEAD_MAX_BYTES + body_max_bytes)
        connection.sock = bounded
        connection.putheader("Connection", "close")
        connection.endheaders()
        try:
            answer = http.client.HTTPResponse(bounded, method=method)  # type: ignore[arg-type]
            answer.begin()
            return HttpResponse(answer.status, answer.read() if body_max_bytes else b"")
        except OSError:  # http.client's own errors of a connection that was closed are among them
            raise
        except _MALFORMED as error:
            raise NotHttp(type(error).__name__) from None


@contextlib.contextmanager
def _connected(host: str, port: int, deadline_s: float, context: ssl.SSLContext | None) -> Iterator[BoundedSocket]:
    step_s = max(0.001, deadline_s - time.monotonic())
    with contextlib.ExitStack() as opened:
        plain: Any = opened.enter_context(socket.create_connection((host, port), step_s))
        plain.settimeout(max(0.001, deadline_s - time.monotonic()))
        if context is not None:  # a handshake as a whole keeps to the timeout
            plain = opened.enter_context(context.wrap_socket(plain, server_hostname=host))
        yield BoundedSocket(plain, step_s)
