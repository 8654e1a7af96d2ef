"""Which connection of a pool is taken, and in what way errors of redis-py are counted."""

from types import SimpleNamespace
from typing import Any

import pytest
from redis.exceptions import ConnectionError, InvalidResponse, ResponseError, TimeoutError

from driver.connections import OpenFirst
from driver.failures import Outcome, connect_outcome, outcome_of, reason


def connection(name: str, is_connected: bool = True) -> Any:
    return SimpleNamespace(name=name, is_connected=is_connected)


@pytest.mark.parametrize(("order", "taken"), [("lifo", ["b", "a"]), ("fifo", ["a", "b"])])
def test_open_connections_are_taken_first_in_the_pools_order(order: str, taken: list[str]) -> None:
    queue = OpenFirst(4, order)
    for item in (None, connection("closed", is_connected=False), connection("a"), connection("b")):
        queue.put_nowait(item)
    assert [queue.get_nowait().name for _ in range(2)] == taken
    assert [queue.get_nowait(), queue.get_nowait()] == [connection("closed", is_connected=False), None]


def raised(cause: OSError) -> ConnectionError:
    """As redis-py makes an error of its own of the system's."""
    try:
        try:
            raise cause
        except OSError:
            raise ConnectionError("Error while reading") from None
    except ConnectionError as error:
        return error


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ResponseError("WRONGTYPE Operation against a key"), ("server_wrongtype", True)),
        (ResponseError("unknown command", status_code="ERR"), ("server_err", True)),
        (ResponseError("Existing key has wrong Redis type"), ("server_other", True)),
        (ConnectionError("loading the dataset", status_code="LOADING"), ("server_loading", True)),
        (TimeoutError("Timeout reading"), ("timeout", False)),
        (InvalidResponse("Protocol Error"), ("protocol", False)),
        (ConnectionError("Connection closed by server."), ("connection_closed", False)),
        (raised(ConnectionResetError(104, "Connection reset by peer")), ("connection_reset", False)),
        (raised(ConnectionRefusedError(111, "Connection refused")), ("connection_refused", False)),
        (ConnectionError("something else"), ("connection_failed", False)),
        (KeyError("a reply of another type"), ("wrong_type", True)),
    ],
)
def test_an_error_is_counted_by_its_kind(error: Exception, outcome: tuple[str, bool]) -> None:
    assert outcome_of(error) == Outcome(*outcome)


def test_a_connection_that_takes_too_long_is_no_timeout_of_a_request() -> None:
    assert connect_outcome(TimeoutError("Timeout connecting to server")) == Outcome("connect_timeout", replied=False)


def test_a_reason_is_the_servers_or_the_systems_own() -> None:
    assert reason(raised(ConnectionRefusedError(111, "Connection refused"))) == "Connection refused"
    assert (
        reason(ConnectionError("invalid username\npair", status_code="WRONGPASS")) == "WRONGPASS invalid username pair"
    )
