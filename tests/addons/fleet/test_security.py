"""Who has no certificate of the fleet gets nothing from it, whatever way is tried."""

import asyncio
import os
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from distributed.core import connect
from distributed.protocol import to_serialize
from distributed.protocol.pickle import dumps
from tests.calling import called

from loadstone.addons.fleet import certificates
from loadstone.addons.fleet.certificates import Credential
from loadstone.addons.fleet.dask_cluster import DaskCluster, open_cluster
from loadstone.addons.fleet.serving import ping
from loadstone.addons.fleet.spec import read_fleet
from loadstone.safety.errors import UserError

from .local_fleets import await_true, line_of, listening, loadstone, local_fleet

TRY_S = 3.0


@pytest.fixture(scope="module")
def fleet() -> Iterator[DaskCluster]:
    with local_fleet(1) as cluster:
        yield cluster


def addresses(fleet: DaskCluster) -> list[tuple[str, int]]:
    """Of the scheduler and of the agent."""
    return [("127.0.0.1", int(address.rpartition(":")[2])) for address in (fleet.address, fleet.members[0].address)]


def self_signed(folder: Path) -> Path:
    """A certificate with the names of the fleet's own, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loadstone fleet authority")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ) + made.public_bytes(serialization.Encoding.PEM)
    path = folder / "self-signed.pem"
    path.write_bytes(pem)
    return path


def attackers_context(chain: Path | None = None) -> ssl.SSLContext:
    """Takes whatever certificate the other side shows."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if chain is not None:
        context.load_cert_chain(chain)
    return context


def orders(mark: Path) -> list[dict[str, Any]]:
    """Messages by which those who are let in have code run, on a scheduler and on a worker."""
    call = {"function": dumps(os.mkdir), "args": dumps((str(mark),)), "kwargs": dumps({})}
    return [
        {"op": "identity", "reply": True},
        {"op": "run_function", "reply": True, "wait": True, **call},
        {"op": "run", "reply": True, "wait": True, **call},
        {"op": "broadcast", "reply": True, "msg": {"op": "run", "wait": True, **call}},
        {"op": "register-client", "reply": True, "client": "me", "versions": {}},
        {"op": "register-worker", "reply": True, "address": "tls://127.0.0.1:9", "name": to_serialize(_Bomb(mark))},
    ]


class _Bomb:
    """Runs code where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


def answers(address: tuple[str, int], mark: Path, scheme: str, context: ssl.SSLContext | None) -> list[object]:
    """What each order is answered, by Dask's own protocol."""

    async def order(message: dict[str, Any]) -> object:
        keywords: dict[str, Any] = {} if context is None else {"ssl_context": context}
        comm = await connect(f"{scheme}://{address[0]}:{address[1]}", timeout=TRY_S, **keywords)
        try:
            await comm.write(message)
            return await comm.read()
        finally:
            comm.abort()

    async def all_of_them() -> list[object]:
        found: list[object] = []
        for message in orders(mark):
            with suppress(OSError, asyncio.TimeoutError, asyncio.CancelledError):
                found.append(await asyncio.wait_for(order(message), TRY_S + 1))
        return found

    return asyncio.run(all_of_them())


def serves(fleet: DaskCluster) -> bool:
    """Whether it still does as its own command says."""
    return fleet.call(fleet.members[0], ping, timeout_s=10) and fleet.lost() == {}


def test_nobody_without_tls(fleet: DaskCluster, tmp_path: Path) -> None:
    for address in addresses(fleet):
        assert answers(address, tmp_path / "mark", "tcp", None) == []
    assert not (tmp_path / "mark").exists()
    assert serves(fleet)


@pytest.mark.fault(
    "an attacker without a certificate of the fleet",
    "no answer, and no code runs, on scheduler and agents",
    area="fleet",
)
@pytest.mark.parametrize("own", ["none", "self-signed", "of another fleet"])
def test_nobody_without_a_certificate_of_this_fleet(own: str, fleet: DaskCluster, tmp_path: Path) -> None:
    certificates.write(tmp_path / "them", certificates.made())
    chain = {
        "none": None,
        "self-signed": self_signed(tmp_path),
        "of another fleet": tmp_path / "them" / "scheduler.pem",
    }
    for address in addresses(fleet):
        assert answers(address, tmp_path / "mark", "tls", attackers_context(chain[own])) == []
    assert not (tmp_path / "mark").exists()
    assert serves(fleet)


def test_the_orders_are_obeyed_from_those_who_have_one(fleet: DaskCluster, tmp_path: Path) -> None:
    """Else the tests above would show nothing. This is what SECURITY.md says of a certificate."""
    path = tmp_path / "command.pem"
    path.write_text(fleet._credential.own)
    for number, address in enumerate(addresses(fleet)):
        mark = tmp_path / f"mark-{number}"
        assert answers(address, mark, "tls", attackers_context(path))
        assert mark.exists()


