"""Who may read or change what loadstone says to servers: no one on the way, unless the user says so."""

import contextlib
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.real_servers import Certificates
from tests.servers.mariadb.rogue_mariadb import rogue, switch_to

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.machine.start_context import LastingStep
from loadstone.programs.manifest import Manifest, read_manifest
from loadstone.programs.subjects.placeholders import ServerFactsForSubject, require_verifiable, resolved, unencrypted
from loadstone.programs.subjects.url import UrlSubject
from loadstone.safety.errors import UserError
from loadstone.servers import transport
from loadstone.servers.mariadb import url as mariadb_url
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.local import LocalMariaDb, MariaDbSettings, find
from loadstone.servers.mariadb.url import MariaDbUrl, MariaDbUrlSettings, parse_mariadb_url
from loadstone.servers.redis.users_server import UrlSettings
from loadstone.servers.server import DeployContext
from loadstone.servers.transport import exposure, is_loopback

needs_mariadb = pytest.mark.skipif(find("mariadbd") is None, reason="no MariaDB: scripts/apt installs it where it can")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "db.localhost", "127.0.0.1", "127.9.9.9", "::1", "::1%lo", "::ffff:127.0.0.1"]
)
def test_hosts_that_are_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        *("db", "10.0.0.1", "0.0.0.0", "localhost.example.org", "127.0.0.1.example.org", "2001:db8::1", "", "127.1"),
        *("127.0.0.1%2e.example.org", "localhost%2eexample.org", "127.0.0.1%x", "localhost%lo"),
    ],
)
def test_hosts_that_may_be_another_machine(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("url", "tls"),
    [
        ("mariadb://db", Tls()),
        ("mariadb://127.0.0.1", None),
        ("mariadb://localhost:3307/x", None),
        ("mariadb://db?ca_file=/c.pem", Tls(ca_file="/c.pem")),
        ("mariadb://db?verify=no", Tls(verify=False)),
        ("mariadb://db?ssl=no", None),
        ("mariadb://db?ssl-mode=DISABLED", None),
        ("mariadb://db?ssl-mode=required", Tls(verify=False)),
        ("mariadb://db?ssl-mode=VERIFY_IDENTITY&ca_file=/c.pem", Tls(ca_file="/c.pem")),
        ("mariadb://localhost?ssl-mode=VERIFY_IDENTITY", Tls()),
        ("mariadb://localhost?ssl=yes", Tls()),
    ],
)
def test_tls_is_verified_on_other_hosts_unless_the_url_says_otherwise(url: str, tls: Tls | None) -> None:
    assert parse_mariadb_url(url)[0].tls == tls


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("ssl-mode=PREFERRED", "none of DISABLED, REQUIRED, VERIFY_IDENTITY"),
        ("ssl-mode=DISABLED&ssl=yes", "leave these out"),
        ("ssl-mode=REQUIRED&verify=yes", "leave these out"),
        ("ssl-mode=DISABLED&ca_file=x", "forbids TLS"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_mariadb_url(f"mariadb://db?{options}")


@dataclass
class Remote:
    """A MariaDB with TLS that is taken for one of another machine."""

    server: LocalMariaDb

    def theirs(self, options: str, host: str = "127.0.0.1") -> MariaDbUrl:
        at = self.server._endpoint
        url = f"mariadb://{at.username}:{at.password}@{host}:{at.port}/loadstone{options}"
        return MariaDbUrlSettings(url=url).server("theirs")

    def refusal(self, options: str, host: str = "127.0.0.1") -> str:
        with pytest.raises(UserError) as refused:
            self.theirs(options, host).start(DeployContext())
        assert "\n" not in str(refused.value)
        assert str(self.server._endpoint.password) not in str(refused.value)
        return str(refused.value)


@pytest.fixture(scope="module")
def with_tls(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMariaDb]:
    secure = {"ssl_cert": str(certificates.cert), "ssl_key": str(certificates.key)}
    server = MariaDbSettings(settings=secure).server("mariadb")
    server.start(DeployContext(work_root=tmp_path_factory.mktemp("work")))
    yield server
    server.stop()


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's loopback is taken for another host."""
    monkeypatch.setattr(mariadb_url, "is_loopback", lambda _: False)


@pytest.mark.fault("MariaDB on another host", "TLS with verified certificate and name, or refused", area="transport")
@needs_mariadb
@pytest.mark.usefixtures("elsewhere")
def test_a_mariadb_of_another_host_is_verified_without_an_option(
    with_tls: LocalMariaDb, certificates: Certificates
) -> None:
    remote = Remote(with_tls)
    assert "certificate is not accepted" in remote.refusal("", "localhost")
    said = remote.refusal(f"?ca_file={certificates.ca}")  # its certificate is for localhost
    assert "mismatch" in said
    assert "?server_name=NAME" in said
    theirs = remote.theirs(f"?ca_file={certificates.ca}", "localhost")
    theirs.start(DeployContext())
    with theirs.control() as control:
        assert control.query("SHOW SESSION STATUS LIKE 'Ssl_version'")[0][1].startswith("TLS")


@pytest.mark.fault("MariaDB on another host")
@needs_mariadb
@pytest.mark.usefixtures("elsewhere")
def test_a_mariadb_of_another_host_without_tls_is_refused_with_the_remedy(tmp_path: Path) -> None:
    server = MariaDbSettings(settings={"skip_ssl": True}).server("mariadb")
    server.start(DeployContext(work_root=tmp_path))
    try:
        assert "?ssl=no" in Remote(server).refusal("")
        theirs = Remote(server).theirs("?ssl=no")
        theirs.start(DeployContext())
        assert theirs.alive()
    finally:
        server.stop()


@needs_mariadb
def test_a_mariadb_of_this_machine_needs_no_option(with_tls: LocalMariaDb) -> None:
    remarks: list[str] = []
    Remote(with_tls).theirs("").start(DeployContext(progress=remarks.append))
    assert not [line for line in remarks if isinstance(line, LastingStep)]


@pytest.mark.fault("an attacker removes TLS on the network path", "no login is sent", area="transport")
def test_one_in_between_that_takes_tls_away_gets_no_log_in() -> None:
    """The server's greeting is not protected: one in between may strike the word TLS out of it."""
    with rogue() as server:
        at = Endpoint(port=server.port, username="me", password="secret", tls=Tls(server_name="localhost"))
        with MariaDbControl(at) as control, pytest.raises(UserError, match=r"\?ssl=no"):
            control.ping()
        assert server.capabilities == []


@pytest.mark.fault("a database requests a readable password")
@pytest.mark.parametrize("verify", [False, True])
def test_only_a_verified_certificate_gives_a_right_to_read_the_password(
    verify: bool, certificates: Certificates
) -> None:
    """PAM works by such plugins, so a server that is known may use them."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.cert, certificates.key)
    tls = Tls(verify=verify, ca_file=str(certificates.ca), server_name="localhost")
    with rogue(login=switch_to("mysql_clear_password"), tls=context) as server:
        at = Endpoint(port=server.port, username="me", password="secret", tls=tls)
        with MariaDbControl(at) as control, contextlib.nullcontext() if verify else pytest.raises(UserError):
            control.ping()
        assert server.given == ([b"secret\0"] if verify else [])


@pytest.mark.fault("a password goes to another host without verified TLS")
@pytest.mark.parametrize(
    ("endpoint", "said"),
    [
        (Endpoint(host="db", password="x"), "not encrypted"),
        (Endpoint(host="db", password="x", tls=Tls(verify=False)), "not verified"),
        (Endpoint(host="db", password="x", tls=Tls()), None),
        (Endpoint(host="db"), None),
        (Endpoint(host="127.0.0.1", password="x"), None),
        (Endpoint(unix_path="/run/redis.sock", password="x"), None),
    ],
)
def test_a_password_that_others_can_read_is_a_remark(endpoint: Endpoint, said: str | None) -> None:
    reported = exposure("store", endpoint)
    assert (said is None and reported is None) or (said is not None and reported is not None and said in str(reported))


@pytest.mark.fault("a password goes to another host without verified TLS", "a remark says so", area="transport")
@pytest.mark.parametrize("kind", ["redis", "mariadb", "subject"])
def test_the_run_says_it_before_it_connects(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And goes on: many private networks do without TLS. Nothing listens there; the remark comes first."""
    monkeypatch.setattr(transport, "is_loopback", lambda _: False)
    remarks: list[str] = []
    started = {
        "redis": lambda: UrlSettings(url="redis://:secret@127.0.0.1:1").server("store"),
        "mariadb": lambda: MariaDbUrlSettings(url="mariadb://me:secret@127.0.0.1:1?ssl=no").server("store"),
        "subject": lambda: UrlSubject("store", ["http://me:secret@127.0.0.1:1"]),
    }[kind]()
    with pytest.raises(UserError):
        started.start(DeployContext(progress=remarks.append))
    (remark,) = [line for line in remarks if isinstance(line, LastingStep)]
    assert "not encrypted" in remark
    assert "secret" not in remark


def test_an_application_connects_as_safely_as_loadstone() -> None:
    def options(tls: Tls | None) -> str:
        return ServerFactsForSubject("db", "3306", "me", "x", "shop", tls, "mariadb").jdbc_options

    assert options(None) == "allowLocalInfile=false&sslMode=disable"
    assert options(Tls()) == "allowLocalInfile=false&sslMode=verify-full"
    assert options(Tls(ca_file="/a b.pem")) == "allowLocalInfile=false&sslMode=verify-full&serverSslCert=/a b.pem"
    assert "sslMode=trust&restrictedAuth=" in options(Tls(verify=False))
    for tls in (Tls(server_name="other"), Tls(cert_file="/c", key_file="/k"), Tls(ca_file="/a&b")):
        with pytest.raises(UserError, match="JDBC"):
            options(tls)


def test_the_spring_application_is_given_tls() -> None:
    manifest, _ = read_manifest(Path(__file__).parents[2] / "subjects" / "spring")
    servers = {
        "mariadb": ServerFactsForSubject("db", "3306", encryption=Tls(), software="mariadb"),
        "postgresql": ServerFactsForSubject("pg", "5432", encryption=Tls(), software="postgresql"),
        "redis": ServerFactsForSubject("r", "6379", encryption=Tls()),
    }
    environment = resolved(manifest.environment, servers, (), "spring")
    assert "sslMode=verify-full" in environment["MARIADB_URL"]
    assert "sslmode=verify-full" in environment["POSTGRESQL_URL"]
    assert environment["SPRING_DATA_REDIS_SSL_ENABLED"] == "true"
    assert unencrypted(manifest.environment, servers) == []


BEHIND_LINE = {
    "db": ServerFactsForSubject("127.0.0.1", "4", encryption=Tls(server_name="db.example"), behind_line=True)
}


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"TLS": "${db.tls}"}, "give it ${db.tls_name}, or leave out link for this server"),
        ({"CA": "${db.ca_file}"}, "give it ${db.tls_name}, or leave out link for this server"),
        ({"URL": "jdbc:x://${db.address}/?${db.jdbc_options}"}, "by JDBC no other name can be given: leave out link"),
        ({"URL": "${db.jdbc_options}", "NAME": "${db.tls_name}"}, "by JDBC no other name can be given: leave out link"),
    ],
)
def test_behind_a_line_an_application_must_be_given_the_name_of_the_certificate(
    given: dict[str, str], remedy: str
) -> None:
    with pytest.raises(UserError) as refused:
        require_verifiable(given, BEHIND_LINE, "app")
    assert str(refused.value).startswith("subject app: servers.db.link: ")
    assert f"for 127.0.0.1 instead of db.example; {remedy}" in str(refused.value)


