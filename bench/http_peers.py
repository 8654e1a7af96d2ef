"""loadstone beside wrk over HTTP/1.1: the same load on the same service, in turn, in one run.

    python bench/http_peers.py [--url URL] [--rounds 8] [--seconds 3] [--connections 1,16,64] [--json FILE]

The service is an nginx of this bench (one worker on one CPU, a reply of 100 bytes) or the one that `--url` names;
both generators run on another CPU, with one thread. Each round runs every case with both, in random order; a case's
figure is the median over rounds of the ratio loadstone / wrk within a round, with its range. CPU is that of the whole
generator process (user + system), its start included, divided by the requests that it made; loadstone's includes its
collector thread and Python.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from ratios import Figure, Pair, in_turn, options, pinned_to, rounds_of, run_peer, tell

from loadstone.deploy.placement import place
from loadstone.deploy.processes.ports import free_port
from loadstone.drive.native import NativeDriver, require_release_engine
from loadstone.plan.drive_plan import Closed, Endpoint, Operation, Phases, Plan, Pool
from loadstone.plan.workload.http import HttpRequest

BODY_BYTES = 100
START_S = 10.0
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
  server {{ listen 127.0.0.1:{port}; default_type text/plain; location / {{ return 200 "{body}"; }} }}
}}
"""


@contextlib.contextmanager
def nginx(cpus: tuple[int, ...]) -> Iterator[str]:
    """The URL of an nginx on these CPUs."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="loadstone-nginx-") as folder:
        config = Path(folder) / "conf"
        config.write_text(NGINX.format(folder=folder, port=port, body="x" * BODY_BYTES))
        command = [needed("nginx", "nginx-light"), "-p", folder, "-e", f"{folder}/log", "-c", str(config)]
        process = subprocess.Popen(command, preexec_fn=pinned_to(cpus))
        try:
            await_listener(process, port)
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()
            process.wait()


def await_listener(process: subprocess.Popen[bytes], port: int) -> None:
    """Return once something listens at the port; exits if the process ends before, or does not get there."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    sys.exit("http: nginx does not start; run it by hand to see why")


def needed(program: str, package: str) -> str:
    """The program's path; exits with the remedy where it is missing."""
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return found or sys.exit(f"http: {program} was not found; install it (Debian: apt-get install {package})")


def wrk(url: str, connections: int, cpus: tuple[int, ...], seconds: float) -> Figure:
    """Run wrk, whose seconds are whole; its own rate, and its process's CPU."""
    command = [needed("wrk", "wrk"), "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", url]
    text, cpu_s = run_peer(command, cpus)
    done = re.search(r"(\d+) requests in", text)
    rate = re.search(r"Requests/sec:\s*([\d.]+)", text)
    if done is None or rate is None or "Non-2xx" in text or "Socket errors" in text:
        sys.exit(f"http: wrk, {connections} connections: {text}")
    return Figure(float(rate[1]), cpu_s / int(done[1]) * 1e6)


def loadstone(url: str, connections: int, cpus: tuple[int, ...], seconds: float) -> Figure:
    """Drive the same requests with the native engine; every reply is read, and its status checked."""
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    plan = Plan(
        protocol="http1",
        endpoints=(Endpoint(host=parts.hostname or "127.0.0.1", port=parts.port or 80),),
        cpus=cpus[:1],
        model=Closed(users=connections),
        pool=Pool(connections=connections),
        phases=Phases(warm_up_s=0, measure_s=seconds, drain_s=2),
        operations=(Operation(name="get", requests=(HttpRequest(path=path.replace("{", "{{").replace("}", "}}")),)),),
    )
    before = time.process_time()
    record = NativeDriver().drive(plan, lambda _: None)
    cpu_s = time.process_time() - before
    if record.total.ok != record.total.sent:
        sys.exit(f"http: loadstone, {connections} connections: {record.total}")
    return Figure(record.operations["get"].window_completed / record.measure_s, cpu_s / record.total.ok * 1e6)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--url", help="a service of yours; without it an nginx is started")
    parser.add_argument("--connections", default="1,16,64")
    arguments = parser.parse_args()
    if arguments.url and not arguments.url.startswith("http://"):
        parser.error(f"--url '{arguments.url}' must begin with http://")
    require_release_engine()
    placement = place()
    cpus, seconds = placement.generator_cpus, arguments.seconds
    cases = [int(case) for case in arguments.connections.split(",")]
    with contextlib.nullcontext(arguments.url) if arguments.url else nginx(placement.server_cpus) as url:

        def measure(case: int) -> Pair:
            return in_turn(lambda: loadstone(url, case, cpus, seconds), lambda: wrk(url, case, cpus, seconds))

        for case in cases:  # warms all three up
            loadstone(url, case, cpus, 0.3)
        figures = rounds_of(cases, arguments.rounds, measure)
    tell("connections", "wrk", figures, arguments.json)


if __name__ == "__main__":
    main()
