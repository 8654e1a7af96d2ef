"""What a run measures within its budget."""

from dataclasses import replace

import pytest
from tests.verdicts import refused_by

from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.required import RequiredSubject
from loadstone.experiment.plan.run_plan import REPORT_S, RunPlan
from loadstone.judge.analysis.analyse import analyse_run
from loadstone.text.sentences import render_message

from .scripted_loop import BLOCK_S, EQUIVALENT, START_S, TRIAL_S, Bench, compared, table
from .test_longer_slices import in_rounds


def test_the_budget_ends_a_group_between_two_looks_with_a_look(bench: Bench) -> None:
    bench.run(bench.plan(compared(), budget_s=(1 + 10) * BLOCK_S + 5))
    assert bench.looks() == [("storage", 8, "go on"), ("storage", 10, "out of budget")]
    assert bench.blocks("storage") == list(range(11))
    assert bench.clock.now - START_S <= 11 * BLOCK_S


def test_before_the_first_look_a_group_runs_what_fits(bench: Bench) -> None:
    bench.run(bench.plan(compared(), budget_s=5 * BLOCK_S))
    assert bench.looks() == [("storage", 4, "out of budget")]


def test_no_budget_left_at_all_is_a_look_at_nothing(bench: Bench) -> None:
    bench.run(bench.plan(table(blocks=1), compared(), budget_s=35))
    assert bench.looks() == [("table", 1, "last look"), ("storage", 0, "out of budget")]
    assert len(bench.ran) == 3


def test_a_start_that_is_guessed_to_take_too_long_keeps_no_comparison_from_beginning(bench: Bench) -> None:
    """A guess of four minutes ended a budget of three after 27 s, with nothing measured."""
    plan = bench.plan(in_rounds(), budget_s=150)
    application = RequiredSubject(manifest="app", warm_up_s=200)
    plan = replace(plan, trials=tuple(replace(one, subjects={"app": application}) for one in plan.trials))
    bench.run(plan)
    assert bench.looks()[0] == ("storage", 1, "go on")


def test_what_a_whole_block_has_no_room_for_is_measured_in_as_many_rounds_as_fit(bench: Bench) -> None:
    bench.run(bench.plan(in_rounds(), budget_s=150))
    planned = in_rounds().rounds
    assert planned is not None
    cut = [number for number in bench.rounds if number not in (planned.of(0), *planned.blocks)]
    assert len(cut) == 1, "the last block of the budget is a part of the planned one"


def test_no_time_for_another_block_ends_the_group_at_the_look_it_had(bench: Bench) -> None:
    bench.run(bench.plan(compared(), budget_s=(1 + 8) * BLOCK_S + 5))
    assert bench.looks() == [("storage", 8, "go on"), ("storage", 8, "out of budget")]


def test_too_few_blocks_for_a_verdict_may_become_more_with_more_time(bench: Bench) -> None:
    bench.judge.decides, bench.judge.verdict = {"storage": 0}, refused_by("replication", 4, 8, "blocks")
    bench.run(bench.plan(compared(), budget_s=5 * BLOCK_S))
    assert bench.looks() == [("storage", 4, "out of budget")]
    bench.judge.decides, bench.judge.verdict = {"storage": 8}, EQUIVALENT
    bench.run(bench.plan(compared()))
    assert bench.looks()[1:] == [("storage", 8, "decided")]


def test_time_is_estimated_by_what_the_blocks_took_not_by_the_plan(bench: Bench) -> None:
    slow = Group(**(vars(compared()) | {"trial_s": 100.0, "overhead_s": 50.0}))
    bench.judge.decides = {"storage": 8}
    bench.run(bench.plan(slow, budget_s=700))  # by the plan two blocks take 600 s, in truth 40 s
    assert bench.looks() == [("storage", 8, "decided")]


def test_a_block_of_a_table_that_does_not_fit_is_not_begun(bench: Bench) -> None:
    bench.run(bench.plan(table(blocks=6), budget_s=45))
    assert bench.ran == ["b01-001", "b01-002", "b01-003"]
    assert bench.looks() == [("table", 1, "out of budget")]


def test_the_first_block_of_a_table_is_cut_short_and_gone_on_with(bench: Bench) -> None:
    bench.run(bench.plan(table(blocks=1, conditions=5), budget_s=25))
    assert bench.ran == ["b01-001", "b01-002"]
    assert bench.looks() == [("table", 0, "out of budget")]
    found = analyse_run(bench.recorded())
    assert any(
        render_message(note).startswith("3 of 5 conditions of the tables were not measured: budget.")
        for note in found.notes
    )
    bench.run(bench.plan(table(blocks=1, conditions=5)))
    assert bench.ran == ["b01-003", "b01-004", "b01-005"]
    assert bench.looks()[1:] == [("table", 1, "last look")]


def test_a_long_table_leaves_the_first_look_its_time(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8}
    first_look_s = 9 * BLOCK_S
    bench.run(bench.plan(table(blocks=1, conditions=9), compared(), budget_s=first_look_s + 5 * TRIAL_S))
    assert bench.ran[5] == "storage-b00-001", "five trials of the table, then the comparison"
    assert bench.looks() == [("storage", 8, "decided"), ("table", 0, "out of budget")]


def test_what_comes_before_and_after_the_trials_is_in_the_budget(bench: Bench) -> None:
    plan = bench.plan(table(blocks=6), budget_s=65)
    assert plan.budget_s > 65 + REPORT_S
    bench.run(plan, began_s=bench.clock.now - 35)
    assert len(bench.ran) == 3, "of 65 s the start took 35"


def test_what_must_be_started_first_is_in_the_budget(bench: Bench) -> None:
    plan = bench.plan(table(blocks=1, conditions=2), budget_s=25)
    app = {"app": RequiredSubject(manifest="app", warm_up_s=5)}
    bench.run(replace(plan, trials=tuple(replace(trial, subjects=app) for trial in plan.trials)))
    assert bench.ran == [], "its start and warm-up take longer than there is time"


@pytest.mark.parametrize(("others_took", "goes_on"), [(2, True), (19, False)])
def test_time_that_saturation_points_did_not_need_is_used(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, others_took: int, goes_on: bool
) -> None:
    monkeypatch.setattr(RunPlan, "search_s", lambda _: 20 * BLOCK_S)
    bench.judge.decides = {"storage": 8}
    bench.others_take_s = others_took * BLOCK_S
    bench.run(bench.plan(compared(), budget_s=5 * BLOCK_S))
    assert bench.looks()[0] == ("storage", 4, "out of budget")
    assert bench.looks()[-1] == (("storage", 8, "decided") if goes_on else ("storage", 5, "out of budget"))
