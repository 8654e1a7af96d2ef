"""How long the list of a thousand runs takes: the first time, when its index is made, and later.

The folders are copies of the frozen runs (hard links), each with the analysis that `loadstone report` makes of it.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from tests.frozen_runs import names, unpacked

from loadstone.addons.history.index import Index, parse_query
from loadstone.addons.history.run_row import words_of
from loadstone.judge.analysis.analyse import analyse
from loadstone.report.json_report import render

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def make(root: Path, number: int) -> None:
    """So many folders of runs, in the order of their names."""
    with tempfile.TemporaryDirectory(dir=root.parent) as of:
        runs = [unpacked(name, Path(of)) for name in names()]
        for run in runs:
            (run / "analysis.json").write_bytes(render(analyse(run))["analysis.json"])
        for count in range(number):
            run = runs[count % len(runs)]
            folder = root / f"{_BEGAN + timedelta(minutes=7 * count):%Y%m%dT%H%M%SZ}-{run.name}"
            for path in run.rglob("*"):
                if path.is_file():
                    target = folder / path.relative_to(run)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    os.link(path, target)


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Prints one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--keep", type=Path, help="an empty folder in which the runs are made and left")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        root = options.keep or Path(made, "runs")
        if not root.is_dir() or not any(root.iterdir()):
            root.mkdir(parents=True, exist_ok=True)
            make(root, options.runs)
        index = Index(root, Path(made, "index.sqlite"))

        def page(query: str = "") -> None:
            index.renew(words_of=words_of)
            index.find(parse_query(query), most=50)

        found = {
            "runs": sum(1 for _ in root.iterdir()),
            "rebuild_s": seconds(page),
            "open_s": [round(seconds(page), 4) for _ in range(5)],
            "search_s": [round(seconds(lambda: page("verdict:faster workers")), 4) for _ in range(5)],
            "index_bytes": Path(made, "index.sqlite").stat().st_size,
        }
        assert index.find(parse_query(""), most=1).total == found["runs"]
        found |= served(root, Path(made))
    print(json.dumps({"date": f"{datetime.now(UTC):%Y-%m-%d}", "cpus": os.cpu_count(), **found}))


def served(root: Path, folder: Path) -> dict[str, object]:
    """The page of a real server, whose cache is empty: the first time, until all runs are in it, and later."""
    command = [sys.executable, "-m", "loadstone", "serve", "--port", "0", "--runs", str(root)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    try:
        assert process.stdout is not None
        printed = next(
            found for line in process.stdout if (found := re.search(r"(https?://[^/\s]+)/\S*open=(\S+)", line.decode()))
        )
        with httpx.Client(base_url=printed[1], timeout=60) as client:
            client.get("/", params={"open": printed[2]}, follow_redirects=True)
            first_s = seconds(lambda: client.get("/runs"))
            began = time.perf_counter()
            while_s = []
            while True:
                asked = time.perf_counter()
                text = client.get("/runs").text
                if 'class="reading"' not in text:
                    break
                while_s.append(round(time.perf_counter() - asked, 4))
                time.sleep(0.2)
            whole_s = time.perf_counter() - began
            later = [round(seconds(lambda: client.get("/runs")), 4) for _ in range(5)]
            found = {"page_first_s": first_s, "page_meanwhile_s": while_s, "page_whole_after_s": whole_s}
            return {**found, "page_later_s": later}
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
