"""The blocking pools of redis-py, with what a plan adds: a limit of idle connections, and a count of all."""

import functools
import queue
import ssl
import threading
from collections import deque
from typing import Any

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.maint_notifications import MaintNotificationsConfig
from redis.retry import Retry

from driver.plan import Endpoint, Plan, Tls


class Counted:
    """What became of the connections of a pool."""

    def __init__(self) -> None:
        self.opened = 0
        self.failed = 0
        self.closed_idle = 0
        self._connections: set[Any] = set()
        self._lock = threading.Lock()

    def ready(self, connection: Any) -> None:
        """A connection was opened, and greeted."""
        with self._lock:
            self.opened += 1
            self._connections.add(connection)

    def closes(self, connection: Any) -> None:
        """A connection is closed now, because enough others are idle."""
        with self._lock:
            self.closed_idle += 1
            self._connections.discard(connection)

    def open(self) -> int:
        return sum(connection.is_connected for connection in tuple(self._connections))

    def record(self) -> dict[str, int]:
        """What became of them until now."""
        with self._lock:
            open_at_end = self.open()
            return {
                "opened": self.opened,
                "open_at_end": open_at_end,
                "lost": max(0, self.opened - self.closed_idle - open_at_end),
                "failed": self.failed,
                "closed_idle": self.closed_idle,
            }


class OpenFirst(queue.Queue[Any]):
    """The queue in a blocking pool: it gives connections that are open before it has another one opened."""

    def __init__(self, maxsize: int, order: str) -> None:
        self._take_idle = deque.pop if order == "lifo" else deque.popleft
        super().__init__(maxsize)

    def _init(self, maxsize: int) -> None:  # noqa: ARG002
        self.idle: deque[Any] = deque()
        self._closed: list[Any] = []

    @property
    def queue(self) -> list[Any]:
        return [*self._closed, *self.idle]

    def _qsize(self) -> int:
        return len(self._closed) + len(self.idle)

    def _put(self, item: Any) -> None:
        is_open = item is not None and item.is_connected
        (self.idle if is_open else self._closed).append(item)

    def _get(self) -> Any:
        return self._take_idle(self.idle) if self.idle else self._closed.pop()


class Pool(redis.BlockingConnectionPool):
    """Closes a connection that is released while enough others are idle."""

    def __init__(self, plan: Plan, counted: Counted) -> None:
        self._counted = counted
        self._max_idle = plan.pool.max_idle
        super().__init__(
            max_connections=plan.pool.connections,
            timeout=None,
            queue_class=lambda maxsize: OpenFirst(maxsize, plan.pool.order),
            connection_class=_connection_class(plan.endpoint),
            redis_connect_func=self._connected,
            retry=Retry(NoBackoff(), 0),
            **_settings(plan),
        )

    def _connected(self, connection: redis.Connection) -> None:
        # What greets a new connection has the time of the connecting, not of a request.
        connection.update_current_socket_timeout(connection.socket_connect_timeout)
        connection.on_connect()
        connection.update_current_socket_timeout(connection.socket_timeout)
        self._counted.ready(connection)

    def release(self, connection: Any) -> None:
        if self._max_idle is not None and connection.is_connected and len(self.pool.idle) >= self._max_idle:
            self._counted.closes(connection)
            connection.disconnect()
        super().release(connection)


