"""What would decide an open gate, by how its blocks got on."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from loadstone.addons.gate.needs import BlockPace, advice, paces_of, with_needs
from loadstone.addons.gate.result import GateFigure
from loadstone.experiment.plan.group import GroupDesign
from loadstone.experiment.spec.experiment import Experiment, SubjectSpec
from loadstone.text.message import message
from loadstone.text.sentences import render_message

LOOKS = (15, 20, 27, 37, 50)


def pace(units: int = 15, unit_s: float = 1.5) -> BlockPace:
    return BlockPace(units, LOOKS, unit_s)


def figure(half: float | None, slower: float = 0.0, **more: Any) -> GateFigure:
    losses = {} if half is None else {"": slower, "_low": slower - half, "_high": slower + half}
    shown = {f"slower{end}": share for end, share in losses.items()}
    shown |= {end.removeprefix("_") or "ratio": 1 + share for end, share in losses.items()}
    return GateFigure(
        name="cpu", unit="ns", verdict="undecided", tolerance=0.03, visible=0.04, units=15, unit_of_units="block",
        **shown, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "needed"),
    [
        (figure(None), 20),
        (figure(0.032), 20),
        (figure(0.039), 27),
        (figure(0.05), 50),
        (figure(0.2), None),
        (figure(0.017, 0.029), 50),
    ],
)
def test_the_number_of_starts_grows_with_the_square_of_the_interval(found: GateFigure, needed: int | None) -> None:
    assert with_needs(found, pace(), 30.0, 30.0).needed == needed


def test_the_budget_is_what_passed_and_what_the_other_starts_take() -> None:
    found = with_needs(figure(0.039), pace(), 30.0, 30.0)
    assert found.needed_s == 30 + 12 * 1.5
    same = figure(0.04).model_copy(update={"verdict": "same"})
    assert with_needs(same, pace(), 30.0, 30.0) == same


def said(found: GateFigure, at: BlockPace, starts_differ: float = 0.0) -> str:
    return render_message(advice([with_needs(found, at, 60.0, 60.0)], at, experiment(), 60.0, starts_differ))


def experiment(warm_up: str | None = "60 s", url: str | None = None) -> Experiment:
    """Of a gate of services that it starts, or at a URL."""
    subject = SubjectSpec(manifest=None if url else "m", url=url, warm_up=None if url else warm_up)
    return Experiment.model_construct(servers={}, subjects={"base": subject})


def test_what_two_starts_may_differ_by_no_budget_decides() -> None:
    starts = figure(0.02, slower=0.12, why=message("gate_starts", differ=0.7))
    assert with_needs(starts, pace(), 30.0, 60.0) == starts
    assert said(starts, pace(), 0.1).startswith("No budget decides it: these two processes are all there is")
    assert "taken to differ by 10 %" in said(starts, pace(), 0.1)
    assert said(starts, pace(), 0.1).endswith("with --warm-up and a --budget for that.")
    at_url = experiment(url="http://127.0.0.1:1")
    assert render_message(advice([starts], pace(), at_url, 60.0, 0.02)).endswith("Or let the gate start both versions.")
    redis = Experiment.model_construct(servers={"base": {"kind": "embedded"}}, subjects={})
    assert render_message(advice([starts], pace(), redis, 60.0, 0.02)).endswith("say so by --starts-differ.")


def test_a_longer_budget_helps_most() -> None:
    assert said(figure(0.039), pace(unit_s=1.0)) == (
        "A longer run helps most: --budget 80s. About 27 starts of both, 1 s each, are needed; 15 were measured."
    )


def test_where_no_time_helps_the_tolerance_is_named() -> None:
    assert said(figure(0.2), pace()).startswith("No budget decides it here")
    assert said(figure(0.2), pace()).endswith("or --not-slower-than '4 %'.")


def test_where_starts_hide_more_than_noise_no_tolerance_is_named() -> None:
    wide = figure(0.1, interval_level=0.9999).model_copy(update={"visible": 1.0})
    told = render_message(advice([wide], pace(), experiment(url="http://127.0.0.1:1"), 60.0, 0.1))
    assert told.endswith("Or let the gate start both versions.")
    told = render_message(advice([wide], pace(), experiment(), 60.0, 0.0))
    assert told == "No budget decides it here: what both do varies too much. A quieter machine helps."


def test_what_was_not_begun_is_taken_to_get_on_like_what_was() -> None:
    rate = GroupDesign(name="rate", pairs=(), metric="rate", margin=0.03, looks=LOOKS, sequential=True, warm_block=True,
                       trial_s=0.4, overhead_s=0.4)  # fmt: skip
    trials = [SimpleNamespace(group="rate", block=block, started_unix_ns=block * 2e9) for block in range(1, 19)]
    paces = paces_of([rate, replace(rate, name="p99")], trials)  # type: ignore[arg-type]
    assert (paces["rate"].units, paces["p99"].units, paces["p99"].unit_s) == (18, 0, 2)
    open_ = with_needs(figure(None).model_copy(update={"units": 0}), paces["p99"], 50.0, 60.0)
    assert (open_.needed, open_.needed_s) == (15, 50 + 15 * 2)


def test_what_was_not_warm_needs_no_budget_but_a_warm_up() -> None:
    moving = figure(0.039).model_copy(update={"why": message("cost_moving", moved=0.4)})
    assert with_needs(moving, pace(), 30.0, 60.0) == moving
    told = render_message(advice([moving], pace(), experiment(), 240.0, 0.1))
    assert told.startswith("A longer warm-up helps most: --warm-up 120s --budget 6m.")
    told = render_message(advice([moving], pace(), experiment("3 min"), 240.0, 0.1))
    assert told.startswith("A longer warm-up helps most: --warm-up 6m --budget 10m."), "more than it was"
    told = render_message(advice([moving], pace(), experiment(url="http://127.0.0.1:1"), 240.0, 0.1))
    assert "--warm-up" not in told, "it is refused there"


def test_no_budget_is_named_that_there_was() -> None:
    assert with_needs(figure(0.039), pace(), 30.0, 60.0).needed_s == 60 + 1.5
    few = figure(None, why=message("check.samples.few", operations=900, highest="P95"))
    assert with_needs(few, pace(), 30.0, 60.0).needed is None
