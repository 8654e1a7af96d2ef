"""Folders of runs to compare, and what a comparison of them says."""

import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tests.changed_facts import with_facts, written

from loadstone.addons.history.compare_command import CompareOptions, CompareOutcome, compare
from loadstone.addons.history.compare_report import CompareReport
from loadstone.experiment.plan.group import Group, PairDesign
from loadstone.experiment.plan.look_schedule import LOOKS
from loadstone.experiment.plan.run_plan import TABLE_GROUP, PlannedTrial
from loadstone.report.verdicts import verdict_text
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.plan_summary import summarise_plan
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.bounds.disk import SystemDisk, on_disk
from loadstone.safety.errors import UserError

COMPARISON = {"name": "idle", "question": "Do idle connections cost?", "between": "idle", "levels": ["few", "many"]}
FEW, MANY = ({"operation": "set", "payload": "1 kB", "workers": 32, "idle": idle} for idle in ("few", "many"))
SIZES = tuple(condition | {"payload": size} for size in ("100 B", "1 kB") for condition in (FEW, MANY))
SLOT_S = 25.0
HOURS_S = 7200.0


@dataclass(frozen=True)
class RunSpec:
    """A run of two conditions. `few` and `many` multiply their goodput of 1,000 a second."""

    blocks: int = 18
    few: float = 1.0
    many: float = 1.0
    noise: float = 0.02
    seed: int = 1
    started_s: float = 0.0
    groups: tuple[str, ...] = ("idle",)
    conditions: tuple[dict[str, Any], ...] = (FEW, MANY)
    sequential: bool = False
    environment: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    name: str = "small"
    finish: Callable[[TrialRecord], TrialRecord] = lambda trial: trial


class RunWriter:
    """Writes the folders. All trials have one drive that passes every check: goodput, names and times differ."""

    def __init__(self, make: ModuleType) -> None:
        self.make = make
        self._drive = make.make_drive(make.make_plan(), per_interval=15)

    def write(self, root: Path, spec: RunSpec) -> Path:
        make = self.make
        rng = np.random.default_rng(spec.seed)
        experiment = make.make_experiment(name=spec.name, comparisons=[COMPARISON]).model_dump(mode="json")
        planned = tuple(self._planned(spec))
        groups = tuple(self._group(name, spec) for name in spec.groups)
        run_plan = make.make_run_plan(experiment=spec.name, groups=groups, trials=planned)
        template = make.make_trial(replace(self._drive, plan=planned[0].plan), planned[0])
        environment = merged(make.ENVIRONMENT, spec.environment)
        with RunFolder.create(root, spec.name, experiment, environment, summarise_plan(run_plan)) as folder:
            for number, trial in enumerate(one for one in planned if one.block <= spec.blocks):
                factor = spec.few if trial.condition["idle"] == "few" else spec.many
                goodput = 1000.0 * factor * math.exp(spec.noise * rng.normal())
                figures = {"goodput_per_s": goodput, "throughput_per_s": goodput}
                figures |= {"started_unix_ns": make.STARTED_NS + round((spec.started_s + SLOT_S * number) * 1e9)}
                names = {key: getattr(trial, key) for key in ("condition", "group", "block", "order")}
                record = template.model_copy(update={"trial": trial.name, **names, **figures})
                folder.begin_trial(trial.name).finish(spec.finish(record))
            return folder.path

    def _group(self, name: str, spec: RunSpec) -> Group:
        return Group(
            name=name,
            conditions=spec.conditions,
            pairs=() if name == TABLE_GROUP else (PairDesign(FEW, MANY),),
            metric="goodput_per_s",
            margin=0.05,
            looks=LOOKS if spec.sequential else (spec.blocks,),
            sequential=spec.sequential,
            warm_block=True,
            trial_s=15.0,
            overhead_s=10.0,
        )

    def _planned(self, spec: RunSpec) -> Iterator[PlannedTrial]:
        """Block 0 warms up; who comes first turns from block to block. With several groups each has one condition."""
        plan = self.make.make_plan(**spec.plan)
        for place, group in enumerate(spec.groups):
            own = spec.conditions if len(spec.groups) == 1 else (spec.conditions[place],)
            for block in range((LOOKS[-1] if spec.sequential else spec.blocks) + 1):
                for order, condition in enumerate(own if block % 2 else own[::-1], start=1):
                    name = f"{group}-b{block:02d}-{order:03d}"
                    yield replace(self.make.planned_trial(name, condition, plan, block, order), group=group)


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the leaves of `changes` in their places."""
    return dict(base) | {
        key: merged(base[key], value) if isinstance(value, Mapping) else value for key, value in changes.items()
    }


@pytest.fixture(scope="session")
def write(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes a run's folder from what it is given of `RunSpec`, each once: tests must not change them.

    The disk is not waited for: that the lines are safe there is tested elsewhere.
    """
    writer, written = RunWriter(synthetic), dict[str, Path]()

    def written_once(**given: Any) -> Path:
        key = repr(sorted(given.items()))
        if key not in written or "finish" in given:  # a function is not reported by its text
            with on_disk(DiskOfNoWait()):
                written[key] = writer.write(tmp_path_factory.mktemp("runs"), RunSpec(**given))
        return written[key]

    return written_once


class DiskOfNoWait(SystemDisk):
    """Nothing is brought to it."""

    @staticmethod
    def fsync(fd: int) -> None:
        """Passed over."""


@dataclass(frozen=True)
class Told:
    """What a comparison printed and returned."""

    outcome: CompareOutcome
    text: str

    @property
    def report(self) -> CompareReport:
        return CompareReport.model_validate_json(self.outcome.json_text)

    @property
    def words(self) -> list[str]:
        return [verdict_text(one.primary) for one in self.report.comparisons]

    @property
    def kinds(self) -> list[str]:
        return [one.primary.kind for one in self.report.comparisons]


def reported(*runs: Path, **options: Any) -> Told:
    printed = StringIO()
    outcome = compare(CompareOptions(runs=runs, **options), Console(file=printed, width=160, highlight=False))
    return Told(outcome, printed.getvalue())


def refused(*runs: Path, **options: Any) -> str:
    with pytest.raises(UserError) as error:
        reported(*runs, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def copied(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to / folder.name))


def spoil(name: str, every: int) -> Callable[[TrialRecord], TrialRecord]:
    """A trial that was driven wrongly in every n-th block: the facts say so, so that judging again finds it."""

    def finish(trial: TrialRecord) -> TrialRecord:
        if trial.block % every:
            return trial
        facts = written(trial)
        if name == "conservation":
            facts["drive"]["total"]["sent"] += 7
        else:
            facts["servers"]["redis"]["after"]["counters"]["evicted_keys"] = 40.0
        return with_facts(trial, **facts)

    return finish
