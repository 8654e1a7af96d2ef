"""How ratios and times are written."""

import math
from typing import Any

import pytest
from tests.verdicts import verdict

from loadstone.judge.verdict import VerdictKind
from loadstone.report import figure_format as fmt
from loadstone.report import verdicts
from loadstone.text import sentences
from loadstone.text.english.verdicts import minutes_text
from loadstone.text.figures import check_figure, difference_text, percent_text, size_text, sizes_text
from loadstone.text.message import message


def log(*percents: float) -> list[float]:
    return [math.log1p(value / 100) for value in percents]


@pytest.mark.parametrize(
    ("percents", "text"),
    [
        ((12, 9, 15), "+12 % [9, 15]"),
        ((-17, -19, -15), "-17 % [-19, -15]"),
        ((-2.2, -5, 0.9), "-2 % [-5, 1]"),
        ((1.24, 0.4, 2.1), "+1.2 % [0.4, 2.1]"),
        ((3, 0.3, 5.9), "+3.0 % [0.3, 5.9]"),
        ((0.121, 0.05, 0.19), "+0.12 % [0.05, 0.19]"),
        ((7, 0, 15), "+7 % [0, 15]"),
        ((-0.2, -4, 4), "0 % [-4, 4]"),
        ((50, 40, 60), "+50 % [40, 60]"),
        ((-50, -60, -40), "-50 % [-60, -40]"),
        ((51, 40, 62), "1.51 times [1.40, 1.62]"),
        ((-51, -60, -42), "0.49 times [0.40, 0.58]"),
        ((-83.2, -85.4, -81.0), "0.17 times [0.15, 0.19]"),
        ((-88.8, -89.2, -88.4), "0.112 times [0.108, 0.116]"),
        ((-93.18, -93.9, -92.4), "0.068 times [0.061, 0.076]"),
        ((154, 130, 180), "2.5 times [2.3, 2.8]"),
        ((1366, 1220, 1530), "14.7 times [13.2, 16.3]"),
    ],
)
def test_a_difference_is_of_the_base_and_beyond_a_half_a_factor(
    percents: tuple[float, float, float], text: str
) -> None:
    assert difference_text(*log(*percents)) == text


@pytest.mark.parametrize(
    ("percents", "text"),
    [
        ((27.455, 0.001, 43.947), "+27 % [>0, 44]"),
        ((20, -0.001, 40), "+20 % [<0, 40]"),
        ((12, 0.09, 15), "+12.0 % [0.1, 15.0]"),
        ((0.04, 0.03, 0.05), "+0.04 % [0.03, 0.05]"),
        ((90, 0.01, 300), "1.9 times [>1, 4.0]"),
        ((-85, -99.7, 5429), "0.15 times [0.003, 55]"),
        ((979, -99.9999, 1e16), "10.8 times [<0.001, >1,000,000]"),
    ],
)
def test_an_end_near_no_difference_says_its_side_and_ends_far_apart_have_their_own_digits(
    percents: tuple[float, float, float], text: str
) -> None:
    assert difference_text(*log(*percents)) == text


def test_an_end_that_was_cut_at_no_difference_is_beside_it_however_far_the_other_is() -> None:
    assert difference_text(*log(1366, 0, 19900), excludes_none=True) == "14.7 times [>1, 200]"
    assert difference_text(*log(1366, 0, 19900)) == "14.7 times [1.0, 200]"


def test_what_everybody_computes() -> None:
    """From 208,547 to 173,641 is 17 % less, and from 173,641 to 208,547 is 20 % more."""
    assert difference_text(math.log(173_641 / 208_547)) == "-17 %"
    assert difference_text(math.log(208_547 / 173_641)) == "+20 %"


def test_no_minus_before_zero_and_no_end() -> None:
    assert difference_text(0.0, *log(-5, 5)) == "0 % [-5, 5]"
    assert difference_text(math.log(1.4), math.log(1.2), math.inf) == "+40 % [20, inf]"
    assert difference_text(math.inf, math.log(1.2), math.inf) == "inf times [1.2, inf]"
    assert difference_text(math.log(1.4)) == "+40 %"


def test_the_size_of_a_difference_is_that_of_the_signed_one() -> None:
    assert size_text(*log(-17, -19, -15)) == "17 % [15, 19]"
    assert size_text(*log(12, 9, 15)) == "12 % [9, 15]"
    assert size_text(*log(-10, -22, 0)) == "10 % [>0, 22]"
    assert sizes_text(*log(-8, -12.4)) == "8 to 12 %"


def test_single_figures() -> None:
    assert percent_text(math.log(1.05)) == "5 %"
    assert percent_text(math.log(1.016)) == "1.6 %"
    assert percent_text(math.log(1.234)) == "23 %"


def test_minutes_print_as_half_to_double() -> None:
    assert minutes_text(12) == "about 6 to 24 more minutes"
    assert minutes_text(1) == "about 0.5 to 2.0 more minutes"
    assert minutes_text(0.01) == "about 0.1 to 0.2 more minutes"


@pytest.mark.parametrize(
    ("value", "words"),
    [(3.0, "3"), (85.0, "85"), (97.345, "97.3"), (0.8137, "0.814"), (12_345.0, "12,345"), (0.0, "0")],
)
def test_figures_of_checks(value: float, words: str) -> None:
    assert check_figure(value) == words


