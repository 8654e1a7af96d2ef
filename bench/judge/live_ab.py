"""Live A/B: servers slower by a known 2, 5 and 10 %, judged by sequential looks as a run judges.

    python -m bench.judge.live_ab [--repetitions 15] [--out runs/calibration/ab]

The null server spends its service time S on each command, one after the other, and with 4 users it is never idle:
its throughput is 1 / (S + c), where c is what receiving and sending cost beside it. c follows from the fastest
trials at S, since noise only slows down; the truth of a pair is ln((S + c) / (S (1 + e) + c)).

A repetition measures five conditions (S, S again, S + 2, 5 and 10 %) in blocks of random order, with the real
driver, monitors and checks, until each pair with S is decided at a look (8, 12, 18, 27, 40 blocks); 2 to 6
minutes. Finished ones are skipped. Writes `ab-NN.jsonl` (its trials), `ab-NN.json`, `ab.json` and `ab.md`.
"""

import argparse
import json
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, TextIO

import numpy as np
from scipy.stats import binomtest

from bench.judge.null_trials import NullBench
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
from loadstone.drivers.native import require_release_engine
from loadstone.experiment.plan.drive_plan import Phases
from loadstone.experiment.plan.look_schedule import LOOKS
from loadstone.experiment.spec.experiment import Experiment
from loadstone.judge.verdict import Verdict
from loadstone.report.verdicts import verdict_text
from loadstone.run_folder.trial import TrialRecord

ROOT = Path(__file__).parents[2]
FACTOR, BASE = "server", "base"
EFFECTS = {"same": 0.0, "+2 %": 0.02, "+5 %": 0.05, "+10 %": 0.10}
SERVICE_US = 1000.0
TRIAL_S, OVERHEAD_S = 1.0, 0.6
PHASES = Phases(warm_up_s=0.3, measure_s=TRIAL_S, drain_s=1.0)
FASTEST = 0.9
"""The quantile of the trials at S that gives c."""
MINUTES = (2, 6)


@dataclass(frozen=True)
class Decided:
    """The verdict of a pair at the look that decided it, or at the last one. Ratios are ln(slower / base)."""

    kind: str
    text: str
    winner: str | None
    real: bool
    blocks: int
    low: float | None
    high: float | None

    @property
    def minutes(self) -> float:
        """What this comparison alone would have taken."""
        return (self.blocks + 1) * 2 * (TRIAL_S + OVERHEAD_S) / 60


@dataclass(frozen=True)
class Comparison:
    """Base against one condition in one repetition."""

    repetition: int
    condition: str
    overhead_us: float
    """c of the repetition."""
    truth: float
    checked: Decided
    pure: Decided
    """By the same trials with the checks ignored."""


@dataclass
class Repetition:
    """The blocks of one repetition, until every pair is decided."""

    bench: NullBench
    dice: random.Random
    file: TextIO

    def __post_init__(self) -> None:
        self.trials: list[TrialRecord] = []
        self.decided: dict[tuple[str, str], Decided] = {}

    def measure(self, progress: str) -> None:
        """All blocks that it takes; block 0 warms up."""
        for block in range(LOOKS[-1] + 1):
            if sys.stderr.isatty():
                print(f"\r{progress}: block {block} ", end="", file=sys.stderr, flush=True)
            self._block(block)
            if block in LOOKS and self._look(block):
                break
        print(f"\r{progress}: {block} blocks", file=sys.stderr)

    def _block(self, block: int) -> None:
        """One block, in random order."""
        names = self.dice.sample([BASE, *EFFECTS], 1 + len(EFFECTS))
        found = [self.bench.trial(name, block, order) for order, name in enumerate(names, start=1)]
        self.file.writelines(trial.model_dump_json() + "\n" for trial in found)
        self.file.flush()
        self.trials += found

    def _look(self, block: int) -> bool:
        """Judge every pair that is not decided yet, with the checks and without; whether all are."""
        design = Design(FACTOR, sequential=True, trial_s=TRIAL_S, overhead_s=OVERHEAD_S)
        for name in EFFECTS:
            pair = pair_of({FACTOR: BASE}, {FACTOR: name})
            for how, trials in (("checked", self.trials), ("pure", unchecked(self.trials))):
                if self.decided.get((name, how), _OPEN).kind == "undecided":
                    self.decided[name, how] = _decided(judged_alone(EXPERIMENT, design, pair, trials), block)
        return all(found.kind != "undecided" for found in self.decided.values())


def _decided(found: Verdict, blocks: int) -> Decided:
    return Decided(
        found.kind, verdict_text(found), found.winner, claims_a_difference(found), blocks, found.low, found.high
    )


_OPEN = Decided("undecided", "", None, real=False, blocks=0, low=None, high=None)
EXPERIMENT = Experiment.with_add_ons().model_validate(
    {
        "name": "slower",
        "question": "Is a server that is slower by a known time seen to be?",
        "factors": {FACTOR: {"levels": [BASE, *EFFECTS]}},
        "tables": [{"name": "all", "title": "All", "vary": {FACTOR: [BASE, *EFFECTS]}}],
        "servers": {},
        "workload": {"model": {}, "pool": {}, "operations": [{"name": "get", "commands": [{"args": ["GET"]}]}]},
    }
)
"""For its words alone: the servers are started here."""


