"""Something carries over that was put there: slices get longer by themselves, and say what whole trials say.

    python -m bench.judge.provoked_carry_over [--lags 0 30 60] [--repetitions 1] [--out runs/calibration/carried]

Two equal conditions on one real Redis, behind a relay (`lagging_relay.py`) that is busy for so many ms after the first
one's last command: what it does to slices of 100 ms is known, and to whole trials nearly nothing. Each is run in rounds
as a run is, and by whole trials (`design.rounds: never`). Prints the looks of both, and what the first slices alone
would have said. Writes the runs' folders to `--out`. Exit status 1 if a difference is claimed by lengthened slices.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from loadstone.experiment.plan.look_schedule import ROUND_LOOK_ALPHA
from loadstone.experiment.spec.experiment import RATE_MARGIN
from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.analysis.analysis import Comparison
from loadstone.judge.compare.blocks import group_blocks
from loadstone.judge.compare.pairs import PairBlock
from loadstone.judge.compare.round_figures import pair_slices
from loadstone.judge.statistics.decision import verdict_of
from loadstone.judge.statistics.rounds.round_evidence import round_evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.machine.ports import free_port
from loadstone.report.verdicts import verdict_text
from loadstone.run_folder.reading import read_looks, read_run
from loadstone.servers.redis import packages
from loadstone.text.sentences import render_message

ROOT = Path(__file__).parents[2]
EXPERIMENT = ROOT / "bench" / "experiments" / "carried.yaml"
SEED = 7


@contextlib.contextmanager
def lagging_redis(lag_ms: int) -> Iterator[str]:
    """A Redis of our own behind the relay: its URL."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(packages.need_server()),
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            folder,
        ]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        time.sleep(1.0)
        relay = subprocess.Popen(
            [sys.executable, str(ROOT / "bench" / "judge" / "lagging_relay.py"), str(port), str(lag_ms)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert relay.stdout is not None
            yield f"redis://127.0.0.1:{relay.stdout.readline().strip()}/0"
        finally:
            relay.kill()
            server.terminate()
            relay.wait()
            server.wait()


def run(folder: Path, url: str, rounds: str) -> Path:
    """One run of the experiment; the folder that it wrote."""
    experiment = folder / f"{rounds}.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    experiment.write_text(EXPERIMENT.read_text().replace("design:", f"design:\n  rounds: {rounds}"))
    command = [sys.executable, "-m", "loadstone.cli.main", "run", str(experiment), "--server", f"redis={url}"]
    command += ["--seed", str(SEED), "--out", str(folder / rounds), "--share-machine"]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=(folder / f"{rounds}.log").open("w"))
    (made,) = (folder / rounds).glob("*/")
    return made


def compared(folder: Path) -> Comparison:
    """The one comparison of a run."""
    (family,) = analyse(folder).families
    (comparison,) = family.comparisons
    return comparison


def looks(folder: Path) -> str:
    """What each look brought."""
    return ", ".join(f"{look.reason} ({look.stage}/{look.blocks})" for look in read_looks(folder)[0])


def by_first_slices(folder: Path) -> str:
    """What slices of 100 ms alone say at their last look, whatever carries over."""
    run = read_run(folder)
    trials = [trial for trial in (*run.shorter, *run.trials) if trial.stage == 0]
    found = group_blocks("copies", [{"copy": "a"}, {"copy": "b"}], trials)
    sides = [sorted(found.trials[block].items()) for block in found.complete]
    blocks = [PairBlock(number, a, b) for number, ((_, a), (_, b)) in zip(found.complete, sides, strict=True)]
    settings = Settings(unit="round", alpha=ROUND_LOOK_ALPHA, margin=RATE_MARGIN, names=("a", "b"))
    return verdict_text(verdict_of(round_evidence(pair_slices(blocks, "goodput_per_s"), settings), settings))


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lags", type=int, nargs="+", default=[0, 30, 60])
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "calibration" / "carried")
    arguments = parser.parse_args()
    wrong = 0
    for lag_ms in arguments.lags:
        for number in range(arguments.repetitions):
            folder = arguments.out / f"{lag_ms}ms-{number:02d}-{int(time.time())}"
            with lagging_redis(lag_ms) as url:
                sliced, whole = run(folder, url, "auto"), run(folder, url, "never")
            found = compared(sliced)
            longer = render_message(found.lengthened) or "not lengthened"
            wrong += found.primary.kind in ("faster", "mixed")
            print(f"{lag_ms} ms after the other's last command, {number + 1}:")
            print(f"  slices of 100 ms alone: {by_first_slices(sliced)}")
            print(f"  a run in rounds:        {verdict_text(found.primary)}; {longer}")
            print(f"  its looks:              {looks(sliced)}")
            print(f"  whole trials:           {verdict_text(compared(whole).primary)}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
