"""Two runs of which one made its slices longer: how long a slice lasts is no load."""

from dataclasses import replace

import pytest
from tests.frozen_runs import unpacked

from loadstone.addons.history.run_differences import differences, slices_unlike
from loadstone.experiment.plan.rounds import Rounds
from loadstone.run_folder.reading import RecordedRun, read_run
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import message
from loadstone.text.sentences import render_message

NAMES = ("run 14:30", "run 15:10")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    return read_run(unpacked("json-documents", tmp_path_factory.mktemp("run")))


def lengthened(run: RecordedRun, rounds: Rounds | None) -> RecordedRun:
    """The same run as if `storage` had been measured again in these rounds."""

    def longer(trial: TrialRecord) -> TrialRecord:
        plan = trial.facts.plan
        if trial.group != "storage" or plan is None:
            return trial
        phases = plan.phases.model_copy(update={"measure_s": 4 * plan.phases.measure_s})
        plan = plan.model_copy(update={"phases": phases, "interval_s": 2.0})
        return trial.model_copy(update={"stage": 1, "facts": trial.facts.model_copy(update={"plan": plan})})

    groups = tuple(replace(one, stage=1, rounds=rounds) if one.name == "storage" else one for one in run.plan.groups)
    plan = run.plan.model_copy(update={"groups": groups})
    return replace(run, trials=tuple(map(longer, run.trials)), plan=plan)


def pairs(a: RecordedRun, b: RecordedRun) -> list[tuple[TrialRecord, TrialRecord]]:
    return [(one, other) for one, other in zip(a.trials, b.trials, strict=True) if one.block]


def test_slices_that_got_longer_are_no_difference(measured: RecordedRun) -> None:
    rounds = next(one.rounds for one in measured.plan.groups if one.name == "storage")
    assert rounds is not None
    longer = lengthened(measured, rounds.longer())
    assert differences(measured, longer, pairs(measured, longer), NAMES) == []
    (said,) = slices_unlike(measured, longer, pairs(measured, longer), NAMES)
    assert render_message(said).startswith("storage: run 15:10 was measured in slices of 400 ms, run 14:30 of 100 ms: ")
    assert slices_unlike(measured, measured, pairs(measured, measured), NAMES) == []


def test_a_block_of_fewer_rounds_is_no_difference(measured: RecordedRun) -> None:
    rounds = next(one.rounds for one in measured.plan.groups if one.name == "storage")
    shorter = lengthened(measured, rounds)
    assert differences(measured, shorter, pairs(measured, shorter), NAMES) == []
    assert slices_unlike(measured, shorter, pairs(measured, shorter), NAMES) == []


def test_where_something_still_carries_over_or_trials_are_whole_the_lengths_count(measured: RecordedRun) -> None:
    rounds = next(one.rounds for one in measured.plan.groups if one.name == "storage")
    assert rounds is not None
    longer = lengthened(measured, rounds.longer())
    looks = [
        look.model_copy(update={"carried": message("carried", shift=0.1)}) if look.group == "storage" else look
        for look in measured.looks
    ]
    for other in (replace(longer, looks=tuple(looks)), replace(longer, looks=()), lengthened(measured, None)):
        whats = {one.figures["what"] for one in differences(measured, other, pairs(measured, other), NAMES)}
        assert whats == {"load: phases measure_s", "load: interval_s"}
        assert slices_unlike(measured, other, pairs(measured, other), NAMES) == []