def repetition(number: int, seed: int, out: Path) -> list[Comparison]:
    """Measure one repetition, or read it if it is finished."""
    done = out / f"ab-{number:02d}.json"
    if done.exists():
        return [_comparison(one) for one in json.loads(done.read_text())]
    busy_us = {BASE: SERVICE_US, **{name: SERVICE_US * (1 + effect) for name, effect in EFFECTS.items()}}
    with (out / f"ab-{number:02d}.jsonl").open("w") as file, NullBench(FACTOR, busy_us, PHASES) as bench:
        running = Repetition(bench, random.Random(f"{seed}-{number}"), file)
        running.measure(f"repetition {number}")
    beside_us = overhead_us(running.trials)
    taken_us = SERVICE_US + beside_us
    found = [
        Comparison(
            number,
            name,
            beside_us,
            math.log(taken_us / (taken_us + effect * SERVICE_US)),
            running.decided[name, "checked"],
            running.decided[name, "pure"],
        )
        for name, effect in EFFECTS.items()
    ]
    done.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")
    return found


def _comparison(data: dict[str, Any]) -> Comparison:
    return Comparison(**{**data, "checked": Decided(**data["checked"]), "pure": Decided(**data["pure"])})


def overhead_us(trials: Sequence[TrialRecord]) -> float:
    """c: what a command takes beside its service time."""
    at_base = [trial.goodput_per_s for trial in trials if trial.condition[FACTOR] in (BASE, "same")]
    return 1e6 / float(np.quantile(at_base, FASTEST)) - SERVICE_US


def page(found: Sequence[Comparison], date: str) -> str:
    """The section of the calibration page."""
    head = (
        "server slower by",
        "true ratio",
        "refused",
        "decided",
        "difference found",
        "wrong direction",
        "interval holds the truth",
        "minutes, median [range]",
    )
    parts = []
    for title, how in (("With the checks", "checked"), ("Checks ignored", "pure")):
        rows = [_row(name, [(one, getattr(one, how)) for one in found if one.condition == name]) for name in EFFECTS]
        kinds = counted(getattr(one, how).kind for one in found)
        parts.append(f"{title} ({counts_text(kinds)}):\n\n{table(head, rows)}")
    beside = {one.repetition: one.overhead_us for one in found}
    begin = (
        f"{len(beside)} repetitions, {date}. S = {SERVICE_US:.0f} us, c = {median(beside.values()):.0f} us "
        f"[{min(beside.values()):.0f}, {max(beside.values()):.0f}]: where c is more than a tenth of S the machine was "
        "not quiet, and the truth itself is uncertain."
    )
    return "\n\n".join([begin, *parts])


def _row(name: str, pairs: Sequence[tuple[Comparison, Decided]]) -> list[str]:
    judged = [(one.truth, observed) for one, observed in pairs if observed.kind != "invalid"]
    decided = [one for _, one in judged if one.kind != "undecided"]
    wrong = [one for truth, one in judged if one.real and (truth == 0 or (one.low or 0) >= 0)]
    held = [truth for truth, one in judged if one.low is not None and one.low <= truth <= (one.high or 0)]
    minutes = [observed.minutes for observed in decided]
    return [
        name,
        f"{100 * math.expm1(median(one.truth for one, _ in pairs)):.2f} %",
        str(len(pairs) - len(judged)),
        _share(len(decided), len(judged)),
        _share(sum(observed.real for _, observed in judged), len(judged)),
        _share(len(wrong), len(judged)),
        _share(len(held), len(judged)),
        f"{median(minutes):.1f} [{min(minutes):.1f}, {max(minutes):.1f}]" if minutes else "",
    ]


def _share(hits: int, total: int) -> str:
    """`14 of 15 [68, 100] %`."""
    if not total:
        return "0 of 0"
    interval = binomtest(hits, total).proportion_ci(method="exact")
    return f"{hits} of {total} [{100 * interval.low:.0f}, {100 * interval.high:.0f}] %"


def main() -> int:
    """Measure what is missing, print and write the section. Status 1 if a verdict has the wrong direction."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "calibration" / "ab")
    options = parser.parse_args()
    require_release_engine()
    options.out.mkdir(parents=True, exist_ok=True)
    numbers = range(1, options.repetitions + 1)
    missing = sum(not (options.out / f"ab-{number:02d}.json").exists() for number in numbers)
    least, most = (missing * minutes for minutes in MINUTES)
    print(f"live A/B: {missing} of {len(numbers)} repetitions to do, {least} to {most} minutes", flush=True)
    found = [one for number in numbers for one in repetition(number, options.seed, options.out)]
    date = datetime.now(UTC).date().isoformat()
    text = page(found, date)
    reported = {"date": date, "service_us": SERVICE_US, "comparisons": [asdict(one) for one in found]}
    (options.out / "ab.json").write_text(json.dumps(reported, indent=1) + "\n")
    (options.out / "ab.md").write_text(text + "\n")
    print(text)
    wrong = [one for one in found if one.truth and one.pure.real and (one.pure.low or 0) >= 0]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
