"""The interval of a row: by its slices where it was measured in rounds, else by its trials."""

from types import ModuleType

import pytest
from tests.changed_facts import with_drive

from loadstone.judge.analysis.tables import rate_interval
from loadstone.judge.compare.round_figures import row_slices
from loadstone.judge.statistics.signed_rank import typical_interval
from loadstone.run_folder.trial import TrialRecord


def in_rounds(synthetic: ModuleType, rates: list[int]) -> TrialRecord:
    """A trial of slices of .1 s with these numbers of correct replies."""
    trial: TrialRecord = synthetic.make_trial()
    slices = [
        {
            "round": number,
            "position": 0,
            "begin_s": begin_s,
            "end_s": begin_s + 0.1,
            "ok": ok,
            "completed": ok,
            "drained_s": begin_s + 0.1,
            "offered": ok,
            "failed": 0,
            "cpu_s": 0.0,
        }
        for number, (begin_s, ok) in enumerate((0.2 * place, ok) for place, ok in enumerate(rates))
    ]
    return with_drive(trial, slices=slices)


def test_slices_of_all_trials_count(synthetic: ModuleType) -> None:
    found = row_slices([in_rounds(synthetic, [10, 20]), in_rounds(synthetic, [30, 40])], "goodput_per_s")
    assert found is not None
    done, seconds = found
    assert done.tolist() == [10, 20, 30, 40]
    assert seconds.tolist() == pytest.approx([0.1] * 4)


def test_a_row_in_rounds_has_an_interval_of_a_single_trial(synthetic: ModuleType) -> None:
    trial = in_rounds(synthetic, [1000 + number % 7 for number in range(160)])
    found = rate_interval([trial], "goodput_per_s")
    assert found is not None
    assert found[0] < 10_030 < found[1]
    assert rate_interval([in_rounds(synthetic, [1000] * 7)], "goodput_per_s") is None, "too few rounds"
    assert rate_interval([in_rounds(synthetic, [0] * 160)], "goodput_per_s") is None, "nothing was done"


def test_where_a_trial_was_one_stretch_trials_are_what_counts(synthetic: ModuleType) -> None:
    whole = synthetic.make_trial()
    trials = [whole.model_copy(update={"goodput_per_s": 1000.0 + number}) for number in range(8)]
    assert row_slices([in_rounds(synthetic, [10] * 40), whole], "goodput_per_s") is None
    assert rate_interval(trials, "goodput_per_s") == typical_interval([one.goodput_per_s for one in trials])