def test_an_end_that_is_cut_at_nothing_is_beside_it_where_the_difference_is_real() -> None:
    """Holm's steps may exclude 0 where the interval for all pairs at once is cut there."""
    assert difference_text(*log(-10, -22, 0), excludes_none=True) == "-10 % [-22, <0]"
    assert difference_text(*log(10, 2, 22), excludes_none=True) == "+10 % [2, 22]"
    assert fmt.ratio(*log(10, 0, 22), excludes_none=True) == "+10 % [>0, 22]"
    assert fmt.ratio(*log(10, 0, 22)) == "+10 % [0, 22]"
    assert faster(10, 0, 22) == "string FASTER by 10 % [>0, 22]"
    assert faster(-10, -22, 0) == "string SLOWER by 10 % [>0, 22]"
    assert faster(300, 0, 800) == "string FASTER, 4.0 times as fast [>1, 9.0]"


@pytest.mark.parametrize(("kind", "shown"), [("faster", "[>0, 22]"), ("mixed", "[>0, 22]"), ("undecided", "[0, 22]")])
def test_verdict_and_table_show_the_same_end(kind: VerdictKind, shown: str) -> None:
    found = verdict(kind, 10, 0, 22)
    assert shown in verdicts.verdict_text(found)
    assert verdicts.ratio(found) == f"+10 % {shown}"


FIFTEEN = (math.log(14.66), math.log(13.2), math.log(16.3))


def faster(*percents: float, **more: Any) -> str:
    return verdicts.verdict_text(verdict("faster", *percents, **more))


def test_whoever_is_faster_the_base_is_what_is_compared_with() -> None:
    assert faster(12, 9, 15) == "string FASTER by 12 % [9, 15]"
    assert faster(-17, -19, -15) == "string SLOWER by 17 % [15, 19]"
    slower_latency = {"metric": "response_ns.p99", "larger_is_faster": False}
    assert faster(24, 20, 28, winner="a", **slower_latency) == "string SLOWER by 24 % [20, 28]"
    assert faster(-19, -22, -17, winner="b", **slower_latency) == "string FASTER by 19 % [17, 22]"


def test_a_difference_beyond_a_half_names_the_faster_one() -> None:
    assert faster(1366, 1220, 1530) == "string FASTER, 14.7 times as fast [13.2, 16.3]"
    assert faster(-75, -80, -70) == "json FASTER, 4.0 times as fast [3.3, 5.0]"
    assert faster(52, 45, 60) == "string FASTER, 1.52 times as fast [1.45, 1.60]"
    found = verdict("faster", 300, 180, 500, larger_is_faster=False, winner="a")
    none = found.model_copy(update={"estimate": None, "high": None})
    assert verdicts.verdict_text(none) == "json FASTER, inf times as fast [2.8, inf]"


COST = {"metric": "cpu_ns.redis", "larger_is_faster": False}


def test_a_cost_is_in_per_cent_of_the_base_too() -> None:
    """The sentence and the ratio beside it are one figure."""
    less, more = verdict("faster", -19, -22, -16, winner="b", **COST), verdict("faster", 24, 20, 28, winner="a", **COST)
    assert verdicts.verdict_text(less) == "string uses 19 % [16, 22] less redis CPU per request"
    assert verdicts.ratio(less) == "-19 % [-22, -16]"
    assert verdicts.verdict_text(more) == "string uses 24 % [20, 28] more redis CPU per request"
    assert verdicts.ratio(more) == "+24 % [20, 28]"
    most = verdict("faster", 260, 190, 430, winner="a", **COST)
    assert verdicts.verdict_text(most) == "string uses 3.6 times [2.9, 5.3] the redis CPU per request"
    assert verdicts.ratio(most) == "3.6 times [2.9, 5.3]"


def test_several_verdicts_of_one_direction() -> None:
    names = {"a": "json", "b": "string"}

    def several(b_wins: bool, least: float, most: float) -> str:
        sizes = dict(zip(("least", "most"), log(least, most), strict=True))
        return sentences.render_message(message("verdicts_faster", **names, b_wins=b_wins, **sizes))

    assert several(True, 8, 12) == "string FASTER by 8 to 12 %"
    assert several(False, -8, -12) == "string SLOWER by 8 to 12 %"
    assert several(True, 40, 1366) == "string FASTER, 1.4 to 14.7 times as fast"
    assert several(False, -40, -75) == "json FASTER, 1.7 to 4.0 times as fast"
    costs = dict(zip(("least", "most"), log(-20, -34), strict=True))
    assert sentences.render_message(message("costs_differ", b="string", part="redis", **costs)) == (
        "string uses 20 to 34 % less redis CPU per request"
    )


def test_the_same_difference_is_a_factor_wherever_it_is_printed() -> None:
    assert sentences.render_message(message("verdict_in_total", total=FIFTEEN[0])) == "in total 14.7 times"
    figures = dict(zip(("estimate", "low", "high"), FIFTEEN, strict=True))
    assert (
        sentences.render_message(message("verdict_ratio", **figures))
        == fmt.ratio(*FIFTEEN)
        == "14.7 times [13.2, 16.3]"
    )
    assert fmt.ratio(-FIFTEEN[0]) == "0.068 times"
    mixed = verdict("mixed", 1366, 1220, 1530, total=0.1)
    assert "(string 14.7 times [13.2, 16.3], in total +11 %)" in verdicts.verdict_text(mixed)
    assert "(string -9 % [-11, -7], in total +11 %)" in verdicts.verdict_text(verdict("mixed", -9, -11, -7, total=0.1))
