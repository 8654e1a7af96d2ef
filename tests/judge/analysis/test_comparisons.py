"""Whole comparisons: a known difference in, the verdict out, and every rule that forbids one."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.changed_facts import with_drive
from tests.verdicts import verdict

from loadstone.judge.analysis import comparisons, looks
from loadstone.judge.analysis.analysis import Comparison, Family
from loadstone.judge.analysis.comparisons import compare_groups
from loadstone.judge.analysis.looks import look_at
from loadstone.judge.compare.carried import apply_carry_over_check
from loadstone.judge.verdict import Verdict
from loadstone.report import figure_format as fmt
from loadstone.report.verdicts import verdict_text
from loadstone.run_folder.look import LookVerdict
from loadstone.run_folder.reading import RecordedRun
from loadstone.safety.errors import DriveFailed
from loadstone.text.english.figures import metric_text
from loadstone.text.message import message
from loadstone.text.sentences import render_message

Studies = Callable[..., Any]
MOVES = message("cost_moving", moved=0.1)


@pytest.fixture
def study(studies: ModuleType, synthetic: ModuleType) -> Studies:
    """A study of set (A) and get (B), which is 10 % faster unless `ratio` says otherwise."""

    def make(ratio: float = 1.10, **changes: Any) -> Any:
        ratios = [(studies.condition(), 1.0), (studies.condition(operation="get"), ratio)]
        return studies.Study(synthetic, **({"ratios": ratios} | changes))

    return make


def families(run: RecordedRun) -> list[Family]:
    return compare_groups(run, run.trials)


def one(run: RecordedRun) -> Comparison:
    (family,) = families(run)
    (comparison,) = family.comparisons
    return comparison


def test_a_known_difference_is_found(study: Studies) -> None:
    (family,) = families(study(1.10).run())
    (found,) = family.comparisons
    primary = found.primary
    assert (primary.kind, primary.winner, primary.materially) == ("faster", "b", True)
    assert verdict_text(primary).startswith("get FASTER by 10")
    assert primary.low < math.log(1.10) < primary.high
    assert primary.level == pytest.approx(1 - 0.0157)
    assert (primary.blocks, found.blocks_done, found.pairs, found.ended) == (12, 12, 1, "decided")
    assert (found.between, found.place, found.name) == ("operation", "1 kB", "kinds")
    assert (primary.a.name, primary.b.name) == ("set", "get")
    assert fmt.sentence(family.answer) == f"get against set: {verdict_text(primary)} at 1 kB."
    assert family.question == "Is a get faster?"
    assert metric_text(family.metric) == "correct replies a second"
    assert primary.b.typical == pytest.approx(1.1 * primary.a.typical, rel=0.03)


def test_the_warm_block_never_counts(study: Studies) -> None:
    found = one(study(1.0).run())
    assert found.primary.kind == "equivalent"
    assert min(point.block for point in found.primary.points) == 1


def test_equal_conditions_are_equivalent(study: Studies) -> None:
    found = one(study(1.0).run())
    assert verdict_text(found.primary).startswith("EQUIVALENT within 5 %")
    assert found.primary.winner is None


def test_one_block_is_undecided_and_without_an_interval(study: Studies) -> None:
    found = one(study(2.0, blocks=1).run(stop=None))
    assert found.primary.kind == "undecided"
    assert (found.primary.low, found.primary.high) == (None, None)
    assert verdict_text(found.primary).startswith("UNDECIDED: no interval from 1 block, at least 8 are needed; about ")
    replication = next(check for check in found.checks if check.name == "replication")
    assert (replication.verdict, replication.measured, replication.limit) == ("suspect", 1, 8)
    assert found.ended == "interrupted"


def test_nothing_measured_is_undecided(study: Studies) -> None:
    run = replace(study().run(stop=None), trials=())
    assert verdict_text(one(run).primary).startswith("UNDECIDED: no interval from 0 blocks")


def test_time_still_needed_is_said(study: Studies) -> None:
    found = one(study(1.02, sd=0.06, blocks=12).run())
    assert found.primary.kind == "undecided"
    assert "more minutes" in verdict_text(found.primary)
    assert found.primary.more_minutes > 0
    assert found.primary.detectable > 0


@pytest.mark.parametrize("name", ["conservation", "server_counter", "replies"])
def test_an_exact_check_that_fails_once_is_enough(study: Studies, studies: ModuleType, name: str) -> None:
    found = one(study(changes={(7, 1): studies.with_check(name, measured=3.0)}).run())
    assert found.primary.kind == "invalid"
    assert verdict_text(found.primary) == f"INVALID: {name}, measured 3 %, limit 85 %"
    assert (found.primary.estimate, found.primary.low, found.primary.a.typical) == (None, None, None)
    assert all(point.log_ratio is None for point in found.primary.points)
    assert found.exploratory == []


def test_another_check_may_fail_in_a_fifth_of_the_blocks(study: Studies, studies: ModuleType) -> None:
    failed = studies.with_check("little")
    few = one(study(changes={(2, 0): failed, (5, 1): failed}).run())
    assert few.primary.kind == "faster"
    assert few.primary.blocks == 10
    dropped = [point for point in few.primary.points if not point.used]
    assert [point.block for point in dropped] == [2, 5]
    assert render_message(dropped[0].why).endswith("little invalid")
    assert (dropped[0].a, dropped[0].log_ratio) == (None, None)
    assert dropped[0].b is not None
    assert any(warning.startswith("2 of 12 blocks left out") for warning in map(render_message, few.warnings))
    many = one(study(changes={(block, 1): failed for block in (2, 5, 6)}).run())
    assert verdict_text(many.primary) == "INVALID: little, measured 97 %, limit 85 %"


def test_the_most_frequent_check_is_named(study: Studies, studies: ModuleType) -> None:
    changes = {(block, 0): studies.with_check("little") for block in (1, 2, 3)}
    changes |= {(block, 1): studies.with_check("payload") for block in (7, 8)}
    assert verdict_text(one(study(changes=changes).run()).primary).startswith("INVALID: little, ")


def test_a_single_run_that_fails_a_check_is_invalid(study: Studies, studies: ModuleType) -> None:
    failed = studies.with_check("little", measured=100.0)
    found = one(study(1.0, blocks=1, changes={(1, 0): failed, (1, 1): failed}).run(stop=None))
    assert verdict_text(found.primary) == "INVALID: little, measured 100 %, limit 85 %"


def test_suspect_trials_are_used_and_counted(study: Studies, studies: ModuleType) -> None:
    changes = {(block, 0): studies.with_check("swap", "suspect", 3.0) for block in range(1, 10)}
    found = one(study(changes=changes).run())
    assert (found.primary.kind, found.primary.blocks) == ("faster", 12)
    assert "swap suspect in 9 of 24 trials: By swap." in map(render_message, found.warnings)


def test_blocks_that_were_measured_again_are_counted_and_forbid_nothing(study: Studies, studies: ModuleType) -> None:
    made = study()
    swapped = [studies.with_check("swap", "invalid", 30.0)(t) for t in made.trials() if t.block in (1, 4, 9)]
    found = one(made.run(superseded=tuple(swapped)))
    assert (found.primary.kind, found.blocks_repeated) == ("faster", 3)


def test_different_failures_forbid_a_verdict(study: Studies) -> None:
    def fails(trial: Any) -> Any:
        counts = trial.counts.model_copy(update={"errors": {"server_oom": round(0.008 * trial.counts.sent)}})
        return trial.model_copy(update={"counts": counts})

    found = one(study(changes={(block, 1): fails for block in range(1, 13)}).run())
    assert verdict_text(found.primary).startswith("INVALID: errors, measured 0.8")
    assert verdict_text(found.primary).endswith("points, limit 0.5 points")
    assert found.exploratory == []


def test_a_group_is_judged_at_the_look_that_stopped_it(study: Studies) -> None:
    made = study(blocks=15)
    found = one(made.run(stop=12))
    assert (found.primary.blocks, found.blocks_done) == (12, 15)
    later = [point for point in found.primary.points if not point.used]
    assert [(point.block, render_message(point.why)) for point in later] == [
        (n, "measured after the last look") for n in (13, 14, 15)
    ]
    assert any(
        "3 blocks were measured after the last look" in warning for warning in map(render_message, found.warnings)
    )


def test_a_group_cut_short_is_judged_at_the_look_below(study: Studies, studies: ModuleType) -> None:
    run = study(blocks=17).run(stop=None, looks=(studies.look("kinds", 12, "go on", stop=False),))
    found = one(run)
    assert (found.primary.blocks, found.ended) == (12, "interrupted")


def test_what_a_look_decided_and_the_end_does_not_is_said_with_its_figure(study: Studies, studies: ModuleType) -> None:
    decided = LookVerdict(kind="faster", winner="b", estimate=math.log(1.12), low=math.log(1.09), high=math.log(1.15))
    early = studies.look("kinds", 12, "go on", stop=False).model_copy(update={"verdicts": [decided]})
    run = study(blocks=10, looks=(12, 18)).run(stop=None)
    found = verdict_text(one(replace(run, looks=(early,))).primary)
    assert found.startswith("UNDECIDED: no interval")
    assert "; after 12 blocks it was get FASTER by 12 % [9, 15], which all blocks together do not confirm" in found
    shorter = verdict_text(one(replace(run, shorter_looks=(early,))).primary)
    assert "; in shorter slices it was get FASTER by 12 % [9, 15], which does not count" in shorter
    stands = study(blocks=12).run(stop=None, looks=(early,))
    assert "it was" not in verdict_text(one(stands).primary), "what stands needs no clause"


def test_a_block_that_lacks_a_trial_is_not_complete(study: Studies) -> None:
    run = study(blocks=13).run(stop=None)
    without = tuple(trial for trial in run.trials if (trial.block, trial.condition["operation"]) != (3, "get"))
    found = one(replace(run, trials=without))
    assert found.blocks_done == 12
    assert 3 not in [point.block for point in found.primary.points]


def test_a_fixed_design_is_judged_once_at_its_end(study: Studies) -> None:
    whole = one(study(blocks=11, sequential=False, looks=(11,)).run(stop=None))
    assert (whole.primary.blocks, whole.sequential) == (11, False)
    assert whole.primary.level == pytest.approx(0.95)
    cut = one(study(blocks=11, sequential=False, looks=(20,)).run(stop=None))
    assert verdict_text(cut.primary).startswith("UNDECIDED: no interval")


def test_a_group_cut_short_before_its_first_look_gets_no_interval(study: Studies) -> None:
    found = one(study(blocks=10, looks=(12, 18)).run(stop=None))
    assert verdict_text(found.primary).startswith("UNDECIDED: no interval")


def test_failures_of_one_side_are_no_accident(study: Studies, studies: ModuleType) -> None:
    fails = studies.with_check("finished", "invalid")
    once = one(study(changes={(3, 1): fails}).run())
    assert once.primary.kind == "faster"
    twice = one(study(changes={(3, 1): fails, (7, 1): fails}).run())
    assert verdict_text(twice.primary).startswith("INVALID: finished")


def test_a_block_without_a_figure_forbids_a_verdict(study: Studies) -> None:
    nothing = {(3, 1): lambda trial: trial.model_copy(update={"goodput_per_s": 0.0})}
    assert verdict_text(one(study(changes=nothing).run()).primary).startswith("INVALID: figures")


def test_a_block_of_two_passes_does_not_count(study: Studies) -> None:
    run = study(blocks=12).run(stop=None)
    late = [t.model_copy(update={"started_unix_ns": t.started_unix_ns + 10**13}) if t.block == 5 and t.order == 1 else t
            for t in run.trials]  # fmt: skip
    assert one(replace(run, trials=tuple(late))).blocks_done == 11


def three(studies: ModuleType, synthetic: ModuleType, ratios: list[float], **changes: Any) -> RecordedRun:
    conditions = [studies.condition(payload="100 B"), studies.condition(), studies.condition(operation="get")]
    pairs = ((0, 1), (0, 2), (1, 2))
    made = studies.Study(synthetic, list(zip(conditions, ratios, strict=True)), pairs=pairs, **changes)
    return made.run()


def test_three_ways_share_the_level_by_holm(studies: ModuleType, synthetic: ModuleType) -> None:
    (family,) = families(three(studies, synthetic, [1.0, 1.2, 1.2], blocks=18))
    assert [pair.primary.kind for pair in family.comparisons] == ["faster", "faster", "equivalent"]
    assert {pair.primary.level for pair in family.comparisons} == {1 - 0.0157 / 3}
    assert {pair.pairs for pair in family.comparisons} == {3}
    assert render_message(family.answer).count(" against ") == 3


def test_holm_decides_what_its_own_interval_alone_would_not(studies: ModuleType, synthetic: ModuleType) -> None:
    """With the two others rejected, the last pair is held to the whole level: its interval ends at zero."""

    free = {(block, number): studies.costs(0.0) for block in range(13) for number in range(3)}

    def found(seed: int) -> list[Any]:
        made = three(studies, synthetic, [1.0, 1.3, 1.265], blocks=12, sd=0.022, seed=seed, changes=free)
        (family,) = families(made)
        return [pair.primary for pair in family.comparisons]

    last = [found(seed)[2] for seed in range(12)]
    cut = [one for one in last if 0.0 in (one.low, one.high)]
    assert cut
    assert all(one.kind in ("faster", "mixed", "equivalent") for one in cut)


def test_a_pair_that_is_invalid_leaves_the_others_alone(studies: ModuleType, synthetic: ModuleType) -> None:
    change = {(4, 2): studies.with_check("replies", measured=1.0)}
    (family,) = families(three(studies, synthetic, [1.0, 1.2, 1.2], blocks=18, changes=change))
    assert [pair.primary.kind for pair in family.comparisons] == ["faster", "invalid", "invalid"]
    assert "INVALID: replies, measured 1 %, limit 85 %" in render_message(family.answer)


def test_an_order_effect_is_a_warning(study: Studies) -> None:
    found = one(study(1.0, blocks=27, sd=0.005, carried_over=0.03).run())
    order = next(check for check in found.checks if check.name == "order_effect")
    assert order.verdict == "suspect"
    assert order.measured < order.limit == 0.01
    assert any("depends on which of the two runs first" in warning for warning in map(render_message, found.warnings))
    quiet = one(study(1.0, blocks=27, sd=0.005).run())
    assert next(check for check in quiet.checks if check.name == "order_effect").verdict == "valid"


def test_round_trips_are_not_capacity(study: Studies) -> None:
    assert "both conditions were latency-bound: this ranks round trips, not capacity." in map(
        render_message, one(study().run()).warnings
    )


def higher_peak(trial: Any) -> Any:
    return trial.model_copy(update={"peak_per_s": 1.05 * trial.peak_per_s})


def test_what_repeats_the_primary_metric_is_no_exploratory_row(study: Studies) -> None:
    found = one(study(1.10).run())
    assert found.exploratory == []
    assert found.repeats == {"throughput_per_s": "goodput_per_s", "peak_per_s": "goodput_per_s"}
    assert found.on("peak_per_s") == found.primary
    assert found.on("response_ns.p50") is None
    assert render_message(found.notes[0]) == (
        "Not listed: operations a second, operations in the best second. The same ratios as correct replies a second."
    )


def test_a_rate_of_its_own_is_explored(study: Studies) -> None:
    found = one(study(1.10, changes={(block, 1): higher_peak for block in range(1, 13)}).run())
    assert [judged.metric for judged in found.exploratory] == ["peak_per_s"]
    assert (found.exploratory[0].role, found.exploratory[0].points) == ("exploratory", [])
    assert found.exploratory[0].estimate == pytest.approx(found.primary.estimate + math.log(1.05))
    assert found.repeats == {"throughput_per_s": "goodput_per_s"}


def test_one_block_that_differs_makes_a_row_of_its_own(study: Studies) -> None:
    assert "peak_per_s" not in one(study(1.10, changes={(4, 1): higher_peak}).run()).repeats


def test_latencies_left_out_are_a_note_and_no_warning(study: Studies) -> None:
    found = one(study(1.10).run())
    left_out = [note for note in map(render_message, found.notes) if note.startswith("Not compared: latencies.")]
    assert len(left_out) == 1
    assert "in a closed model the faster one also sends more" in left_out[0]
    assert not any("Not compared" in warning for warning in map(render_message, found.warnings))


def test_a_latency_that_decides_needs_the_same_rate(study: Studies) -> None:
    found = one(study(1.10, metric="response_ns.p50", margin=0.10).run())
    assert found.primary.kind == "invalid"
    assert verdict_text(found.primary).startswith("INVALID: offered_rate, measured ")
    assert verdict_text(found.primary).endswith(" %, limit 1 %")
    assert [judged.metric for judged in found.exploratory] == ["goodput_per_s"]
    assert found.repeats == {"throughput_per_s": "goodput_per_s", "peak_per_s": "goodput_per_s"}


def same_rate(trial: Any) -> Any:
    return trial.model_copy(update={"throughput_per_s": 200.0})


def test_at_the_same_rate_latencies_are_compared(study: Studies) -> None:
    changes = {(block, number): same_rate for block in range(1, 13) for number in (0, 1)}
    found = one(study(1.25, metric="response_ns.p50", margin=0.10, changes=changes).run())
    assert (found.primary.kind, found.primary.winner) == ("faster", "b")
    assert verdict_text(found.primary).startswith(("get FASTER by 19", "get FASTER by 20", "get FASTER by 21"))
    assert found.primary.estimate < 0


def test_a_coarse_clock_gives_no_ratio(study: Studies) -> None:
    def coarse(trial: Any) -> Any:
        return same_rate(with_drive(trial, clock_quantum_ns=100_000_000))

    changes = {(block, number): coarse for block in range(1, 13) for number in (0, 1)}
    found = one(study(1.25, metric="response_ns.p50", margin=0.10, changes=changes).run())
    assert verdict_text(found.primary).startswith("INVALID: clock, measured ")
    assert verdict_text(found.primary).endswith("limit 5 %")


def test_a_quantile_is_that_of_the_merged_histograms(study: Studies, studies: ModuleType) -> None:
    changes = {(block, number): same_rate for block in range(1, 13) for number in (0, 1)}
    made = study(1.0, metric="response_ns.p99", margin=0.10, changes=changes)
    operation = {trial.trial: trial.condition["operation"] for trial in made.trials()}
    rng = np.random.default_rng(3)

    def histograms(trial: str, _kind: str) -> Any:
        return studies.tail(rng, 1.3 if operation[trial] == "get" else 1.0)

    found = look_at(made.group(), made.made_experiment, made.trials(), 45.0, histograms=histograms)
    assert found.decided
    assert verdict_text(found.verdicts[0]).startswith("get SLOWER by ")
    lost = one(made.run())
    assert verdict_text(lost.primary).startswith("INVALID: latencies, ")
    with pytest.raises(ValueError, match="its histograms are needed"):
        look_at(made.group(), made.made_experiment, made.trials(), 45.0)


def test_a_quantile_that_few_operations_lie_beyond_is_not_compared(study: Studies) -> None:
    changes = {(block, number): same_rate for block in range(1, 13) for number in (0, 1)}
    found = one(study(1.0, metric="response_ns.p999", margin=0.10, changes=changes).run())
    assert verdict_text(found.primary).startswith("INVALID: samples, measured ")


def test_a_look_says_what_the_analysis_says(study: Studies) -> None:
    made = study(1.10)
    found = look_at(made.group(), made.made_experiment, made.trials(), 45.0)
    assert found.decided
    assert found.forecast is None
    assert [verdict_text(verdict) for verdict in found.verdicts] == [verdict_text(one(made.run()).primary)]


def test_a_look_that_decides_nothing_goes_on(study: Studies) -> None:
    made = study(1.02, sd=0.06, blocks=8)
    found = look_at(made.group(), made.made_experiment, made.trials(), None)
    assert not found.decided
    assert verdict_text(found.verdicts[0]).startswith("UNDECIDED: ")
    assert render_message(found.forecast).startswith("its blocks spread by ")
    assert ": with 12 of them a difference of " in render_message(found.forecast)
    wilder = study(1.02, sd=0.12, blocks=8)
    other = look_at(wilder.group(), wilder.made_experiment, wilder.trials(), None)
    assert shown(render_message(other.forecast)) > 1.5 * shown(render_message(found.forecast))


def shown(forecast: str) -> float:
    return float(forecast.partition("a difference of ")[2].partition(" %")[0])


def test_a_look_says_quick(study: Studies) -> None:
    made = study(1.10)
    found = look_at(made.group(), made.made_experiment, made.trials(), None, quick=True)
    assert verdict_text(found.verdicts[0]).endswith("(quick)")
    assert found.decided


def test_a_damaged_log_is_named(study: Studies) -> None:
    def damaged(trial: str, _kind: str) -> Any:
        raise DriveFailed.of(f"{trial}.hlog: cannot be read")

    changes = {(block, number): same_rate for block in range(1, 13) for number in (0, 1)}
    made = study(1.0, metric="response_ns.p99", margin=0.10, changes=changes)
    found = look_at(made.group(), made.made_experiment, made.trials(), None, histograms=damaged)
    assert verdict_text(found.verdicts[0]).startswith("INVALID: latencies, kinds-b01-00")


def test_noise_beyond_four_budgets_is_not_decidable_here(study: Studies) -> None:
    made = study(1.0, sd=0.4)
    found = look_at(made.group(), made.made_experiment, made.trials(), 3.0)
    assert verdict_text(found.verdicts[0]).startswith("NOT DECIDABLE HERE: noise floor 1.")
    assert found.decided


def test_a_group_that_no_comparison_declares_is_judged_too(study: Studies) -> None:
    (family,) = families(study(experiment={"comparisons": []}).run())
    assert (family.name, family.question) == ("ad hoc", "")
    assert family.comparisons[0].primary.kind == "faster"
    assert family.comparisons[0].place == ""


def test_groups_without_pairs_are_no_comparison(study: Studies) -> None:
    run = study().run()
    table = replace(run.plan.groups[0], pairs=())
    assert families(replace(run, plan=run.plan.model_copy(update={"groups": (table,)}))) == []


@pytest.mark.parametrize(
    ("rounds", "rate", "cost", "ends"),
    [
        (12, verdict("faster", 40, 20, 60, materially=True), verdict("faster", 30, 20, 40), True),
        (12, verdict("faster", 40, 2, 90), verdict("faster", 30, 20, 40), False),
        (20, verdict("faster", 40, 20, 60, materially=True), verdict("equivalent", 1, -2, 4), False),
        (20, verdict("faster", 40, 20, 60, materially=True), verdict("faster", -20, -30, -10), False),
        (32, verdict("faster", 40, 2, 90), verdict("faster", 30, 20, 40), True),
        (32, verdict("faster", 40, 20, 60, materially=True), verdict("undecided", 6, -2, 14), False),
        (
            32,
            verdict("faster", 40, 20, 60, materially=True),
            verdict("undecided", 6, -2, 14, unsteady=MOVES),
            True,
        ),
        (48, verdict("undecided", 10, -5, 30), verdict("faster", 30, 20, 40), False),
        (72, verdict("undecided", 10, -5, 30), verdict("faster", 30, 20, 40), True),
        (72, verdict("faster", 10, 5, 30), verdict("undecided", 6, -2, 14), True),
        (72, verdict("undecided", 10, -5, 30), verdict("undecided", 6, -2, 14), False),
    ],
)
def test_a_comparison_in_rounds_ends_when_rate_and_cost_are_decided_or_one_of_them_after_many(
    rounds: int, rate: Verdict, cost: Verdict, ends: bool, study: Studies, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = rate.model_copy(update={"unit": "round", "blocks": rounds, "metric": "goodput_per_s"})
    monkeypatch.setattr(comparisons, "_costs", lambda *_: [cost])
    for module in (looks, comparisons):
        monkeypatch.setattr(module, "apply_carry_over_check", partial(_as_judged, judged))
    made = study()
    assert look_at(made.group(), made.made_experiment, made.trials(), None).decided == ends


@pytest.mark.parametrize("rounds", [12, 20, 32])
def test_what_a_request_costs_is_judged_once_at_a_look_and_once_in_a_report(
    rounds: int, study: Studies, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate = verdict("faster", 40, 20, 60, materially=True)
    judged = rate.model_copy(update={"unit": "round", "blocks": rounds, "metric": "goodput_per_s"})
    asked: list[object] = []
    monkeypatch.setattr(comparisons, "_costs", lambda *pair: asked.append(pair) or [verdict("faster", 30, 20, 40)])
    for module in (looks, comparisons):
        monkeypatch.setattr(module, "apply_carry_over_check", partial(_as_judged, judged))
    made = study()
    look_at(made.group(), made.made_experiment, made.trials(), None)
    assert len(asked) == len(made.group().pairs)
    asked.clear()
    assert families(made.run())
    assert len(asked) == len(made.group().pairs)


def _as_judged(judged: Verdict, case: Any, pairs: Any, *_: Any) -> Any:
    found = apply_carry_over_check(case, pairs, [])
    return found._replace(judged=[(pair, evidence, judged) for pair, evidence, _ in found.judged])
