"""What a run set out to do, as `plan.json` holds it: enough to go on with it, and to say what is missing."""

import hashlib
import json

from pydantic import BaseModel, ConfigDict

from loadstone.plan.run_plan import Condition, PlannedTrial, RunPlan
from loadstone.record.redact import redact


class PlannedLine(BaseModel):
    """One planned trial, in the order in which it is to run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trial: str
    condition: Condition
    block: int
    order: int
    plan_sha256: str
    """Hash of the trial's plan and of its servers' settings, without ports and secrets."""


class PlanSummary(BaseModel):
    """The design of a run: seed, kind, and every planned trial."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = 1
    experiment: str
    seed: int
    quick: bool
    as_published: bool
    expected_s: float
    trials: tuple[PlannedLine, ...]


def summarise_plan(run_plan: RunPlan) -> PlanSummary:
    """The summary of a plan; equal plans have equal summaries."""
    return PlanSummary(
        experiment=run_plan.experiment,
        seed=run_plan.seed,
        quick=run_plan.quick,
        as_published=run_plan.as_published,
        expected_s=round(run_plan.expected_s(), 3),
        trials=tuple(
            PlannedLine(trial=t.name, condition=t.condition, block=t.block, order=t.order, plan_sha256=_fingerprint(t))
            for t in run_plan.trials
        ),
    )


def _fingerprint(trial: PlannedTrial) -> str:
    """Hash of all that decides what the trial does, whatever the port and wherever it is pinned."""
    apart = {"endpoints", "cpus", "start_at_unix_ns"}
    settled = {
        "plan": trial.plan.model_dump(mode="json", exclude=apart),
        "load": trial.load.model_dump(mode="json", exclude=apart) if trial.load else None,
        "servers": {name: _settings(settings) for name, settings in trial.servers.items()},
    }
    return hashlib.sha256(json.dumps(settled, sort_keys=True, default=str).encode()).hexdigest()


def _settings(settings: dict[str, object]) -> object:
    """A server's settings without what may change between two runs on the same server: how to log in."""
    return redact({key: value for key, value in settings.items() if key != "password"})
