"""A relay in front of a Redis that carries something over: for a while after one condition's last command it is busy.

    python -m bench.judge.lagging_relay REDIS_PORT LAG_MS [A] [B]

Commands of condition A (its number in the keys, 1 unless it is given) pass at once. A command of condition B (2) that
comes less than LAG_MS after A's last one waits until then, and all else with it, as if A had left work behind. Prints
the port that it listens on, on loopback, and ends when its input does.
"""

import re
import selectors
import socket
import sys
import threading
import time

CONDITION = re.compile(rb"loadstone:[0-9a-f]{8}:(\d{3}):")
CHUNK_BYTES = 1 << 16


class Relay:
    """All connections, in one thread: what waits, waits for all."""

    def __init__(self, redis_port: int, lag_s: float, a: int, b: int) -> None:
        self._redis = ("127.0.0.1", redis_port)
        self._lag_s, self._a, self._b = lag_s, a, b
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._peers: dict[socket.socket, socket.socket] = {}
        self._condition: dict[socket.socket, int] = {}
        """Of connections that come from the generator: whose commands they send."""
        self._a_sent_s = float("-inf")

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    def run(self) -> None:
        """For ever."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._peers:
                    self._pass_on(key.fileobj, from_client=bool(key.data))

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        server = socket.create_connection(self._redis)
        for one, other, from_client in ((client, server, True), (server, client, False)):
            one.setblocking(True)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._peers[one] = other
            self._selector.register(one, selectors.EVENT_READ, from_client)

    def _pass_on(self, here: socket.socket, *, from_client: bool) -> None:
        try:
            chunk = here.recv(CHUNK_BYTES)
            if chunk and from_client:
                self._lag(here, chunk)
            if chunk:
                self._peers[here].sendall(chunk)
        except OSError:
            chunk = b""
        if not chunk:
            for one in (here, self._peers[here]):
                self._selector.unregister(one)
                self._peers.pop(one)
                one.close()

    def _lag(self, here: socket.socket, chunk: bytes) -> None:
        """Notes commands of A, and holds those of B back."""
        if here not in self._condition and (found := CONDITION.search(chunk)):
            self._condition[here] = int(found[1])
        condition = self._condition.get(here)
        if condition == self._a:
            self._a_sent_s = time.monotonic()
        elif condition == self._b:
            wait_s = self._a_sent_s + self._lag_s - time.monotonic()
            if wait_s > 0:
                time.sleep(wait_s)


def main() -> None:
    """See above."""
    redis_port, lag_ms, a, b = (int(one) for one in [*sys.argv[1:], *("1", "2")[len(sys.argv) - 3 :]])
    relay = Relay(redis_port, lag_ms / 1000, a, b)
    threading.Thread(target=relay.run, daemon=True).start()
    print(relay.port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
