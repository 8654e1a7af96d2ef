"""The texts that drivers are held against are those of the examples for whoever writes a driver."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadstone.addons.driver_contract.sent import Texts

EXAMPLES = Path(__file__).parents[2] / "examples" / "driver" / "texts.json"
PLANS = json.loads(EXAMPLES.read_text())["plans"]


@pytest.mark.parametrize("plan", PLANS, ids=[f"seed {plan['seed']}" for plan in PLANS])
def test_texts_are_those_of_the_examples(plan: dict[str, Any]) -> None:
    texts = Texts(plan["seed"], plan["payload_bytes"], plan["field_bytes"])
    for case in plan["cases"]:
        key, version = case["key"], case["version"]
        document = texts.document(key, version)
        assert texts.field(key, version) == case["field"]
        assert texts.value(key, version).startswith(case["value"])
        assert texts.body(key, version).endswith(case["body"])
        assert len(document) == case["document_bytes"]
        assert document == case.get("document", document)
