"""Studies with a mistake in them, as folders: two conditions of which one seems to be much faster."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from loadstone.experiment.plan.group import Group, PairDesign
from loadstone.experiment.plan.run_plan import PlannedTrial, RunPlan
from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.analysis.analysis import Comparison
from loadstone.judge.checks.checks import judge_trial
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.plan_summary import summarise_plan
from loadstone.run_folder.trial import TrialRecord

Line = dict[str, Any]
Mistake = Callable[[Line], Any]

GROUP = "first-against-second"
CONDITION = {"payload": "1 kB", "workers": 32, "idle": "few"}
VARIANTS = 3
"""Rates that a condition's trials take in turn, one apart."""
FIRST, SECOND = ({"operation": name, **CONDITION} for name in ("set", "get"))


@dataclass
class Lab:
    """Writes studies and analyses them as `loadstone report` does."""

    synthetic: ModuleType
    root: Path
    drives: dict[Any, Any]

    def compared(
        self,
        first: Mistake | None = None,
        second: Mistake | None = None,
        *,
        blocks: int = 12,
        users: int = 32,
        per_interval: tuple[int, int] = (200, 260),
        metric: str = "goodput_per_s",
        errors: dict[str, int] | None = None,
    ) -> Comparison:
        """The comparison of a study in which the second condition did 30 % more than the first.

        Args:
            first: what went wrong in every trial of the first condition.
            second: the same of the second.
            blocks: how often each was measured.
            users: virtual users of both.
            per_interval: correct replies a second of each.
            metric: what the study compares.
            errors: operations of the second condition that failed, by kind.
        """
        run_plan = self._run_plan(blocks, users, metric)
        experiment = self.synthetic.make_experiment(
            comparisons=[{"name": GROUP, "question": "Is it faster?", "between": "operation", "levels": ["set", "get"]}]
        )
        written = experiment.model_dump(mode="json")
        with RunFolder.create(self.root, "small", written, self.synthetic.ENVIRONMENT, summarise_plan(run_plan)) as run:
            for planned in run_plan.trials:
                is_first = planned.condition == FIRST
                rate = per_interval[0 if is_first else 1] + planned.block % VARIANTS
                drive = self._drive(planned, rate, {} if is_first else errors or {})
                self._write(run, planned, drive, first if is_first else second)
        (family,) = analyse(run.path).families
        (comparison,) = family.comparisons
        return comparison

    def _run_plan(self, blocks: int, users: int, metric: str) -> RunPlan:
        trials = [
            self._planned(condition, block, order, users)
            for block in range(1, blocks + 1)
            for order, condition in enumerate((FIRST, SECOND) if block % 2 else (SECOND, FIRST), start=1)
        ]
        group = Group(
            name=GROUP,
            conditions=(FIRST, SECOND),
            pairs=(PairDesign(FIRST, SECOND),),
            metric=metric,
            margin=0.05,
            looks=(blocks,),
            sequential=False,
            warm_block=False,
            trial_s=6.0,
            overhead_s=3.0,
        )
        made: RunPlan = self.synthetic.make_run_plan(
            groups=(group,), conditions=(FIRST, SECOND), trials=tuple(trials), budget_s=2700.0
        )
        return made

    def _drive(self, planned: PlannedTrial, per_interval: int, errors: dict[str, int]) -> Any:
        """A drive like this, made once: encoding histograms takes its time."""
        users = planned.plan.model.users if planned.plan.model.kind == "closed" else 0
        kind = (planned.plan.operations[0].name, users, per_interval, *errors.items())
        if kind not in self.drives:
            self.drives[kind] = self.synthetic.make_drive(
                planned.plan, seed=per_interval, per_interval=per_interval, errors=errors or None
            )
        return self.drives[kind]

    def _planned(self, condition: Line, block: int, order: int, users: int) -> PlannedTrial:
        plan = self.synthetic.make_plan(condition["operation"], users=users)
        servers: dict[str, dict[str, object]] = {"redis": {"kind": "embedded"}}
        return PlannedTrial(
            f"{GROUP}-b{block:02d}-{order:03d}", condition, block, order, servers, plan, None, group=GROUP
        )

    def _write(self, run: RunFolder, planned: PlannedTrial, drive: Any, mistake: Mistake | None) -> None:
        writer = run.begin_trial(planned.name)
        for interval in drive.intervals:
            writer.add_interval(interval)
        writer.add_samples(drive.samples)
        line = copy.deepcopy(self.synthetic.make_trial(drive, planned).model_dump(mode="json"))
        if mistake is not None:
            mistake(line)
        writer.finish(judge_trial(TrialRecord.model_validate(line)))


@pytest.fixture(scope="session")
def drives() -> dict[Any, Any]:
    """Drives that were made before."""
    return {}


@pytest.fixture
def study(synthetic: ModuleType, tmp_path: Path, drives: dict[Any, Any]) -> Lab:
    return Lab(synthetic, tmp_path, drives)
