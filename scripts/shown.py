#!/usr/bin/env python3
"""Puts what the program prints into README.md, README.ko.md and docs/tutorial.md; `--check` only compares.

What is shown stands between two comments of the Markdown. The first says what makes it:

    <!-- output of: loadstone show pipeline.yaml -->         the command is run, in a folder of the page's own
    <!-- output of: loadstone report latest --quiet | record: pipeline | columns: 100 -->     on a recorded run
    <!-- output of: loadstone rnu | status: 2 -->            it ends with another status than 0
    <!-- content of: pipeline.yaml -->                       a file that a command of this page wrote, without comments
    <!-- machine of: json-documents -->                      day, machine and servers of a recorded run
    <!-- end -->

A recorded run is a frozen one (tests/examples/frozen); `make docs RUN=runs/...` puts another in its place.
"""

import argparse
import errno
import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from generated import keep

from loadstone.run_folder.files import ENVIRONMENT, TRIALS

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests import frozen_runs  # noqa: E402

PAGES = ("README.md", "README.ko.md", "docs/tutorial.md", "docs/ko/tutorial.md")
PICTURES = {
    "docs/pictures/json-documents.svg": ("json-documents", "charts/by-concurrency-rps.svg"),
    "docs/pictures/cpu-a-request.svg": ("jedis-vs-lettuce", "charts/cost.svg"),
}
"""Picture of a page -> the recorded run that it is drawn from, and its name among the files of a report."""

SHOWN = re.compile(
    r"(?P<begin><!-- (?P<kind>output|content|machine) of: (?P<what>.+?) -->)(?P<text>.*?)(?P<end><!-- end -->)",
    re.DOTALL,
)
COLUMNS = 100
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
FRESH = re.compile(r"(?:(?<=\(seed )|(?<=\(시드 ))\d+(?=\))")
"""What is another one each time."""
COMMENT = re.compile(r"(^|[ ]+)#.*")
DRAWN = re.compile(r' d="(M[^"]*L[^"]*)"|>([^<]+)<')
"""Lines and texts of a picture; where they stand in it follows from the machine's fonts."""


class Wrong(Exception):
    """A page from which nothing can be made; its text says why."""


