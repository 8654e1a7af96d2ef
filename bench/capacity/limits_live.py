"""Is the part that limits a system named, and do repeated searches agree? Live, with limits that were put there.

    python -m bench.capacity.limits_live [--times 5] [--cases redis,nginx,...] [--minutes 40]

Each case is one search for the saturation point as a user makes it, in a process of its own; the cases take turns:

redis      an embedded Redis on one CPU, JSON documents of 1 kB read: of a GET it may serve as many as a generator asks
nginx      nginx on one CPU, which packs every reply (left out where it is not installed)
nest       the Nest application, limited to half a CPU
spring     the Spring application, limited to half a CPU
mariadb    MariaDB limited to a fifth of a CPU, behind the Nest application
generator  an embedded Redis, and a busy process beside the generator
pool       an embedded Redis by two connections for all users

Beside each run the CPU of all processes is read from /proc. The independent look is that of the search's last step,
which has the most users: two doublings beyond the point. A line a run is appended to `--out`/limits-live.jsonl; those
that are there are not measured again.
"""

import argparse
import contextlib
import itertools
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from bench.capacity.process_cpu import CpuWatch
from bench.capacity.saturation_run import ROOT, Searched, counted, estimate, searched, trials_of
from bench.common.result_lines import add_line, read_lines
from bench.peers.servers import listening, nginx_program
from loadstone.drivers.native import require_release_engine
from loadstone.machine.placement import place
from loadstone.machine.ports import free_port

FULL = 0.9
NEEDED, WAITED = 0.75, 0.1
EXPERIMENTS = Path(__file__).parents[1] / "experiments"
MINUTES_A_RUN = 1.2
TEXT_LINES = 400
NGINX = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  gzip on; gzip_types text/plain; gzip_comp_level 6;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; default_type text/plain; root {folder}/files; }}
}}
"""
BUSY = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True:\n    pass\n"

Words = tuple[str, ...]
READ: Words = ("saturate", "redis", "--command", "json-get", "--value-size", "1 kB")
"""What costs a Redis several times what it costs the generator."""


@contextlib.contextmanager
def alone(*words: str) -> Iterator[Words]:
    """Nothing beside the command."""
    yield words


@contextlib.contextmanager
def nginx() -> Iterator[Words]:
    """An nginx on the servers' CPUs, whose every reply costs it far more than the generator."""
    port, program = free_port(), nginx_program()
    assert program is not None
    with tempfile.TemporaryDirectory(prefix="loadstone-nginx-") as name:
        folder = Path(name)
        (folder / "files").mkdir()
        lines = (f"{number:06d} {number * number:012d} raffle {number % 97}\n" for number in range(TEXT_LINES))
        (folder / "files" / "page.txt").write_text("".join(lines))
        (folder / "conf").write_text(NGINX.format(folder=folder, port=port))
        folder.chmod(0o755)
        command = [program, "-p", name, "-e", f"{name}/log", "-c", f"{name}/conf"]
        with listening(command, port, place().server_cpus):
            yield ("saturate", "http", f"http://127.0.0.1:{port}/page.txt", "--header", "Accept-Encoding: gzip")


@contextlib.contextmanager
def busy_generator() -> Iterator[Words]:
    """A process that never sleeps on each of the generator's CPUs: of them half is left."""
    cpus = place().generator_cpus
    running = [subprocess.Popen([sys.executable, "-c", BUSY, str(cpu)]) for cpu in cpus]
    try:
        yield ("saturate", "redis")
    finally:
        for process in running:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Case:
    """One limit that was put there."""

    name: str
    part: str
    """Which kind of part must be named."""
    named: str | None
    """Which one, as the line has it; None: any."""
    programs: Mapping[str, float]
    """And the CPUs that each may use at most."""
    full: str | None
    """Which of them must be full by the independent look; None: none may be."""
    command: Callable[[], AbstractContextManager[Words]]


