"""`python -m tests.simulation --seed N` plays one day and prints what happens; `--days N` plays many."""

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from loadstone.measure.machine_lock import VARIABLE

from .day import play

MEMORY = Path("/dev/shm")
"""Days are played there, where it is: they write thousands of files."""


def days(first: int, number: int, *, until_wrong: bool = False) -> tuple[list[int], Counter[str]]:
    """Play these days, and print what was wrong; with which, and how many faults of each kind came."""
    wrong, happened = list[int](), Counter[str]()
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as place:
        os.environ.setdefault(VARIABLE, place)
        for seed in range(first, first + number):
            with TemporaryDirectory(dir=place) as root:
                day, problems = play(seed, Path(root))
            happened += day.world.happened
            if problems:
                wrong.append(seed)
                for problem in problems:
                    print(f"seed {seed}: {problem}", flush=True)
                if until_wrong:
                    break
    return wrong, happened


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--days", type=int, default=100)
    parser.add_argument("--until-wrong", action="store_true", help="end with the first day that shows a defect")
    options = parser.parse_args()
    if options.seed is not None:
        with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as place:
            os.environ.setdefault(VARIABLE, place)
            root = Path(place, "day")
            root.mkdir()
            _, problems = play(options.seed, root, print)
            for problem in problems:
                print(f"WRONG: {problem}")
        return bool(problems)
    began = time.process_time()
    wrong, happened = days(options.first, options.days, until_wrong=options.until_wrong)
    played = wrong[-1] - options.first + 1 if options.until_wrong and wrong else options.days
    print(f"{played} days, {len(wrong)} wrong, {time.process_time() - began:.0f} s of CPU")
    for fault, number in sorted(happened.items()):
        print(f"  {fault}: {number}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
