"""Servers, and the small things, that the tests of several folders share."""

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import redis

from loadstone.experiment.plan.drive_plan import Closed, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.machine.ports import PORT_TRIES, free_port
from loadstone.servers.redis import packages
from loadstone.servers.redis.session import RedisSession
from loadstone.servers.redis.url import parse_url
from loadstone.servers.server import DeployContext

PATIENCE_S = 100.0
"""How long a busy machine may take for what is sure to come."""

QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Flags of a JVM that compiles once and plainly: most of what it costs a test is its start."""

READY = "Ready to accept connections"
"""What a redis-server writes to its log once it listens."""

PLAN = Plan(
    endpoints=(Endpoint(),),
    model=Closed(users=1),
    pool=Pool(connections=1),
    operations=(Operation(name="ping", commands=(ServerCommand(args=("PING",)),)),),
)
"""A trial's load, where any will do."""
REDIS: dict[str, object] = {"kind": "embedded"}
"""A trial's server, where any will do."""


def settled(count: Callable[[], int]) -> int:
    """What a server counts, once it has read all that was sent: on a busy machine it lags behind."""
    before, now = -1, count()
    while now != before:
        time.sleep(0.2)
        before, now = now, count()
    return now


def wait_until(what: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Returns once `what` holds; fails if it does not come true at all."""
    deadline = time.monotonic() + patience_s
    while not what():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    """Whether a process ended (its entry may still wait for its parent).

    Its first thread may be done while another one still holds its files and locks.
    """
    try:
        ended = psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        return ended and len(list(Path(f"/proc/{pid}/task").iterdir())) <= 1
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
        return True


def arguments_of(process: psutil.Process) -> str:
    """Its command line; nothing of one that ended meanwhile."""
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


@pytest.fixture
def context(tmp_path: Path) -> Iterator[DeployContext]:
    """A context whose temporary folders must all be gone after the test, and the processes in them."""
    root = tmp_path / "work"
    root.mkdir()
    yield DeployContext(work_root=root)
    assert list(root.iterdir()) == []
    said = [arguments_of(child) for child in psutil.Process().children(recursive=True)]
    assert [words for words in said if str(root) in words] == []


@dataclass
class UserRedis:
    """A server that is not loadstone's."""

    pid: int
    port: int
    folder: Path

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def client(self, **options: object) -> redis.Redis:
        return redis.Redis(port=self.port, decode_responses=True, **options)


@pytest.fixture
def user_redis(tmp_path: Path) -> Iterator[Callable[..., UserRedis]]:
    """Starts plain redis-servers, as a user has them; `binary` and further arguments at will."""
    with contextlib.ExitStack() as stack:

        def start(*arguments: str, binary: Path | None = None, tls: bool = False) -> UserRedis:
            for _ in range(PORT_TRIES):
                if theirs := begin(*arguments, binary=binary, tls=tls):
                    return theirs
            raise AssertionError(f"{PORT_TRIES} ports in a row were taken by others")

        def begin(*arguments: str, binary: Path | None, tls: bool) -> UserRedis | None:
            """None where another has the port, or the one 10,000 above it that a node of a cluster listens on, too."""
            port = free_port()
            folder = tmp_path / f"user-{port}"
            folder.mkdir()
            listen = ["--port", "0", "--tls-port", str(port)] if tls else ["--port", str(port)]
            command = [str(binary or packages.need_server()), *listen, "--bind", "127.0.0.1", "--save", ""]
            log = stack.enter_context((folder / "log").open("w"))
            process = subprocess.Popen([*command, "--dir", str(folder), *arguments], stdout=log)
            stack.callback(process.wait)
            stack.callback(process.kill)
            # It is not queried: a connection of ours might still be open there when the test counts them.
            wait_until(lambda: READY in (folder / "log").read_text() or process.poll() is not None)
            text = (folder / "log").read_text()
            if process.poll() is not None and "Address already in use" in text:
                return None
            assert process.poll() is None, text
            return UserRedis(process.pid, port, folder)

        yield start


@dataclass
class Scripted:
    """A TCP server that says one thing to whoever connects."""

    port: int
    url: str


@pytest.fixture
def scripted() -> Iterator[Callable[[bytes | None], Scripted]]:
    """Starts servers that answer the first bytes with fixed ones; None: they never answer."""
    with contextlib.ExitStack() as stack:

        def start(answer: bytes | None) -> Scripted:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            connections: list[socket.socket] = []

            def serve() -> None:
                with contextlib.suppress(OSError):
                    while True:
                        connection, _ = listener.accept()
                        connections.append(connection)
                        if answer is not None:
                            connection.recv(4096)
                            connection.sendall(answer)
                            connection.close()

            thread = threading.Thread(target=serve, daemon=True)
            thread.start()

            def end() -> None:
                with contextlib.suppress(OSError):
                    listener.shutdown(socket.SHUT_RDWR)
                thread.join()
                for connection in connections:
                    connection.close()

            stack.callback(end)
            port = listener.getsockname()[1]
            return Scripted(port, f"redis://127.0.0.1:{port}")

        yield start


@dataclass(frozen=True)
class Certificates:
    """A throw-away CA, a server's certificate for localhost by it, and another CA."""

    ca: Path
    other_ca: Path
    cert: Path
    key: Path


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    for name in ("ca", "other-ca"):
        openssl("req", "-x509", *new_key, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}")
    openssl("req", "-new", *new_key[:-2], "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    (folder / "names").write_text("subjectAltName=DNS:localhost\n")
    openssl(
        *("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
        *("-days", "2", "-extfile", "names", "-out", "server.pem"),
    )
    return Certificates(folder / "ca.pem", folder / "other-ca.pem", folder / "server.pem", folder / "server.key")


@pytest.fixture(scope="session")
def debian_redis() -> Path:
    """A redis-server of the system; the embedded one has no TLS."""
    found = packages.find_local_server()
    if found is None:
        pytest.skip("no redis-server on PATH: scripts/apt installs it where it can")
    return found


TLS_PASSWORD = "a-password-of-its-own"
_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@pytest.fixture(scope="session")
def odd_certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates by a CA: one for localhost, one that expired, one for another name; and a self-signed one."""
    folder = tmp_path_factory.mktemp("odd-certificates")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", *_NEW_KEY, "-days", "2", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca")
    for name, host, days in (("good", "localhost", "2"), ("old", "localhost", "-1"), ("other", "db.example", "2")):
        openssl("req", "-new", *_NEW_KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={host}")
        (folder / "names").write_text(f"subjectAltName=DNS:{host}\n")
        openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-days", days, "-extfile", "names", "-out", f"{name}.pem"),
        )
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    openssl("req", "-x509", *_NEW_KEY, "-days", "2", "-keyout", "self.key", "-out", "self.pem", *names)
    return folder


@pytest.fixture
def tls_redis(debian_redis: Path, odd_certificates: Path) -> Iterator[Callable[[str], int]]:
    """Starts a Redis with the certificate of that name; its port."""
    running: list[subprocess.Popen[bytes]] = []

    def start(name: str) -> int:
        port = free_port()
        files = ("--tls-cert-file", f"{name}.pem", "--tls-key-file", f"{name}.key", "--tls-ca-cert-file", "ca.pem")
        options = ("--port", "0", "--tls-port", str(port), "--tls-auth-clients", "no", "--save", "")
        command = [str(debian_redis), *options, *files, "--requirepass", TLS_PASSWORD]
        running.append(subprocess.Popen(command, cwd=odd_certificates, stdout=subprocess.DEVNULL))
        url = f"rediss://:{TLS_PASSWORD}@localhost:{port}?verify=no"
        wait_until(lambda: _answers(url))
        return port

    yield start
    for process in running:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        with RedisSession(parse_url(url)) as session:
            session.ping()
    except Exception:
        return False
    return True
