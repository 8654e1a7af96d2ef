"""User instructions of the engine a request, counted by callgrind: `python bench/instructions.py [EXAMPLE]`.

EXAMPLE is the program built from `engine/examples/instructions.rs`; without it, it is built. It drives a null server in
the same process, once for few and once for many requests; callgrind counts each thread apart, so that the difference is
what a request costs the engine's thread. Needs valgrind.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CASES = {"set-1": "SET, pipeline 1", "set-16": "SET, pipeline 16", "http-get": "HTTP GET"}
FEW, MANY = 8_000, 40_000
ENGINE_THREAD = 3
"""Of the example: after its main thread and the null server's."""


def built() -> Path:
    """The example, built in release mode."""
    build = ["cargo", "build", "--release", "--locked", "-p", "loadstone-engine", "--example", "instructions"]
    subprocess.run(build, cwd=ROOT, check=True)
    return ROOT / "target" / "release" / "examples" / "instructions"


def instructions(example: Path, case: str, requests: int) -> int:
    """What the engine's thread executed in a whole drive of so many requests."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        options = ["--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={out}"]
        subprocess.run(["valgrind", "-q", *options, str(example), case, str(requests)], check=True, capture_output=True)
        counted = Path(f"{out}-{ENGINE_THREAD:02}").read_text()
    total = re.search(r"^totals: (\d+)", counted, re.MULTILINE)
    if total is None:
        raise ValueError(f"callgrind counted nothing for {case}")
    return int(total[1])


def main() -> None:
    """Print a line a case."""
    example = Path(sys.argv[1]) if len(sys.argv) > 1 else built()
    for case, name in CASES.items():
        few, many = (instructions(example, case, requests) for requests in (FEW, MANY))
        print(f"{name:<18} {(many - few) / (MANY - FEW):7.0f} instructions a request")


if __name__ == "__main__":
    main()
