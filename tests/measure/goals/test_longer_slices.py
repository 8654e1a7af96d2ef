"""Where something reaches from one slice into the next, a comparison goes on with longer slices."""

from dataclasses import replace

from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.rounds import sequential_rounds
from loadstone.judge.analysis.analyse import analyse_run
from loadstone.run_folder.reading import read_looks
from loadstone.text.sentences import render_message

from .scripted_loop import CARRIED, Bench, compared


def in_rounds(stage: int = 0) -> Group:
    """Slices of 100 ms, or four times as long for each further stage."""
    rounds = sequential_rounds(0.1 * 4**stage, settle_s=0.015)
    group = compared(looks=tuple(range(1, len(rounds.blocks) + 1)))
    return replace(group, rounds=rounds, stage=stage, trial_s=1.0, overhead_s=1.0, longer_s=60.0)


WHOLE = replace(compared(), stage=3)
STAGES = (in_rounds(1), in_rounds(2), WHOLE)


def stages(bench: Bench) -> list[tuple[int, str]]:
    return [(look.stage, look.reason) for look in read_looks(next(bench.root.glob("[!.]*")))[0]]


def test_a_look_that_finds_it_gives_no_verdict_and_the_group_begins_again_with_longer_slices(bench: Bench) -> None:
    bench.judge.decides, bench.judge.carries = {"storage": 1}, {"storage": 1}
    bench.run(bench.plan(in_rounds(), stages=STAGES))
    assert bench.looks() == [("storage", 1, "carry-over"), ("storage", 1, "decided")]
    assert stages(bench) == [(0, "carry-over"), (1, "decided")]
    trials = [f"b0{block}-00{order}" for block in (0, 1) for order in (1, 2)]
    assert bench.ran == [f"{stage}-{trial}" for stage in ("storage", "storage.400ms") for trial in trials]
    said = "storage: slices of 400 ms from now on: what a condition did reached into the next slice by 4 %"
    assert said in bench.said
    look = read_looks(next(bench.root.glob("[!.]*")))[0][0]
    assert (look.carried, look.stop, look.verdicts[0].check) == (CARRIED.carried, True, "carry_over")


def test_the_longest_slices_are_followed_by_whole_trials(bench: Bench) -> None:
    bench.judge.decides, bench.judge.carries = {"storage": 8}, {"storage": 3}
    bench.run(bench.plan(in_rounds(), stages=STAGES))
    assert stages(bench) == [(0, "carry-over"), (1, "carry-over"), (2, "carry-over"), (3, "decided")]
    assert "storage: whole trials from now on: " in bench.said
    assert bench.ran[-1] == "storage.trials-b08-002"


def test_only_the_newest_stage_is_read(bench: Bench) -> None:
    bench.judge.decides, bench.judge.carries = {"storage": 1}, {"storage": 1}
    bench.run(bench.plan(in_rounds(), stages=STAGES))
    run = bench.recorded()
    assert {trial.stage for trial in run.trials} == {1}
    assert {trial.stage for trial in run.shorter} == {0}
    assert [look.reason for look in run.looks] == ["decided"]
    assert [look.carried for look in run.lengthened] == [CARRIED.carried]
    (group,) = run.plan.groups
    assert group.rounds is not None
    assert (group.name, group.stage, group.rounds.slice_s) == ("storage", 1, 0.4)
    assert {line.stage for line in run.plan.trials} == {1}
    found = analyse_run(run)
    assert found.complete
    assert (found.trials_done, found.trials_planned) == (4, 4)
    (comparison,) = found.families[0].comparisons
    said = "Slices were lengthened to 400 ms: what a condition did reached into the next slice by 4 %."
    assert render_message(comparison.lengthened) == said


def test_without_time_for_longer_slices_it_ends_there_and_goes_on_with_more_budget(bench: Bench) -> None:
    bench.judge.decides, bench.judge.carries = {"storage": 1}, {"storage": 1}
    bench.run(bench.plan(in_rounds(), stages=STAGES, budget_s=45))
    assert stages(bench) == [(0, "carry-over")]
    assert "storage, after 12 rounds: not decided, and there is no time for longer slices: UNDECIDED: " in bench.said
    run = bench.recorded()
    assert run.shorter == ()
    assert analyse_run(run).families[0].comparisons[0].ended == "carry-over"
    bench.run(bench.plan(in_rounds(), stages=STAGES))
    assert bench.ran[0] == "storage.400ms-b00-001"
    assert stages(bench)[1:] == [(1, "decided")]


def test_a_stage_that_was_begun_goes_on_in_the_next_session(bench: Bench) -> None:
    bench.judge.decides, bench.judge.carries = {"storage": 2}, {"storage": 1}
    bench.run(bench.plan(in_rounds(), stages=STAGES, budget_s=4 * 20 + 30))
    assert stages(bench) == [(0, "carry-over"), (1, "go on"), (1, "decided")]
    bench.run(bench.plan(in_rounds(), stages=STAGES))
    assert bench.ran == []


def test_groups_without_it_are_left_as_they_are(bench: Bench) -> None:
    other = compared("pool")
    bench.judge.decides, bench.judge.carries = {"storage": 1, "pool": 8}, {"storage": 1}
    bench.run(bench.plan(in_rounds(), other, stages=STAGES))
    assert bench.looks() == [("storage", 1, "carry-over"), ("pool", 8, "decided"), ("storage", 1, "decided")]
