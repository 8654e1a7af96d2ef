"""Live A/A: seven equal conditions on a real Redis, again and again; every difference that is claimed is false.

    python -m bench.judge.live_aa [--runs 10] [--blocks 8] [--out runs/calibration/aa]

Each run is `loadstone run bench/experiments/aa.yaml --blocks 8`, 1.5 to 2 minutes, in a folder of its own; finished
ones are skipped and cut ones resumed, so it may be stopped and started again. A run gives 21 pairs, each judged as
an only comparison at 5 %, and 3 that share no condition and so are independent. What the checks refuse is
counted, and what the statistics alone would have said stands beside it. Writes `aa.json` and `aa.md` to `--out`.
"""

import argparse
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from scipy.stats import binomtest

from bench.judge.pairwise import (
    Design,
    claims_a_difference,
    counted,
    counts_text,
    judged_alone,
    pair_of,
    table,
    unchecked,
)
from loadstone.judge.checks.checks import BOUNDS, judge_trial
from loadstone.judge.verdict import Verdict
from loadstone.report.verdicts import verdict_text
from loadstone.run_folder.reading import RecordedRun, read_run
from loadstone.run_folder.trial import TrialRecord

ROOT = Path(__file__).parents[2]
EXPERIMENT = ROOT / "bench" / "experiments" / "aa.yaml"
GROUP = "copies"
RUN_MINUTES = 2
INVALID_STATUS = 3
FALSE_MAX_OF_210 = 16


@dataclass(frozen=True)
class Pair:
    """One comparison of two equal conditions, with the checks and without them."""

    run: int
    between: str
    disjoint: bool
    kind: str
    refused_by: str
    """The check that forbids a verdict; empty where none does."""
    text: str
    false: bool
    pure_text: str
    pure_false: bool
    pure_estimate: float | None


@dataclass(frozen=True)
class Trials:
    """All trials of all runs, the repeated ones among them."""

    total: int
    repeated: int
    verdicts: dict[str, int]
    invalid_by: dict[str, int]
    suspect_by: dict[str, int]
    clean: int
    """Trials that their bounds leave valid: others took little, and the generator cost little."""
    clean_invalid: int
    """Of these, invalid nevertheless: false alarms of the checks."""
    clean_invalid_by: dict[str, int]


def finished(folder: Path) -> Path | None:
    """The complete run in a folder; None if there is none."""
    for analysis in sorted(folder.glob("*/analysis.json")):
        if json.loads(analysis.read_text())["complete"]:
            return analysis.parent
    return None


def measure(folder: Path, blocks: int, seed: int) -> Path:
    """Run the experiment into `folder`, or go on with what is there; the run's folder."""
    if (found := finished(folder)) is not None:
        return found
    command = [
        sys.executable,
        "-m",
        "loadstone.cli.main",
        "run",
        str(EXPERIMENT),
        "--blocks",
        str(blocks),
        "--seed",
        str(seed),
    ]
    cut = sorted(folder.glob("*/plan.json"))
    command += ["--resume", str(cut[-1].parent)] if cut else ["--out", str(folder)]
    status = subprocess.run(command, check=False).returncode
    found = finished(folder)
    if status not in (0, INVALID_STATUS) or found is None:
        sys.exit(f"the run in {folder} ended with status {status}; start again to go on with it")
    return found


def pairs_of(number: int, run: RecordedRun) -> list[Pair]:
    """All pairs of one run."""
    group = next(group for group in run.plan.groups if group.name == GROUP)
    design = Design(GROUP, sequential=False, trial_s=group.trial_s, overhead_s=group.overhead_s)
    trials = [judge_trial(trial) for trial in run.trials]
    levels = [str(level) for level in run.experiment.factors["copy"].levels]
    disjoint = set(zip(levels[::2], levels[1::2], strict=False))
    found = []
    for a, b in itertools.combinations(levels, 2):
        pair = pair_of({"copy": a}, {"copy": b})
        checked = judged_alone(run.experiment, design, pair, trials)
        pure = judged_alone(run.experiment, design, pair, unchecked(trials))
        found.append(_pair(number, f"{a}-{b}", (a, b) in disjoint, checked, pure))
    return found


def _pair(number: int, between: str, disjoint: bool, checked: Verdict, pure: Verdict) -> Pair:
    return Pair(
        run=number,
        between=between,
        disjoint=disjoint,
        kind=checked.kind,
        refused_by=checked.refusal.name if checked.refusal else "",
        text=verdict_text(checked),
        false=claims_a_difference(checked),
        pure_text=verdict_text(pure),
        pure_false=claims_a_difference(pure),
        pure_estimate=pure.estimate,
    )


