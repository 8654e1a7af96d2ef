"""`loadstone baseline` and `compare --baseline`, on folders of runs."""

import json
import os
from pathlib import Path

import pytest
from tests.frozen_runs import unpacked
from tests.parser import parser

from loadstone.addons.history.baselines import read_baselines
from loadstone.addons.history.removal import archive_run, remove_run
from loadstone.judge.analysis.analyse import analyse
from loadstone.report.json_report import render
from loadstone.run_folder.newest_runs import mark
from loadstone.safety.errors import UserError

FIRST, SECOND = "20260101T000000Z-redis", "20260102T000000Z-redis"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = unpacked("redis-rate", tmp_path_factory.mktemp("measured"))
    (run / "analysis.json").write_bytes(render(analyse(run))["analysis.json"])
    return run


@pytest.fixture
def runs(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs of one experiment in ./runs."""
    for name in (FIRST, SECOND):
        copied(measured, tmp_path / "runs" / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


def copied(run: Path, target: Path) -> None:
    for path in run.rglob("*"):
        if path.is_file():
            (target / path.relative_to(run)).parent.mkdir(parents=True, exist_ok=True)
            os.link(path, target / path.relative_to(run))


def typed(*words: str) -> None:
    parser()(list(words), standalone_mode=False)


@pytest.mark.usefixtures("runs")
def test_the_newest_run_is_compared_with_the_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    typed("baseline", "set", f"runs/{FIRST}")
    assert capsys.readouterr().out == f"{FIRST} is the baseline of redis on main\n"
    typed("compare", "--baseline", "--json")
    compared = json.loads(capsys.readouterr().out)
    assert [run["run"] for run in compared["runs"]] == [FIRST, SECOND]
    typed("baseline", "show")
    assert capsys.readouterr().out.split()[:3] == ["redis", "main", FIRST]


def test_each_branch_has_its_own_and_one_that_is_set_again_is_replaced(runs: Path) -> None:
    typed("baseline", "set", f"runs/{FIRST}", "--branch", "release/1")
    typed("baseline", "set", "latest", "--branch", "release/1")
    assert [(one.branch, one.run) for one in read_baselines(runs)] == [("release/1", SECOND)]
    with pytest.raises(UserError, match=r"--branch main: no baseline of redis .*; it has one on: release/1; make"):
        typed("compare", "--baseline")
    with pytest.raises(UserError, match=f"--baseline: {SECOND} is the baseline itself; measure again"):
        typed("compare", "--baseline", "--branch", "release/1")


def test_a_baseline_stays(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is no longer one of those of which the newest are kept; it may be archived, and not removed unasked."""
    mark(runs / FIRST)
    typed("baseline", "set", f"runs/{FIRST}")
    assert "it is kept from now on" in capsys.readouterr().out
    assert not (runs / FIRST / "kept.json").exists()
    with pytest.raises(UserError, match=r"is the baseline on main; .* `loadstone baseline remove`"):
        remove_run(runs, FIRST)
    archive_run(runs, FIRST)
    typed("compare", "--baseline", "--json")
    assert json.loads(capsys.readouterr().out)["runs"][0]["run"] == FIRST
    typed("baseline", "show")
    assert "archived" in capsys.readouterr().out
    typed("baseline", "remove", "redis")
    remove_run(runs, FIRST, archived=True)
    assert read_baselines(runs) == ()


def test_what_became_of_a_baseline_is_said(runs: Path) -> None:
    typed("baseline", "set", f"runs/{FIRST}")
    (runs / FIRST).rename(runs / "elsewhere")
    with pytest.raises(UserError, match=f"{FIRST}, the baseline of redis on main, is no longer in"):
        typed("compare", "--baseline")
    (runs / "elsewhere").rename(runs / FIRST)
    environment = runs / FIRST / "environment.json"
    other = json.loads(environment.read_text())
    other["machine"]["machine_id"] = "f" * 32
    environment.unlink()
    environment.write_text(json.dumps(other))
    with pytest.raises(UserError, match=f"--baseline: {FIRST} was measured on another machine"):
        typed("compare", "--baseline")


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        '{"format": 1, "baselines": [{"branch": "main", "experiment": "redis", "run": "../../etc"}]}',
        '{"format": 1, "baselines": [{"branch": "main", "experiment": "redis", "run": "x", "set_unix_s": 1e20}]}',
        "{",
    ],
)
def test_a_file_that_is_none_is_no_way_out_of_the_folder(runs: Path, content: str) -> None:
    (runs / "baselines.json").write_text(content)
    for words in (("compare", "--baseline"), ("baseline", "show")):
        with pytest.raises(UserError, match=r"baselines.json: "):
            typed(*words)


def test_a_run_is_a_baseline_by_its_own_name(runs: Path) -> None:
    typed("baseline", "set", f"runs/{FIRST}/latency/..")
    assert [one.run for one in read_baselines(runs)] == [FIRST]
    long = "x" * 201
    (runs / FIRST).rename(runs / long)
    with pytest.raises(UserError, match="the name of its run has 201 letters, and 1 to 200 are kept"):
        typed("baseline", "set", f"runs/{long}")
