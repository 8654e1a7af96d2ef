"""Rows of tables take turns where they can, in decks that fit on a server; the others say why they do not."""

import pytest

from loadstone.plan.design import decks
from loadstone.plan.design.run_design import make_run_plan
from loadstone.plan.rounds import TABLE_ROUNDS, TABLE_WARM_UP_S, table_rounds
from loadstone.plan.run_plan import Group, RunPlan, in_tables
from loadstone.spec.load_settings import find, load_experiment


def tables(run_plan: RunPlan) -> list[Group]:
    return [group for group in run_plan.groups if in_tables(group.name)]


def test_rows_of_one_server_take_turns(small: str) -> None:
    run_plan = make_run_plan(load_experiment(small), blocks=2)
    (table,) = tables(run_plan)
    assert table.rounds is not None
    assert (table.name, table.looks, table.whole_trials, table.warm_block) == ("table", (2,), None, False)
    for trial in run_plan.trials:
        phases = trial.plan.phases
        assert trial.in_rounds
        assert (phases.warm_up_s, phases.measure_operations) == (TABLE_WARM_UP_S, None)
        assert phases.measure_s == pytest.approx(table.rounds.of(trial.block) * table.rounds.slice_s)


def test_a_row_is_measured_for_about_as_long_as_by_whole_trials(small: str) -> None:
    (sliced,) = tables(make_run_plan(load_experiment(small)))
    (whole,) = tables(make_run_plan(load_experiment(small + "\ndesign: {rounds: never}\n")))
    assert sliced.trial_s == pytest.approx(whole.trial_s, rel=0.1)
    assert whole.whole_trials is not None
    assert whole.whole_trials.kind == "whole_trials.as_written"


def test_counts_of_the_original_are_those_of_whole_trials(small: str) -> None:
    (table,) = tables(make_run_plan(load_experiment(small), as_published=True))
    assert table.rounds is None
    assert table.whole_trials is not None
    assert table.whole_trials.kind == "whole_trials.as_published"


def test_rows_that_cannot_take_turns_say_why() -> None:
    found = tables(make_run_plan(find("aof-modes")))
    assert sum(len(group.conditions) for group in found if group.rounds is None) >= 40
    reasons = {group.whole_trials.kind for group in found if group.whole_trials is not None}
    assert reasons == {"whole_trials.subject", "whole_trials.alone"}
    assert all((group.rounds is None) == (group.whole_trials is not None) for group in found)
    names = [trial.name for trial in make_run_plan(find("aof-modes")).trials]
    assert len(set(names)) == len(names)


def test_rows_of_different_servers_are_not_together() -> None:
    run_plan = make_run_plan(find("aof-modes"), quick=True)
    for group in (one for one in tables(run_plan) if one.rounds is not None):
        trials = [trial for trial in run_plan.trials if trial.group == group.name]
        assert len(trials) > 1
        assert len({repr(trial.servers) for trial in trials}) == 1


def test_the_quick_json_study_has_one_deck_in_less_than_a_minute() -> None:
    (table,) = tables(make_run_plan(find("json-documents"), quick=True))
    assert len(table.conditions) == 50
    assert table.rounds is not None
    assert table.rounds.upto(1) >= TABLE_ROUNDS
    assert table.block_s < 45


@pytest.mark.parametrize("limit", ["CONNECTIONS_MAX", "CONDITIONS_MAX", "TOGETHER_BYTES_MAX"])
def test_what_does_not_fit_is_in_another_deck_and_curves_stay_whole(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(
        decks, limit, {"CONNECTIONS_MAX": 640, "CONDITIONS_MAX": 10, "TOGETHER_BYTES_MAX": 60_000_000}[limit]
    )
    found = tables(make_run_plan(find("json-documents"), quick=True, only={"payload": ("100 B", "1 kB")}))
    assert len(found) > 1
    by_users = [[one["workers"] for one in group.conditions if one["workers"] != 1] for group in found]
    assert all(workers[:1] in ([], [4]) for workers in by_users), "a curve begins a deck, or is within one"


def test_a_slice_is_short_where_there_is_little_time() -> None:
    short, usual = table_rounds(1, 0.35, None), table_rounds(6, 1.7, None)
    assert short.slice_s < usual.slice_s == 0.1
    assert short.upto(1) >= TABLE_ROUNDS
    assert short.mean_measured_s == pytest.approx(0.35, abs=0.03)
    assert table_rounds(1, 4.0, 0.4).slice_s == 0.4
    assert table_rounds(6, 1.0, 10.0).upto(6) >= TABLE_ROUNDS


def test_a_block_may_have_fewer_rounds() -> None:
    rounds = table_rounds(2, 1.7, None)
    assert rounds.within(rounds.block_s(1, 7) + 0.01, 1, 7) == rounds.of(1)
    assert rounds.within(0.0, 1, 7) == 0
    half = rounds.within(rounds.opening_s(7) + 7 * 4.5 * rounds.slice_s, 1, 7)
    assert half == 4
    shorter = rounds.shortened(1, half)
    assert (shorter.of(1), shorter.of(2)) == (4, rounds.of(2))
