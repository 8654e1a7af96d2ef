"""A clean trial, and ways to spoil it."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.checks.checks import judge_trial
from loadstone.run_folder.trial import CheckResult, TrialRecord


@pytest.fixture(scope="session")
def injectors(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    """The module `injectors.py`."""
    return load_module(Path(__file__).with_name("injectors.py"))


@pytest.fixture(scope="session")
def clean(synthetic: ModuleType) -> dict[str, Any]:
    """The line of a clean trial, as `trials.jsonl` holds it."""
    return synthetic.make_trial().model_dump(mode="json")


@pytest.fixture
def result_of(clean: dict[str, Any], injectors: ModuleType) -> Callable[..., CheckResult | None]:
    """What a check says of the clean trial after some changes."""

    def found(name: str, *changes: Callable[[dict[str, Any]], Any]) -> CheckResult | None:
        line = clean
        for change in changes:
            line = injectors.injected(line, change)
        trial = judge_trial(TrialRecord.model_validate(line))
        return next((check for check in trial.checks if check.name == name), None)

    return found
