"""loadstone beside wrk over HTTP/1.1: the same load on the same service, in turn, in one run.

    python bench/http_peers.py [--url URL] [--rounds 8] [--seconds 3] [--connections 1,16,64] [--json FILE]

The service is an nginx of this bench (one worker on one CPU, a reply of 100 bytes) or the one that `--url` names;
both generators run on another CPU, with one thread. Each round runs every case with both, in random order; a case's
figure is the median over rounds of the ratio loadstone / wrk within a round, with its range. CPU is that of the whole
generator process (user + system), its start included, divided by the requests that it made; loadstone's includes its
collector thread and Python.
"""

import argparse
import contextlib
import json
import os
import random
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from loadstone.deploy.local_redis import free_port
from loadstone.deploy.placement import place
from loadstone.drive.native import NativeDriver, require_release_engine
from loadstone.plan.http import HttpRequest
from loadstone.plan.model import Closed, Endpoint, Operation, Phases, Plan, Pool

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


@dataclass(frozen=True)
class Figure:
    rate_per_s: float
    cpu_us: float
    """Generator CPU in microseconds a request."""


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


def pinned_to(cpus: tuple[int, ...]) -> object:
    return lambda: os.sched_setaffinity(0, cpus) if cpus else None


def wrk(url: str, connections: int, cpus: tuple[int, ...], seconds: float) -> Figure:
    """Run wrk, whose seconds are whole; its own rate, and its process's CPU."""
    command = [needed("wrk", "wrk"), "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", url]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run(command, check=True, capture_output=True, text=True, preexec_fn=pinned_to(cpus)).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
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


def rounds(
    url: str, cases: list[int], cpus: tuple[int, ...], options: argparse.Namespace
) -> dict[int, list[tuple[Figure, Figure]]]:
    """Pairs of loadstone's and wrk's figures, by the number of connections."""
    figures: dict[int, list[tuple[Figure, Figure]]] = {case: [] for case in cases}
    for case in cases:  # warms all three up
        loadstone(url, case, cpus, 0.3)
    for number in range(options.rounds):
        for case in random.sample(cases, len(cases)):
            print(f"round {number + 1}/{options.rounds}: {case} connections        ", end="\r", file=sys.stderr)
            runs = {"ours": loadstone, "theirs": wrk}
            done = {name: runs[name](url, case, cpus, options.seconds) for name in random.sample(list(runs), 2)}
            figures[case].append((done["ours"], done["theirs"]))
    return figures


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} [{min(values):.2f}, {max(values):.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", help="a service of yours; without it an nginx is started")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--connections", default="1,16,64")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.url and not options.url.startswith("http://"):
        parser.error(f"--url '{options.url}' must begin with http://")
    require_release_engine()
    placement = place()
    cases = [int(case) for case in options.connections.split(",")]
    with contextlib.nullcontext(options.url) if options.url else nginx(placement.server_cpus) as url:
        figures = rounds(url, cases, placement.generator_cpus, options)
    print(
        f"\n{'connections':<12} {'rate, ratio':<22} {'CPU a request, ratio':<22} {'our us':<20} {'wrk us':<20} our rate"
    )
    for case, pairs in figures.items():
        print(
            f"{case:<12} {spread([a.rate_per_s / b.rate_per_s for a, b in pairs]):<22} "
            f"{spread([a.cpu_us / b.cpu_us for a, b in pairs]):<22} "
            f"{spread([a.cpu_us for a, _ in pairs]):<20} {spread([b.cpu_us for _, b in pairs]):<20} "
            f"{statistics.median([a.rate_per_s for a, _ in pairs]):.0f}/s"
        )
    if options.json:
        options.json.write_text(json.dumps({k: [[vars(a), vars(b)] for a, b in v] for k, v in figures.items()}))


if __name__ == "__main__":
    main()