def cases() -> list[Case]:
    """All of them. The generator is the command's own process, `generator`."""
    redis = {"redis-server": 1.0, "generator": 1.0}
    nest, spring = str(EXPERIMENTS / "limited-nest.yaml"), str(EXPERIMENTS / "limited-spring.yaml")
    return [
        Case("redis", "server", "redis", redis, "redis-server", lambda: alone(*READ)),
        Case("nginx", "subject", "service", {"nginx": 1.0, "generator": 1.0}, "nginx", nginx),
        Case(
            "nest", "subject", "nest", {"node": 0.5, **redis, "mariadbd": 1.0}, "node",
            lambda: alone("run", nest, "--only", "limited=nest"),
        ),
        Case("spring", "subject", "spring", {"java": 0.5, **redis}, "java", lambda: alone("run", spring)),
        Case(
            "mariadb", "server", "mariadb", {"mariadbd": 0.2, "node": 1.0, **redis}, "mariadbd",
            lambda: alone("run", nest, "--only", "limited=mariadb"),
        ),
        Case("generator", "generator", None, redis, "generator", busy_generator),
        Case("pool", "pool", None, redis, None, lambda: alone("saturate", "redis", "--connections", "2")),
    ]  # fmt: skip


@dataclass(frozen=True)
class Found:
    """One run."""

    case: str
    number: int
    kind: str
    said: str
    expected: str
    part: str | None
    """Which kind of part the run names."""
    line: str
    """How it says so."""
    right: bool
    both: bool
    """Another part is named first, and the one that was made the limit is said to be full, too."""
    users: tuple[float, float, float] | None
    per_s: tuple[float, float, float] | None
    at_least_per_s: float | None
    shares: dict[str, float | None]
    """By the run's own look: how full each part was beyond the point."""
    observed: dict[str, float]
    """By the independent look: how full each process was, of what it may use; most users of the search."""
    waited: float | None
    """The share of that time for which the generator's busiest thread had no CPU."""
    agrees: bool | None
    """Whether the independent look finds that part full, and where none may be, none; None: nothing was read."""
    seconds: float


def measure(case: Case, number: int, options: argparse.Namespace) -> Found:
    """One run and its independent look."""
    words = ("--quick", "--seed", str(number), *(("--share-machine",) if options.share_machine else ()))
    folder = options.out / "runs" / f"{case.name}-{number:02d}"
    with case.command() as command, CpuWatch() as watch:
        run = searched([*command, *words], folder, lambda pid: setattr(watch, "followed", pid))
    window = last_step(run)
    observed, waited = looked(case, watch, window) if window else ({}, None)
    answer = run.answer
    limiting = answer["limiting"]
    part = None if limiting is None else limiting["bottleneck"]["part"]
    line = "" if limiting is None else limiting["bottleneck"]["message"]["text"]
    full = [] if limiting is None else limiting["bottleneck"]["named"]
    full = [] if part in ("latency", "paced", "unknown") else full
    right = part == case.part and (case.named is None or case.named in line)
    found = Found(
        case=case.name,
        number=number,
        kind=answer["kind"],
        said=answer["message"]["text"],
        expected=case.part,
        part=part,
        line=line,
        right=right,
        both=not right and case.named is not None and case.named in full,
        users=run.interval,
        per_s=estimate(answer["per_s"]),
        at_least_per_s=answer["at_least_per_s"],
        shares={} if limiting is None else {one["part"]: one["beyond"] for one in limiting["shares"]},
        observed=observed,
        waited=waited,
        agrees=None if not observed else agrees(case, observed, waited),
        seconds=run.seconds,
    )
    if found.right and found.agrees and found.users is not None:
        run.remove()
    return found


def last_step(run: Searched) -> tuple[float, float] | None:
    """When the search had the most users: its measure phase, in seconds since 1970."""
    search = [one for one in trials_of(run) if (one.get("saturation") or {}).get("phase") == "search" and one["phases"]]
    if not search:
        return None
    last = max(search, key=lambda one: int(one["saturation"]["users"]))
    begin_s, end_s = last["phases"]["measure"]
    return last["started_unix_ns"] / 1e9 + begin_s, last["started_unix_ns"] / 1e9 + end_s


