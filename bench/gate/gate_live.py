"""Gates on a service of some lines whose versions are known to be equal, or slower in CPU, in the tail, or by waiting.

Each line of the results is one gate. `--resume` goes on where a file ended; `--summary` counts what is in it. Versions:
`0`, `3`, `5`, `10` (per cent more CPU a request, by the rounds of a hash that was timed before) and `tail` (2 ms more
in one request of a hundred). `wait` is only made where it is named: each request holds a lock for 1.4 ms in place of
1 ms, which costs no CPU. `--neighbour`: beside a program that takes half of a CPU. `--by`: what begins each gate.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.common.result_lines import add_line, read_lines

ROOT = Path(__file__).parents[2]
SERVICE = ROOT / "bench" / "gate" / "service"
VERSIONS = ("0", "5", "10", "tail", "3")
ROUNDS = 400
REST_NS = 22_000.0
"""What a request takes beside the rounds of the hash, about: 22 us on the machine of the results."""
HALF = """
import time
while True:
    end = time.monotonic() + 0.005
    while time.monotonic() < end:
        pass
    time.sleep(0.005)
"""


def built(folder: Path) -> Path:
    """The service's program."""
    program = folder / "service"
    subprocess.run(["go", "build", "-o", str(program), "."], cwd=SERVICE, check=True)
    return program


def base_of(version: str) -> list[str]:
    """The options of what a version is compared with."""
    return ["-lock", "1ms"] if version == "wait" else []


def head_of(version: str, round_ns: float) -> list[str]:
    """The options of a version."""
    if version == "tail":
        return ["-tail", "2ms"]
    if version == "wait":
        return ["-lock", "1400us"]
    if version == "0":
        return ["-rounds", str(ROUNDS)]
    more = float(version) / 100 * (ROUNDS + REST_NS / round_ns)
    return ["-rounds", str(round(ROUNDS + more))]


@contextmanager
def neighbour(wanted: bool) -> Iterator[None]:
    """A program that takes half of a CPU."""
    process = subprocess.Popen([sys.executable, "-c", HALF]) if wanted else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def gate(program: Path, version: str, round_ns: float, options: argparse.Namespace, folder: Path) -> dict[str, object]:
    """One gate."""
    base = f"{program} -port {{port}} {' '.join(base_of(version))}".strip()
    head = f"{program} -port {{port}} {' '.join(head_of(version, round_ns))}"
    command = [
        *options.by.split(),
        str(ROOT / ".venv/bin/loadstone"),
        "gate",
        "--base",
        base,
        "--head",
        head,
        "--out",
        str(folder),
    ]
    command += ["--budget", options.budget, "--level", str(options.level), "--quiet"]
    command += ["--share-machine"] if options.share_machine else []
    began = time.monotonic()
    with neighbour(options.neighbour):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    runs = sorted(folder.glob("*-gate"))
    result = json.loads((runs[-1] / "gate.json").read_text()) if runs and (runs[-1] / "gate.json").exists() else {}
    kept = ("name", "verdict", "slower", "slower_low", "slower_high", "units")
    return {
        "version": version,
        "neighbour": options.neighbour,
        "place": options.place,
        "level": options.level,
        "status": done.returncode,
        "of_base": True,
        "verdict": result.get("verdict", ""),
        "figures": [{key: one[key] for key in kept} for one in result.get("figures", [])],
        "said": result.get("message", {}).get("text") or done.stderr[-300:],
        "seconds": round(time.monotonic() - began, 1),
        "unix_s": round(time.time()),
        "run": runs[-1].name if runs else "",
        "load_average": os.getloadavg()[0],
    }


def summary(rows: list[dict[str, object]]) -> Iterator[str]:
    """Counts of verdicts by version and surroundings."""
    counted: dict[tuple[str, ...], Counter[str]] = {}
    for row in rows:
        key = (str(row["version"]), "neighbour" if row["neighbour"] else "no neighbour", str(row["place"]))
        counted.setdefault(key, Counter())[str(row["verdict"] or f"status {row['status']}")] += 1
    for key, counts in sorted(counted.items()):
        yield f"{', '.join(key):<40} " + ", ".join(f"{name} {number}" for name, number in counts.most_common())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/gate-2026-11-27.jsonl")
    parser.add_argument("--gates", type=int, default=20, help="of each version")
    parser.add_argument("--versions", default=",".join(VERSIONS))
    parser.add_argument("--budget", default="60 s")
    parser.add_argument("--level", type=float, default=0.001)
    parser.add_argument("--neighbour", action="store_true")
    parser.add_argument("--share-machine", action="store_true")
    parser.add_argument("--place", default="calm", help="what else the machine does")
    parser.add_argument("--resume", action="store_true", help="count what the file has already")
    parser.add_argument("--within", type=float, default=1e9, help="seconds after which no gate is begun")
    parser.add_argument("--keep", type=Path, help="keep the runs' folders there")
    parser.add_argument("--by", default="", help="a command that begins each gate, e.g. nice -n 5")
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    rows = read_lines(options.results)
    if options.summary:
        print("\n".join(summary(rows)))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    began = time.monotonic()
    done = Counter(
        row["version"] for row in rows if (row["neighbour"], row["place"]) == (options.neighbour, options.place)
    )
    done = done if options.resume else Counter()
    with tempfile.TemporaryDirectory() as temporary:
        program = built(Path(temporary))
        times = [float(subprocess.check_output([program, "-bench"], text=True)) for _ in range(5)]
        for _ in range(options.gates):
            for version in options.versions.split(","):
                if done[version] >= options.gates or time.monotonic() - began > options.within:
                    continue
                row = gate(program, version, min(times), options, options.keep or Path(temporary) / "runs")
                done[version] += 1
                add_line(options.results, row)
                print(row["version"], row["said"], f"{row['seconds']} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
