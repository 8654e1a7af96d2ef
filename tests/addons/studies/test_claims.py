"""Claims answered by verdicts, and rates by intervals."""

from types import ModuleType
from typing import Any

import pytest
from pydantic import ValidationError
from tests.verdicts import verdict as judged_by

from loadstone.addons.studies.claims import ClaimCheck, ClaimOutcome, outcome
from loadstone.addons.studies.conclusions import Planned, answer_conclusions
from loadstone.drivers.outcome import Quantiles
from loadstone.experiment.spec.experiment import Conclusion
from loadstone.judge.analysis.analysis import Family, ResultTable, Row
from loadstone.judge.analysis.comparisons import compare_groups
from loadstone.judge.analysis.headline import comparison_line, opening
from loadstone.judge.verdict import CpuCost
from loadstone.text.message import message
from loadstone.text.sentences import render_message

NOTHING = dict.fromkeys(("min", "mean", "p50", "p90", "p95", "p99", "p999", "max"))


def families(studies: ModuleType, synthetic: ModuleType, ratio: float, **changes: Any) -> list[Family]:
    """Get (B) against set (A), so many times as fast."""
    ratios = [(studies.condition(), 1.0), (studies.condition(operation="get"), ratio)]
    run = studies.Study(synthetic, ratios, **changes).run()
    return compare_groups(run, run.trials)


def claim(claims: str | None, **changes: Any) -> dict[str, Any]:
    given = {"claim": "A get against a set", "kind": "ratio", "comparison": "kinds"}
    return given | {"where": {"operation": "get"}, "against": {"operation": "set"}, "claims": claims} | changes


def row(goodput: float, interval: tuple[float, float] | None, verdict: str = "valid", **levels: Any) -> Row:
    condition = {"operation": "set", "payload": "1 kB", "workers": 32, "idle": "few"} | levels
    return Row(
        condition=condition, label=", ".join(map(str, condition.values())), trials=["b01-001", "b02-001"],
        verdict=verdict, reasons=[], operations=1, elapsed_s=1.0, throughput_per_s=goodput, goodput_per_s=goodput,
        peak_per_s=goodput, response_ns=Quantiles(**NOTHING | {"mean": 1000.0}), service_ns=None,
        pool_wait_ns=Quantiles(**NOTHING | {"mean": 100.0}), errors={}, cpu_share={}, published=None,
        unmeasurable={}, blocks=6, goodput_interval=interval,
    )  # fmt: skip


def tables(*rows: Row) -> list[ResultTable]:
    vary: dict[str, list[Any]] = {"operation": ["set", "get"], "payload": ["100 B", "1 kB"], "workers": [32]}
    return [ResultTable(name="by-size", title="", note="", vary=vary, rows=list(rows))]


@pytest.mark.parametrize(
    ("ratio", "claims", "verdict"),
    [
        (1.10, "more", "holds"),
        (1.10, "less", "does_not_hold"),
        (1.10, "the same", "does_not_hold"),
        (0.90, "less", "holds"),
        (1.0, "the same", "holds"),
        (1.0, "more", "does_not_hold"),
        (1.10, None, "not_answered_here"),
    ],
)
def test_verdicts_answer_claims(
    studies: ModuleType, synthetic: ModuleType, ratio: float, claims: str | None, verdict: str
) -> None:
    experiment = synthetic.make_experiment(conclusions=[claim(claims)])
    (found,) = answer_conclusions(experiment, [], families(studies, synthetic, ratio))
    assert found.verdict == verdict
    assert render_message(found.answer).startswith("get against set: ")
    assert "(12 blocks)" in render_message(found.evidence[0])


