"""What is said of a certificate that is not accepted, by loadstone's own connection and by the engine: real ones."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.real_servers import TLS_PASSWORD

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.safety.errors import DriveFailed, UserError
from loadstone.servers.redis.url import parse_url
from loadstone.servers.redis.users_server import UrlSettings
from loadstone.servers.server import DeployContext


def plan_for(url: str) -> Plan:
    return Plan.model_validate(
        {
            "endpoints": [parse_url(url)],
            "pool": {"connections": 1},
            "model": {"kind": "closed", "users": 1},
            "phases": {"measure_s": 0.05},
            "operations": [{"name": "ping", "commands": [{"args": ["PING"], "expect": "any"}]}],
        }
    )


@pytest.mark.parametrize(
    ("certificate", "ca", "said", "engine_said"),
    [
        ("old", "?ca_file={}/ca.pem", "expired); have it renewed", "expired); have it renewed"),
        ("other", "?ca_file={}/ca.pem", "not valid for 'localhost'); give the name", "another name); give the name"),
        ("self", "", "self-signed); name the certificate itself with ?ca_file=FILE", "self-signed"),
        ("good", "", "not trusted here", "not trusted here); name the file of that CA as ca_file"),
    ],
)
def test_each_cause_has_its_line_and_its_remedy(
    tls_redis: Callable[[str], int], odd_certificates: Path, certificate: str, ca: str, said: str, engine_said: str
) -> None:
    port = tls_redis(certificate)
    url = f"rediss://:{TLS_PASSWORD}@localhost:{port}{ca.format(odd_certificates)}"
    with pytest.raises(UserError) as refused:
        UrlSettings(url=url).server("redis").start(DeployContext())
    with pytest.raises(DriveFailed) as failed:
        drive_alone(NativeDriver(), plan_for(url))
    for text, part in ((str(refused.value), said), (str(failed.value), engine_said)):
        assert f"localhost:{port}: its certificate is not accepted (" in text
        assert part in text
        assert "\n" not in text
        assert TLS_PASSWORD not in text


def test_a_certificate_by_a_ca_that_is_named_is_accepted_by_both(
    tls_redis: Callable[[str], int], odd_certificates: Path
) -> None:
    url = f"rediss://:{TLS_PASSWORD}@localhost:{tls_redis('good')}?ca_file={odd_certificates}/ca.pem"
    UrlSettings(url=url).server("redis").start(DeployContext())
    assert drive_alone(NativeDriver(), plan_for(url)).total.ok > 0
