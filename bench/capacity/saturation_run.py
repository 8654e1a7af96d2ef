"""One search for a saturation point as a user makes it: the command in a process of its own, read from its folder."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

ROOT = Path(__file__).parents[2]
LONGEST_S = 900.0
ENDED = (0, 3)
"""Exit statuses of a run that was analysed: 3 where it has nothing that is valid."""


@dataclass(frozen=True)
class Searched:
    """What a run said."""

    answer: Mapping[str, Any]
    """Of its only condition, as `saturations` of analysis.json has it."""
    seconds: float
    """Of the whole command, with start and report."""
    folder: Path

    @property
    def interval(self) -> tuple[float, float, float] | None:
        """The saturation point and the ends of its interval; None where there is none."""
        return estimate(self.answer["users"])

    def remove(self) -> None:
        """The run's folder and its log."""
        shutil.rmtree(self.folder.parent)
        self.folder.parent.with_suffix(".log").unlink()


def estimate(found: Mapping[str, float] | None) -> tuple[float, float, float] | None:
    """Value, low, high."""
    return None if found is None else (found["value"], found["low"], found["high"])


def searched(words: Sequence[str], folder: Path, began: Callable[[int], None] | None = None) -> Searched:
    """Run `loadstone WORDS` into an empty folder and read its answer. `began` gets the process's id.

    Exits with the last lines of its output where it fails.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "loadstone", *words, "--out", str(folder)]
    started_s = time.monotonic()
    with folder.with_suffix(".log").open("w") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env=os.environ)
        try:
            if began is not None:
                began(process.pid)
            status = process.wait(LONGEST_S)
        except BaseException:
            process.terminate()
            process.wait()
            raise
    seconds = time.monotonic() - started_s
    runs = [path for path in folder.iterdir() if (path / "analysis.json").is_file()]
    if status not in ENDED or len(runs) != 1:
        last = "\n".join(folder.with_suffix(".log").read_text().splitlines()[-5:])
        sys.exit(f"loadstone {' '.join(words)}: exit status {status}\n{last}")
    (answer,) = json.loads((runs[0] / "analysis.json").read_text())["saturations"]
    return Searched(answer, round(seconds, 2), runs[0])


def trials_of(found: Searched) -> list[dict[str, Any]]:
    """The trials of the run as they are recorded."""
    return [json.loads(line) for line in (found.folder / "trials.jsonl").read_text().splitlines()]


def counted(hits: int, total: int) -> str:
    """`14 of 15 [70, 99] %`, with Wilson's range of 95 %."""
    if not total:
        return "0 of 0"
    interval = binomtest(hits, total).proportion_ci(method="wilson")
    return f"{hits} of {total} [{100 * interval.low:.1f}, {100 * interval.high:.1f}] %"
