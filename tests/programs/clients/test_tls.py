"""Every client library beside what a Redis behind TLS must not be: none speaks to it, and none without TLS instead."""

import contextlib
import ssl
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import create_connection, create_server, socket
from typing import Any

import pytest
from tests.programs.clients.loads import Drive, plan, proofs, words
from tests.real_servers import TLS_PASSWORD, UserRedis
from tests.rogues import Speak, rogue

from loadstone.experiment.plan.drive_plan import Timeouts
from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.safety.errors import DriveFailed

CONNECTING = [
    *words("go-redis", "jedis", "lettuce", "redis-py", "redis-py:mode=asyncio", "ioredis"),
    *proofs("ioredis:pool=exclusive"),  # mark.prove: it connects by the lines of ioredis
]


def answering_all(heard: list[bytes], tls: ssl.SSLContext | None = None) -> Speak:
    """Says OK to whatever comes, with TLS if any; `heard` gets it."""

    def speak(plain: socket, _: threading.Event) -> None:
        with contextlib.nullcontext(plain) if tls is None else tls.wrap_socket(plain, server_side=True) as connection:
            while data := connection.recv(65536):
                heard.append(data)
                connection.sendall(b"+OK\r\n")

    return speak


def of_old(folder: Path) -> ssl.SSLContext:
    """TLS 1.1 and no newer one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.load_cert_chain(folder / "good.pem", folder / "good.key")
    return context


@pytest.mark.fault(
    "a client library's Redis: certificate expired, self-signed, for another name; TLS 1.1 alone, no TLS",
    "one line; no log-in is sent",
    area="transport",
)
@pytest.mark.parametrize("word", CONNECTING)
def test_a_server_that_is_not_the_one_meant_gets_nothing(
    word: str,
    drive: Drive,
    tls_redis: Callable[[str], int],
    user_redis: Callable[..., UserRedis],
    debian_redis: Path,
    odd_certificates: Path,
) -> None:
    ca, heard = Tls(ca_file=str(odd_certificates / "ca.pem")), list[bytes]()
    files = {"cert": "good.pem", "key": "good.key", "ca-cert": "ca.pem"}
    asking = [word for name, file in files.items() for word in (f"--tls-{name}-file", str(odd_certificates / file))]
    with rogue(answering_all(heard)) as plain, rogue(answering_all(heard, of_old(odd_certificates))) as old:
        for port, tls in (
            (tls_redis("old"), ca),
            (tls_redis("other"), ca),
            (tls_redis("self"), ca),
            (user_redis(*asking, "--tls-auth-clients", "yes", binary=debian_redis, tls=True).port, ca),
            (plain, Tls(verify=False)),  # who asks for more does not speak to it either
            (old, Tls(verify=False)),
        ):
            endpoint = Endpoint(host="localhost", port=port, password=TLS_PASSWORD, tls=tls)
            with pytest.raises(DriveFailed) as refused:
                drive(word, plan(port, endpoints=(endpoint,), timeouts=Timeouts(connect_ms=5000)))
            assert f"localhost:{port}: " in str(refused.value)
            assert "\n" not in str(refused.value)
            assert TLS_PASSWORD not in str(refused.value)
    assert not [data for data in heard if TLS_PASSWORD.encode() in data]


@pytest.fixture
def of_another_ca(odd_certificates: Path) -> Iterator[int]:
    """The port of a server whose certificate is for localhost, by an authority of its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(odd_certificates / "self.pem", odd_certificates / "self.key")
    with create_server(("127.0.0.1", 0)) as listener:

        def shake() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as held:
                        held.recv(1)

        threading.Thread(target=shake, daemon=True).start()
        yield int(listener.getsockname()[1])
        listener.shutdown(2)


@pytest.mark.fault("no TLS, or a certificate of another CA or name")
@pytest.mark.parametrize("mode", ["sync", "asyncio"])
def test_redis_py_trusts_the_ca_of_the_plan_alone(
    mode: str, of_another_ca: int, odd_certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its own settings it would trust the system's beside that."""
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "clients" / "redis-py")
    monkeypatch.setenv("SSL_CERT_FILE", str(odd_certificates / "self.pem"))
    from driver import connections  # type: ignore[import-not-found,unused-ignore]
    from driver.plan import Endpoint as PlanEndpoint  # type: ignore[import-not-found,unused-ignore]
    from driver.plan import Tls as PlanTls

    def shaken(ca: str) -> None:
        tls = PlanTls(str(odd_certificates / ca), None, True, None, None)
        endpoint = PlanEndpoint("localhost", of_another_ca, None, None, None, 0, tls)
        settings: dict[str, Any] = {"ssl_ca_certs": tls.ca_file, "host": "localhost"}
        with create_connection(("127.0.0.1", of_another_ca), 5.0) as plain:
            if mode == "sync":
                connection = connections._connection_class(endpoint)(**settings)
                connection._wrap_socket_with_ssl(plain).close()
                return
            arguments = connections._async_connection_class(endpoint)(**settings)._connection_arguments()
            arguments["ssl"].wrap_socket(plain, server_hostname=arguments["server_hostname"]).close()

    shaken("self.pem")
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken("ca.pem")
