"""Renews what is frozen, of runs and without any, and shows what changed.

`scripts/freeze [NAME...]`, or `--take RUN NAME`.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.frozen_runs import FROZEN, RUN, Files, archive, difference, freeze, frozen, names

from .frozen_texts import TEXTS
from .made_runs import made_of

MADE_AGAIN = {".html", ".md", ".csv", ".svg", ".png"}
LEFT_OUT = {"analysis.json", "logs"}
"""What is made again, and what no later stage reads and names paths of the machine."""
KINDS_OF_LATENCIES = (b"warm_up.", b".least", b".service")
"""Lines of latency logs that stand in no result of many a run."""
NAMELESS = {"machine_id": "0" * 64, "cpu_model": "A CPU", "virtualisation": "hypervisor"}
KERNEL = "6.12.0"
TEMPORARY = re.compile(rb"/tmp/[^/\s]+/")
"""Where a gate keeps its manifests."""


def main() -> int:
    """0, or 2 for a name that does not exist."""
    known = [*names(), *TEXTS]
    parser = argparse.ArgumentParser(prog="scripts/freeze", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"only these: {', '.join(known)}")
    parser.add_argument("--take", metavar="RUN", type=Path, help="keep this run's folder, as NAME")
    asked = parser.parse_args()
    if asked.take is not None:
        if len(asked.names) != 1:
            parser.error("--take RUN takes one NAME")
        if not (asked.take / "environment.json").is_file():
            parser.error(f"--take {asked.take}: no run's folder; it has no environment.json")
        _take(asked.take, asked.names[0])
    elif unknown := sorted({*asked.names} - {*known}):
        parser.error(f"nothing frozen is called {', '.join(unknown)}; there are {', '.join(known)}")
    for name in asked.names or known:
        _renew(name)
    return 0


def _renew(name: str) -> None:
    with TemporaryDirectory() as folder:
        now = TEXTS[name](Path(folder).resolve()) if name in TEXTS else made_of(name, Path(folder))
    changed = difference(frozen(name), now, lines_max=None)
    if changed:
        freeze(name, now)
    print(f"{name}: {'renewed' if changed else 'unchanged'}", file=sys.stderr)
    if changed:
        print(changed)


def _take(run: Path, name: str) -> None:
    """Keep what was measured, without what is made of it, and without what names the machine.

    Latencies of a trial are the largest part, and most of them stand in no result: those stay out.
    """
    files: Files = {}
    for path in sorted(run.rglob("*")):
        within = path.relative_to(run)
        if path.is_file() and path.suffix not in MADE_AGAIN and within.parts[0] not in LEFT_OUT:
            files[str(within)] = path.read_bytes()
    environment = json.loads(files["environment.json"])
    environment["machine"] |= NAMELESS
    environment["kernel"]["release"] = KERNEL
    files["environment.json"] = json.dumps(environment, indent=1).encode()
    files["experiment.yaml"] = TEMPORARY.sub(b"/srv/", files["experiment.yaml"])
    (FROZEN / name).mkdir(parents=True, exist_ok=True)
    archive(FROZEN / name / RUN, files)
    whole, read = _made(name)
    files = {one: content for one, content in files.items() if one in read or not one.startswith("latency/")}
    for kind in KINDS_OF_LATENCIES:
        thinner = {one: _without(kind, content) if one in read else content for one, content in files.items()}
        archive(FROZEN / name / RUN, thinner)
        try:
            files = files if difference(whole, _made(name)[0]) else thinner
        except Exception as error:  # whatever it is: they are needed
            print(f"{name}: {kind.decode()} stays: {error}", file=sys.stderr)
    archive(FROZEN / name / RUN, files)


def _without(kind: bytes, log: bytes) -> bytes:
    """A latency log without the lines of that kind; any other file as it is."""
    lines = log.splitlines(keepends=True)
    return b"".join(line for line in lines if not (line.startswith(b"Tag=") and kind in line.partition(b",")[0]))


def _made(name: str) -> tuple[Files, set[str]]:
    """What is made of the frozen run, and the files of it that are read for that."""
    opened: set[str] = set()

    def heard(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and arguments[1] != "w":  # that is how it is unpacked
            opened.add(str(arguments[0]))

    sys.addaudithook(heard)
    with TemporaryDirectory() as folder:
        files = made_of(name, Path(folder))
        run = Path(folder, name)
        return files, {str(path.relative_to(run)) for path in run.rglob("*") if {str(path), path.name} & opened}


if __name__ == "__main__":
    sys.exit(main())