@pytest.mark.parametrize(
    ("claims", "value", "verdict"),
    [
        ("less", -0.09, "holds"),
        ("less", -0.5, "direction_holds_size_does_not"),
        ("more", None, "does_not_hold"),
        ("the same", None, "does_not_hold"),
    ],
)
def test_a_claim_about_cpu_is_answered_by_what_a_request_costs(
    studies: ModuleType, synthetic: ModuleType, claims: str, value: float | None, verdict: str
) -> None:
    about = claim(claims, metric="cpu_ns.redis", value=value)
    experiment = synthetic.make_experiment(conclusions=[about])
    (found,) = answer_conclusions(experiment, [], families(studies, synthetic, 1.1))
    assert found.verdict == verdict
    assert "get uses 9 % [" in render_message(found.answer)
    rows = tables(*(row(1.0, None, operation=one).model_copy(update={"costs": {"redis": CpuCost(ns=ns)}})
                    for one, ns in (("get", 8_600.0), ("set", 6_900.0))))  # fmt: skip
    (beside,) = answer_conclusions(experiment, rows, [])
    assert [render_message(one).count(" µs") for one in beside.evidence] == [2]


def test_a_claim_about_cpu_names_a_part() -> None:
    with pytest.raises(ValidationError, match="'cpu_ns' is no metric"):
        Conclusion(claim="x", kind="ratio", metric="cpu_ns")


def test_what_still_moves_refutes_no_size() -> None:
    moving = judged_by("undecided", -29, -41, -18, unsteady=message("cost_moving", moved=0.35))
    assert outcome(ClaimCheck("less", -0.1), moving, where_is_b=True) == ClaimOutcome("undecided", "undecided")


def test_the_two_sides_may_be_determined_the_other_way_round(studies: ModuleType, synthetic: ModuleType) -> None:
    turned = claim("less", where={"operation": "set"}, against={"operation": "get"})
    experiment = synthetic.make_experiment(conclusions=[turned])
    (found,) = answer_conclusions(experiment, [], families(studies, synthetic, 1.10))
    assert found.verdict == "holds"


def test_what_is_undecided_or_invalid_stays_so(studies: ModuleType, synthetic: ModuleType) -> None:
    experiment = synthetic.make_experiment(conclusions=[claim("the same")])
    noisy = families(studies, synthetic, 1.02, sd=0.06)
    assert answer_conclusions(experiment, [], noisy)[0].verdict == "undecided"
    change = {(3, 0): studies.with_check("replies")}
    spoiled = families(studies, synthetic, 1.1, changes=change)
    assert answer_conclusions(experiment, [], spoiled)[0].verdict == "no_valid_data"


def test_a_comparison_that_this_run_left_out_stands_side_by_side(synthetic: ModuleType) -> None:
    experiment = synthetic.make_experiment(conclusions=[claim("the same")])
    rows = tables(row(1000.0, None), row(1100.0, None, operation="get"))
    (found,) = answer_conclusions(experiment, rows, [])
    assert found.verdict == "not_answered_here"
    assert "not compared in this run" in render_message(found.answer)
    assert "%" not in render_message(found.answer)


def test_waiting_is_shown_beside_the_verdict(studies: ModuleType, synthetic: ModuleType) -> None:
    experiment = synthetic.make_experiment(conclusions=[claim("more", kind="pool_wait")])
    rows = tables(row(1000.0, None), row(1100.0, None, operation="get"))
    (found,) = answer_conclusions(experiment, rows, families(studies, synthetic, 1.1))
    assert found.verdict == "holds"
    assert render_message(found.answer).endswith("Waiting for a connection took 10% of the response time, against 10%.")


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [((210.0, 230.0), "holds"), ((190.0, 240.0), "undecided"), ((150.0, 199.0), "does_not_hold")],
)
def test_an_interval_decides_on_a_claimed_rate(
    synthetic: ModuleType, interval: tuple[float, float], verdict: str
) -> None:
    found = answer_conclusions(synthetic.make_experiment(), tables(row(220.0, interval)), [])[0]
    assert found.verdict == verdict
    assert f"[{interval[0]:g}, {interval[1]:g}]" in render_message(found.answer)


def test_one_condition_that_might_reach_it_leaves_it_open(synthetic: ModuleType) -> None:
    rows = tables(row(180.0, (170.0, 190.0)), row(150.0, (120.0, 230.0), payload="100 B"))
    assert answer_conclusions(synthetic.make_experiment(), rows, [])[0].verdict == "undecided"


