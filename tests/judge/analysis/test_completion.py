"""How far a run came, from a folder with looks in it; and folders of versions that compared nothing."""

import dataclasses
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.changed_facts import with_facts

from loadstone.judge.analysis.analyse import analyse, analyse_run
from loadstone.judge.analysis.analysis import Analysis
from loadstone.judge.analysis.completion import elapsed_s
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.reading import read_run
from loadstone.run_folder.trial import SESSION_GAP_S
from loadstone.text.sentences import render_message


@pytest.fixture(scope="module")
def study(studies: ModuleType, synthetic: ModuleType) -> Any:
    ratios = [(studies.condition(), 1.0), (studies.condition(operation="get"), 1.1)]
    return studies.Study(synthetic, ratios)


def written(study: Any, root: Path, looks: list[Any], superseded: list[Any] | None = None) -> Path:
    """The study as a folder."""
    experiment = study.made_experiment.model_dump(mode="json")
    with RunFolder.create(root, "small", experiment, study.synthetic.ENVIRONMENT, study.plan()) as folder:
        for trial in [*(superseded or []), *study.trials()]:
            folder.begin_trial(trial.trial).finish(trial)
        for one in looks:
            folder.add_look(one)
        return folder.path


def test_a_run_with_a_comparison(study: Any, studies: ModuleType, tmp_path: Path) -> None:
    looks = [studies.look("kinds", 8, "go on", stop=False), studies.look("kinds", 12)]
    found = analyse(written(study, tmp_path, looks))
    assert found.complete
    assert render_message(found.comparison) == "1 comparison: 1 decided"
    assert (found.trials_planned, found.trials_done) == (26, 26)
    assert found.families[0].comparisons[0].primary.kind == "faster"
    assert found.families[0].comparisons[0].ended == "decided"
    assert found.budget_s == 2700.0
    assert found.elapsed_s > 600
    assert {trial.group for trial in found.trials} == {"kinds"}
    rows = {row.label: row for row in found.tables[0].rows}
    low, high = rows["set, 1 kB, 32 workers"].goodput_interval
    assert low < rows["set, 1 kB, 32 workers"].goodput_per_s < high
    assert rows["set, 1 kB, 32 workers"].blocks == 12
    assert rows["set, 1 kB, 32 workers"].bottleneck.part == "latency"
    assert "Compared: get against set at 1 kB: get FASTER by" in render_message(found.answer)
    assert Analysis.model_validate_json(found.model_dump_json()) == found
    json.loads(found.model_dump_json(), parse_constant=lambda name: pytest.fail(f"{name} in the analysis"))


def test_the_pause_before_a_run_was_gone_on_with_does_not_count(
    study: Any, studies: ModuleType, tmp_path: Path
) -> None:
    """`Took 25 min of a budget of 20 s` stood in a report of a run that had been left for 25 min."""
    run = read_run(written(study, tmp_path, [studies.look("kinds", 12)]))
    whole_s = elapsed_s(run)
    left = [
        trial.model_copy(update={"started_unix_ns": trial.started_unix_ns + 3_600_000_000_000})
        if trial.block > 6
        else trial
        for trial in run.trials
    ]
    assert whole_s > 600
    assert whole_s - SESSION_GAP_S <= elapsed_s(dataclasses.replace(run, trials=tuple(left))) <= whole_s


def test_what_a_gate_did_not_need_is_not_missing(study: Any, studies: ModuleType, tmp_path: Path) -> None:
    experiment = study.made_experiment.model_dump(mode="json")
    with RunFolder.create(tmp_path, "small", experiment, study.synthetic.ENVIRONMENT, study.plan()) as folder:
        folder.add_look(studies.look("kinds", 0, "not needed"))
    found = analyse(folder.path)
    assert found.complete
    assert (found.trials_planned, found.trials_done) == (0, 0)


def test_a_run_cut_short_between_looks(study: Any, studies: ModuleType, tmp_path: Path) -> None:
    found = analyse(written(study, tmp_path, [studies.look("kinds", 8, "go on", stop=False)]))
    assert not found.complete
    assert found.families[0].comparisons[0].ended == "interrupted"
    assert any(
        render_message(note).startswith("26 of at most 82 trials are finished: the run was cut short")
        for note in found.notes
    )


def test_trials_that_were_measured_again_are_counted(study: Any, studies: ModuleType, tmp_path: Path) -> None:
    swapped = studies.with_check("swap", "invalid", 30.0)
    spoiled = [swapped(trial) for trial in study.trials() if trial.block == 4]
    found = analyse(written(study, tmp_path, [studies.look("kinds", 12)], spoiled))
    assert found.trials_done == 26
    assert found.families[0].comparisons[0].blocks_repeated == 1
    assert "2 trials of 1 block measured again: only the last counts." in map(render_message, found.notes)


def test_a_group_is_finished_when_all_its_trials_are_there(synthetic: ModuleType, studies: ModuleType) -> None:
    ratios = [(studies.condition(), 1.0), (studies.condition(operation="get"), 1.1)]
    study = studies.Study(synthetic, ratios, planned_blocks=12)
    found = analyse_run(study.run(stop=None))
    assert found.complete


def test_the_number_of_an_attempt_is_shown(study: Any) -> None:
    run = study.run()
    trial = with_facts(run.trials[0], attempt=3)
    found = analyse_run(study.run(trials=(trial, *run.trials[1:])))
    assert [view.attempt for view in found.trials][:2] == [3, 1]


def test_a_budget_that_ended_before_anything_was_measured_says_so(
    study: Any, studies: ModuleType, tmp_path: Path
) -> None:
    look = studies.look("kinds", 0, "out of budget")
    run = read_run(written(study, tmp_path, [look]))
    plan = run.plan.model_copy(update={"budget_s": 12.0, "expected_s": 28.8})
    found = analyse_run(dataclasses.replace(run, plan=plan, trials=[]))
    assert found.needed_budget_s % 5 == 0
    assert 35 <= found.needed_budget_s <= 60
    expected = "Nothing was measured: the budget of 12 s ended before the first block; about "
    assert (
        render_message(found.answer)
        == render_message(found.headline)
        == f"{expected}{found.needed_budget_s:.0f} s are needed."
    )
    assert analyse_run(dataclasses.replace(run, plan=plan)).needed_budget_s == 0