def looked(case: Case, watch: CpuWatch, window: tuple[float, float]) -> tuple[dict[str, float], float | None]:
    """How full the case's processes were, and for how long the generator waited."""
    cores, thread = watch.shares(*window), watch.busiest_thread(*window)
    programs = {name: cpus for name, cpus in case.programs.items() if name != "generator"}
    found = {name: round(cores.get(name, 0.0) / cpus, 3) for name, cpus in programs.items()}
    if thread is not None:
        found["generator"] = thread[0]
    return found, None if thread is None else thread[1]


def agrees(case: Case, observed: Mapping[str, float], waited: float | None) -> bool:
    """Whether what must be full is. A generator that others keep from its CPU need not be: it wants it."""
    full = {name for name, share in observed.items() if share >= FULL}
    if waited is not None and waited >= WAITED and observed.get("generator", 0.0) + waited >= NEEDED:
        full.add("generator")
    return case.full in full if case.full is not None else not full


def overlapping(found: Sequence[Found], what: str) -> str:
    """Pairs of repetitions whose intervals overlap."""
    intervals = [interval for one in found if (interval := getattr(one, what)) is not None]
    pairs = list(itertools.combinations(intervals, 2))
    hits = sum(a[1] <= b[2] and b[1] <= a[2] for a, b in pairs)
    return f"{hits} of {len(pairs)} pairs"


def page(found: Sequence[Found]) -> str:
    """A list for each case."""
    parts = []
    for case in cases():
        ones = [one for one in found if one.case == case.name]
        if not ones:
            continue
        points = [f"{one.users[0]:.3g} [{one.users[1]:.3g}, {one.users[2]:.3g}]" for one in ones if one.users]
        bounds = [f">= {one.at_least_per_s:,.0f} a second" for one in ones if one.at_least_per_s]
        agreed = [one for one in ones if one.agrees is not None]
        names = sorted({name for one in agreed for name in one.observed})
        shares = ", ".join(f"{name} {median(one.observed.get(name, 0.0) for one in agreed):.2f}" for name in names)
        lines = [
            f"- named right ({case.part}): {counted(sum(one.right or one.both for one in ones), len(ones))}",
            *[f"- as the second of two: {one.part}: {one.line}" for one in ones if one.both],
            *[f"- named otherwise: {one.part}: {one.line}" for one in ones if not one.right and not one.both],
            f"- /proc agrees: {sum(bool(one.agrees) for one in agreed)} of {len(agreed)}; full by it: {shares}",
            f"- users: {', '.join([*points, *bounds]) or 'none'}",
            f"- intervals that overlap: users {overlapping(ones, 'users')}, rate {overlapping(ones, 'per_s')}",
            f"- seconds a run, median: {median(one.seconds for one in ones):.0f}",
        ]
        parts.append("\n".join([f"{case.name}:", "", *lines]))
    return "\n\n".join(parts)


def main() -> int:
    """Measure what is missing; print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="of each case")
    parser.add_argument("--cases", default=",".join(case.name for case in cases()))
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no run after so many")
    parser.add_argument("--share-machine", action="store_true", help="although another run measures on this machine")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "calibration" / "limits-live")
    options = parser.parse_args()
    chosen = [case for case in cases() if case.name in options.cases.split(",")]
    if not chosen:
        parser.error(f"--cases {options.cases}: known are {', '.join(case.name for case in cases())}")
    require_release_engine()
    if nginx_program() is None and any(case.name == "nginx" for case in chosen):
        print("nginx is not installed (Debian: apt-get install nginx-light): its case is left out", flush=True)
        chosen = [case for case in chosen if case.name != "nginx"]
    file = options.out / "limits-live.jsonl"
    found = [Found(**line) for line in read_lines(file)]
    done = {(one.case, one.number) for one in found}
    missing = [(c, n) for n in range(1, options.times + 1) for c in chosen if (c.name, n) not in done]
    print(f"limits, live: {len(missing)} runs, about {MINUTES_A_RUN * len(missing):.0f} minutes", flush=True)
    until_s = time.monotonic() + 60 * options.minutes
    for case, number in missing:
        if time.monotonic() > until_s:
            break
        one = measure(case, number, options)
        add_line(file, asdict(one))
        found.append(one)
        print(f"{case.name} {number}: {one.part}: {one.line}; {one.said}", file=sys.stderr, flush=True)
    print(page(found))
    return 0 if all(one.right or one.both for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
