"""What loadstone says before it measures."""

from pathlib import Path

import pytest
from tests.experiments import find_experiment, with_overrides

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.run.describe import describe_experiment, print_announcement, prospects, shortcomings
from loadstone.run.prepare import requested_experiment, requested_plan
from loadstone.run.request import RunRequest
from loadstone.safety.errors import UserError
from loadstone.text.message import Message
from loadstone.text.sentences import render_message

APP = Path(__file__).parents[1] / "examples" / "experiment" / "app.yaml"


WHOLE = "design.rounds=never"
"""By whole trials: what is said of blocks is said of rounds, too."""


def said(lines: list[Message]) -> list[str]:
    return [render_message(line) for line in lines]


def test_every_comparison_says_what_it_can_show() -> None:
    lines = said(
        prospects(make_run_plan(with_overrides(find_experiment("json-documents"), sets=[WHOLE]), budget_s=2 * 3600))
    )
    assert [line.partition(":")[0] for line in lines] == ["partial-update", "storage", "small-pool", "warm-up"]
    assert lines[2] == (
        "small-pool: an estimate for an idle machine: after 8 blocks a difference of 12 % shows 8 times in 10, after "
        "40 blocks (as the budget allows) one of 4 %; the first look measures the spread of blocks on this one"
    )


def test_more_pairs_and_shorter_trials_see_less() -> None:
    def percent(line: str) -> float:
        return float(line.partition("difference of ")[2].partition(" %")[0])

    whole = with_overrides(find_experiment("json-documents"), sets=[WHOLE])
    full = {line.partition(":")[0]: percent(line) for line in said(prospects(make_run_plan(whole)))}
    assert full["storage"] > full["partial-update"]
    long = with_overrides(find_experiment("json-documents"), sets=[WHOLE, "design.trial=20 s"])
    lines = said(prospects(make_run_plan(long, budget_s=86_400)))
    assert {line.partition(":")[0]: percent(line) for line in lines}["storage"] < full["storage"]


@pytest.mark.parametrize(
    ("sets", "options", "sentence"),
    [
        ([], {"blocks": 3}, "small-pool: 3 blocks are too few for a verdict; at least 8 are needed"),
        ([], {"budget_s": 60}, "small-pool: the budget may end before its first look, after 8 blocks"),
        (
            ["comparisons.small-pool.metric=response_ns.p99"],
            {},
            "small-pool: what it can detect depends on the spread of response_ns.p99, which the first look will show",
        ),
        (
            [],
            {"blocks": 8},
            "small-pool: an estimate for an idle machine: after 8 blocks a difference of 9.3 % shows 8 times in 10; "
            "the first look measures the spread of blocks on this one",
        ),
    ],
)
def test_what_cannot_be_promised_is_said(sets: list[str], options: dict[str, int], sentence: str) -> None:
    run_plan = make_run_plan(with_overrides(find_experiment("json-documents"), sets=[WHOLE, *sets]), **options)  # type: ignore[arg-type]
    assert sentence in said(prospects(run_plan))


def test_in_rounds_it_is_said_of_rounds() -> None:
    experiment = find_experiment("json-documents")
    lines = said(prospects(make_run_plan(experiment, budget_s=2 * 3600)))
    assert lines[2] == (
        "small-pool: an estimate for an idle machine: after 12 rounds a difference of 12 % shows 8 times in 10, after "
        "360 rounds (as the budget allows) one of 1.9 %; the first look measures the spread of rounds on this one"
    )
    few = said(prospects(make_run_plan(experiment, blocks=1)))
    assert few[2].startswith("small-pool: an estimate for an idle machine: after 16 rounds a difference of 8.1 %")
    late = said(prospects(make_run_plan(experiment, budget_s=10)))
    assert "small-pool: the budget may end before its first look, after 12 rounds" in late


def test_many_pairs_may_have_no_interval_at_eight_blocks() -> None:
    many = with_overrides(
        find_experiment("json-documents"), sets=[WHOLE, "comparisons.storage.at.operation=[set, get]"]
    )
    assert "storage: 8 blocks are too few for 24 pairs" in said(prospects(make_run_plan(many, blocks=8)))


def test_nothing_compared_nothing_promised() -> None:
    experiment = find_experiment("json-documents")
    run_plan = make_run_plan(experiment, as_published=True)
    assert prospects(run_plan) == []
    assert print_announcement(run_plan, experiment)[-1] == "Nothing is compared: the tables only describe this run"


def test_a_run_announces_what_may_get_no_verdict() -> None:
    experiment = with_overrides(find_experiment("json-documents"), sets=[WHOLE])
    run_plan = make_run_plan(experiment, budget_s=60)
    found = said(shortcomings(run_plan))
    assert "small-pool: the budget may end before its first look, after 8 blocks" in found
    announced = " ".join(" ".join(print_announcement(run_plan, experiment)).split())
    assert all(line in announced for line in found)
    assert shortcomings(make_run_plan(experiment, budget_s=86_400)) == []


def test_a_run_announces_its_question_and_its_time_and_forecasts_nothing() -> None:
    experiment = find_experiment("json-documents")
    run_plan = make_run_plan(experiment, quick=True)
    lines = print_announcement(run_plan, experiment)
    text = " ".join(" ".join(lines).split())
    assert text.startswith(experiment.question)
    assert "Time: about 66 s to the first look at every comparison; the budget ends it after 3 min" in text
    assert "8 times in 10" not in text, "a forecast before anything was measured"
    assert max(map(len, lines)) <= 110


def test_show_holds_the_prospects_beside_the_comparisons() -> None:
    text, _ = describe_experiment(RunRequest(experiment="json-documents"))
    assert text.count("an estimate for an idle machine") == 4


def test_the_options_reach_the_plan() -> None:
    options = RunRequest(experiment="json-documents", blocks=9, budget="20m", seed=5, only=("operation=set",))
    run_plan = requested_plan(requested_experiment(options), options, (1,))
    assert (run_plan.budget_s, run_plan.seed) == (1200, 5)
    assert {group.looks for group in run_plan.groups} == {(9,)}
    with pytest.raises(UserError, match=r"^--budget 20: '20' has no unit; write for example `90 s`"):
        requested_plan(find_experiment("json-documents"), RunRequest(experiment="json-documents", budget="20"), ())


def test_scale_and_subject_reach_the_plan() -> None:
    options = RunRequest(
        experiment=str(APP),
        scale="10 %",
        subjects=("app=http://user:secret@host",),
        servers=("mariadb=mariadb://user:secret@host",),
        only=("store=mariadb",),
        blocks=1,
    )
    run_plan = requested_plan(requested_experiment(options), options, ())
    assert run_plan.scale == 0.1
    assert run_plan.trials[0].subjects["app"].urls == ("http://user:secret@host",)
    assert run_plan.trials[0].servers["mariadb"]["kind"] == "mariadb-url"
    text, _ = describe_experiment(options)
    assert "Scale 10 %: users and rows are 10 % of those written" in text
    assert "secret" not in text
    with pytest.raises(
        UserError, match=r"^--scale 2: must be more than 0 and at most 1; write for example 0\.1 or 10 %$"
    ):
        requested_plan(find_experiment(str(APP)), RunRequest(experiment=str(APP), scale="2"), ())


def test_an_application_is_announced_with_the_time_it_takes_to_start() -> None:
    experiment = find_experiment(str(APP))
    lines = print_announcement(make_run_plan(experiment, quick=True), experiment)
    assert any(line.startswith("Of that about ") and line.endswith("up app and writing posts") for line in lines)
    assert "3 crashes at the end, about 15 s of that" in lines
