"""When a gate is red: for a loss beyond the margin with the whole interval on that side, and for nothing else."""

import math
from dataclasses import replace

import pytest

from loadstone.addons.gate.result import FigureName, GateFigure, Standing
from loadstone.addons.gate.rule import (
    figure_verdict,
    is_known,
    is_over,
    may_be_lost,
    needs_more,
    shows_loss,
    starts_differ_in,
    status_of,
    unknown,
    verdict_of,
)
from loadstone.addons.gate.schedule import gate_level, gate_looks
from loadstone.addons.gate.spec import Gate
from loadstone.addons.gate.starts import starts_reach
from loadstone.experiment.plan.group import GroupDesign
from loadstone.experiment.plan.rounds import Rounds
from loadstone.judge.statistics.pair_evidence import NO_BLOCKS, block_evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import Side, Verdict, VerdictKind
from loadstone.run_folder.trial import CheckResult
from loadstone.text.message import message

LEVEL = 0.001


def verdict(kind: VerdictKind, low: float, high: float, *, rate: bool = False, **more: object) -> Verdict:
    """By shares of what a request costs, or of a rate."""
    return Verdict(
        **{"metric": "goodput_per_s", **more},  # type: ignore[arg-type]
        kind=kind,
        a=Side(name="base"),
        b=Side(name="head"),
        larger_is_faster=rate,
        margin=0.03,
        blocks=20,
        blocks_min=14,
        estimate=math.log1p((low + high) / 2),
        low=math.log1p(low),
        high=math.log1p(high),
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (verdict("faster", 0.04, 0.08, winner="a", materially=True), "slower"),
        (verdict("faster", 0.01, 0.08, winner="a"), "undecided"),
        (verdict("faster", -0.08, -0.01, winner="b"), "faster"),
        (verdict("equivalent", -0.01, 0.02), "same"),
        (verdict("undecided", -0.09, 0.02), "not_slower"),
        (verdict("undecided", -0.09, 0.04), "undecided"),
        (verdict("undecided", -0.02, 0.09, rate=True), "not_slower"),
        (verdict("undecided", -0.04, 0.09, rate=True), "undecided"),
        (verdict("undecided", -0.09, 0.02, total=0.06), "undecided"),
        (verdict("undecided", -0.09, 0.02, unsteady=message("cost_mixed")), "undecided"),
        (verdict("mixed", -0.09, 0.02), "undecided"),
    ],
)
def test_a_loss_must_be_beyond_the_margin_with_its_whole_interval(found: Verdict, expected: Standing) -> None:
    assert figure_verdict(found) == expected


@pytest.mark.parametrize(
    ("found", "starts", "expected"),
    [
        (verdict("faster", 0.09, 0.21, winner="a", materially=True), 0.10, "undecided"),
        (verdict("faster", 0.09, 0.21, winner="a", materially=True), 0.01, "slower"),
        (verdict("faster", 1.2, 1.6, winner="a", materially=True), 0.10, "slower"),
        (verdict("faster", -0.21, -0.09, winner="b"), 0.10, "not_slower"),
        (verdict("faster", -0.7, -0.6, winner="b"), 0.10, "faster"),
        (verdict("equivalent", -0.01, 0.02), 0.10, "same"),
        (verdict("undecided", -0.09, 0.04), 0.10, "undecided"),
        (verdict("undecided", -0.09, 0.02), 0.10, "not_slower"),
    ],
)
def test_what_two_starts_of_one_version_may_differ_by_is_no_loss(
    found: Verdict, starts: float, expected: Standing
) -> None:
    assert figure_verdict(found.model_copy(update={"level": 0.9999}), starts) == expected


def test_two_starts_may_be_as_far_apart_as_the_level_says() -> None:
    assert starts_reach(0.1, 0.95) == pytest.approx(1.96 * math.sqrt(2) * math.log(1.1), rel=1e-3)
    assert starts_reach(0.02, 0.95, of_latency=True) == pytest.approx(1.96 * math.sqrt(2) * math.log(1.3), rel=1e-3)
    assert starts_reach(0.0, 0.95, of_latency=True) == 0, "each block has its own start"
    red = verdict("faster", 0.09, 0.21, winner="a", materially=True, level=0.9999)
    assert is_over(red, None)
    assert not is_over(red, None, 0.1), "more may be known of the other figures"


