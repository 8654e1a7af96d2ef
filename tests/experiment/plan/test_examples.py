"""The plan examples are what other languages are tested against: they must be plans."""

import json
from pathlib import Path

import jsonschema
import pytest

from loadstone.experiment.plan.drive_plan import Plan

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "tests" / "examples" / "plan").glob("*.json"))
SCHEMA = json.loads((ROOT / "docs" / "plan.schema.json").read_text())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_a_plan_and_stays_the_same(path: Path) -> None:
    written = json.loads(path.read_text())
    jsonschema.validate(written, SCHEMA)
    plan = Plan.model_validate(written)
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


def test_the_examples_use_every_field_of_every_part() -> None:
    """A field that no example uses is one that two languages may read differently."""
    used = {key for path in EXAMPLES for key in _keys(json.loads(path.read_text()))}
    parts = [SCHEMA, *SCHEMA["$defs"].values()]
    known = {key for part in parts for key in part.get("properties", {})}
    assert known - used == set()


def _keys(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for item in value.values() for key in _keys(item)}
    if isinstance(value, list):
        return {key for item in value for key in _keys(item)}
    return set()