def test_an_old_tls_is_refused_even_with_a_certificate(fleet: DaskCluster, tmp_path: Path) -> None:
    path = tmp_path / "command.pem"
    path.write_text(fleet._credential.own)
    for address in addresses(fleet):
        context = attackers_context(path)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with socket.create_connection(address, TRY_S) as plain, pytest.raises(ssl.SSLError):
            context.wrap_socket(plain)
    assert serves(fleet)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET /info/main/workers.html HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x00" * 4096,
        os.urandom(65_536),
        b"\x16\x03\x01\xff\xff" + b"\x01" * 70_000,
    ],
    ids=["http", "dashboard", "zeros", "random", "hello"],
)
def test_what_is_no_tls_gets_no_answer(sent: bytes, fleet: DaskCluster) -> None:
    for address in addresses(fleet):
        with socket.create_connection(address, TRY_S) as plain:
            plain.settimeout(TRY_S)
            received = b""
            with suppress(OSError):
                plain.sendall(sent)
                while more := plain.recv(4096):
                    received += more
            assert b"HTTP" not in received
            assert len(received) < 64  # an alert of TLS at most
    assert serves(fleet)


def test_connections_that_say_nothing_keep_nobody_out(fleet: DaskCluster) -> None:
    silent = [socket.create_connection(address, TRY_S) for address in addresses(fleet) for _ in range(100)]
    try:
        assert serves(fleet)
        assert len(_fresh_workers(fleet)) == 1
    finally:
        for one in silent:
            one.close()


def _fresh_workers(fleet: DaskCluster) -> dict[str, Any]:
    found: dict[str, Any] = fleet._run(fleet._workers(fleet._client)).result(10)
    return found


def test_it_listens_on_loopback_alone_and_on_one_port_a_part(fleet: DaskCluster) -> None:
    parts = [child for child in psutil.Process().children(recursive=True) if "fleet" in child.cmdline()]
    assert len(parts) == 2
    found = [listening(child.pid) for child in parts]
    ports = sorted(at for one in found for at in one)
    assert ports == sorted(addresses(fleet))


def _shaken(client: ssl.SSLContext, server: ssl.SSLContext) -> None:
    """Both sides of a handshake, in memory. Raises ssl.SSLError."""
    a_in, a_out, b_in, b_out = (ssl.MemoryBIO() for _ in range(4))
    ours, theirs = client.wrap_bio(a_in, a_out), server.wrap_bio(b_in, b_out, server_side=True)
    for _ in range(6):
        for side, out, into in ((ours, a_out, b_in), (theirs, b_out, a_in)):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
            into.write(out.read())
    ours.do_handshake()
    theirs.do_handshake()


def test_a_command_cannot_pose_as_a_scheduler_or_an_agent() -> None:
    """By the very contexts that Dask makes of the certificates."""
    from loadstone.addons.fleet.dask_library import security

    issued = certificates.made()

    def shaken(server: Credential) -> None:
        asks = security(issued["agent"], "worker").get_connection_args("worker")["ssl_context"]
        answers_ = security(server, "scheduler").get_listen_args("scheduler")["ssl_context"]
        _shaken(asks, answers_)

    shaken(issued["scheduler"])
    with pytest.raises(ssl.SSLCertVerificationError, match="unsuitable certificate purpose"):
        shaken(issued["command"])
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(certificates.made()["scheduler"])


@pytest.mark.fault("a fleet's certificates expire while it runs", "nobody is let in by them any more", area="fleet")
def test_who_comes_with_an_expired_one_is_not_let_in(tmp_path: Path) -> None:
    called("--version")  # what the command loads is loaded before the certificates begin
    good_s = 6.0
    certificates.write(tmp_path / "them", certificates.made(days=good_s / 86_400))
    begin = time.monotonic()
    credential = certificates.read(tmp_path / "them", "command")
    environment = {certificates.FOLDER_VARIABLE: str(tmp_path / "them")}
    with loadstone("fleet", "scheduler", "--listen", "127.0.0.1:0", environment=environment) as scheduler:
        address = line_of(scheduler, "scheduler: ").split("scheduler: ")[1].strip()
        time.sleep(max(0.0, begin + good_s + 1.5 - time.monotonic()))
        (tmp_path / "command.pem").write_text(credential.own)
        port = int(address.rpartition(":")[2])
        context = attackers_context(tmp_path / "command.pem")
        assert answers(("127.0.0.1", port), tmp_path / "mark", "tls", context) == []
        assert not (tmp_path / "mark").exists()
        with pytest.raises(UserError, match=r"command\.pem expired "):
            open_cluster(read_fleet(address), folder=tmp_path / "them")


@pytest.mark.fault("an agent comes with a certificate of another fleet", "it does not join, and says why", area="fleet")
def test_an_agent_of_another_fleet_does_not_join(tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        certificates.write(tmp_path / name, certificates.made())
    ours = {certificates.FOLDER_VARIABLE: str(tmp_path / "ours")}
    theirs = {certificates.FOLDER_VARIABLE: str(tmp_path / "theirs")}
    with loadstone("fleet", "scheduler", "--listen", "127.0.0.1:0", environment=ours) as scheduler:
        address = line_of(scheduler, "scheduler: ").split("scheduler: ")[1].strip()
        with loadstone("fleet", "agent", address, "--name", "stranger", environment=theirs) as agent:
            said = line_of(agent, "cannot join")
            assert "certificate" in said.lower()
            assert said.count("\n") == 1


def test_neither_runs_without_certificates(tmp_path: Path) -> None:
    for words in (("scheduler",), ("agent", "tls://127.0.0.1:1")):
        refused = called("fleet", *words, "--certificates", tmp_path)
        assert refused.returncode == 2
        assert ".pem is not there" in refused.stderr
    with closing(socket.socket()) as probe:
        await_true(lambda: probe.connect_ex(("127.0.0.1", 8786)) != 0, "nothing listens")
