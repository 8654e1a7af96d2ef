"""`docs/run-folder.md` and its schema are made from the models, and name every key that is written."""

import csv
import json
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest
from tests.scripts import checked

from loadstone.machine import hardware
from loadstone.monitors import catalogue
from loadstone.run import environment
from loadstone.run_folder.ledger import CreatedObject, ObjectKind, ServerIdentity
from loadstone.run_folder.ledger_file import RunLedger
from loadstone.run_folder.look import Reason

ROOT = Path(__file__).parents[2]
METRICS = ROOT / "docs" / "metrics.csv"
TEXT = (ROOT / "docs" / "run-folder.md").read_text()
SCHEMA = json.loads((ROOT / "docs" / "run-folder.schema.json").read_text())


def documented(key: str) -> bool:
    return f"`{key}`" in TEXT


@pytest.mark.whole
def test_page_and_schema_are_current() -> None:
    assert checked("run_folder") == (0, "")


@pytest.fixture(scope="module")
def path(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.write_run(tmp_path_factory.mktemp("runs"), until=1)


@pytest.mark.parametrize("name", ["trials.jsonl", "intervals.jsonl", "samples.jsonl"])
def test_keys_of_files(path: Path, name: str) -> None:
    first = json.loads((path / name).read_text().splitlines()[0])
    assert [key for key in first if not documented(key) and key != "format"] == []


@pytest.mark.parametrize("name", ["trials.jsonl", "plan.json"])
def test_the_schema_has_every_key_that_is_written(path: Path, name: str) -> None:
    documents = [(path / name).read_text()] if name.endswith("json") else (path / name).read_text().splitlines()
    for document in documents:
        data = json.loads(document)
        facts = data.pop("facts", {})
        assert missing(data, SCHEMA["files"][name], name) == []
        facts.pop("plan", None)  # which stands in plan.schema.json
        assert missing(facts, {"$ref": "#/$defs/TrialFacts"}, "facts") == []


def missing(value: Any, schema: Any, place: str) -> list[str]:
    """Keys of `value` that no form of `schema` names."""
    forms = schemas(schema)
    if isinstance(value, list):
        items = [one.get("items", {}) for one in forms] + [
            inner for one in forms for inner in one.get("prefixItems", [])
        ]
        return [key for one in value for key in missing(one, {"anyOf": items}, f"{place}[]")]
    if not isinstance(value, dict):
        return []
    found = []
    for key, inner in value.items():
        named = [one["properties"][key] for one in forms if key in one.get("properties", {})]
        free = [one["additionalProperties"] for one in forms if one.get("additionalProperties") not in (None, False)]
        if True in free:
            continue
        found += missing(inner, {"anyOf": named or free}, f"{place}.{key}") if named or free else [f"{place}.{key}"]
    return found


def schemas(schema: Any) -> list[dict[str, Any]]:
    """What a schema may stand for, references followed."""
    if "$ref" in schema:
        return schemas(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    inner = [one for name in ("anyOf", "oneOf", "allOf") for part in schema.get(name, []) for one in schemas(part)]
    return [schema, *inner]


def test_a_key_that_the_schema_lacks_is_found() -> None:
    line = {"trial": "b01-001", "counts": {"offered": 1, "other": 2}, "slices": [[0, 1]], "new": 1}
    assert missing(line, SCHEMA["files"]["trials.jsonl"], "") == [".counts.other", ".new"]


def test_every_reason_of_a_look_is_named() -> None:
    assert [reason for reason in get_args(Reason) if not documented(reason)] == []


def test_what_monitors_report() -> None:
    with METRICS.open(newline="") as file:
        listed = [line["metric"] for line in csv.DictReader(file)]
    assert listed == sorted(catalogue.METRICS, key=listed.index)
    assert "(metrics.csv)" in TEXT


def test_machine_and_kernel() -> None:
    keys = [*hardware.machine(), *hardware.kernel(), *hardware.kernel()["limits"]]
    assert [key for key in keys if not documented(key)] == []
    assert environment.LIBRARIES


def test_the_ledger(tmp_path: Path) -> None:
    with closing(RunLedger(tmp_path)) as ledger:
        ledger.makes(
            ServerIdentity("redis", "redis://127.0.0.1:6379/0", False),
            [CreatedObject("numbered_keys", "loadstone:x:", 1)],
        )
    lines = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    assert [key for line in lines for key in line if not documented(key) and key != "format"] == []
    assert [kind for kind in get_args(ObjectKind) if not documented(kind)] == []