def test_without_an_interval_a_near_figure_of_some_blocks_is_undecided(synthetic: ModuleType) -> None:
    found = answer_conclusions(synthetic.make_experiment(), tables(row(210.0, None)), [])[0]
    assert found.verdict == "undecided"
    assert "too near for 6 blocks" in render_message(found.answer)


def test_the_question_is_answered_by_figures_and_verdicts(studies: ModuleType, synthetic: ModuleType) -> None:
    found = render_message(
        opening(
            synthetic.make_experiment(),
            tables(row(210.0, (206.0, 214.0))),
            families(studies, synthetic, 1.1),
            quick=False,
        ).answer
    )
    assert found.startswith(
        "At 1 kB, 32 workers: set 210 [206, 214] correct replies a second. CPU per request of redis at 1 kB: set "
    )
    assert ". Compared: get against set " in found
    assert "at 1 kB: get FASTER by 1" in found
    assert "no comparison" not in found


def test_many_comparisons_are_counted(studies: ModuleType, synthetic: ModuleType) -> None:
    many = families(studies, synthetic, 1.1) * 5
    found = render_message(opening(synthetic.make_experiment(), [], many, quick=True).answer)
    assert found.startswith("Nothing was measured (quick run). CPU per request of redis at 1 kB: ")
    assert ". Compared: " in found
    assert found.endswith("; and 2 more comparisons.")


def test_what_was_decided_opens_and_what_is_invalid_comes_last(studies: ModuleType, synthetic: ModuleType) -> None:
    (invalid,) = families(studies, synthetic, 1.1, changes={(3, 0): studies.with_check("replies")})
    (undecided,) = families(studies, synthetic, 1.02, sd=0.06)
    (decided,) = families(studies, synthetic, 1.1)
    several = [invalid, invalid, undecided, decided]
    found = render_message(opening(synthetic.make_experiment(), [], several, quick=False).answer)
    reported = found.split("Compared: ")[1]
    assert reported.index("FASTER") < reported.index("UNDECIDED") < reported.index("INVALID")
    assert reported.count("INVALID") == 1
    assert reported.endswith("; and 1 more comparison.")


def test_the_line_on_what_was_compared(studies: ModuleType, synthetic: ModuleType) -> None:
    decided = families(studies, synthetic, 1.1)
    noisy = families(studies, synthetic, 1.02, sd=0.06)
    spoiled = families(studies, synthetic, 1.1, changes={(3, 0): studies.with_check("replies")})
    assert (
        render_message(comparison_line([], [*decided, *noisy, *spoiled]))
        == "3 comparisons: 1 decided, 1 undecided, 1 invalid"
    )
    assert render_message(comparison_line([], decided)) == "1 comparison: 1 decided"
    assert render_message(comparison_line([], [])) == "no comparison: one block"
    assert render_message(comparison_line(tables(row(1.0, None)), [])) == "no comparison was declared"


def test_many_pairs_are_put_together_by_their_verdicts(studies: ModuleType, synthetic: ModuleType) -> None:
    places = [{"payload": p, "workers": w} for p in ("100 B", "1 kB") for w in (1, 32)] + [{"idle": "many"}]
    ratios = [
        (studies.condition(operation=operation, **place), 1.2 if operation == "get" and number < 3 else 1.0)
        for number, place in enumerate(places)
        for operation in ("set", "get")
    ]
    pairs = tuple((2 * number, 2 * number + 1) for number in range(5))
    change = {(2, 9): studies.with_check("replies", measured=2.0)}
    run = studies.Study(synthetic, ratios, pairs=pairs, blocks=18, changes=change).run()
    (family,) = compare_groups(run, run.trials)
    answer = render_message(family.answer)
    assert answer.startswith("get against set: get FASTER by 1")
    assert " at 100 B, 1 worker / 100 B / 1 kB, 1 worker; EQUIVALENT within 5 % at 1 kB; " in answer
    assert answer.endswith("INVALID: replies, measured 2 %, limit 85 % at 1 kB, many.")