def start(
    words: Sequence[str], terminal: int, folder: Path, environment: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    """Start the command with these variables alone, on a terminal."""
    command, nothing = [sys.executable, "-m", "loadstone", *words], subprocess.DEVNULL
    return subprocess.Popen(command, stdin=nothing, stdout=terminal, stderr=terminal, cwd=folder, env=environment)


def printed(command: str, folder: Path, *, columns: int = COLUMNS, status: int = 0) -> str:
    """What a terminal of that width shows of a command. Raises Wrong where it ends with another status."""
    name, *words = shlex.split(command)
    if name != "loadstone":
        raise Wrong(f"'{command}': only commands of loadstone are run")
    here, there = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LOADSTONE_")}
    environment |= {"TERM": "xterm", "COLUMNS": str(columns), "LINES": "50"}
    process = start(words, there, folder, environment)
    os.close(there)
    text = ESCAPE.sub("", _read(here).decode()).replace("\r\n", "\n")
    ended = process.wait()
    if ended != status:
        raise Wrong(f"'{command}' ended with status {ended} instead of {status}:\n{text}")
    return FRESH.sub("N", "\n".join(line.rstrip() for line in text.strip("\n").splitlines()))


def _read(terminal: int) -> bytes:
    """All that is written to it, until its last writer ends."""
    with os.fdopen(terminal, "rb", buffering=0) as read:
        parts = []
        try:
            while part := read.read(65536):
                parts.append(part)
        except OSError as error:
            if error.errno != errno.EIO:  # Linux's end of a terminal
                raise
        return b"".join(parts)


def content(file: Path) -> str:
    """A YAML file without its comments."""
    lines = [(COMMENT.sub("", line).rstrip(), line) for line in file.read_text(encoding="utf-8").splitlines()]
    bare = "\n".join(line for line, commented in lines if line or not commented)
    return re.sub(r"\n{3,}", "\n\n", bare).strip("\n")


def machine(run: Path) -> str:
    """`2026-11-25, x86_64, 2 CPUs, redis 8.2.3`: the same in every language."""
    environment: dict[str, Any] = json.loads((run / ENVIRONMENT).read_text())
    about = environment["machine"]
    servers = [f"{one['software']} {one['version']}" for one in environment["servers"].values()]
    day = f"{run.name[:4]}-{run.name[4:6]}-{run.name[6:8]}"
    cpus = f"{about['cpus_allowed']} CPU{'s' if about['cpus_allowed'] != 1 else ''}"
    return ", ".join([day, about["architecture"], cpus, *dict.fromkeys(servers)])


def recorded(name: str, folder: Path) -> Path:
    """A recorded run, among the runs of a folder. Raises Wrong."""
    if name not in frozen_runs.names():
        raise Wrong(f"there is no frozen run {name}; there are {', '.join(frozen_runs.names())}")
    run = frozen_runs.unpacked(name, folder)
    trials = (run / TRIALS).read_text(encoding="utf-8").splitlines()
    began = min(json.loads(line)["started_unix_ns"] for line in trials) // 10**9
    named = folder / "runs" / f"{datetime.fromtimestamp(began, UTC):%Y%m%dT%H%M%SZ}-{name}"
    shutil.copytree(run, named, dirs_exist_ok=True)
    return named


def page(text: str) -> str:
    """A page with what the program prints now in it. Raises Wrong."""
    with tempfile.TemporaryDirectory() as made:
        return SHOWN.sub(lambda one: _filled(one, Path(made)), text)


def _filled(shown: re.Match[str], folder: Path) -> str:
    what, *more = (part.strip() for part in shown["what"].split("|"))
    options = dict(re.split(r":\s*", one, maxsplit=1) for one in more)
    if unknown := set(options) - {"record", "columns", "status"}:
        raise Wrong(f"'{shown['begin']}': unknown: {', '.join(sorted(unknown))}")
    if shown["kind"] == "machine":
        return f"{shown['begin']}{machine(recorded(what, folder))}{shown['end']}"
    if "record" in options:
        recorded(options["record"], folder)
    if shown["kind"] == "content":
        language, text = "yaml", content(folder / what)
    else:
        columns, status = int(options.get("columns", COLUMNS)), int(options.get("status", 0))
        language, text = "", printed(what, folder, columns=columns, status=status)
    return f"{shown['begin']}\n```{language}\n{text}\n```\n{shown['end']}"


def picture(record: str, name: str) -> str:
    """A picture of a recorded run's report."""
    with tempfile.TemporaryDirectory() as made:
        run = recorded(record, Path(made))
        printed("loadstone report latest --format svg --quiet", Path(made))
        return (run / name).read_text(encoding="utf-8")


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--check", action="store_true", help="only compare")
    options.add_argument("files", nargs="*", metavar="FILE", help=f"of {', '.join((*PAGES, *PICTURES))} these alone")
    given = options.parse_args()
    files: dict[str, Callable[[str], str]] = dict.fromkeys(PAGES, page)
    files |= {name: _drawn(*of) for name, of in PICTURES.items()}
    if unknown := set(given.files) - set(files):
        options.error(f"{', '.join(sorted(unknown))}: none of {', '.join(files)}")
    try:
        return max(_renewed(ROOT / name, files[name], check=given.check) for name in given.files or files)
    except Wrong as error:
        sys.stderr.write(f"shown.py: {error}\n")
        return 2


def _drawn(record: str, name: str) -> Callable[[str], str]:
    return lambda _: picture(record, name)


def _renewed(path: Path, make: Callable[[str], str], *, check: bool) -> int:
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    new = make(old)
    if path.suffix == ".svg" and DRAWN.findall(old) == DRAWN.findall(new):
        return 0
    return keep({path: new}, check=check)


if __name__ == "__main__":
    sys.exit(main())
