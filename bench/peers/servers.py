"""The servers of the bench: a Redis, an nginx, and servers that freeze. Each in a process of its own, on its CPU."""

import contextlib
import json
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from bench.peers.child import pinned_to
from bench.peers.load import Kind, Target
from loadstone.drivers.null_server import NullServerProcess
from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.machine.ports import free_port
from loadstone.safety.errors import UserError
from loadstone.servers.redis.local import EmbeddedSettings
from loadstone.servers.server import DeployContext

BODY_BYTES = 100
CERTIFICATE = shlex.split("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key -out cert")
PAGES = (100, 1_000, 10_000, 100_000, 1_000_000)
"""Sizes of its pages in bytes, beside that of 100 that it has in memory."""
START_S = 10.0
REPLIES: dict[str, object] = {"replies": {"GET": "value"}}
"""Of a null server that answers GET with a value."""
SERVICE_S, EVERY_S, FREEZE_S = 0.001, 10.0, 1.0
"""Of the server that freezes."""
NGINX = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port}; listen 127.0.0.1:{tls_port} ssl; ssl_certificate {folder}/cert;
    ssl_certificate_key {folder}/key; default_type text/plain; root {folder}/pages;
    location = / {{ return 200 "{body}"; }}
    location / {{ open_file_cache max=100; }}
    location /chunked/ {{ alias {folder}/pages/; open_file_cache max=100; ssi on; ssi_types *; }}
  }}
}}
"""


@contextlib.contextmanager
def redis(cpus: Sequence[int], *, with_json: bool = False) -> Iterator[Target]:
    """The embedded Redis, with RedisJSON where that is asked for."""
    server = EmbeddedSettings(modules=("json",) if with_json else ()).server("redis")
    try:
        yield Target(server.start(DeployContext(cpus=tuple(cpus))))
    finally:
        server.stop()


def nginx_program() -> str | None:
    """Where nginx is, also where systems keep servers; None where it is not installed."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


@contextlib.contextmanager
def service(cpus: Sequence[int]) -> Iterator[dict[Kind, Target]]:
    """An nginx of one worker, or the null server, which has no TLS, where there is no nginx. Raises UserError where it
    does not start."""
    program = nginx_program()
    if program is None:
        with null_server(cpus, {"protocol": "http1", "body_bytes": BODY_BYTES}) as target:
            yield {"HTTP": target, "HTTP chunked": target}
        return
    port, tls_port = free_port(), free_port()
    with tempfile.TemporaryDirectory(prefix="loadstone-nginx-") as folder:
        config = Path(folder) / "conf"
        pages = Path(folder) / "pages"
        pages.mkdir()
        Path(folder).chmod(0o755)  # its worker may be another user
        for size in PAGES:
            (pages / str(size)).write_text("x" * size)
        subprocess.run(CERTIFICATE, cwd=folder, check=True, capture_output=True)
        config.write_text(NGINX.format(folder=folder, port=port, tls_port=tls_port, body="x" * BODY_BYTES))
        command = [program, "-p", folder, "-e", f"{folder}/log", "-c", str(config)]
        with listening(command, port, cpus):
            plain = Target(Endpoint(host="127.0.0.1", port=port))
            secured = Target(Endpoint(host="127.0.0.1", port=tls_port, tls=Tls(verify=False)))
            yield {"HTTP": plain, "HTTP chunked": plain, "HTTPS": secured}


@contextlib.contextmanager
def null_server(cpus: Sequence[int], options: dict[str, object]) -> Iterator[Target]:
    """The engine's null server."""
    server = NullServerProcess(options)
    try:
        yield Target(server.start(DeployContext(cpus=tuple(cpus))))
    finally:
        server.stop()


class Freezing:
    """A null server that answers after 1 ms, and not at all in the last second of every ten; a context.

    `left_unix_ns`, once it ended: when each of its replies left.
    """

    def __init__(self, cpus: Sequence[int], *, http: bool) -> None:
        self.left_unix_ns: list[int] = []
        options = {
            "delay_us": SERVICE_S * 1e6, "freeze_every_s": EVERY_S, "freeze_s": FREEZE_S,
            "protocol": "http1" if http else "resp", "body_bytes": BODY_BYTES, "record": True, **REPLIES,
        }  # fmt: skip
        self._request = json.dumps({"cpus": list(cpus), "options": options})

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "loadstone.drivers.engine_program", "null"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{self._request}\n")
        self._process.stdin.flush()
        port = json.loads(self._process.stdout.readline())["port"]
        self.target = Target(Endpoint(host="127.0.0.1", port=port))
        return self

    def __exit__(self, *_: object) -> None:
        last = self._process.communicate()[0]
        self.left_unix_ns = json.loads(last)["left_unix_ns"]


@contextlib.contextmanager
def listening(
    command: Sequence[str], port: int, cpus: Sequence[int] = (), folder: Path | None = None
) -> Iterator[None]:
    """A server that listens at the port, in a process of its own, which works in `folder`; it has ended afterwards.

    Raises:
        UserError: it ends before, or does not get there.
    """
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, preexec_fn=pinned_to(cpus))
    try:
        _await_listener(process, Path(command[0]).name, port)
        yield
    finally:
        process.terminate()
        process.wait()


def _await_listener(process: "subprocess.Popen[bytes]", program: str, port: int) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise UserError.of(f"{program}: it does not start; run it by hand to read why")
