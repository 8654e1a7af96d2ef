"""Commands that users of redis-benchmark, wrk and memtier_benchmark type first: the peer's figure beside ours.

    scripts/bench first-figures [--rounds N] [--only TEXT] [--file FILE]

Each command is typed for both, in turn, against one server: the rate that each prints, our bound, how long it took
until the figure was there, and whether the peer's lies inside of ours: not above our rate and its bound (`close`: by
less than the rates of one program differ from run to run). A line a command goes into the file at once.
"""

import argparse
import csv
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench.peers.servers import CERTIFICATE, listening, nginx_program
from loadstone.machine.ports import free_port

FILE = Path("bench/results/first-figures.jsonl")
LIMIT_S = 90.0
"""A command that has not ended by then has no figure."""
SPREAD = 0.25
"""Two runs of one program differ by as much on shared machines."""


@dataclass(frozen=True)
class Command:
    """What is typed for the peer and for us. `{port}` is the server's; `server` names which one."""

    name: str
    peer: str
    ours: str
    server: str = "plain"


def _redis(name: str, options: str, server: str = "plain", ours: str | None = None, peer: str | None = None) -> Command:
    common = options if ours is None else ours
    return Command(
        name,
        f"redis-benchmark -p {{port}} --csv {options if peer is None else peer}",
        f"loadstone redis redis://127.0.0.1:{{port}} --csv {common}",
        server,
    )


COMMANDS = (
    _redis("GET, 50 connections", "-t get -c 50 -n 100000"),
    _redis("SET, 50 connections", "-t set -c 50 -n 100000"),
    _redis("GET, 1 connection", "-t get -c 1 -n 20000"),
    _redis("SET, 1 connection", "-t set -c 1 -n 20000"),
    _redis("GET, 8 connections", "-t get -c 8 -n 100000"),
    _redis("GET, 200 connections", "-t get -c 200 -n 100000"),
    _redis("GET, 500 connections", "-t get -c 500 -n 100000"),
    _redis("GET, pipeline of 16", "-t get -c 50 -P 16 -n 1000000"),
    _redis("SET, pipeline of 16", "-t set -c 50 -P 16 -n 1000000"),
    _redis("SET of 100 B", "-t set -c 50 -d 100 -n 100000"),
    _redis("SET of 1 kB", "-t set -c 50 -d 1000 -n 100000"),
    _redis("SET of 10 kB", "-t set -c 50 -d 10000 -n 50000"),
    _redis("SET, 100,000 keys", "-t set -c 50 -r 100000 -n 100000"),
    _redis(
        "GET, nothing stored", "-t get -c 50 -r 100000 -n 100000", ours="-t get -c 50 -r 100000 -n 100000 --no-load"
    ),
    _redis("INCR", "-t incr -c 50 -n 100000"),
    _redis("LPUSH", "-t lpush -c 50 -n 100000"),
    _redis("SADD", "-t sadd -c 50 -n 100000"),
    _redis("HSET", "-t hset -c 50 -n 100000"),
    _redis("ZADD", "-t zadd -c 50 -n 100000"),
    _redis("PING", "-t ping_mbulk -c 50 -n 100000", ours="-t ping -c 50 -n 100000"),
    _redis("MSET of ten keys", "-t mset -c 50 -n 50000"),
    _redis("LRANGE of 100", "-t lrange_100 -c 50 -n 20000"),
    _redis("SET, appendfsync everysec", "-t set -c 50 -n 100000", "everysec"),
    _redis("SET, appendfsync always", "-t set -c 50 -n 100000", "always"),
    _redis("SET, appendfsync always, 1 connection", "-t set -c 1 -n 5000", "always"),
    _redis("SET, appendfsync always, 200 connections", "-t set -c 200 -n 100000", "always"),
    _redis("GET, two I/O threads", "-t get -c 50 -n 100000", "threads"),
    Command(
        "GET, TLS",
        "redis-benchmark -p {port} --csv --tls --insecure -t get -c 50 -n 50000",
        "loadstone redis rediss://127.0.0.1:{port} --insecure --csv -t get -c 50 -n 50000",
        "tls",
    ),
    Command(
        "HTTP, 50 connections",
        "wrk -t 1 -c 50 -d 3s http://127.0.0.1:{port}/",
        "loadstone http http://127.0.0.1:{port}/ -c 50 -d 3s --csv",
        "http",
    ),
    Command(
        "HTTP, 1 connection",
        "wrk -t 1 -c 1 -d 3s http://127.0.0.1:{port}/",
        "loadstone http http://127.0.0.1:{port}/ -c 1 -d 3s --csv",
        "http",
    ),
    _redis("GET at 5,000 a second", "-t get -c 50 -n 20000", ours="-t get -c 50 --rate 5000"),  # the peer has no rate
)


@dataclass(frozen=True)
class Measured:
    """What one program printed for one command."""

    seconds: float
    status: int
    rate_per_s: float | None
    bound: float | None = None
    """A share: how much higher the rate may be without the generator and others."""
    p50_us: float | None = None
    verdict: str = ""