def test_what_a_check_forbids_is_invalid_and_too_few_operations_are_not() -> None:
    def refused(name: str) -> Verdict:
        check = CheckResult(name=name, verdict="invalid", measured=1.0, limit=0.5, unit="%")
        return verdict("invalid", -0.1, 0.1, refusal=check)

    assert [figure_verdict(refused(name)) for name in ("errors", "samples")] == ["invalid", "undecided"]


def test_a_gate_goes_on_until_the_rate_or_the_cpu_is_known() -> None:
    def more(primary: Verdict, dearest: Verdict | None = None) -> bool:
        return needs_more(primary, dearest, ends=True)

    same, hidden = verdict("equivalent", -0.01, 0.02), verdict("not_decidable", -0.2, 0.1, level=0.9998)
    assert more(hidden, hidden), "no forecast ends it"
    assert not more(hidden, same)
    assert more(verdict("not_decidable", -0.2, 0.2, level=0.9998), same), "it may be a loss beyond the margin"
    assert not more(same, hidden)
    assert more(verdict("undecided", -0.02, 0.15), same), "the rate looks like a loss"
    assert more(same, verdict("faster", 0.01, 0.08, winner="a")), "a loss whose size is open"
    assert not more(hidden, verdict("faster", 0.04, 0.08, winner="a", materially=True))
    assert not more(hidden, verdict("faster", -0.08, -0.04, winner="b"))
    p99 = verdict("not_decidable", -0.5, 0.5, metric="p99")
    assert not more(p99), "it keeps no gate open"
    assert needs_more(p99, None, ends=False)
    assert more(verdict("not_decidable", -0.1, 0.9, metric="p99")), "but for what looks like a loss"


def test_at_a_rate_the_cpu_has_to_be_known() -> None:
    p99, same = verdict("not_decidable", -0.5, 0.5, metric="response_ns.p99"), verdict("equivalent", -0.01, 0.02)
    assert needs_more(p99, verdict("not_decidable", -0.2, 0.2), ends=True)
    assert not needs_more(p99, same, ends=True)
    assert needs_more(p99, same, ends=False), "the P99 may show a loss"


def test_a_loss_of_two_processes_is_gone_on_with_while_it_may_be_more_than_starts_differ_by() -> None:
    def more(low: float, high: float) -> bool:
        lost = verdict("faster", low, high, winner="a", materially=True, level=0.95)
        assert figure_verdict(lost, 0.01) == "undecided"
        return needs_more(verdict("equivalent", -0.01, 0.02), lost, ends=True, starts_differ=0.01)

    assert more(0.031, 0.13), "it reaches .05 beyond .03 once its own interval is narrow"
    assert not more(0.031, 0.05)


def test_what_forbids_any_verdict_ends_it_at_once() -> None:
    def refused(name: str, metric: str) -> Verdict:
        check = CheckResult(name=name, verdict="invalid", measured=1.0, limit=0.5, unit="%")
        return verdict("invalid", -0.1, 0.1, refusal=check, metric=metric)

    assert is_over(refused("errors", "goodput_per_s"), None)
    assert is_over(refused("errors", "p99"), None)
    assert is_over(refused("clock", "goodput_per_s"), None)
    assert not is_over(refused("warm_up", "p99"), None), "the rate may still be known"
    assert not is_over(refused("samples", "goodput_per_s"), None)


def test_at_a_glance_a_loss_shows_that_is_large_against_its_spread() -> None:
    def shows(heads: list[float], *, rate: bool = False) -> bool:
        settings = Settings(margin=0.1, larger_is_faster=rate)
        return shows_loss(block_evidence([1.0] * len(heads), heads, settings), settings)

    assert shows([5.0, 6.0, 4.0, 8.0, 5.5])
    assert not shows([0.2, 0.3, 0.2, 0.25, 0.2]), "it is faster"
    assert shows([0.2, 0.3, 0.2, 0.25, 0.2], rate=True), "and as a rate it is slower"
    assert not shows([1.05, 1.06, 1.04, 1.05, 1.07]), "within the margin"
    assert not shows([0.5, 3.0, 1.0, 0.7, 2.0]), "noise"
    assert not shows_loss(NO_BLOCKS, Settings())
    started_once = Settings(margin=0.1, larger_is_faster=False)
    assert not shows_loss(block_evidence([1.0] * 5, [1.4, 1.5, 1.4, 1.5, 1.4], started_once), started_once, 0.1)


