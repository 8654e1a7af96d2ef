"""A command in a network namespace of its own, from which some hosts alone can be reached: those of a registry.

    only_hosts.py PORT SOCKET COMMAND...    inside: a proxy on loopback, which hands all it gets to SOCKET

Outside of the namespace `Way` answers on the socket: it lets a CONNECT to a host that is named through, and no other.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PORT = 3128
CHUNK = 1 << 16


class Way:
    """Out of the namespace, and who was asked for."""

    def __init__(self, socket: Path, hosts: Sequence[str]) -> None:
        self.socket = socket
        self.reached: set[str] = set()
        self.refused: set[str] = set()
        self._hosts = set(hosts)

    def command(self, words: Sequence[str]) -> list[str]:
        """The same command in a namespace with this way out alone."""
        inside = [sys.executable, __file__, str(PORT), str(self.socket), *words]
        return ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", *inside]

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the namespace's."""
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, *_rest = head.decode("latin-1").split()
        host, _colon, port = target.rpartition(":")
        if method != "CONNECT" or host not in self._hosts or port != "443":
            self.refused.add(target)
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            writer.close()
            return
        self.reached.add(host)
        from_host, to_host = await asyncio.open_connection(host, 443)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await _both(reader, writer, from_host, to_host)


@contextmanager
def way(hosts: Sequence[str]) -> Iterator[Way]:
    """A way to these hosts while it lasts."""
    with tempfile.TemporaryDirectory(prefix="way-") as folder:
        made = Way(Path(folder) / "way", hosts)
        loop, listens = asyncio.new_event_loop(), threading.Event()

        async def serve() -> None:
            await asyncio.start_unix_server(made.answer, made.socket)
            listens.set()

        def run() -> None:
            loop.create_task(serve())
            loop.run_forever()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        if not listens.wait(10):
            raise TimeoutError(f"no one listens at {made.socket}")
        try:
            yield made
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


async def _both(
    one_in: asyncio.StreamReader,
    one_out: asyncio.StreamWriter,
    other_in: asyncio.StreamReader,
    other_out: asyncio.StreamWriter,
) -> None:
    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(CHUNK):
                sink.write(data)
                await sink.drain()
        with contextlib.suppress(OSError):
            sink.close()

    await asyncio.gather(copy(one_in, other_out), copy(other_in, one_out))


async def _inside(port: int, socket: str, command: Sequence[str]) -> int:
    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _both(reader, writer, *await asyncio.open_unix_connection(socket))

    await asyncio.start_server(pass_on, "127.0.0.1", port)
    environment = os.environ | {"https_proxy": f"http://127.0.0.1:{port}"}
    return await asyncio.to_thread(lambda: subprocess.run(command, env=environment, check=False).returncode)


if __name__ == "__main__":
    sys.exit(asyncio.run(_inside(int(sys.argv[1]), sys.argv[2], sys.argv[3:])))
