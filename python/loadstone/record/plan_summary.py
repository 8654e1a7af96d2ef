"""What a run set out to do, as `plan.json` holds it: enough to go on with it, and to say what is missing."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict

from pydantic import BaseModel, ConfigDict

from loadstone.message import Recorded
from loadstone.plan.required import PlannedCrash
from loadstone.plan.rounds import Rounds
from loadstone.plan.run_plan import TABLE_GROUP, Condition, PlannedTrial, RunPlan
from loadstone.secrecy.known_secrets import hidden
from loadstone.secrecy.text import without_login


class PlannedLine(BaseModel):
    """One planned trial, in the order in which it is to run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trial: str
    condition: Condition
    group: str = TABLE_GROUP
    block: int
    order: int
    plan_sha256: str
    """Hash of the trial's plan and of the settings of its servers, subjects and data, without ports and secrets."""


class PairLine(BaseModel):
    """Two conditions that are compared."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    a: Condition
    b: Condition


class GroupLine(BaseModel):
    """A group of the plan (`plan.run_plan.Group`), without its conditions: the trials name them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    pairs: tuple[PairLine, ...]
    metric: str
    margin: float
    looks: tuple[int, ...]
    sequential: bool
    warm_block: bool
    trial_s: float
    overhead_s: float
    rounds: Rounds | None = None
    """None: trial after trial, as everything was before there were rounds."""
    whole_trials: Recorded | None = None
    """Why it is compared by whole trials; None where it is measured in rounds, or compares nothing."""


class CrashLine(BaseModel):
    """One planned crash (`plan.run_plan.CrashTrial`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    """Of the crash in the experiment."""
    trial: str
    condition: Condition
    number: int
    """Which try of its condition, from 1."""
    plan_sha256: str
    """As a trial's, with what is counted and when the server is killed."""


class PlanSummary(BaseModel):
    """The design of a run: seed, kind, its groups, and every trial that it may need."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = 1
    experiment: str
    seed: int
    quick: bool
    as_published: bool
    expected_s: float
    budget_s: float = 0.0
    scale: float = 1.0
    """Users and rows are so many times those that the experiment writes."""
    groups: tuple[GroupLine, ...] = ()
    """Empty in folders of versions that compared nothing."""
    trials: tuple[PlannedLine, ...]
    crashes: tuple[CrashLine, ...] = ()


def summarise_plan(run_plan: RunPlan) -> PlanSummary:
    """The summary of a plan; equal plans have equal summaries."""
    return PlanSummary(
        experiment=run_plan.experiment,
        seed=run_plan.seed,
        quick=run_plan.quick,
        as_published=run_plan.as_published,
        expected_s=round(run_plan.expected_s(), 3),
        budget_s=run_plan.budget_s,
        scale=run_plan.scale,
        groups=tuple(GroupLine.model_validate(group, from_attributes=True) for group in run_plan.groups),
        trials=tuple(
            PlannedLine(
                trial=t.name,
                condition=t.condition,
                group=t.group,
                block=t.block,
                order=t.order,
                plan_sha256=_fingerprint(t),
            )
            for t in run_plan.trials
        ),
        crashes=tuple(
            CrashLine(
                name=one.crash.name,
                trial=one.trial.name,
                condition=one.trial.condition,
                number=one.crash.number,
                plan_sha256=_fingerprint(one.trial, one.crash),
            )
            for one in run_plan.crashes
        ),
    )


def _fingerprint(trial: PlannedTrial, crash: PlannedCrash | None = None) -> str:
    """Hash of all that decides what the trial does, whatever the port and wherever it is pinned."""
    apart = {"endpoints", "cpus", "start_at_unix_ns"}
    if not trial.plan.acknowledged:
        apart |= {"acknowledged"}  # as plans were before it was there
    settled = {
        "plan": trial.plan.model_dump(mode="json", exclude=apart),
        "load": trial.load.model_dump(mode="json", exclude=apart | {"acknowledged"}) if trial.load else None,
        "servers": {name: _settings(settings) for name, settings in trial.servers.items()},
        "subjects": {name: _settings(asdict(subject)) for name, subject in trial.subjects.items()},
        "data": [asdict(data) for data in trial.data],
        "stored": [asdict(stored) for stored in trial.stored],
        "target": trial.target,
        "crash": asdict(crash) if crash else None,
    }
    return hashlib.sha256(json.dumps(hidden(settled), sort_keys=True, default=str).encode()).hexdigest()


def _settings(settings: Mapping[str, object]) -> object:
    """A part's settings without what may change between two runs on the same one: how to log in."""
    kept = {key: value for key, value in settings.items() if key != "password"}
    for key in {"url", "urls"} & kept.keys():
        urls = kept[key]
        kept[key] = without_login(urls) if isinstance(urls, str) else [without_login(url) for url in _texts(urls)]
    return kept


def _texts(urls: object) -> list[str]:
    return [str(url) for url in urls] if isinstance(urls, list | tuple) else []