def figure(name: FigureName, standing: Standing, slower: float = 0.0) -> GateFigure:
    return GateFigure(
        name=name,
        unit="ns",
        verdict=standing,
        tolerance=0.03,
        ratio=1 + slower,
        low=0.99 + slower,
        high=1.01 + slower,
        slower=slower,
        slower_low=slower - 0.01,
        slower_high=slower + 0.01,
    )


@pytest.mark.parametrize(("share", "expected"), [(-0.049, "not_slower"), (-0.0499, "not_slower"), (-0.0501, "slower")])
def test_a_tolerance_is_a_share_of_the_base_of_a_rate_too(share: float, expected: Standing) -> None:
    """5 % of 100,000 is 95,000, and not 95,238 (1 / 1.05)."""
    kind: VerdictKind = "faster" if expected == "slower" else "undecided"
    found = verdict(kind, share, share + 0.00005, rate=True, winner="a" if kind == "faster" else None, materially=True)
    assert figure_verdict(found.model_copy(update={"margin": 0.05})) == expected


def test_a_rate_that_lies_between_both_readings_of_a_tolerance_is_open() -> None:
    """Below 1 / 1.05 of the base, which the comparison calls material, and above 95 % of it."""
    found = verdict("faster", -0.0495, -0.0485, rate=True, winner="a", materially=True)
    assert figure_verdict(found.model_copy(update={"margin": 0.05})) == "undecided"


def test_no_rate_falls_by_more_than_all_of_it() -> None:
    found = verdict("faster", -0.95, -0.9, rate=True, winner="a", materially=True)
    assert figure_verdict(found.model_copy(update={"margin": 1.0})) == "undecided"


def test_one_figure_makes_it_red_and_one_of_rate_and_cpu_makes_it_green() -> None:
    rate, cpu = figure("rate", "undecided"), figure("cpu", "same")
    assert verdict_of([rate, cpu]) == ("same", ["cpu"])
    assert verdict_of([rate, cpu, figure("p99", "slower", 0.4)]) == ("slower", ["p99"])
    assert verdict_of([rate, figure("p99", "same")]) == ("undecided", [])
    assert verdict_of([rate, figure("cpu", "faster", -0.2)]) == ("faster", ["cpu"])
    assert verdict_of([rate, cpu], invalid=True) == ("invalid", [])
    assert verdict_of([figure("p99", "same")]) == ("same", ["p99"]), "at a rate, of what runs elsewhere"


def test_a_known_loss_of_these_two_processes_is_not_green() -> None:
    lost = figure("cpu", "undecided", 0.5).model_copy(
        update={"may_be_lost": True, "why": message("gate_starts", differ=0.7)}
    )
    assert verdict_of([figure("rate", "same"), lost]) == ("undecided", [])


@pytest.mark.parametrize("name", ["rate", "cpu"])
def test_no_gate_is_green_beside_a_deciding_figure_that_may_be_lost(name: FigureName) -> None:
    other: FigureName = "cpu" if name == "rate" else "rate"

    open_ = figure(name, "undecided", 0.42)
    lost = open_.model_copy(update={"may_be_lost": True})
    assert verdict_of([open_, figure(other, "same")]) == ("same", [other])
    assert verdict_of([lost, figure(other, "same")]) == ("undecided", [])
    assert verdict_of([lost, figure(other, "faster", -0.3)]) == ("undecided", [])
    assert [one.name for one in unknown([open_, figure(other, "same")])] == [name]


