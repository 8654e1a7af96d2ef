"""TLS with a real PostgreSQL, and what an application's JDBC driver gets of it."""

import os
import shutil
from pathlib import Path

import pytest
from tests.real_servers import Certificates, wait_until

from loadstone.experiment.plan.endpoints import Tls
from loadstone.machine.start_context import LastingStep
from loadstone.safety.errors import UserError
from loadstone.servers.postgresql import url as url_module
from loadstone.servers.postgresql.programs import server_user
from loadstone.servers.postgresql.url import PostgresqlUrlSettings, jdbc_options, parse_postgresql_url
from loadstone.servers.server import DeployContext

from .conftest import Users

IS_ENCRYPTED = "SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()"


@pytest.fixture
def tls(users: Users, certificates: Certificates) -> Certificates:
    """The user's server takes TLS, by a certificate for localhost, and connections without it as well."""
    process, user = users.server._process, server_user()
    assert process is not None
    (data,) = (path.parent for path in process.workspace.path.rglob("PG_VERSION") if path.parent.name == "data")
    for name, source in (("server.crt", certificates.cert), ("server.key", certificates.key)):
        path = Path(shutil.copy(source, data / name))
        path.chmod(0o600)
        if user is not None:
            os.chown(path, user.pw_uid, user.pw_gid)
    with users.control("postgres") as control:
        control.query("ALTER SYSTEM SET ssl = on")
        control.query("SELECT pg_reload_conf()")
    wait_until(lambda: users.psql("postgres", "SHOW ssl") == "on\n")
    return certificates


def refusal(url: str) -> str:
    with pytest.raises(UserError) as refused:
        PostgresqlUrlSettings(url=url).server("db").start(DeployContext())
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_it_is_encrypted_and_verified_as_the_url_says(users: Users, tls: Certificates) -> None:
    for options, host, encrypted in (
        ("", "127.0.0.1", False),
        ("?sslmode=disable", "127.0.0.1", False),
        ("?sslmode=require", "127.0.0.1", True),
        (f"?sslmode=verify-full&ca_file={tls.ca}", "localhost", True),
        (f"?ca_file={tls.ca}&server_name=localhost", "127.0.0.1", True),
        (f"?sslmode=require&ca_file={tls.other_ca}", "127.0.0.1", True),
    ):
        theirs = PostgresqlUrlSettings(url=users.url("postgres", options, host)).server("db")
        with theirs.control() as control:
            ((found, version),) = control.query(IS_ENCRYPTED)
        assert (found, bool(version)) == (encrypted, encrypted), options


@pytest.mark.fault("no TLS, or a certificate of another CA or name")
def test_a_certificate_that_is_not_its_own_is_refused(users: Users, tls: Certificates) -> None:
    for options, host, said in (
        (f"?sslmode=verify-full&ca_file={tls.other_ca}", "localhost", "ca_file"),
        ("?sslmode=verify-full", "localhost", "not accepted"),
        (f"?sslmode=verify-full&ca_file={tls.ca}", "127.0.0.1", "IP address mismatch"),
        (f"?ca_file={tls.ca}&server_name=elsewhere", "localhost", "server_name"),
    ):
        text = refusal(users.url("postgres", options, host))
        assert said in text
        assert "certificate is not accepted" in text
        assert "it no longer answers" not in text


def test_on_another_host_it_is_verified_without_an_option(
    users: Users, tls: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(url_module, "is_loopback", lambda _: False)
    assert "certificate is not accepted" in refusal(users.url("postgres", "", "localhost"))
    remarks: list[object] = []
    theirs = PostgresqlUrlSettings(url=users.url("postgres", f"?ca_file={tls.ca}", "localhost")).server("db")
    theirs.start(DeployContext(progress=remarks.append))
    assert not [line for line in remarks if isinstance(line, LastingStep)]


@pytest.mark.parametrize("mode", ["require", "verify-full"])
def test_a_server_without_tls_is_refused(users: Users, mode: str) -> None:
    users.psql("postgres", "ALTER SYSTEM RESET ssl")
    users.psql("postgres", "SELECT pg_reload_conf()")
    wait_until(lambda: users.psql("postgres", "SHOW ssl") == "off\n")
    assert "?sslmode=disable" in refusal(users.url("postgres", f"?sslmode={mode}"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("?sslmode=prefer", "is none of disable, require, verify-full"),
        ("?sslmode=verify-ca", "is none of"),
        ("?sslmode=disable&ca_file=/ca.pem", "forbids TLS"),
        ("?sslmode=require&verify=yes", "leave one out"),
        ("?sslrootcert=/ca.pem", "sslrootcert"),
    ],
)
def test_an_option_that_is_none_is_refused_without_the_password(options: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as refused:
        parse_postgresql_url(f"postgresql://me:secret@db{options}")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("tls", "expected"),
    [
        (None, "sslmode=disable"),
        (Tls(verify=False), "sslmode=require"),
        (Tls(), "sslmode=verify-full&sslfactory=org.postgresql.ssl.DefaultJavaSSLFactory"),
        (Tls(ca_file="/ca.pem"), "sslmode=verify-full&sslrootcert=/ca.pem"),
        (Tls(server_name="db"), "sslmode=verify-full&sslfactory=org.postgresql.ssl.DefaultJavaSSLFactory"),
    ],
)
def test_an_application_gets_the_same(tls: Tls | None, expected: str) -> None:
    assert jdbc_options("db", "5432", tls) == f"currentSchema=public&{expected}"


@pytest.mark.parametrize(
    "tls", [Tls(server_name="other"), Tls(cert_file="/me.pem", key_file="/me.key"), Tls(ca_file="/a&sslmode=disable")]
)
def test_what_an_application_cannot_be_given_is_refused(tls: Tls) -> None:
    with pytest.raises(UserError, match=r"db:5432: .*by --subject"):
        jdbc_options("db", "5432", tls)