def main() -> None:
    """Type all commands, print a line each, and how many have a figure and hold the peer's."""
    options = _options()
    options.file.parent.mkdir(parents=True, exist_ok=True)
    chosen = [one for one in COMMANDS if options.only in one.name]
    rows = []
    with ExitStack() as stack, options.file.open("a") as file:
        ports = {name: stack.enter_context(_server(name)) for name in dict.fromkeys(one.server for one in chosen)}
        for command in chosen:
            rounds = [_both(command, ports[command.server], swap=number % 2 == 1) for number in range(options.rounds)]
            row = _row(command, rounds)
            rows.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(_line(row), flush=True)
    without = [row["command"] for row in rows if row["ours_per_s"] is None]
    beyond = {name: [row["command"] for row in rows if row["inside"] == name] for name in ("close", "outside")}
    print(f"{len(rows)} commands; without a figure: {len(without)} {without}; the peer's beyond ours: {beyond}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="first-figures", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="", help="commands whose name holds this")
    parser.add_argument("--file", type=Path, default=FILE)
    return parser.parse_args()


def _both(command: Command, port: int, *, swap: bool) -> tuple[Measured, Measured]:
    if swap:
        ours = _typed(command.ours, port)
        return _typed(command.peer, port), ours
    return _typed(command.peer, port), _typed(command.ours, port)


def _typed(line: str, port: int) -> Measured:
    arguments = line.format(port=port).split()
    program = Path(sys.executable).with_name("loadstone") if arguments[0] == "loadstone" else shutil.which(arguments[0])
    if program is None:
        return Measured(0.0, -1, None, verdict="not installed")
    began_s = time.monotonic()
    try:
        done = subprocess.run(
            [str(program), *arguments[1:]], capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Measured(LIMIT_S, -1, None, verdict="took too long")
    seconds = round(time.monotonic() - began_s, 2)
    if arguments[0] == "wrk":
        found = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
        return Measured(seconds, done.returncode, float(found[1]) if found else None)
    return _from_csv(done, seconds)


def _from_csv(done: subprocess.CompletedProcess[str], seconds: float) -> Measured:
    """The last line of a CSV with a header: redis-benchmark's, or ours, which has its columns and more."""
    rows = [row for row in csv.DictReader(io.StringIO(done.stdout)) if row.get("rps")]
    if not rows:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return Measured(seconds, done.returncode, None, verdict=last[:160])
    row = rows[-1]
    p50_ms = row.get("p50_latency_ms") or ""
    return Measured(
        seconds,
        done.returncode,
        float(row["rps"]),
        bound=_number(row.get("up_to_percent"), 0.01),
        p50_us=_number(p50_ms, 1000),
        verdict=row.get("verdict") or "",
    )


def _number(text: str | None, times: float) -> float | None:
    return None if not text else round(float(text) * times, 6)


def _row(command: Command, rounds: Sequence[tuple[Measured, Measured]]) -> dict[str, object]:
    peer, ours = ([pair[side] for pair in rounds] for side in (0, 1))
    peers, own = _median(peer), _median(ours)
    bound = max((one.bound or 0.0 for one in ours), default=0.0)
    rate = "rate" in command.ours
    inside = None if peers is None or own is None or rate else _inside(peers, own * (1 + bound))
    return {
        "format": 1,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command.name,
        "typed": command.ours,
        "peer": command.peer.split()[0],
        "peer_per_s": peers,
        "ours_per_s": own,
        "bound": bound,
        "peer_s": median(one.seconds for one in peer),
        "ours_s": median(one.seconds for one in ours),
        "inside": inside,
        "statuses": [one.status for one in ours],
        "verdicts": [one.verdict for one in ours],
        "rounds": [[asdict(one) for one in pair] for pair in rounds],
    }


def _inside(peer_per_s: float, most_per_s: float) -> str:
    if peer_per_s <= most_per_s:
        return "inside"
    return "close" if peer_per_s <= most_per_s * (1 + SPREAD) else "outside"


def _median(measured: Sequence[Measured]) -> float | None:
    rates = [one.rate_per_s for one in measured if one.rate_per_s is not None]
    return median(rates) if len(rates) == len(measured) else None


def _line(row: dict[str, object]) -> str:
    peer, ours, bound = row["peer_per_s"], row["ours_per_s"], row["bound"]
    assert isinstance(bound, float)
    peers = "none" if peer is None else f"{peer:,.0f}"
    own = "none" if ours is None else f"{ours:,.0f} (up to +{100 * bound:.0f} %)"
    times = f"{row['peer_s']:.1f} s, {row['ours_s']:.1f} s"
    said = f"{row['inside']} {row['statuses']} {row['verdicts']}"
    return f"{row['command']!s:42} {peers:>10}  {own:>28}  {times:>15}  {said}"


@contextmanager
def _server(name: str) -> Iterator[int]:
    """A server of this kind on a free port of loopback, in a folder of its own."""
    port = free_port()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with listening(_program(name, port, folder), port, folder=folder):
            yield port


def _program(name: str, port: int, folder: Path) -> list[str]:
    if name == "http":
        page = folder / "nginx.conf"
        page.write_text(
            "daemon off; worker_processes 1; pid nginx.pid; error_log stderr crit; events {}\n"
            f"http {{ access_log off; keepalive_requests 100000000; server {{ listen 127.0.0.1:{port};"
            ' location / { return 200 "hello"; } } }\n'
        )
        return [nginx_program() or "nginx", "-p", str(folder), "-c", str(page)]
    common = ["redis-server", "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    if name == "tls":
        subprocess.run(CERTIFICATE, cwd=folder, check=True, capture_output=True)
        tls = ["--port", "0", "--tls-port", str(port), "--tls-cert-file", "cert", "--tls-key-file", "key"]
        return [*common, *tls, "--tls-ca-cert-file", "cert", "--tls-auth-clients", "no"]
    settings = {
        "plain": [],
        "everysec": ["--appendonly", "yes", "--appendfsync", "everysec"],
        "always": ["--appendonly", "yes", "--appendfsync", "always"],
        "threads": ["--io-threads", "2", "--io-threads-do-reads", "yes"],
    }
    return [*common, "--port", str(port), *settings[name]]


if __name__ == "__main__":
    main()
