"""A small engine of containers on a Unix socket, for what a real one cannot be made to say."""

import contextlib
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any


class OnUnixSocket:
    """What a request over a Unix socket needs, which has no address."""

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def served(path: Path, engine: type[BaseHTTPRequestHandler], **state: Any) -> Iterator[Path]:
    """The engine at `path`; its requests share `state`."""
    with socketserver.ThreadingUnixStreamServer(str(path), type("Handler", (engine,), state)) as server:
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield path
        server.shutdown()
