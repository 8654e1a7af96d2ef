"""loadstone and a peer measured in turn: the ratios of their rates, and of their CPU a request."""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Case = TypeVar("Case")


@dataclass(frozen=True)
class Figure:
    """What one generator reached once."""

    rate_per_s: float
    cpu_us: float
    """Generator CPU in microseconds a request."""


Pair = tuple[Figure, Figure]
"""loadstone's and the peer's, of one round."""


def options(words: str) -> argparse.ArgumentParser:
    """How often and how long, and where the figures go. `words`: the bench's own docstring."""
    parser = argparse.ArgumentParser(description=words.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--json", type=Path)
    return parser


def pinned_to(cpus: tuple[int, ...]) -> Callable[[], None]:
    """For a process that is started: it runs on these CPUs; on any if there are none."""
    return lambda: os.sched_setaffinity(0, cpus) if cpus else None


def run_peer(command: Sequence[str], cpus: tuple[int, ...]) -> tuple[str, float]:
    """What the peer's program printed, and its process's CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run(command, check=True, capture_output=True, text=True, preexec_fn=pinned_to(cpus)).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return text, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_turn(ours: Callable[[], Figure], theirs: Callable[[], Figure]) -> Pair:
    """Run both, in random order."""
    runs = {"ours": ours, "theirs": theirs}
    done = {name: runs[name]() for name in random.sample(list(runs), 2)}
    return done["ours"], done["theirs"]


def rounds_of(cases: Sequence[Case], rounds: int, measure: Callable[[Case], Pair]) -> dict[Case, list[Pair]]:
    """Every case once a round, in random order; the figures of each."""
    figures: dict[Case, list[Pair]] = {case: [] for case in cases}
    for number in range(rounds):
        for case in random.sample(cases, len(cases)):
            print(f"round {number + 1}/{rounds}: {case}        ", end="\r", file=sys.stderr)
            figures[case].append(measure(case))
    return figures


def tell(what: str, peer: str, figures: Mapping[Case, Sequence[Pair]], file: Path | None) -> None:
    """Print a row a case, and write all figures as JSON into `file`."""
    head = f"{'rate, ratio':<22} {'CPU a request, ratio':<22} {'our us':<20} {f'{peer} us':<20} our rate"
    print(f"\n{what:<16} {head}")
    for case, pairs in figures.items():
        print(
            f"{case!s:<16} {_spread([a.rate_per_s / b.rate_per_s for a, b in pairs]):<22} "
            f"{_spread([a.cpu_us / b.cpu_us for a, b in pairs]):<22} "
            f"{_spread([a.cpu_us for a, _ in pairs]):<20} {_spread([b.cpu_us for _, b in pairs]):<20} "
            f"{statistics.median([a.rate_per_s for a, _ in pairs]):.0f}/s"
        )
    if file:
        file.write_text(json.dumps({str(case): [[vars(a), vars(b)] for a, b in v] for case, v in figures.items()}))


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} [{min(values):.2f}, {max(values):.2f}]"
