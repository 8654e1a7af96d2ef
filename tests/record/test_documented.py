"""`docs/run-folder.md` names every key that is written."""

import json
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest
from pydantic import BaseModel

from loadstone import registry
from loadstone.analyse.model import Analysis, CrashRow, CrashTable, LessonAnswer, ResultTable
from loadstone.deploy.ledger import Kind, Made, Place
from loadstone.record import environment, facts, machine
from loadstone.record.crash import CrashRecord, LookedUp
from loadstone.record.ledger import RunLedger
from loadstone.record.look import Look, Reason
from loadstone.record.plan_summary import GroupLine

METRICS = Path(__file__).parents[2] / "docs" / "metrics.md"
TEXT = (Path(__file__).parents[2] / "docs" / "run-folder.md").read_text()


def documented(key: str) -> bool:
    return f"`{key}`" in TEXT


@pytest.fixture(scope="module")
def path(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.write_run(tmp_path_factory.mktemp("runs"), until=1)


@pytest.mark.parametrize("name", ["trials.jsonl", "intervals.jsonl", "samples.jsonl", "plan.json"])
def test_keys_of_files(path: Path, name: str) -> None:
    first = json.loads(
        (path / name).read_text() if name.endswith("json") else (path / name).read_text().splitlines()[0]
    )
    assert [key for key in first if not documented(key) and key != "format"] == []
    inner = [key for part in ("counts", "trials", "series") for key in keys_within(first.get(part))]
    assert [key for key in inner if not documented(key)] == []


@pytest.mark.parametrize("model", [Look, GroupLine, CrashRecord])
def test_looks_and_groups(model: type[BaseModel]) -> None:
    assert [key for key in model.model_fields if not documented(key) and key != "format"] == []
    assert [reason for reason in get_args(Reason) if not documented(reason)] == []


def test_what_is_looked_up_after_a_crash() -> None:
    assert [key for key in LookedUp.model_fields if not documented(f"looked_up.{key}")] == []


def keys_within(value: object) -> list[str]:
    if isinstance(value, list):
        value = value[0]
    return list(value) if isinstance(value, dict) else []


@pytest.mark.parametrize(
    "model",
    [
        *(facts.TrialFacts, facts.Ceiling, facts.HostFacts, facts.PartCpu, facts.ServerCounters, facts.SeriesPoint),
        *(facts.StoredFacts, facts.SubjectFacts, facts.AvgMax),
    ],
)
def test_facts(model: type[facts.Facts]) -> None:
    assert [key for key in model.model_fields if not documented(key)] == []


@pytest.mark.parametrize("model", [Analysis, ResultTable, LessonAnswer, CrashTable, CrashRow])
def test_the_analysis(model: type[BaseModel]) -> None:
    left_out = {"condition", "label"}  # as everywhere
    assert [key for key in model.model_fields if key not in left_out and not documented(key) and key != "format"] == []


def test_what_monitors_report() -> None:
    text = METRICS.read_text()
    assert [metric for metric in registry.METRICS if f"| `{metric}` |" not in text] == []
    assert "(metrics.md)" in TEXT


def test_machine_and_kernel() -> None:
    keys = [*machine.machine(), *machine.kernel(), *machine.kernel()["limits"]]
    assert [key for key in keys if not documented(key)] == []
    assert environment.LIBRARIES


def test_the_ledger(tmp_path: Path) -> None:
    with closing(RunLedger(tmp_path)) as ledger:
        ledger.makes(Place("redis", "redis://127.0.0.1:6379/0", False), [Made("numbered_keys", "loadstone:x:", 1)])
    lines = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    assert [key for line in lines for key in line if not documented(key) and key != "format"] == []
    assert [kind for kind in get_args(Kind) if not documented(kind)] == []
