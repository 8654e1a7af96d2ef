"""`rediss://` behind a line: verified under load, and certificates that are not accepted. A real Redis with TLS."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from tests.real_servers import TLS_PASSWORD

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.experiment.plan.drive_plan import Closed, Keys, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.safety.errors import DriveFailed, UserError
from loadstone.servers import registry
from loadstone.servers.delay_line import DelayLine, LinkSettings
from loadstone.servers.pool import ServerPool
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.url import parse_url
from loadstone.servers.server import DeployContext

Start = Callable[[str], int]
DELAY = "2 ms"


@pytest.fixture
def pool() -> Iterator[ServerPool]:
    servers = ServerPool(registry.make_server, DeployContext(), lambda: None)
    yield servers
    servers.stop()


def url(port: int, options: str = "") -> str:
    return f"rediss://:{TLS_PASSWORD}@localhost:{port}{options}"


def plan(endpoint: Endpoint) -> Plan:
    """Eight users who write documents and read nothing back that is not theirs."""
    return Plan(
        endpoints=(endpoint,),
        model=Closed(users=8),
        pool=Pool(connections=8),
        phases=Phases(warm_up_s=0.1, measure_s=0.5, drain_s=5.0),
        operations=(Operation(name="set", commands=(ServerCommand(args=("SET", "{key}", "{value}"), expect="ok"),)),),
        keys=Keys(prefix="loadstone:tls:", count=50),
    )


def lines_of_this_process() -> list[psutil.Process]:
    children = psutil.Process().children(recursive=True)
    return [one for one in children if {"loadstone.drivers.engine_program", "link"} <= set(one.cmdline())]


def test_a_verified_connection_is_loaded_through_the_line(
    pool: ServerPool, tls_redis: Start, odd_certificates: Path
) -> None:
    ca = f"?ca_file={odd_certificates}/ca.pem"
    settings = {"kind": "url", "url": url(tls_redis("good"), ca), "link": DELAY}
    one = pool.need({"redis": settings})["redis"]
    assert (one.endpoint.host, one.control.endpoint.host) == ("127.0.0.1", "localhost")
    assert one.endpoint.tls is not None
    assert (one.endpoint.tls.server_name, one.endpoint.tls.verify) == ("localhost", True)
    control = one.control
    assert isinstance(control, RedisControl)
    before = control.commandstats().get("set", 0)
    record = drive_alone(NativeDriver(), plan(one.endpoint))
    assert (record.stopped, record.total.errors, record.connections.lost) == (None, {}, 0)
    assert record.total.sent == record.total.ok > 0
    assert control.commandstats()["set"] - before == record.total.sent
    assert record.operations["set"].service_ns.min >= 2_000_000 - 2 * 50_000
    assert one.line is not None
    report = one.line.report()
    assert report is not None
    assert report["to_server"]["bytes"] > record.bytes_sent, "what is encrypted is longer"
    control.remove_numbered("loadstone:tls:", 50)


@pytest.mark.fault(
    "an expired, foreign or self-signed certificate behind a link",
    "refused; the load verifies through the link",
    area="transport",
)
@pytest.mark.parametrize(
    ("certificate", "ca", "said"),
    [
        ("old", "?ca_file={}/ca.pem", "expired); have it renewed"),
        ("other", "?ca_file={}/ca.pem", "not valid for 'localhost'); give the name"),
        ("self", "", "self-signed); name the certificate itself with ?ca_file=FILE"),
    ],
)
def test_a_certificate_that_is_not_accepted_is_one_line_and_leaves_no_line_behind(
    pool: ServerPool, tls_redis: Start, odd_certificates: Path, certificate: str, ca: str, said: str
) -> None:
    port = tls_redis(certificate)
    with pytest.raises(UserError) as refused:
        pool.need({"redis": {"kind": "url", "url": url(port, ca.format(odd_certificates)), "link": DELAY}})
    text = str(refused.value)
    assert f"localhost:{port}: its certificate is not accepted (" in text
    assert said in text
    assert "\n" not in text
    assert TLS_PASSWORD not in text
    assert lines_of_this_process() == []


@pytest.mark.fault("an expired, foreign or self-signed certificate behind a link")
@pytest.mark.parametrize(
    ("certificate", "ca", "said"),
    [
        ("old", "?ca_file={}/ca.pem", "expired); have it renewed"),
        ("other", "?ca_file={}/ca.pem", "another name); give the name"),
        ("self", "", "self-signed"),
        ("good", "", "not trusted here"),
    ],
)
def test_the_load_verifies_the_certificate_through_the_line_as_without_it(
    tls_redis: Start, odd_certificates: Path, certificate: str, ca: str, said: str
) -> None:
    line = DelayLine("redis", LinkSettings.model_validate(DELAY), ())
    try:
        through = line.reach(parse_url(url(tls_redis(certificate), ca.format(odd_certificates))))
        with pytest.raises(DriveFailed) as failed:
            drive_alone(NativeDriver(), plan(through))
    finally:
        line.stop()
    text = str(failed.value)
    assert "its certificate is not accepted (" in text
    assert said in text
    assert "\n" not in text
    assert TLS_PASSWORD not in text