class AsyncPool(redis.asyncio.BlockingConnectionPool):
    """The same for coroutines."""

    def __init__(self, plan: Plan, counted: Counted) -> None:
        self._counted = counted
        self._max_idle = plan.pool.max_idle
        self._is_fifo = plan.pool.order == "fifo"
        super().__init__(
            max_connections=plan.pool.connections,
            timeout=None,
            connection_class=_async_connection_class(plan.endpoint),
            redis_connect_func=self._connected,
            retry=redis.asyncio.retry.Retry(NoBackoff(), 0),
            **_settings(plan),
        )

    async def _connected(self, connection: Any) -> None:
        request_s = connection.socket_timeout
        connection.socket_timeout = connection.socket_connect_timeout
        try:
            await connection.on_connect()
        finally:
            connection.socket_timeout = request_s
        self._counted.ready(connection)

    def get_available_connection(self) -> Any:
        first = next((other for other in self._available_connections if other.is_connected), None)
        if self._is_fifo and first is not None:
            # The last one is taken.
            self._available_connections.remove(first)
            self._available_connections.append(first)
        return super().get_available_connection()

    async def release(self, connection: Any) -> None:
        idle = sum(other.is_connected for other in self._available_connections) if self._max_idle is not None else 0
        if self._max_idle is not None and connection.is_connected and idle >= self._max_idle:
            self._counted.closes(connection)
            await connection.disconnect()
        await super().release(connection)
        if not connection.is_connected and connection in self._available_connections:
            # The last one is taken first: those that are open go before it.
            self._available_connections.remove(connection)
            self._available_connections.insert(0, connection)


def _settings(plan: Plan) -> dict[str, Any]:
    """What both forms of a connection take. Everything else is redis-py's default, but for its retries."""
    endpoint = plan.endpoint
    settings: dict[str, Any] = {
        "username": endpoint.username,
        "password": endpoint.password,
        "db": endpoint.database,
        "protocol": 3 if plan.protocol == "resp3" else 2,
        "client_name": "loadstone",
        "socket_timeout": plan.timeouts.request_ms / 1000,
        "socket_connect_timeout": plan.timeouts.connect_ms / 1000,
        # By a notice of maintenance (MOVING, over RESP3) a server could send us, and the password, to any other host.
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    }
    if endpoint.unix_path is not None:
        return settings | {"path": endpoint.unix_path}
    settings |= {"host": endpoint.host, "port": endpoint.port}
    if endpoint.tls is None:
        return settings
    tls = endpoint.tls
    return settings | {
        "ssl_cert_reqs": ssl.CERT_REQUIRED if tls.verify else ssl.CERT_NONE,
        "ssl_check_hostname": tls.verify,
        "ssl_ca_certs": tls.ca_file,
        "ssl_certfile": tls.cert_file,
        "ssl_keyfile": tls.key_file,
    }


@functools.cache
def trust(tls: Tls) -> ssl.SSLContext:
    """Whom a connection trusts: the plan's CA alone, or the system's. redis-py's own trusts both where a plan has one.

    Raises OSError where a file cannot be read.
    """
    context = ssl.create_default_context(cafile=tls.ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.cert_file is not None:
        context.load_cert_chain(tls.cert_file, tls.key_file)
    return context


def _connection_class(endpoint: Endpoint) -> type[redis.Connection]:
    if endpoint.unix_path is not None:
        return redis.UnixDomainSocketConnection  # type: ignore[return-value]
    if endpoint.tls is None:
        return redis.Connection
    tls, server_name = endpoint.tls, endpoint.tls.server_name or endpoint.host

    class NamedConnection(redis.SSLConnection):
        """redis-py has no setting for the name in the certificate, it takes the host's; see also `trust`."""

        def _wrap_socket_with_ssl(self, sock: Any) -> Any:
            return trust(tls).wrap_socket(sock, server_hostname=server_name)

    return NamedConnection


def _async_connection_class(endpoint: Endpoint) -> type[Any]:
    if endpoint.unix_path is not None:
        return redis.asyncio.UnixDomainSocketConnection
    if endpoint.tls is None:
        return redis.asyncio.Connection
    tls, server_name = endpoint.tls, endpoint.tls.server_name or endpoint.host

    class NamedConnection(redis.asyncio.SSLConnection):
        """The same for coroutines."""

        def _connection_arguments(self) -> dict[str, Any]:
            return {**super()._connection_arguments(), "ssl": trust(tls), "server_hostname": server_name}

    return NamedConnection
