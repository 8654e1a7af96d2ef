"""Folders of an earlier version are read, analysed, reported and gone on with."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from loadstone.judge.analysis.analyse import analyse
from loadstone.report import csv_report as csv
from loadstone.report import markdown_report as markdown
from loadstone.report.html import page as html
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.part_kinds import with_kinds
from loadstone.run_folder.reading import read_environment, read_plan, read_run
from loadstone.run_folder.resume import require_same_plan, require_same_run
from loadstone.safety.errors import UserError

RUNS = Path(__file__).parents[1] / "examples" / "runs"
NAMES = ("before-redis", "before-app")


@pytest.fixture(params=NAMES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(RUNS / request.param, tmp_path / request.param))


def test_nothing_of_it_is_left_out(folder: Path) -> None:
    run = read_run(folder)
    assert run.notes == ()
    assert len(run.trials) == len((folder / "trials.jsonl").read_text().splitlines())
    assert [look.stop for look in run.looks]
    assert '"kinds":{' not in (folder / "trials.jsonl").read_text()
    for trial in run.trials:
        assert trial.facts.kinds["generator"] == "driver"


def test_parts_are_known_by_their_figures() -> None:
    kinds = [trial.facts.kinds for trial in read_run(RUNS / "before-app").trials]
    reported = {"host": "host", "generator": "driver", "redis": "redis", "mariadb": "mariadb", "app": "subject"}
    assert kinds == [reported, reported]


def test_it_is_analysed_and_reported() -> None:
    redis, app = (analyse(RUNS / name) for name in NAMES)
    assert [row.verdict for row in redis.tables[0].rows] == ["suspect", "suspect", "invalid"]
    assert {row.label: row.kinds for row in redis.tables[0].rows}["set"] == {
        "host": "host", "generator": "driver", "redis": "redis",
    }  # fmt: skip
    assert redis.crashes[0].rows[0].times == 1
    right = app.tables[0].rows[0]
    assert right.kinds == {
        "app": "subject", "generator": "driver", "host": "host", "mariadb": "mariadb", "redis": "redis",
    }  # fmt: skip
    assert right.bottleneck is not None
    assert right.bottleneck.part == "cpu", "the application and the servers share one"
    files = csv.render(app)
    assert b",mariadb,threads_connected,2.0,2.0" in files["parts.csv"]
    text = markdown.render(app)["report.md"].decode()
    for heading in ("The machine", "Each part", "MariaDB", "Redis"):
        assert f"#### {heading}" in text
    for analysis in (redis, app):
        assert html.render(analysis)["report.html"]


def test_it_is_gone_on_with(folder: Path) -> None:
    plan, environment = read_plan(folder), read_environment(folder)
    require_same_plan(folder, plan)
    require_same_run(folder, plan, environment)
    with pytest.raises(UserError, match="seed was"):
        require_same_plan(folder, plan.model_copy(update={"seed": 1}))
    before = (folder / "trials.jsonl").read_bytes()
    with RunFolder.resume(folder) as resumed:
        assert len(resumed.earlier_trials) == len(before.splitlines())
        assert all(trial.facts.kinds for trial in resumed.earlier_trials)
    assert (folder / "trials.jsonl").read_bytes() == before, "what is there stays as it was"


@pytest.mark.parametrize(
    "facts",
    [None, {}, {"plan": {}, "seen": 3, "servers": ["redis"]}, {"plan": {}, "seen": {"redis": 3}, "parts": None}],
)
def test_damaged_facts_are_no_reason_to_fail(facts: Any) -> None:
    line = {"trial": "b01-001", "facts": facts}
    reported = with_kinds(line)
    assert json.loads(json.dumps(reported))["trial"] == "b01-001"


def test_a_kind_that_the_record_carries_is_left_alone() -> None:
    line = {"facts": {"plan": {}, "kinds": {"cache": "redis"}, "seen": {"cache": {"threads_connected": {}}}}}
    assert with_kinds(line) == line
