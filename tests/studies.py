"""Runs with a comparison in them, made by code: figures scaled from one clean trial, everything else as it was."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram

from loadstone.drivers.histogram import Histogram
from loadstone.experiment.plan.group import Contrast, Group, PairDesign
from loadstone.experiment.plan.look_schedule import LOOKS
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import Condition
from loadstone.judge.checks.checks import judge_trial
from loadstone.run_folder.look import Look
from loadstone.run_folder.plan_summary import PlannedLine, PlanSummary
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.message import verbatim
from tests.changed_facts import with_drive, with_facts, written
from tests.run_folder.synthetic import as_ours

USUAL: Condition = {"operation": "set", "payload": "1 kB", "workers": 32, "idle": "few"}
LEVELS = {"set": 1.0, "get": 1.1, "idle": 1.0}
Change = Callable[[TrialRecord], TrialRecord]


def condition(**levels: Any) -> Condition:
    return USUAL | levels


def check(name: str, verdict: str = "invalid", measured: float | None = 97.0, limit: float = 85.0) -> CheckResult:
    said = verbatim(f"By {name}.")
    return CheckResult.model_validate(
        {"name": name, "verdict": verdict, "measured": measured, "limit": limit, "unit": "%", "reason": said}
    )


def with_check(name: str, verdict: str = "invalid", measured: float | None = 97.0) -> Change:
    """Gives a trial a failed check, and the verdict that follows."""

    def change(trial: TrialRecord) -> TrialRecord:
        return trial.model_copy(update={"checks": [check(name, verdict, measured)], "verdict": verdict})

    return change


def costs(gain: float) -> Change:
    """Gives a trial a driver without which it would have done so much more."""

    def change(trial: TrialRecord) -> TrialRecord:
        first = written(trial)["drive"]["threads"][0]
        thread = first | {"cpu_s": (1 - 1 / (1 + gain)) * first["wall_s"], "waited_s": 0.0}
        return judge_trial(with_drive(trial, threads=[thread]))

    return change


def loses(taken: float) -> Change:
    """Gives a trial neighbours that kept it from doing so much more."""
    lost = 100 * taken / (1 + taken)
    shares = {"busy": 55.0 + lost, "stolen": lost, "others": 0.0}
    observed = {"cpu0": {name: {"avg": value, "max": value} for name, value in shares.items()}}

    def change(trial: TrialRecord) -> TrialRecord:
        return judge_trial(with_facts(trial, seen=written(trial)["seen"] | observed))

    return change


def spec(name: str = "kinds", **changes: Any) -> dict[str, Any]:
    """A declared comparison of `set` and `get`."""
    given = {"name": name, "question": "Is a get faster?", "between": "operation", "levels": ["set", "get"]}
    return given | {"at": {"payload": ["1 kB"]}} | changes


@dataclass
class Study:
    """One group of conditions with the ratio of each one's goodput to the first one's."""

    synthetic: ModuleType
    ratios: Sequence[tuple[Condition, float]]
    pairs: Sequence[tuple[int, int]] = ((0, 1),)
    contrasts: tuple[Contrast, ...] = ()
    """The effects of a factorial, by the numbers of the pairs."""
    blocks: int = 12
    sd: float = 0.01
    name: str = "kinds"
    metric: str = "goodput_per_s"
    margin: float = 0.05
    sequential: bool = True
    looks: tuple[int, ...] = LOOKS
    planned_blocks: int = 40
    seed: int = 1
    changes: dict[tuple[int, int], Change] = field(default_factory=dict)
    """(block, number of the condition) -> what happens to its trial after it was judged."""
    carried_over: float = 0.0
    """The log ratio that whoever runs first in a block loses."""
    experiment: dict[str, Any] = field(default_factory=lambda: {"comparisons": [spec()]})

    @property
    def made_experiment(self) -> Experiment:
        made: Experiment = self.synthetic.make_experiment(**self.experiment)
        return made

    def group(self) -> Group:
        conditions = tuple(one for one, _ in self.ratios)
        pairs = tuple(PairDesign(conditions[a], conditions[b]) for a, b in self.pairs)
        return Group(
            name=self.name, conditions=conditions, pairs=pairs, metric=self.metric, margin=self.margin,
            looks=self.looks, sequential=self.sequential, warm_block=True, trial_s=3.0, overhead_s=1.5,
            contrasts=self.contrasts,
        )  # fmt: skip

    def trials(self) -> list[TrialRecord]:
        """Judged trials in the order they ran, the warm block first: there `get` is ten times too fast."""
        rng = np.random.default_rng(self.seed)
        template = judge_trial(_template(self.synthetic))
        found = []
        for block in range(self.blocks + 1):
            drift = rng.normal(0, 0.03)
            order = list(rng.permutation(len(self.ratios)))
            for number, (one, ratio) in enumerate(self.ratios):
                log = np.log(ratio) + drift + rng.normal(0, self.sd) + (2.3 * number if block == 0 else 0.0)
                place = order.index(number) + 1
                log -= self.carried_over * (place == 1)
                trial = scaled(template, float(np.exp(log))).model_copy(
                    update={
                        "trial": f"{self.name}-b{block:02d}-{place:03d}", "condition": one, "group": self.name,
                        "block": block, "order": place,
                        "started_unix_ns": template.started_unix_ns + (block * 10 + place) * 5_000_000_000,
                    }
                )  # fmt: skip
                found.append(self.changes.get((block, number), lambda same: same)(trial))
        return sorted(found, key=lambda trial: trial.started_unix_ns)

    def plan(self) -> PlanSummary:
        group = self.group()
        lines = [
            PlannedLine(
                trial=f"{self.name}-b{block:02d}-{order:03d}", condition=one, group=self.name, block=block,
                order=order, plan_sha256="0" * 64,
            )
            for block in range(self.planned_blocks + 1)
            for order, one in enumerate(group.conditions, start=1)
        ]  # fmt: skip
        return PlanSummary(
            experiment="small", seed=7, quick=False, as_published=False, expected_s=60.0, budget_s=2700.0,
            groups=(group.design,), trials=tuple(lines),
        )  # fmt: skip

    def run(self, path: Path = Path("runs/x"), *, stop: int | None = -1, **changes: Any) -> RecordedRun:
        """The run as it is read. `stop`: after how many blocks a look stopped it (-1: all; None: interrupted)."""
        blocks = self.blocks if stop == -1 else stop
        given: dict[str, Any] = {
            "path": path, "experiment": self.made_experiment, "environment": dict(self.synthetic.ENVIRONMENT),
            "plan": self.plan(), "trials": tuple(self.trials()), "superseded": (),
            "looks": () if blocks is None else (look(self.name, blocks),),
            "intervals": {}, "samples": {}, "notes": (),
        }  # fmt: skip
        return RecordedRun(**(given | changes))


def look(group: str, blocks: int, reason: str = "decided", stop: bool = True) -> Look:
    data = {"group": group, "blocks": blocks, "unix_s": 1.0, "elapsed_s": 1.0, "verdicts": [], "stop": stop}
    return Look.model_validate(data | {"reason": reason})


_TEMPLATES: dict[str, TrialRecord] = {}


def _template(synthetic: ModuleType) -> TrialRecord:
    if "clean" not in _TEMPLATES:
        _TEMPLATES["clean"] = synthetic.make_trial()
    return _TEMPLATES["clean"]


def scaled(trial: TrialRecord, factor: float) -> TrialRecord:
    """The same trial, so many times as fast."""
    latencies = {
        kind: getattr(trial, kind).model_copy(
            update={name: round(value / factor) for name, value in getattr(trial, kind) if value is not None}
        )
        for kind in ("response_ns", "service_ns")
    }
    rates = {name: getattr(trial, name) * factor for name in ("throughput_per_s", "goodput_per_s", "peak_per_s")}
    return trial.model_copy(update=rates | latencies)


def tail(rng: np.random.Generator, p99_factor: float, operations: int = 2000) -> Histogram:
    """Latencies whose upper 3 % are so many times as long."""
    values = rng.lognormal(np.log(1e6), 0.1, operations)
    values[: operations * 3 // 100] *= 5 * p99_factor * np.exp(rng.normal(0, 0.03))
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values:
        histogram.record_value(int(value))
    return as_ours(histogram)