def higher_peak(trial: Any) -> Any:
    return trial.model_copy(update={"peak_per_s": 1.05 * trial.peak_per_s})


@pytest.mark.parametrize(
    ("ratio", "claims", "value", "verdict"),
    [
        (1.10, "more", 0.10, "holds"),
        (1.26, "more", 0.0652, "direction_holds_size_does_not"),
        (1.10, "more", 0.50, "direction_holds_size_does_not"),
        (0.90, "more", 0.10, "does_not_hold"),
        (0.80, "less", -0.20, "holds"),
        (0.80, "less", -0.50, "direction_holds_size_does_not"),
        (1.0, "more", 0.30, "does_not_hold"),
    ],
)
def test_a_claimed_figure_is_put_to_the_test_as_well(
    studies: ModuleType, synthetic: ModuleType, ratio: float, claims: str, value: float, verdict: str
) -> None:
    experiment = synthetic.make_experiment(conclusions=[claim(claims, value=value)])
    (found,) = answer_conclusions(experiment, [], families(studies, synthetic, ratio))
    assert found.verdict == verdict
    place = "inside" if verdict == "holds" else "outside"
    assert f"Claimed {100 * value:+.4g} %, measured " in render_message(found.answer)
    assert f"the claimed figure lies {place}" in render_message(found.answer)


def test_a_wide_interval_that_holds_the_figure_confirms_nothing(studies: ModuleType, synthetic: ModuleType) -> None:
    wide = families(studies, synthetic, 1.6, sd=0.2)
    assert wide[0].comparisons[0].primary.kind == "faster"
    small, large = claim("more", value=0.2), claim("more", value=20.0)
    experiment = synthetic.make_experiment(conclusions=[small, large])
    near = wide[0].comparisons[0].primary.model_copy(update={"low": 0.01})
    pairs = [wide[0].comparisons[0].model_copy(update={"primary": near})]
    found = answer_conclusions(experiment, [], [wide[0].model_copy(update={"comparisons": pairs})])
    assert [one.verdict for one in found] == ["direction_holds_size_undecided", "direction_holds_size_does_not"]
    assert "too wide to confirm it" in render_message(found[0].answer)


def test_an_undecided_direction_may_still_exclude_the_size(studies: ModuleType, synthetic: ModuleType) -> None:
    noisy = families(studies, synthetic, 1.02, sd=0.06)
    assert noisy[0].comparisons[0].primary.kind == "undecided"
    experiment = synthetic.make_experiment(conclusions=[claim("more", value=2.9255), claim("more", value=0.02)])
    far, near = answer_conclusions(experiment, [], noisy)
    assert (far.verdict, near.verdict) == ("size_does_not_hold", "undecided")


def test_a_claimed_time_is_turned_round_where_the_rate_answers(studies: ModuleType, synthetic: ModuleType) -> None:
    """24.04 % less time is 31.6 % more a second."""
    shorter = of_metric("response_ns.mean", "less") | {"value": -0.2404}
    experiment = synthetic.make_experiment(conclusions=[shorter])
    (found,) = answer_conclusions(experiment, [], families(studies, synthetic, 1 / (1 - 0.2404)))
    assert found.verdict == "holds"
    assert "Claimed +31.65 %, measured +3" in render_message(found.answer)
    (other,) = answer_conclusions(experiment, [], families(studies, synthetic, 1.10))
    assert other.verdict == "direction_holds_size_does_not"


