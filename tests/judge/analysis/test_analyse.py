"""The whole analysis, from a folder made by code."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.analysis.analysis import Analysis
from loadstone.judge.checks.checks import judge_trial
from loadstone.safety.errors import UserError
from loadstone.text.sentences import render_message


@pytest.fixture(scope="module")
def finished(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.write_run(tmp_path_factory.mktemp("runs"), finish=judge_trial)


@pytest.fixture
def path(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / finished.name))


def test_a_clean_run(path: Path) -> None:
    found = analyse(path)
    assert found.experiment == "small"
    assert found.run == path.name
    assert found.question == "How many documents a second?"
    assert found.answer == found.headline
    assert render_message(found.headline) == (
        "5 conditions were measured once: the tables describe this run, and no figure has an interval."
    )
    assert render_message(found.comparison) == "no comparison: one block"
    assert found.complete
    assert (found.trials_planned, found.trials_done) == (5, 5)
    assert (found.trials_valid, found.trials_suspect, found.trials_invalid) == (5, 0, 0)
    assert found.notes == []
    assert render_message(found.published_source) == "The original"
    assert [table.name for table in found.tables] == ["by-size", "idle"]
    assert [trial.trial for trial in found.trials] == [f"b01-{n:03d}" for n in range(1, 6)]
    assert found.factors["workers"].unit == "workers"
    assert found.environment["machine"]["cpu_count"] == 2


def test_it_is_deterministic_and_comes_back_from_json(path: Path) -> None:
    one, again = analyse(path), analyse(path)
    assert one.model_dump_json() == again.model_dump_json()
    assert Analysis.model_validate_json(one.model_dump_json()) == one
    json.loads(one.model_dump_json(), parse_constant=lambda name: pytest.fail(f"{name} in the analysis"))


def test_it_does_not_depend_on_where_the_folder_stands(path: Path, tmp_path: Path) -> None:
    elsewhere = Path(shutil.copytree(path, tmp_path / "elsewhere" / path.name))
    assert analyse(elsewhere) == analyse(path)


def test_every_check_is_summarised(path: Path) -> None:
    found = {check.name: check for check in analyse(path).checks}
    assert found["conservation"].valid == 5
    assert found["gain"].worst.measured == pytest.approx(0.2, abs=0.01)
    assert found["gain"].worst_trial
    assert "schedule_sent" not in found
    assert found["samples"].unknown == 5
    assert "P99.9 needs" in render_message(found["samples"].worst.reason)


def rewrite(path: Path, number: int, change: Callable[[dict[str, Any]], Any]) -> None:
    file = path / "trials.jsonl"
    (path / "digests.jsonl").unlink(missing_ok=True)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    change(lines[number])
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def evicts(line: dict[str, Any]) -> None:
    line["facts"]["servers"]["redis"]["after"]["counters"]["evicted_keys"] = 40.0


def test_an_invalid_trial_has_no_figure_anywhere(path: Path) -> None:
    goodput = {}
    rewrite(path, 4, lambda line: goodput.update(seen=line["goodput_per_s"]))
    rewrite(path, 4, evicts)
    found = analyse(path)
    assert found.trials_invalid == 1
    view = next(trial for trial in found.trials if trial.trial == "b01-005")
    assert (view.verdict, view.goodput_per_s, view.p99_ns) == ("invalid", None, None)
    written = found.model_copy(update={"timeline": []}).model_dump_json()
    assert str(goodput["seen"]) not in written
    assert next(check for check in found.checks if check.name == "evicted_keys").worst_trial == "b01-005"


def test_the_worst_is_what_is_invalid_whatever_its_figure(path: Path) -> None:
    rewrite(path, 2, evicts)
    found = next(check for check in analyse(path).checks if check.name == "evicted_keys")
    assert (found.invalid, found.valid, found.worst.verdict, found.worst_trial) == (1, 4, "invalid", "b01-003")


def test_trials_are_judged_again_and_a_change_is_said(path: Path) -> None:
    rewrite(path, 0, lambda line: line.update(verdict="invalid", checks=[]))
    found = analyse(path)
    assert found.trials_valid == 5
    assert [render_message(note) for note in found.notes] == [
        "1 trial is judged differently by this version than when the run was made."
    ]


def test_a_run_cut_short_gives_what_there_is(synthetic: ModuleType, tmp_path: Path) -> None:
    path = synthetic.write_run(tmp_path, until=3, finish=judge_trial)
    file = path / "trials.jsonl"
    file.write_bytes(file.read_bytes() + b'{"format":1,"trial":"b01-004","cond')
    found = analyse(path)
    assert not found.complete
    assert (found.trials_planned, found.trials_done) == (5, 3)
    assert [row.verdict for row in found.tables[0].rows] == ["valid", "valid", "valid", "missing"]
    assert render_message(found.notes[0]) == "trials.jsonl: the last line (4) is cut off and left out."
    assert "3 of 5 trials are finished" in render_message(found.notes[1])
    assert f"--resume {path}" in render_message(found.notes[1])


def test_a_run_without_a_trial(synthetic: ModuleType, tmp_path: Path) -> None:
    found = analyse(synthetic.write_run(tmp_path, until=0))
    assert render_message(found.answer).startswith("No trial gave a usable figure")
    assert {row.verdict for table in found.tables for row in table.rows} == {"missing"}
    assert found.timeline == []
    assert found.checks == []


def test_a_line_of_garbage_is_noted_and_the_rest_analysed(path: Path) -> None:
    file = path / "trials.jsonl"
    file.write_bytes(b"garbage\n" + file.read_bytes())
    found = analyse(path)
    assert found.trials_done == 5
    assert [render_message(note) for note in found.notes] == ["trials.jsonl: line 1 is not readable and left out."]


def test_what_is_no_folder_of_a_run_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run's folder"):
        analyse(tmp_path)


def test_a_quick_run_says_what_it_left_out(synthetic: ModuleType, tmp_path: Path) -> None:
    plan = synthetic.make_run_plan()
    quick = synthetic.make_run_plan(quick=True, trials=plan.trials[:4], conditions=plan.conditions[:4])
    found = analyse(synthetic.write_run(tmp_path, quick, finish=judge_trial))
    assert found.quick
    assert "quick run" in render_message(found.answer)
    assert [table.name for table in found.tables] == ["by-size"]
    assert "Left out of a quick run: Idle." in map(render_message, found.notes)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("kernel.transparent_huge_pages", "always", "Transparent huge pages are `always`"),
        ("kernel.overcommit_memory", 0, "Memory overcommit is 0"),
        ("machine.cpu_limit", 1.5, "a limit of 1.5 CPUs"),
        ("machine.frequency_governor", "powersave", "governor is `powersave`"),
        ("placement.shared", True, "share CPUs"),
        ("versions.engine", {"profile": "debug"}, "The engine is a debug build"),
    ],
)
def test_settings_of_the_machine_that_spoil_figures_are_named(path: Path, place: str, value: Any, words: str) -> None:
    file = path / "environment.json"
    environment = json.loads(file.read_text())
    part, key = place.split(".")
    environment[part][key] = value
    file.write_text(json.dumps(environment))
    assert any(words in render_message(note) for note in analyse(path).notes)


def test_an_environment_of_nothing_is_read_too(path: Path) -> None:
    (path / "environment.json").write_text('{"format": 1}')
    assert analyse(path).trials_valid == 5
