"""User instructions of the engine a request, counted by callgrind.

    python -m bench.engine.instructions [--build] [--example FILE]

The program built from `engine/examples/instructions.rs` drives a null server in the same process, once for few and once
for many requests; callgrind counts each thread apart, so that the difference is what a request costs the engine's
thread. Without `--example` it is built first; `--build` does nothing else. Needs valgrind.

The program fails where a count is above its limit. Compilers differ by some per cent; and on a machine with
neighbours, replies to several connections come in smaller batches, each of which is more work a request: the limits
leave a fifth, and what is above its limit is counted again, twice at most, with nothing else beside it.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FEW, MANY = 1_600, 6_400
AGAIN = 2
"""How often what is above its limit is counted again."""
ENGINE_THREAD = 3
"""Of the example: after its main thread and the null server's."""


@dataclass(frozen=True)
class Case:
    """What is counted: the example's arguments, and the most instructions a request that are accepted."""

    name: str
    requests: str
    depth: int
    connections: int
    limit: int


CASES = (
    Case("GET", "get", 1, 1, 2_210),
    Case("GET", "get", 1, 16, 1_960),
    Case("GET", "get", 16, 1, 730),
    Case("GET", "get", 16, 16, 710),
    Case("SET", "set", 1, 1, 2_350),
    Case("SET", "set", 1, 16, 2_100),
    Case("SET", "set", 16, 1, 870),
    Case("SET", "set", 16, 16, 850),
    Case("SET of documents, versions kept", "document", 16, 16, 1_170),
    Case("GET, RESP3", "get-resp3", 16, 16, 710),
    Case("SET, RESP3", "set-resp3", 16, 16, 850),
    Case("HTTP GET", "http", 1, 16, 2_480),
)


def built() -> Path:
    """The example, built in release mode."""
    build = ["cargo", "build", "--release", "--locked", "-p", "loadstone-engine", "--example", "instructions"]
    subprocess.run([*build, "--quiet"], cwd=ROOT, check=True)
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "examples" / "instructions"


def instructions(example: Path, case: Case, requests: int) -> int:
    """What the engine's thread executed in a whole drive of so many requests."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        options = ["--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={out}"]
        drive = [example, case.requests, case.depth, case.connections, requests]
        # By epoll: what io_uring does is done by the kernel, and valgrind knows little of it.
        polled = os.environ | {"LOADSTONE_BACK_END": "epoll"}
        command = ["valgrind", "-q", *options, *map(str, drive)]
        subprocess.run(command, env=polled, check=True, stdout=subprocess.DEVNULL)
        counted = Path(f"{out}-{ENGINE_THREAD:02}").read_text()
    total = re.search(r"^totals: (\d+)", counted, re.MULTILINE)
    if total is None:
        raise ValueError(f"callgrind counted nothing for {case}")
    return int(total[1])


def counted(example: Path, case: Case) -> float:
    """Instructions a request."""
    few, many = (instructions(example, case, requests) for requests in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def main() -> None:
    """Print a line a case; exit with 1 where a count is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="store_true", help="only build the example")
    parser.add_argument("--example", type=Path, metavar="FILE", help="the example, built before")
    options = parser.parse_args()
    example = options.example or built()
    if options.build:
        return
    if shutil.which("valgrind") is None:
        sys.exit("instructions: valgrind is missing: install it (as root: apt-get install valgrind)")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = list(pool.map(lambda case: counted(example, case), CASES))
    for number, case in enumerate(CASES):
        for _ in range(AGAIN):
            if counts[number] > case.limit:
                counts[number] = min(counts[number], counted(example, case))
    print(f"{'user instructions a request':<32} {'pipeline':>8} {'connections':>12} {'counted':>8} {'at most':>8}")
    for case, count in zip(CASES, counts, strict=True):
        print(f"{case.name:<32} {case.depth:8} {case.connections:12} {count:8.0f} {case.limit:8}")
    if any(count > case.limit for case, count in zip(CASES, counts, strict=True)):
        sys.exit("instructions: a request costs more than it may")


if __name__ == "__main__":
    main()
