"""Latencies at a constant rate beside an independent generator, in turns: does loadstone print what the server does?

For each case the referee (`referee.c`, one polling thread, no code of loadstone's) and the command take turns at one
server on CPU 0; both make load on the last CPU. A row has the median of each one's figures over the rounds, their
ratio, and whether the referee's figure lies within what loadstone printed: its interval, lowered by what it says may be
its own. Needs cc, and nginx for HTTP. `--tree` measures another checkout (its `.venv`), e.g. the one before a change.

Use: scripts/bench referee [--rounds 4] [--seconds 5] [--rates 2000,5000] [--json FILE]
     scripts/bench referee --what http --at 3000 --path /health/live --name nest: an application that runs on CPU 0
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[1]
QUANTILES = ("p50", "p95", "p99", "p999")
RATES = (2_000, 5_000, 20_000, 50_000, 100_000)
KEYS = 10_000
NEIGHBOUR = (
    "import time\nwhile True:\n end = time.thread_time() + .02\n while time.thread_time() < end: pass\n time.sleep(.02)"
)


def free_port() -> int:
    """A port on loopback that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def running(command: list[str], cpu: int | None = None, port: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process on one CPU until the end; it listens at `port` by then."""
    pinned = command if cpu is None else ["taskset", "-c", str(cpu), *command]
    process = subprocess.Popen(pinned, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError):
                if port is not None:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                break
            time.sleep(0.05)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


@contextlib.contextmanager
def redis_server(folder: Path, cpu: int) -> Iterator[int]:
    """Debian's Redis without persistence."""
    port = free_port()
    with running(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""], cpu, port):
        yield port
    del folder


@contextlib.contextmanager
def nginx_server(folder: Path, cpu: int) -> Iterator[int]:
    """An nginx of one process that answers 100 bytes."""
    port = free_port()
    config = folder / "nginx.conf"
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    own = " ".join(f"{kind}_temp_path {folder};" for kind in kinds)
    serves = f"server {{ listen 127.0.0.1:{port}; location / {{ return 200 '{'x' * 100}'; }} }}"
    config.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log /dev/null;\n"
        "events { worker_connections 2048; }\n"
        f"http {{ access_log off; keepalive_requests 100000000; {own} {serves} }}\n"
    )
    with running([shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(config), "-p", str(folder)], cpu, port):
        yield port


