"""What a run set out to do, as `plan.json` holds it: enough to go on with it, and to say what is missing."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Self

from pydantic import Field, model_validator

from loadstone.experiment.plan.group import GroupDesign
from loadstone.experiment.plan.required import PlannedCrash
from loadstone.experiment.plan.run_plan import TABLE_GROUP, AtRatePlan, PlannedTrial, RunPlan
from loadstone.experiment.spec.experiment import search_of
from loadstone.experiment.spec.levels import Condition
from loadstone.run_folder.trial import RecordModel
from loadstone.safety.secrets.in_texts import without_login
from loadstone.safety.secrets.known import redacted


class PlannedLine(RecordModel):
    """One planned trial, in the order in which it is to run."""

    trial: str
    condition: Condition
    group: str = TABLE_GROUP
    block: int
    order: int
    stage: int = 0
    plan_sha256: str
    """Hash of the trial's plan and of the settings of its servers, subjects and data, without ports and secrets."""


class StageLine(RecordModel):
    """A later stage of a comparison in rounds (`experiment.plan.run_plan.Stage`)."""

    group: GroupDesign
    trials: tuple[PlannedLine, ...]


class CrashLine(RecordModel):
    """One planned crash (`experiment.plan.run_plan.CrashTrial`)."""

    name: str
    """Name of the crash in the experiment."""
    trial: str
    condition: Condition
    number: int
    """Which try of its condition, from 1."""
    plan_sha256: str
    """As a trial's, with what is counted and when the server is killed."""


class AtRateLine(RecordModel):
    """What is measured at a fixed rate (`experiment.plan.run_plan.AtRatePlan`)."""

    rate_per_s: float | None
    """Rate of all trials; None: each has its own, which stands in its line of `trials.jsonl`."""
    share: float | None
    """Share of the condition's own capacity."""
    trials: tuple[PlannedLine, ...]


class SearchLine(RecordModel):
    """The conditions of which an add-on searches for loads (`experiment.plan.run_plan.SearchPlan`)."""

    settings: dict[str, Any]
    trials: tuple[PlannedLine, ...]
    """One a condition; which trials it then takes follows from their answers."""

    @property
    def complete(self) -> Self:
        """With what its add-on, where that is installed, takes for settings that an older version did not write."""
        search = search_of(self.trials[0].group) if self.trials else None
        if search is None:
            return self
        read = search.settings.model_validate(self.settings)
        return self.model_copy(update={"settings": read.model_dump(mode="json")})

    @model_validator(mode="after")
    def _is_as_the_search_has_it(self) -> Self:
        """Its settings are checked by its add-on, where that is installed."""
        _ = self.complete
        return self


class GoalLine(RecordModel):
    """A goal that the experiment declares (`experiment.plan.run_plan.GoalPlan`)."""

    name: str
    kind: str
    settings: dict[str, Any]
    trials: tuple[PlannedLine, ...]
    """One a condition; which trials it takes follows from its answers."""


class PlanSummary(RecordModel):
    """The design of a run: seed, kind, its groups, and every trial that it may need."""

    format: int = 1
    experiment: str
    seed: int
    quick: bool
    as_published: bool
    expected_s: float
    """Until the tables are measured and every comparison had its first look, estimated."""
    budget_s: float = 0.0
    """How long the run may last."""
    shortened_for_s: float = 0.0
    """The budget for which compared slices and trials were made shorter than usual; 0: they were not."""
    scale: float = 1.0
    """Users and rows are so many times those that the experiment writes."""
    groups: tuple[GroupDesign, ...] = ()
    trials: tuple[PlannedLine, ...]
    """Each that may be needed, up to the last look; most runs end before."""
    crashes: tuple[CrashLine, ...] = ()
    at_rate: AtRateLine | None = None
    """Rows that are measured at a fixed rate, too."""
    longer: tuple[StageLine, ...] = ()
    """Later stages of comparisons, with slices four times as long; once one begins, earlier trials do not count."""
    search: SearchLine | None = Field(default=None, alias="saturation")
    """The conditions of which the saturation point is searched for."""
    goals: tuple[GoalLine, ...] = ()


