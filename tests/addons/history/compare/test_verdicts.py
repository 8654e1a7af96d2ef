"""`loadstone compare` on real folders: two conditions of a run, two runs, and what is damaged."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.changed_facts import with_facts, written

from loadstone.experiment.plan.run_plan import TABLE_GROUP
from loadstone.run_folder.files import run_names
from loadstone.run_folder.look import Look, LookVerdict
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message

from .conftest import (
    FEW,
    HOURS_S,
    MANY,
    copied,
    refused,
    reported,
    spoil,
)

# One run


def test_declared_comparisons_are_printed(write: Callable[..., Path]) -> None:
    found = reported(write(many=1.2))
    assert found.report.kind == "declared"
    assert found.kinds == ["faster"]
    assert found.report.comparisons[0].name == "idle"
    assert "many FASTER by" in found.text
    assert found.outcome.status == 0


def test_two_conditions_chosen_afterwards_are_called_ad_hoc(write: Callable[..., Path]) -> None:
    found = reported(write(groups=(TABLE_GROUP,), many=0.8), a="idle=many", b="idle=few")
    (one,) = found.report.comparisons
    assert (found.report.kind, one.name, one.primary.winner) == ("ad hoc", "ad hoc", "b")
    assert one.primary.a.condition["idle"] == "many"
    assert one.primary.level == pytest.approx(0.95)
    assert "exploratory" in found.text


def test_the_warm_block_is_not_used(write: Callable[..., Path]) -> None:
    (one,) = reported(write(), a="idle=few", b="idle=many").report.comparisons
    assert [point.block for point in one.primary.points] == list(range(1, 19))


def test_pairs_share_the_level(write: Callable[..., Path]) -> None:
    sizes = tuple(condition | {"payload": size} for size in ("100 B", "1 kB") for condition in (FEW, MANY))
    found = reported(write(groups=(TABLE_GROUP,), conditions=sizes), a="idle=few", b="idle=many")
    assert [one.primary.level for one in found.report.comparisons] == [pytest.approx(0.975)] * 2
    assert [one.pairs for one in found.report.comparisons] == [2, 2]


def test_a_sequential_run_that_was_cut_short_is_judged_at_the_level_of_a_look(write: Callable[..., Path]) -> None:
    (one,) = reported(write(blocks=14, sequential=True), a="idle=few", b="idle=many").report.comparisons
    assert one.primary.level == pytest.approx(1 - 0.0157)
    assert one.primary.blocks == 12
    assert one.ended == "interrupted"


def test_another_metric_or_margin_makes_a_declared_comparison_exploratory(write: Callable[..., Path]) -> None:
    found = reported(write(), metric="tps", margin="8 %")
    (one,) = found.report.comparisons
    assert (found.report.kind, one.primary.metric, one.primary.margin) == ("ad hoc", "throughput_per_s", 0.08)


def test_conditions_of_different_groups_are_not_compared(write: Callable[..., Path]) -> None:
    message = refused(write(groups=("idle", TABLE_GROUP)), a="idle=few", b="idle=many")
    assert "were measured at different times" in message
    assert "'idle'" in message
    assert "'table'" in message


def test_a_missing_histogram_forbids_only_what_needs_it(write: Callable[..., Path], tmp_path: Path) -> None:
    folder = copied(write(many=1.2), tmp_path)
    for log in (folder / "latency").iterdir():
        log.unlink()
    assert reported(folder).kinds == ["faster"]
    assert reported(folder, metric="response_ns.p95").kinds == ["invalid"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"a": "idle=few"}, "needs --b too"),
        ({"a": "idle=few", "b": "payload=1 kB"}, "name a factor on both sides, with two levels, for example --a "),
        ({"a": "idle=few", "b": "idle=few"}, "same levels"),
        ({"a": "idel=few", "b": "idle=many"}, "did you mean 'idle'"),
        ({"a": "idle=some", "b": "idle=many"}, "levels are: few, many"),
        ({"a": "idle", "b": "idle=many"}, "write FACTOR=LEVEL"),
        ({"a": "idle=few,idle=many", "b": "idle=many"}, "twice"),
        ({"a": "workers=1", "b": "workers=32"}, "no two conditions that differ only in workers"),
        ({"metric": "p98"}, "no such metric"),
        ({"metric": "errors"}, "no such metric"),
        ({"margin": "5"}, "--margin 5"),
        ({"margin": "many"}, "--margin many"),
        ({"across": True}, "--across"),
        ({"fail_if": ("goodput < 5k",)}, "about a single condition"),
        ({"fail_if": ("goodput",)}, "METRIC OP VALUE"),
    ],
)
def test_bad_options_are_named_with_a_remedy(write: Callable[..., Path], options: dict[str, Any], said: str) -> None:
    assert said in refused(write(blocks=1), **options)


def test_a_run_without_declared_comparisons_says_how_to_choose(write: Callable[..., Path]) -> None:
    message = refused(write(blocks=1, groups=(TABLE_GROUP,)))
    assert "--a FACTOR=LEVEL --b FACTOR=LEVEL" in message
    assert "idle" in message


def test_what_is_undecided_comes_with_a_remedy(write: Callable[..., Path]) -> None:
    few = reported(write(blocks=4), a="idle=few", b="idle=many")
    assert few.kinds == ["undecided"]
    assert "--blocks" not in few.text, "a gate, and a load by one command, have no such option"
    assert "--budget" in few.text
    noisy = reported(write(noise=0.08))
    assert noisy.kinds == ["undecided"]
    assert "--budget" in noisy.text
    assert "8 times in 10" in noisy.text


# Two runs


def test_two_runs_of_the_same_thing_are_undecided_and_say_what_would_decide(write: Callable[..., Path]) -> None:
    found = reported(write(), write(seed=2, started_s=HOURS_S))
    assert found.kinds == ["undecided", "undecided"]
    assert "interleaved" in found.text
    assert all(one.primary.high - one.primary.low > 0.2 for one in found.report.comparisons)
    assert found.outcome.status == 0


def test_a_large_difference_between_two_runs_is_decided(write: Callable[..., Path]) -> None:
    found = reported(write(), write(seed=2, few=1.4, many=0.6, started_s=HOURS_S))
    places = {str(one.primary.a.condition["idle"]): one.primary for one in found.report.comparisons}
    assert (places["few"].kind, places["few"].winner) == ("faster", "b")
    assert (places["many"].kind, places["many"].winner) == ("faster", "a")
    one, other = (run.name for run in found.report.runs)
    assert f"{other} SLOWER by" in found.text
    assert f"{other} FASTER by" in found.text
    assert f"{other} against {one}" in found.text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"environment": {"machine": {"machine_id": "1" * 64}}}, "different machines"),
        ({"environment": {"machine": {"cpu_count": 4}}}, "machine cpu_count is 2 in {} and 4 in {}"),
        ({"environment": {"versions": {"loadstone": "0.2.0"}}}, "versions loadstone is 0.1.0 in {} and 0.2.0 in {}"),
        (
            {"environment": {"versions": {"engine": {"version": "9"}}}},
            "versions engine version is 0.1.0 in {} and 9 in {}",
        ),
        ({"environment": {"servers": {"redis": {"version": "7.0.15"}}}}, "version is 8.2.3 in {} and 7.0.15 in {}"),
        (
            {"environment": {"servers": {"redis": {"settings": {"appendonly": "yes"}}}}},
            "settings appendonly is not set",
        ),
        ({"environment": {"placement": {"shared": True}}}, "placement shared is off in {} and on in {}"),
        ({"plan": {"pipeline_depth": 4}}, "load: pipeline_depth is 1 in {} and 4 in {} (2 conditions)"),
        ({"name": "other"}, "experiment is small in {} and other in {}"),
    ],
)
def test_different_runs_are_refused_and_compared_across(
    write: Callable[..., Path], changes: dict[str, Any], said: str
) -> None:
    runs = write(), write(seed=2, few=2.0, started_s=HOURS_S, **changes)
    said = said.format(*run_names(*runs))
    message = refused(*runs)
    assert said in message
    assert "--across" in message
    across = reported(*runs, across=True)
    assert all(words.startswith("across: ") for words in across.words)
    assert any(said in render_message(difference) for difference in across.report.differences)
    assert across.text.index(said) < across.text.index("FASTER")


def test_the_seed_of_a_run_is_no_difference(write: Callable[..., Path]) -> None:
    keys = {"keys": {"prefix": "loadstone:0000002a:001:", "loaded": True}, "seed": 42}
    assert reported(write(), write(seed=2, plan=keys)).report.differences == []


def test_two_runs_without_a_common_condition_are_refused(write: Callable[..., Path]) -> None:
    sizes = tuple(condition | {"payload": "100 B"} for condition in (FEW, MANY))
    assert "no condition was measured in both" in refused(write(blocks=1), write(blocks=1, conditions=sizes))


def test_the_same_folder_twice_is_refused(write: Callable[..., Path]) -> None:
    folder = write(blocks=1)
    assert "the same run twice" in refused(folder, folder / ".." / folder.name)


def test_conditions_of_one_run_only_are_counted(write: Callable[..., Path]) -> None:
    found = reported(write(), write(seed=2, conditions=(FEW,)))
    assert len(found.report.comparisons) == 1
    name = found.report.runs[0].name
    assert f"{name}: 1 condition was not measured in both runs and not compared." in map(
        render_message, found.report.notes
    )


def test_invalid_trials_are_left_out_and_counted(write: Callable[..., Path]) -> None:
    found = reported(write(finish=spoil("evicted_keys", 6)), write(seed=2))
    (one, _) = found.report.comparisons
    assert f"3 of 18 trials in {found.report.runs[0].name} invalid and left out: evicted_keys." in map(
        render_message, one.warnings
    )
    assert one.primary.blocks == 15


@pytest.mark.parametrize(("name", "every"), [("conservation", 18), ("evicted_keys", 3)])
def test_a_broken_count_or_too_many_invalid_trials_forbid_a_verdict(
    write: Callable[..., Path], name: str, every: int
) -> None:
    found = reported(write(seed=2, few=2.0), write(finish=spoil(name, every)))
    assert found.kinds == ["invalid", "invalid"]
    assert all(words.startswith(f"INVALID: {name}") for words in found.words)
    assert found.outcome.status == 3


def test_the_check_that_forbids_a_verdict_is_reported_with_its_usual_figure(write: Callable[..., Path]) -> None:
    def finish(trial: TrialRecord) -> TrialRecord:
        if trial.block % 3:
            return trial
        facts = written(trial)
        facts["servers"]["redis"]["after"]["counters"]["evicted_keys"] = 20.0 + trial.block
        return with_facts(trial, **facts)

    found = reported(write(finish=finish), write(seed=2))
    assert all(words.startswith("INVALID: evicted_keys, measured 32") for words in found.words), found.words


# Damaged folders


@pytest.fixture
def killed(write: Callable[..., Path], tmp_path: Path) -> Path:
    """What kill -9 leaves: half a line at the end, no analysis, no look; and a line of garbage before it."""
    folder = copied(write(blocks=14, sequential=True, seed=3), tmp_path)
    lines = (folder / "trials.jsonl").read_bytes().splitlines(keepends=True)
    lines[5] = b'{"format":1,"trial":"\x00garbage\n'
    (folder / "trials.jsonl").write_bytes(b"".join(lines[:-1]) + lines[-1][:500])
    (folder / "looks.jsonl").unlink()
    return folder


def test_a_folder_cut_short_by_kill_is_compared_by_what_is_finished(killed: Path, write: Callable[..., Path]) -> None:
    found = reported(killed, a="idle=few", b="idle=many")
    assert found.report.comparisons[0].primary.blocks == 12
    assert any("cut off" in note for note in map(render_message, found.report.notes))
    assert any("line 6 is not readable" in note for note in map(render_message, found.report.notes))
    both = reported(killed, write(seed=2, sequential=True))
    assert len(both.report.comparisons) == 2
    assert any(
        note.startswith(f"{both.report.runs[0].name}: trials.jsonl") for note in map(render_message, both.report.notes)
    )


def test_a_look_that_stopped_the_run_is_where_it_is_judged(write: Callable[..., Path], tmp_path: Path) -> None:
    folder = copied(write(blocks=14, sequential=True), tmp_path)
    look = Look(
        group="idle",
        blocks=8,
        unix_s=1.0,
        elapsed_s=1.0,
        verdicts=[LookVerdict(kind="equivalent")],
        stop=True,
        reason="decided",
    )
    (folder / "looks.jsonl").write_text(look.model_dump_json() + "\n")
    (one,) = reported(folder, a="idle=few", b="idle=many").report.comparisons
    assert (one.primary.blocks, one.ended) == (8, "decided")


def test_a_run_without_a_finished_trial_is_refused(write: Callable[..., Path], tmp_path: Path) -> None:
    folder = copied(write(blocks=1), tmp_path)
    (folder / "trials.jsonl").write_text("")
    assert "was not measured" in refused(folder, a="idle=few", b="idle=many")
    assert "no condition was measured in both" in refused(folder, write(blocks=1))


def test_folders_of_another_format_or_no_run_are_refused(write: Callable[..., Path], tmp_path: Path) -> None:
    good, other = write(blocks=1), copied(write(blocks=1), tmp_path)
    plan = json.loads((other / "plan.json").read_text()) | {"format": 2}
    (other / "plan.json").write_text(json.dumps(plan))
    assert "format 2 is not known" in refused(good, other)
    assert "not a run's folder" in refused(good, tmp_path)
    assert "not a run's folder" in refused(tmp_path / "nowhere")
    assert "3 runs given" in refused(good, good, good)