def test_what_was_not_planned_was_left_out(studies: ModuleType, synthetic: ModuleType) -> None:
    experiment = synthetic.make_experiment(conclusions=[claim("more")])
    only_set = Planned([studies.condition()], (), quick=True)
    (quick,) = answer_conclusions(experiment, tables(row(1000.0, None)), [], only_set)
    assert quick.verdict == "left_out_of_quick"
    assert render_message(quick.answer) == "--quick leaves out these conditions. Run it without --quick for an answer."
    (full,) = answer_conclusions(experiment, [], [], Planned([studies.condition()], ()))
    assert (full.verdict, render_message(full.answer)) == ("left_out", "This run leaves out these conditions.")
    both = Planned([studies.condition(), studies.condition(operation="get")], ("kinds",), quick=True)
    (failed,) = answer_conclusions(experiment, [], [], both)
    assert failed.verdict == "no_valid_data"
    rows = tables(row(1000.0, None), row(1100.0, None, operation="get"))
    (beside,) = answer_conclusions(experiment, rows, [], Planned(both.conditions, (), quick=True))
    assert beside.verdict == "left_out_of_quick"
    assert len(beside.evidence) == 1


def test_what_only_left_out_is_not_said_to_be_left_out_by_quick(studies: ModuleType, synthetic: ModuleType) -> None:
    experiment = synthetic.make_experiment(conclusions=[claim("more")])
    of_quick = Planned([studies.condition(), studies.condition(operation="get")], ("kinds",), quick=True)
    by_only = Planned([studies.condition()], (), quick=True, of_quick=of_quick)
    (found,) = answer_conclusions(experiment, [], [], by_only)
    assert (found.verdict, render_message(found.answer)) == ("left_out", "This run leaves out these conditions.")
    rows = tables(row(1000.0, None), row(1100.0, None, operation="get"))
    (beside,) = answer_conclusions(
        experiment, rows, [], Planned(of_quick.conditions, (), quick=True, of_quick=of_quick)
    )
    assert (beside.verdict, len(beside.evidence)) == ("left_out", 1)
    assert "--quick" not in render_message(beside.answer)


def of_metric(metric: str, claims: str) -> dict[str, Any]:
    return claim(claims, metric=metric)


def test_a_mean_time_is_answered_by_the_rate_where_users_ask_back_to_back(
    studies: ModuleType, synthetic: ModuleType
) -> None:
    conclusions = [of_metric("response_ns.mean", "less"), of_metric("response_ns.mean", "more")]
    experiment = synthetic.make_experiment(conclusions=conclusions)
    less, more = answer_conclusions(experiment, [], families(studies, synthetic, 1.10))
    assert (less.verdict, more.verdict) == ("holds", "does_not_hold")
    assert "the mean time is the users over the rate" in render_message(less.answer)
    pausing = dict(experiment.workload.model) | {"think_time_ms": 5}
    paused = experiment.workload.model_copy(update={"model": pausing})
    unclear = experiment.model_copy(update={"workload": paused})
    found = answer_conclusions(unclear, tables(row(100, None)), families(studies, synthetic, 1.10))
    assert [one.verdict for one in found] == ["no_valid_data"] * 2


def test_a_metric_that_did_not_decide_is_answered_by_its_exploratory_verdict(
    studies: ModuleType, synthetic: ModuleType
) -> None:
    experiment = synthetic.make_experiment(conclusions=[of_metric("peak_per_s", "more")])
    (same,) = answer_conclusions(experiment, [], families(studies, synthetic, 1.10))
    assert same.verdict == "holds"
    assert render_message(same.answer).endswith(
        "(By the correct replies a second: the ratios of both are the same here.)"
    )
    peaks = {(block, 1): higher_peak for block in range(1, 13)}
    (found,) = answer_conclusions(experiment, [], families(studies, synthetic, 1.10, changes=peaks))
    assert found.verdict == "holds"
    assert render_message(found.answer).endswith("(By the operations in the best second; an exploratory metric.)")


def test_a_claim_about_an_invalid_pair_has_no_data_whatever_its_metric(
    studies: ModuleType, synthetic: ModuleType
) -> None:
    experiment = synthetic.make_experiment(conclusions=[of_metric("response_ns.mean", "less")])
    spoiled = families(studies, synthetic, 1.1, changes={(3, 0): studies.with_check("stored_rows")})
    (found,) = answer_conclusions(experiment, [], spoiled)
    assert found.verdict == "no_valid_data"
    assert "INVALID: stored_rows" in render_message(found.answer)
