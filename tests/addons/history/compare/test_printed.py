"""What `loadstone compare` prints, its exit status, its JSON and its Markdown."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from loadstone.addons.history.compare_report import notable_comparisons, summarise_rest, warnings
from loadstone.experiment.plan.run_plan import TABLE_GROUP
from loadstone.text.message import message, verbatim
from loadstone.text.sentences import render_message

from .conftest import (
    HOURS_S,
    MANY,
    SIZES,
    copied,
    reported,
    spoil,
)

# What is printed


def test_the_largest_difference_stands_first(write: Callable[..., Path]) -> None:
    found = reported(write(), write(seed=2, few=1.5, many=2.5, started_s=HOURS_S))
    assert [one.primary.a.condition["idle"] for one in found.report.comparisons] == ["few", "many"]
    assert [one.primary.a.condition["idle"] for one in notable_comparisons(found.report)] == ["many", "few"]
    assert found.text.index("\nmany ") < found.text.index("\nset, 1 kB")


def test_conditions_with_too_few_trials_are_folded_into_one_line(write: Callable[..., Path]) -> None:
    found = reported(write(blocks=3), write(blocks=3, seed=2, few=2.0))
    assert found.kinds == ["undecided", "undecided"]
    assert notable_comparisons(found.report) == []
    assert summarise_rest(found.report) == [
        "Nothing can be said of 2 of 2 conditions: 2 without an interval (3 trials a run; it takes 8 or more)."
    ]
    assert "UNDECIDED" not in found.text


def test_what_has_too_few_trials_takes_no_share_of_the_level(write: Callable[..., Path]) -> None:
    both = reported(write(), write(seed=2))
    assert [one.primary.level for one in both.report.comparisons] == [pytest.approx(0.975)] * 2
    one = reported(write(), write(seed=2, blocks=9, conditions=(MANY,)))
    assert [pair.primary.level for pair in one.report.comparisons] == [pytest.approx(0.95)]


def test_an_interval_so_wide_that_it_says_nothing_is_folded(write: Callable[..., Path]) -> None:
    found = reported(write(noise=0.9), write(noise=0.9, seed=2))
    assert found.kinds == ["undecided", "undecided"]
    (line,) = summarise_rest(found.report)
    assert line.startswith("Nothing can be said of 2 of 2 conditions: 2 too uncertain (for example ")
    assert "invalid" not in line


def test_what_is_invalid_is_folded_with_its_check(write: Callable[..., Path]) -> None:
    found = reported(write(seed=2, few=2.0), write(finish=spoil("conservation", 18)))
    (line,) = summarise_rest(found.report)
    assert line.startswith("Nothing can be said of 2 of 2 conditions: 2 INVALID by conservation (for example ")


def test_what_one_side_alone_names_holds_for_both(write: Callable[..., Path]) -> None:
    found = reported(write(groups=(TABLE_GROUP,), conditions=SIZES), a="idle=few,payload=100 B", b="idle=many")
    (one,) = found.report.comparisons
    assert (one.primary.a.condition["payload"], one.primary.b.condition["payload"]) == ("100 B", "100 B")
    assert one.place.startswith("set, 100 B, ")
    assert "100 B" in found.text


# Objectives, JSON and Markdown


def test_relative_objectives_decide_the_exit_status(write: Callable[..., Path]) -> None:
    slower, same = write(many=0.8), write()
    missed = reported(slower, fail_if=("goodput < -5%",))
    assert missed.outcome.status == 1
    assert "missed: -20" in render_message(missed.report.missed[0])
    assert reported(same, fail_if=("goodput < -5%",)).outcome.status == 0
    unclear = reported(same, write(seed=2, started_s=HOURS_S), fail_if=("goodput < -5%",))
    assert unclear.outcome.status == 1
    assert all("cannot be decided" in render_message(line) for line in unclear.report.missed)
    assert reported(same, write(seed=2, started_s=HOURS_S), fail_if=("goodput < -25%",)).outcome.status == 0


def test_the_json_is_the_documented_structure(write: Callable[..., Path]) -> None:
    data = json.loads(reported(write(), write(seed=2)).outcome.json_text)
    assert data["format"] == 1
    assert list(data) == ["format", "kind", "runs", "differences", "notes", "comparisons", "objectives", "missed"]
    assert len({run["name"] for run in data["runs"]}) == 2
    documented = (Path(__file__).parents[4] / "docs" / "compare.md").read_text()
    assert all(f"`{key}`" in documented for key in data)


def test_the_same_folders_give_the_same_json(write: Callable[..., Path], tmp_path: Path) -> None:
    runs = write(), write(seed=2)
    # Runs of one second have one name, and then that of the folder above tells them apart: it stays the same.
    moved = [
        copied(folder, tmp_path / "moved" / str(number) / folder.parent.name) for number, folder in enumerate(runs)
    ]
    assert reported(*runs).outcome.json_text == reported(*moved).outcome.json_text


def test_warnings_that_differ_in_figures_only_become_one(write: Callable[..., Path]) -> None:
    report = reported(write(), write(seed=2)).report
    warned = [
        one.model_copy(
            update={
                "warnings": [
                    message("trials_suspect", trials=number, of=18, run="A", check="swap"),
                    verbatim("The same."),
                ]
            }
        )
        for number, one in enumerate(report.comparisons, start=1)
    ]
    first, second = warnings(report.model_copy(update={"comparisons": warned}))
    assert first.startswith("2 of 2 pairs, for example ")
    assert first.endswith(": 1 of 18 trials in A suspect and used: swap.")
    assert second == "The same."