def test_what_can_be_verified_behind_a_line_and_what_needs_no_name() -> None:
    (behind,) = BEHIND_LINE.values()
    unverified = Tls(server_name="db.example", verify=False)
    for given, address in (
        ({"TLS": "${db.tls}", "NAME": "${db.tls_name}"}, behind),
        ({"AT": "${db.address}"}, behind),
        ({"TLS": "${db.tls}"}, replace(behind, encryption=None)),
        ({"URL": "${db.jdbc_options}"}, replace(behind, encryption=unverified)),
        ({"URL": "${db.jdbc_options}"}, replace(behind, encryption=Tls(server_name="127.0.0.1"))),
        ({"TLS": "${db.tls}"}, replace(behind, behind_line=False)),
    ):
        require_verifiable(given, {"db": address}, "app")
    options = replace(behind, encryption=unverified, software="mariadb").jdbc_options
    assert "sslMode=trust" in options
    assert resolved({"NAME": "${db.tls_name}"}, BEHIND_LINE, (), "app") == {"NAME": "db.example"}


def test_the_nest_application_verifies_a_redis_behind_a_line_and_refuses_a_mariadb() -> None:
    manifest, _ = read_manifest(Path(__file__).parents[2] / "subjects" / "nest")
    (behind,) = BEHIND_LINE.values()
    require_verifiable(manifest.environment, {"redis": behind}, "nest")
    assert resolved({"X": manifest.environment["REDIS_TLS_NAME"]}, {"redis": behind}, (), "nest") == {"X": "db.example"}
    with pytest.raises(UserError, match=r"servers\.mariadb\.link"):
        require_verifiable(manifest.environment, {"mariadb": behind}, "nest")


def test_an_application_that_is_not_given_tls_is_a_remark() -> None:
    manifest = Manifest.model_validate(
        {"name": "app", "run": {"command": "x"}, "environment": {"DB": "${db.address}", "R": "${r.host}"}}
    )
    servers = {"db": ServerFactsForSubject("h", "1", encryption=Tls()), "r": ServerFactsForSubject("h", "2")}
    assert unencrypted(manifest.environment, servers) == ["db"]
