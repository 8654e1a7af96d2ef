"""The Action's and the template's very steps with real gates, in a clean clone: an exit status for each verdict.

    scripts/bench ci-steps [--package WHEEL|source] [--budget '60 s'] [--only slower] [--file FILE]

A repository with a small service in Python is made, with a commit for each verdict. `source` installs what the Action
does without a package: loadstone as it stands beside it, built. Without `--package` the install step is left out, and
this checkout's environment stands in its place. Prints a line of JSON for each job.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.ci_steps import Done, run_action, run_gitlab

from bench.common.result_lines import add_line

ROOT = Path(__file__).parents[2]
SERVICE = """\
import http.server, sys

WORK, STATUS = {work}, {status}


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one segment

    def do_GET(self):
        number = 0
        for one in range(WORK):
            number += one * one
        body = b"{{}}"
        self.send_response(STATUS)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
"""
SOURCE = "source"
WORK = 4_000
"""About as long as the rest of a reply takes."""


@dataclass(frozen=True)
class Case:
    """A commit and the status that its gate is to have."""

    name: str
    work: int
    expected: int
    reply: int = 200
    build: str = "true"
    budget: str | None = None
    options: str = ""


CASES = (
    Case("same", WORK, 0),
    Case("slower", 2 * WORK, 1),
    Case("faster", WORK // 4, 0),
    Case("invalid", WORK, 3, reply=500),
    Case("undecided", WORK, 4, budget="3 s", options="--tolerance=0.5 %"),
    Case("build-fails", WORK, 2, build="false"),
)


def git(place: Path, *words: str) -> str:
    identity = ("-c", "user.name=ci", "-c", "user.email=ci@localhost", "-c", "init.defaultBranch=main")
    return subprocess.run(("git", *identity, *words), cwd=place, check=True, capture_output=True, text=True).stdout


def repository(place: Path) -> None:
    """The service as it was, and a branch for each case."""
    place.mkdir()
    git(place, "init", "-q")
    for name, work, reply in (("main", WORK, 200), *((case.name, case.work, case.reply) for case in CASES)):
        if name != "main":
            git(place, "checkout", "-q", "-b", name, "main")
        (place / "service.py").write_text(SERVICE.format(work=work, status=reply) + f"# {name}\n")
        git(place, "add", ".")
        git(place, "commit", "-q", "-m", name)


def jobs(folder: Path, case: Case, budget: str, package: str) -> Iterator[tuple[str, float, Done]]:
    """The case's job on GitHub and on GitLab, each in a clone of its own, with the seconds that it took."""
    ours = folder / "loadstone"
    start = f"{sys.executable} service.py {{port}}"
    for where in ("github", "gitlab"):
        began, temporary = time.monotonic(), folder / f"{where}-{case.name}"
        temporary.mkdir()
        place = temporary / "checkout"
        git(folder, "clone", "-q", str(folder / "service"), str(place))
        git(place, "checkout", "-q", case.name)
        base = git(place, "rev-parse", "origin/main").strip()
        options = case.options or "--connections=4"
        if not package:
            for name in ("loadstone", "loadstone-1"):
                (temporary / name).symlink_to(ROOT / ".venv")
        if where == "github":
            given = {"base": base, "build": case.build, "start": start, "budget": case.budget or budget}
            given |= {"options": options, "package": "" if package == SOURCE else package, "undecided": "fail"}
            done = run_action(place, given, temporary, action_path=ours / "ci", cached=not package)
        else:
            given = {"GATE_BASE": base, "GATE_BUILD": case.build, "GATE_START": start}
            given |= {"GATE_BUDGET": case.budget or budget, "GATE_OPTIONS": options}
            given["LOADSTONE_PACKAGE"] = str(ours) if package == SOURCE else package
            done = run_gitlab(place, given, temporary, installed=not package)
        yield where, time.monotonic() - began, done


def main() -> None:
    """A line for each job; status 1 where one ended otherwise than expected."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", default="", metavar="WHEEL|source")
    parser.add_argument("--file", type=Path, help="add the lines to it, too")
    parser.add_argument("--budget", default="60 s")
    parser.add_argument("--only", choices=[case.name for case in CASES])
    parser.add_argument("--show", action="store_true", help="what the jobs printed, too")
    options = parser.parse_args()
    if options.package not in ("", SOURCE):
        options.package = str(Path(options.package).resolve())
    wrong = False
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        git(folder, "clone", "-q", "--depth=1", f"file://{ROOT}", "loadstone")
        repository(folder / "service")
        for case in CASES:
            if options.only not in (None, case.name):
                continue
            for where, took_s, done in jobs(folder, case, options.budget, options.package):
                wrong |= done.status != case.expected
                head = next((line for line in done.summary.splitlines() if line.startswith("###")), "")
                row = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "cpus": os.cpu_count()}
                row |= {"installs": Path(options.package).name or None, "case": case.name, "on": where}
                row |= {"expected": case.expected, "status": done.status, "seconds": round(took_s), "says": head}
                print(json.dumps(row), flush=True)
                if options.file is not None:
                    add_line(options.file, row)
                if options.show:
                    print(done.said, done.errors, done.summary, sep="\n", file=sys.stderr)
    sys.exit(int(wrong))


if __name__ == "__main__":
    main()
