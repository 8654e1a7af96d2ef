"""A real Redis behind a line. Nothing here depends on how fast the machine is: only on what cannot be faster.

Nothing is earlier than the delay by more than 50 us on a way.
"""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.servers.delay_line import DelayLine, LinkSettings
from loadstone.servers.deployed import RunningServer
from loadstone.servers.pool import ServerPool
from loadstone.servers.server import DeployContext

Settings = dict[str, dict[str, Any]]


def behind(link: object) -> Settings:
    return {"redis": {"kind": "embedded", "link": link}}


@pytest.fixture
def pool() -> Iterator[ServerPool]:
    servers = ServerPool(registry.make_server, DeployContext(), lambda: None)
    yield servers
    servers.stop()


def client_of(one: RunningServer) -> "redis.Redis[bytes]":
    return redis.Redis(host=one.endpoint.host, port=one.endpoint.port, password=one.endpoint.password)


def line_of(one: RunningServer) -> DelayLine:
    assert one.line is not None
    return one.line


def test_the_load_goes_through_the_line_and_our_own_questions_beside_it(pool: ServerPool) -> None:
    one = pool.need(behind("40 ms"))["redis"]
    assert one.endpoint.port != one.control.endpoint.port
    assert one.endpoints == (one.endpoint,)
    client = client_of(one)
    client.ping()
    began_s = time.monotonic()
    client.ping()
    assert time.monotonic() - began_s >= 0.98 * 0.04
    before = line_of(one).report()
    one.control.ping()
    after = line_of(one).report()
    assert before is not None
    assert after is not None
    assert after["to_server"]["bytes"] == before["to_server"]["bytes"]
    assert set(one.processes) == {"redis", "redis.link"}


def test_replies_keep_their_order_under_jitter_and_pipelines(pool: ServerPool) -> None:
    jitter = {"delay": "1 ms", "jitter": "1 ms", "distribution": "uniform"}
    client = client_of(pool.need(behind(jitter))["redis"])
    for _ in range(5):
        with client.pipeline(transaction=False) as pipeline:
            for number in range(500):
                pipeline.echo(str(number))
            assert pipeline.execute() == [str(number).encode() for number in range(500)]


def test_a_narrow_line_takes_its_time(pool: ServerPool) -> None:
    client = client_of(pool.need(behind({"bandwidth": "8 Mbit/s"}))["redis"])
    client.ping()
    began_s = time.monotonic()
    client.set("loadstone:x", b"x" * 100_000)
    assert time.monotonic() - began_s >= 0.099


def test_connections_are_lost_on_command(pool: ServerPool) -> None:
    one = pool.need(behind("0 ms"))["redis"]
    client = client_of(one)
    connection = client.connection_pool.get_connection()
    connection.send_command("PING")
    assert connection.read_response() == b"PONG"
    assert line_of(one).drop() == 1
    with pytest.raises(redis.ConnectionError):
        _ = connection.send_command("PING"), connection.read_response()
    assert client.ping(), "a new one is made"


def test_a_line_that_was_killed_says_so_and_is_started_where_it_was(pool: ServerPool) -> None:
    one = pool.need(behind("1 ms"))["redis"]
    line, (pid,) = line_of(one), line_of(one).pids.values()
    os.kill(pid, signal.SIGKILL)
    while line.alive():
        time.sleep(0.01)
    assert line.how_it_ended() == "it was killed by signal 9 (SIGKILL)"
    assert line.report() is None
    with pytest.raises(UserError, match="link of redis: it does not run"):
        line.drop()
    again = pool.need(behind("1 ms"))["redis"]
    assert again.endpoint == one.endpoint
    assert client_of(again).ping()


def test_nothing_of_it_is_left(pool: ServerPool) -> None:
    one = pool.need(behind("1 ms"))["redis"]
    (pid,) = line_of(one).pids.values()
    pool.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_server_without_a_port_and_a_cluster_have_no_line() -> None:
    line = DelayLine("redis", LinkSettings(), ())
    with pytest.raises(UserError, match=r"servers\.redis\.link: .* is a Unix socket"):
        line.reach(Endpoint(unix_path="/tmp/redis.sock"))


def test_a_certificate_is_held_against_the_servers_own_name() -> None:
    line = DelayLine("redis", LinkSettings(), ())
    try:
        through = line.reach(Endpoint(host="localhost", port=1, tls=Tls()))
        named = line.reach(Endpoint(host="localhost", port=1, tls=Tls(server_name="db.example")))
    finally:
        line.stop()
    assert through.host == "127.0.0.1"
    assert through.tls is not None
    assert through.tls.server_name == "localhost"
    assert named.tls is not None
    assert named.tls.server_name == "db.example"