class Case:
    """One row: what is sent, over how many connections, at which rate, beside what."""

    path, name = "/", ""
    """Of HTTP: what is asked for, and what the row calls it."""
    at: int | None = None
    """The port of a server that runs already."""

    def __init__(self, what: str, connections: int, rate: int, neighbour: bool, back_end: str) -> None:
        self.what, self.connections, self.rate = what, connections, rate
        self.neighbour, self.back_end = neighbour, back_end

    @property
    def operation(self) -> str:
        """Of Redis: get or set."""
        return self.what.split()[0]

    @property
    def value_bytes(self) -> int:
        """Of Redis: `get` alone is of 100 bytes, `set 10 kB` says it."""
        _, _, size = self.what.partition(" ")
        number, _, unit = size.partition(" ")
        return int(number) * {"": 1, "B": 1, "kB": 1000}[unit] if size else 100

    @property
    def keys(self) -> int:
        """Of how many keys: fewer where values are large."""
        return min(KEYS, 256_000_000 // self.value_bytes)

    @property
    def row(self) -> dict[str, Any]:
        """The columns that name it."""
        return {
            "what": self.name or self.what,
            "connections": self.connections,
            "rate": self.rate,
            "beside": "half a CPU" if self.neighbour else "idle",
            "back_end": self.back_end,
        }

    def by_referee(self, program: Path, port: int, seconds: float, cpu: int) -> dict[str, float]:
        """The referee's quantiles in ns."""
        sent = ["http", self.path, "0"] if self.what == "http" else ["redis", self.operation, str(self.value_bytes)]
        load = [str(self.connections), str(self.rate), str(seconds), str(cpu)]
        done = subprocess.run([program, str(port), *sent, *load], capture_output=True, check=True)
        return dict(json.loads(done.stdout))

    def by_loadstone(self, tree: Path, port: int, seconds: float) -> dict[str, Any]:
        """The row of its analysis."""
        options = [
            "--rate",
            str(self.rate),
            "-c",
            str(self.connections),
            "--duration",
            f"{seconds:g}",
            "--json",
            "--quiet",
        ]
        if self.what == "http":
            sent = ["http", f"http://127.0.0.1:{port}{self.path}"]
        else:
            size = ["-d", str(self.value_bytes), "-r", str(self.keys)]
            sent = ["redis", f"redis://127.0.0.1:{port}", "-t", self.operation, *size]
        environment = os.environ | {"PYTHONPATH": str(tree / "python")}
        if self.back_end:
            environment["LOADSTONE_BACK_END"] = self.back_end
        command = [sys.executable, "-m", "loadstone", *sent, *options]
        done = subprocess.run(command, capture_output=True, env=environment, cwd=tempfile.gettempdir(), check=False)
        if not done.stdout.strip():
            raise SystemExit(done.stderr.decode())
        return dict(json.loads(done.stdout)["tables"][0]["rows"][0])


def printed(row: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Quantile -> what is printed: low end with what may be loadstone's own, the figure, and the high end, in ns.

    Older trees, whose rows know nothing of stalls, have a low end that does not yet contain it.
    """
    found = {}
    for name in QUANTILES:
        figure, least = ((row[of] or {}).get(name) for of in ("response_ns", "least_ns"))
        if figure:
            low, high = (row.get("response_interval_ns") or {}).get(name) or (figure, figure)
            own = 0.0 if least is None or "stalls" in row else max(0.0, figure - least)
            figure = (row.get("stalls") or {}).get(name, {}).get("without_ns") or figure
            found[name] = (min(low, figure) - own, figure, high or float("inf"))
    return found


def measured(case: Case, program: Path, tree: Path, rounds: int, seconds: float) -> dict[str, Any]:
    """One row of the table."""
    server_cpu, generator_cpu = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    both = ("referee", "loadstone")
    figures: dict[str, dict[str, list[float]]] = {by: {name: [] for name in QUANTILES} for by in both}
    held = dict.fromkeys(QUANTILES, 0)
    ranges: dict[str, list[tuple[float, float, float]]] = {name: [] for name in QUANTILES}
    marks: list[str] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as beside:
        server = nginx_server if case.what == "http" else redis_server
        port = case.at or beside.enter_context(server(Path(folder), server_cpu))
        if case.neighbour:
            beside.enter_context(running([sys.executable, "-c", NEIGHBOUR]))
        if case.what != "http" and case.operation == "get":
            subprocess.run(
                [program, str(port), "redis", "set", str(case.value_bytes), "4", "20000", "2", str(generator_cpu)],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        for number in range(rounds):
            turns = both if number % 2 == 0 else both[::-1]
            found: dict[str, Any] = {}
            for by in turns:
                if by == "referee":
                    found[by] = case.by_referee(program, port, seconds, generator_cpu)
                else:
                    found[by] = case.by_loadstone(tree, port, seconds)
            ours = printed(found["loadstone"])
            doubted = found["loadstone"]["doubted"] or found["loadstone"]["verdict"] != "valid"
            marks.append("!" if doubted else "ok")
            for name in QUANTILES:
                figures["referee"][name].append(found["referee"][name])
                if name in ours:
                    low, figure, high = ours[name]
                    figures["loadstone"][name].append(figure)
                    ranges[name].append(ours[name])
                    held[name] += low <= found["referee"][name] <= high
    row = case.row | {"rounds": rounds, "marks": marks}
    for name in QUANTILES:
        theirs = median(figures["referee"][name])
        own = median(figures["loadstone"][name]) if figures["loadstone"][name] else None
        row[name] = {
            "referee_ns": theirs,
            "loadstone_ns": own,
            "ratio": None if own is None else round(own / theirs, 3),
            "referee_all_ns": figures["referee"][name],
            "loadstone_all_ns": ranges[name],
            "within": held[name],
        }
    return row


def main() -> int:
    """Print the table, a line a case as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rates", default=",".join(map(str, RATES)))
    parser.add_argument("--connections", default="1,50,500")
    parser.add_argument("--what", default="get,set 1 kB,http", help="also with other sizes: get 10 kB, set 100 kB")
    parser.add_argument("--beside", default="idle,busy")
    parser.add_argument("--at", type=int, help="of http: the port of a server that runs already")
    parser.add_argument("--path", default="/", help="of http")
    parser.add_argument("--name", default="", help="of http: what the rows call it")
    parser.add_argument("--back-ends", default="", help="io_uring,epoll: one row each; else its own choice")
    parser.add_argument("--tree", type=Path, default=TREE)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "referee"
        subprocess.run(["cc", "-O2", "-o", str(program), str(HERE / "referee.c")], check=True)
        print("what      conn   rate    beside      P50 ref ours ratio in | P95 | P99 | P99.9")
        for what in arguments.what.split(","):
            for neighbour in arguments.beside.split(","):
                for connections in map(int, arguments.connections.split(",")):
                    for rate in map(int, arguments.rates.split(",")):
                        for back_end in arguments.back_ends.split(","):
                            case = Case(what, connections, rate, neighbour == "busy", back_end)
                            case.at, case.path, case.name = arguments.at, arguments.path, arguments.name
                            row = measured(case, program, arguments.tree, arguments.rounds, arguments.seconds)
                            rows.append(row)
                            print(line(row), flush=True)
                            if arguments.json:
                                arguments.json.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return 0


def line(row: dict[str, Any]) -> str:
    """A row for people, in microseconds."""
    figures = []
    for name in QUANTILES:
        one = row[name]
        own = "-" if one["loadstone_ns"] is None else f"{one['loadstone_ns'] / 1e3:.0f}"
        figures.append(
            f"{one['referee_ns'] / 1e3:6.0f} {own:>6} {one['ratio'] or 0:5.2f} {one['within']}/{row['rounds']}"
        )
    return f"{row['what']:9} {row['connections']:4} {row['rate']:6} {row['beside']:10} " + " | ".join(figures)


if __name__ == "__main__":
    sys.exit(main())