def trials_of(runs: Sequence[RecordedRun]) -> Trials:
    """What the checks said of every trial."""
    last = [judge_trial(trial) for run in runs for trial in run.trials]
    repeated = [judge_trial(trial) for run in runs for trial in run.superseded]
    trials = [*last, *repeated]
    clean = [trial for trial in trials if not _touched(trial)]
    false_alarms = [trial for trial in clean if trial.verdict == "invalid"]
    return Trials(
        total=len(trials),
        repeated=len(repeated),
        verdicts=counted(trial.verdict for trial in trials),
        invalid_by=_by_check(trials, "invalid"),
        suspect_by=_by_check(trials, "suspect"),
        clean=len(clean),
        clean_invalid=len(false_alarms),
        clean_invalid_by=_by_check(false_alarms, "invalid"),
    )


def _touched(trial: TrialRecord) -> bool:
    return any(check.name in BOUNDS and check.verdict in ("suspect", "invalid") for check in trial.checks)


def _by_check(trials: Sequence[TrialRecord], verdict: str) -> dict[str, int]:
    return counted(check.name for trial in trials for check in trial.checks if check.verdict == verdict)


def share_text(hits: int, total: int) -> str:
    """`3 of 30 = 10 % [2, 27]`: with the 95 % range of independent ones."""
    if not total:
        return "0 of 0"
    interval = binomtest(hits, total).proportion_ci(method="exact")
    return f"{hits} of {total} = {hits / total:.1%} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def page(pairs: Sequence[Pair], trials: Trials, date: str) -> str:
    """The section of the calibration page."""
    runs = len({pair.run for pair in pairs})
    head = ("", "false winners, with the checks", "refused by the checks", "false winners, checks ignored")
    apart = [pair for pair in pairs if pair.disjoint]
    rows = [
        ("all pairs", *_row(pairs, lambda hits, total: f"{hits} of {total}")),
        ("pairs without a common condition", *_row(apart, share_text)),
    ]
    begin = f"{runs} runs of 7 equal conditions, {date}. Limit: {FALSE_MAX_OF_210} false winners of 210."
    return "\n\n".join([begin, table(head, rows), _verdicts_text(pairs), _trials_text(trials)])


def _row(pairs: Sequence[Pair], text: Callable[[int, int], str]) -> tuple[str, int, str]:
    judged = [pair for pair in pairs if pair.kind != "invalid"]
    return (
        text(sum(pair.false for pair in judged), len(judged)),
        len(pairs) - len(judged),
        text(sum(pair.pure_false for pair in pairs), len(pairs)),
    )


def _verdicts_text(pairs: Sequence[Pair]) -> str:
    refused = counted(pair.refused_by for pair in pairs if pair.kind == "invalid")
    by_run = [sum(pair.pure_false for pair in pairs if pair.run == run) for run in sorted({pair.run for pair in pairs})]
    return (
        f"Verdicts: {counts_text(counted(pair.kind for pair in pairs))}. Refused: {counts_text(refused)}. "
        f"False winners of each run, checks ignored: {', '.join(str(number) for number in by_run)} (the 21 pairs of a "
        "run share conditions, so false winners come in clusters)."
    )


def _trials_text(trials: Trials) -> str:
    return (
        f"Trials: {trials.total}, of which {trials.repeated} were repeated; {counts_text(trials.verdicts)}. "
        f"Invalid by: {counts_text(trials.invalid_by)}. Suspect by: {counts_text(trials.suspect_by)}. "
        f"Of {trials.clean} trials that nothing from outside touched, {trials.clean_invalid} were invalid "
        f"({counts_text(trials.clean_invalid_by)})."
    )


def main() -> int:
    """Measure what is missing, judge everything, print and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "calibration" / "aa")
    options = parser.parse_args()
    folders = [options.out / f"{number:02d}" for number in range(1, options.runs + 1)]
    missing = sum(finished(folder) is None for folder in folders)
    print(f"live A/A: {missing} of {options.runs} runs to do, about {missing * RUN_MINUTES} minutes", flush=True)
    runs = [read_run(measure(folder, options.blocks, options.seed + number)) for number, folder in enumerate(folders)]
    pairs = [pair for number, run in enumerate(runs, start=1) for pair in pairs_of(number, run)]
    trials, date = trials_of(runs), datetime.now(UTC).date().isoformat()
    text = page(pairs, trials, date)
    reported = {"date": date, "runs": options.runs, "pairs": [asdict(pair) for pair in pairs], "trials": asdict(trials)}
    (options.out / "aa.json").write_text(json.dumps(reported, indent=1) + "\n")
    (options.out / "aa.md").write_text(text + "\n")
    print(text)
    return 1 if sum(pair.pure_false for pair in pairs) > FALSE_MAX_OF_210 * len(pairs) / 210 else 0


if __name__ == "__main__":
    sys.exit(main())
