"""The client's own tests: run by those of the project, with the libraries that the project has anyway."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CLIENT = Path(__file__).parents[1]
EXAMPLES = CLIENT.parents[1] / "tests" / "examples" / "driver"
sys.path.insert(0, str(CLIENT))


@pytest.fixture
def example() -> Callable[[str], dict[str, Any]]:
    """An example of the contract by its name."""
    return lambda name: json.loads((EXAMPLES / f"{name}.json").read_text())


@pytest.fixture
def plan_json(example: Callable[[str], dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The plan of an example, with other values for some fields: `phases={"drain_s": 0}`."""

    def changed(name: str = "plan-closed", **parts: Any) -> dict[str, Any]:
        plan = example(name)["plan"]
        for field, value in parts.items():
            plan[field] = {**plan[field], **value} if isinstance(value, dict) else value
        return plan

    return changed
