"""What commands print by default: lines beside their tables, and the time that was announced beside what it took.

    scripts/bench outputs [NAME ...] [--folder DIR]

Starts two Redis servers and a service here; without names all commands, some five minutes. Prints a line a command:
lines without tables, lines of tables, seconds announced, and those taken from then on. The commands of a run's folder
read the newest run, `compare` the two of `redis-kept` and `redis-again`; what they print is kept in DIR.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LINES_MAX = 8
PORTS = (17_411, 17_412)
HTTP_PORTS = (17_413, 17_414)
REDIS, OTHER = (f"redis://127.0.0.1:{port}" for port in PORTS)
SERVICE, OTHER_SERVICE = (f"http://127.0.0.1:{port}/" for port in HTTP_PORTS)
COMMANDS = {
    "redis": "redis -t get,set",
    "redis-url": f"redis {REDIS} -t get,set",
    "redis-against": f"redis {REDIS} --against {OTHER} -t get,set",
    "redis-rate": "redis -t get --rate 2000",
    "redis-rates": "redis -t get --rates 1000,4000 --budget 20s",
    "http": f"http {SERVICE}",
    "http-against": f"http {SERVICE} --against {OTHER_SERVICE} --budget 30s",
    "saturate-redis": "saturate redis --budget 30s",
    "saturate-http": f"saturate http {SERVICE} --budget 30s",
    "gate-redis": "gate redis --base redis --head redis,hz=11 --budget 40s",
    "gate-http": f"gate --base-url {SERVICE} --head-url {OTHER_SERVICE} --budget 30s",
    "study": "run json-documents --quick --only operation=set --only payload=1kB --budget 40s --out study",
    "report": "report latest",
    "capacity": "capacity latest",
    "redis-kept": "redis -t get,set --budget 12s --out twice",
    "redis-again": "redis -t get,set --budget 12s --out twice",
    "compare": "compare twice/0 twice/1",
    "runs": "runs",
    "history": "history redis",
    "list": "list",
    "show": "show json-documents",
    "doctor": "doctor",
    "clean": "clean",
    "baseline": "baseline show",
}
ANNOUNCED = re.compile(r"Time: about (?:([\d.]+) h )?(?:([\d.]+) min ?)?(?:([\d.]+) s)?")
RULE = re.compile(r"^\s*[─-]{6,}\s*$")


class Answer(BaseHTTPRequestHandler):
    """Answers each GET at once."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Two bytes."""
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Service(ThreadingHTTPServer):
    """Says nothing of clients that leave in the middle of a reply, as a load does at its end."""

    def handle_error(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def servers(folder: Path) -> Iterator[None]:
    """Both Redis servers and both services, while it lasts."""
    options = ["--save", "", "--daemonize", "no", "--dir", str(folder)]
    started = [
        subprocess.Popen(["redis-server", "--port", str(port), *options], stdout=subprocess.DEVNULL) for port in PORTS
    ]
    services = [Service(("127.0.0.1", port), Answer) for port in HTTP_PORTS]
    for service in services:
        threading.Thread(target=service.serve_forever, daemon=True).start()
    try:
        time.sleep(1)
        yield
    finally:
        for service in services:
            service.shutdown()
        for one in started:
            one.terminate()
            one.wait()


def counted(text: str) -> tuple[int, int]:
    """Lines that are no table's and lines of tables: a table is a line above a rule, and all to the next empty line."""
    outside, inside, in_table = 0, 0, False
    lines = text.splitlines()
    for number, line in enumerate(lines):
        heads = number + 1 < len(lines) and RULE.match(lines[number + 1]) is not None
        in_table = bool(line) and (in_table or heads)  # spaces alone stand between groups of rows
        inside += in_table and bool(line.strip())
        outside += bool(line.strip()) and not in_table
    return outside, inside


def announced_s(text: str) -> float | None:
    """The seconds of `Time: about 12 s`; None where nothing is said."""
    found = ANNOUNCED.search(text)
    if found is None or not any(found.groups()):
        return None
    return sum(float(figure or 0) * unit for figure, unit in zip(found.groups(), (3600, 60, 1), strict=True))


def main(asked: Sequence[str] | None = None) -> int:
    """0, or 1 where a command printed more lines than that, or a forecast was a fifth off."""
    parser = argparse.ArgumentParser(prog="scripts/bench outputs", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(COMMANDS)}")
    parser.add_argument("--folder", type=Path, help="where runs and what is printed are kept")
    options = parser.parse_args(asked)
    if unknown := set(options.names) - set(COMMANDS):
        parser.error(f"no command is called {', '.join(sorted(unknown))}")
    folder = (options.folder or Path(tempfile.mkdtemp(prefix="outputs-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    bad = 0
    print(f"{'command':<16} lines  table  announced   took")
    with servers(folder):
        for name in options.names or COMMANDS:
            bad += _one(name, folder)
    print(f"kept in {folder}")
    return 1 if bad else 0


def _one(name: str, folder: Path) -> bool:
    words = [sys.executable, "-m", "loadstone", *(_run(word, folder) for word in COMMANDS[name].split())]
    begun, told = time.monotonic(), list[str]()
    with (folder / f"{name}.out").open("w") as out:
        done = subprocess.Popen(words, cwd=folder, text=True, stdout=out, stderr=subprocess.PIPE)
        assert done.stderr is not None
        for line in done.stderr:
            told.append(line)
            if ANNOUNCED.match(line):
                begun = time.monotonic()
        done.wait()
    took_s = time.monotonic() - begun
    (folder / f"{name}.err").write_text("".join(told))
    printed = (folder / f"{name}.out").read_text()
    outside, inside = counted(printed)
    said_s = announced_s(printed + "".join(told))
    said = "      -" if said_s is None else f"{said_s:5.0f} s"
    off = said_s is not None and abs(took_s / said_s - 1) > 0.2
    marks = f"{' lines' if outside > LINES_MAX else ''}{' forecast' if off else ''}"
    print(
        f"{name:<16} {outside:5d}  {inside:5d}    {said}  {took_s:5.1f} s  status {done.returncode}{marks}", flush=True
    )
    return bool(marks)


def _run(word: str, folder: Path) -> str:
    """`twice/0`: the first run of a folder; any other word is left as it is."""
    root, _, number = word.partition("/")
    runs = sorted(one for one in (folder / root).glob("*/") if not one.is_symlink()) if number.isdigit() else []
    return str(runs[int(number)]) if runs else word


if __name__ == "__main__":
    sys.exit(main())