@pytest.mark.parametrize("rate", [False, True])
def test_a_loss_beyond_the_margin_must_be_unlikely(rate: bool) -> None:
    def lost(middle: float, low: float, high: float) -> bool:
        sign = -1 if rate else 1
        ends = {"low": sign * math.log1p(low), "high": sign * math.log1p(high), "estimate": sign * math.log1p(middle)}
        open_ = verdict("undecided", low, high, rate=rate, level=0.9998).model_copy(update=ends)
        return may_be_lost(open_.model_copy(update={"low": open_.high, "high": open_.low} if rate else {}))

    assert lost(0.42, 0.005, 1.23), "waiting costs no CPU"
    assert lost(0.42, -0.2, 1.23)
    assert lost(0.012, -0.2, 0.31), "it may be as well .07, one standard error above"
    assert lost(0.02, 0.01, 0.025), "a loss whose size is open"
    assert not lost(-0.01, -0.2, 0.12)
    assert not may_be_lost(verdict("undecided", 0.1, 0.2).model_copy(update={"low": None})), "no interval"


def test_what_varies_more_between_equal_versions_keeps_from_green_with_a_loss_that_is_shown() -> None:
    def green_beside(low: float, why: str = "") -> bool:
        reason = message("gate_starts", differ=0.7) if why else None
        update = {"may_be_lost": True, "slower_low": low, "why": reason}
        p99 = figure("p99", "undecided", 0.5).model_copy(update=update)
        return verdict_of([figure("rate", "same"), figure("cpu", "same"), p99])[0] == "same"

    assert green_beside(-0.4)
    assert not green_beside(0.02)
    assert green_beside(0.2, "two starts of one version differ so")


def test_the_p99_may_not_be_unknown_where_no_rate_is_compared() -> None:
    cpu, p99 = figure("cpu", "same"), figure("p99", "undecided")
    assert [one.name for one in unknown([cpu, p99])] == ["p99"]
    assert unknown([figure("rate", "same"), cpu, p99]) == []


def test_time_that_is_left_is_for_the_open_one_of_rate_and_cpu() -> None:
    same, open_ = verdict("equivalent", -0.01, 0.02), verdict("undecided", -0.2, 0.3)
    assert is_known(same, same)
    assert is_known(same, None)
    assert not is_known(open_, same)
    assert not is_known(same, open_)
    assert is_known(verdict("not_decidable", -0.2, 0.3), same), "more blocks would not decide it"
    assert is_known(open_.model_copy(update={"metric": "response_ns.p99"}), same)
    withheld = verdict("faster", 0.09, 0.21, winner="a", materially=True, level=0.9999)
    assert is_known(withheld, same, 0.1), "no more blocks decide what starts may explain"


def test_what_is_measured_in_whole_trials_is_started_once() -> None:
    rounds = Rounds(blocks=(4,), processes="restarted")
    gate = Gate(restarts=True, starts_differ=0.02)
    group = GroupDesign(
        name="rate", pairs=(), metric="goodput_per_s", margin=0.03, looks=(15,), sequential=True, warm_block=True,
        trial_s=0.4, overhead_s=0.4, rounds=rounds,
    )  # fmt: skip
    assert starts_differ_in(gate, group) == 0
    assert starts_differ_in(gate, replace(group, rounds=None)) == 0.02
    assert starts_differ_in(gate, replace(group, rounds=replace(rounds, processes="once"))) == 0.02


def test_where_the_twin_differs_nothing_is_claimed() -> None:
    figures = [figure("cpu", "slower", 0.2)]
    assert verdict_of(figures, [figure("cpu", "slower", 0.2)]) == ("invalid", ["cpu"])
    assert verdict_of(figures, [figure("cpu", "faster", -0.2)]) == ("invalid", ["cpu"])
    assert verdict_of(figures, [figure("cpu", "faster", -0.02), figure("rate", "undecided")])[0] == "slower"


def test_each_verdict_has_its_status() -> None:
    assert [status_of(one) for one in ("same", "faster", "slower", "invalid", "undecided")] == [0, 0, 1, 3, 4]
    assert [status_of("undecided", how) for how in ("pass", "fail")] == [0, 1]


def test_the_first_look_is_where_the_exact_test_has_an_interval() -> None:
    alpha = gate_level(LEVEL, 4, sequential=True, in_rounds=False)
    looks = gate_looks(alpha)
    assert 2.0 ** (1 - looks[0]) <= alpha
    assert list(looks) == sorted(set(looks))
    assert gate_looks(alpha / 2)[0] == looks[0] + 1
