"""Trials with other facts: these as a trial's line holds them."""

from typing import Any

from loadstone.run_folder.facts import TrialFacts
from loadstone.run_folder.trial import TrialRecord


def written(trial: TrialRecord) -> dict[str, Any]:
    """The facts as they stand in its line."""
    return trial.facts.model_dump(mode="json")


def with_facts(trial: TrialRecord, **changed: Any) -> TrialRecord:
    """The trial with some of its facts changed."""
    facts = TrialFacts.model_validate({**written(trial), **changed})
    return trial.model_copy(update={"facts": facts})


def with_drive(trial: TrialRecord, **changed: Any) -> TrialRecord:
    """The trial with some of what its driver recorded changed."""
    return with_facts(trial, drive={**written(trial)["drive"], **changed})


def with_model(trial: TrialRecord, model: dict[str, Any], **changed: Any) -> TrialRecord:
    """The trial with another load model in its plan."""
    return with_facts(trial, plan={**written(trial)["plan"], "model": model}, **changed)