def summarise_plan(run_plan: RunPlan) -> PlanSummary:
    """The summary of a plan; equal plans have equal summaries."""
    return PlanSummary(
        experiment=run_plan.experiment,
        seed=run_plan.seed,
        quick=run_plan.quick,
        as_published=run_plan.as_published,
        expected_s=round(run_plan.expected_s(), 3),
        budget_s=run_plan.budget_s,
        shortened_for_s=run_plan.shortened_for_s,
        scale=run_plan.scale,
        groups=tuple(group.design for group in run_plan.groups),
        trials=tuple(map(_planned_line, run_plan.trials)),
        crashes=tuple(
            CrashLine(
                name=crash.crash.name,
                trial=crash.trial.name,
                condition=crash.trial.condition,
                number=crash.crash.number,
                plan_sha256=_fingerprint(crash.trial, crash.crash),
            )
            for crash in run_plan.crashes
        ),
        at_rate=None if run_plan.at_rate is None else _at_rate_line(run_plan.at_rate),
        search=None
        if run_plan.search is None
        else SearchLine(
            settings=dict(run_plan.search.settings),
            trials=tuple(map(_planned_line, run_plan.search.trials)),
        ),
        goals=tuple(
            GoalLine(
                name=goal.name,
                kind=goal.kind,
                settings=dict(goal.settings),
                trials=tuple(map(_planned_line, goal.trials)),
            )
            for goal in run_plan.goals
        ),
        longer=tuple(
            StageLine(
                group=stage.group.design,
                trials=tuple(map(_planned_line, stage.trials)),
            )
            for stage in run_plan.longer
        ),
    )


def _planned_line(trial: PlannedTrial) -> PlannedLine:
    return PlannedLine(
        trial=trial.name,
        condition=trial.condition,
        group=trial.group,
        block=trial.block,
        order=trial.order,
        stage=trial.stage,
        plan_sha256=_fingerprint(trial),
    )


def _at_rate_line(planned: AtRatePlan) -> AtRateLine:
    fixed, trials = planned.fixed, tuple(map(_planned_line, planned.trials))
    return AtRateLine(rate_per_s=fixed.rate_per_s, share=fixed.share, trials=trials)


def _fingerprint(trial: PlannedTrial, crash: PlannedCrash | None = None) -> str:
    """Hash of all that decides what the trial does, whatever the port and wherever it is pinned."""
    apart = {"endpoints", "cpus", "start_at_unix_ns"}
    settled: dict[str, object] = {
        "plan": trial.plan.model_dump(mode="json", exclude=apart),
        "load": trial.load.model_dump(mode="json", exclude=apart) if trial.load else None,
        "servers": {name: _settings(settings) for name, settings in trial.servers.items()},
        "subjects": {name: _settings(asdict(subject)) for name, subject in trial.subjects.items()},
        "data": [asdict(data) for data in trial.data],
        "stored": [asdict(stored) for stored in trial.stored],
        "target": trial.target,
        "crash": asdict(crash) if crash else None,
        "driver": trial.driver,
    }
    return hashlib.sha256(json.dumps(redacted(settled), sort_keys=True, default=str).encode()).hexdigest()


def _settings(settings: Mapping[str, object]) -> object:
    """A part's settings without what may change between two runs on the same one: how to log in."""
    kept = {key: value for key, value in settings.items() if key != "password"}
    for key in {"url", "urls"} & kept.keys():
        urls = kept[key]
        kept[key] = without_login(urls) if isinstance(urls, str) else [without_login(url) for url in _texts(urls)]
    return kept


def _texts(urls: object) -> list[str]:
    return [str(url) for url in urls] if isinstance(urls, list | tuple) else []
