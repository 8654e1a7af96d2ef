"""How ratios and times are written."""

import math

import pytest
from tests.verdicts import verdict

from loadstone.judge.verdict import VerdictKind
from loadstone.report import figure_format as fmt
from loadstone.report import verdicts
from loadstone.text import sentences
from loadstone.text.english.verdicts import minutes_text
from loadstone.text.figures import check_figure, percent_text, ratio_text
from loadstone.text.message import message


def log(*percents: float) -> list[float]:
    return [math.log1p(value / 100) for value in percents]


@pytest.mark.parametrize(
    ("percents", "text"),
    [
        ((12, 9, 15), "12 % [9, 15]"),
        ((-2.2, -5, 0.9), "-2 % [-5, 1]"),
        ((1.24, 0.4, 2.1), "1.2 % [0.4, 2.1]"),
        ((3, 0.3, 5.9), "3.0 % [0.3, 5.9]"),
        ((0.121, 0.05, 0.19), "0.12 % [0.05, 0.19]"),
        ((7, 0, 15), "7 % [0, 15]"),
        ((292.55, 250, 340), "293 % [250, 340]"),
        ((-0.2, -4, 4), "0 % [-4, 4]"),
    ],
)
def test_ratios(percents: tuple[float, float, float], text: str) -> None:
    assert ratio_text(*log(*percents)) == text


def test_a_plus_where_it_is_requested_and_no_minus_before_zero() -> None:
    assert ratio_text(*log(12, 9, 15), sign=True) == "+12 % [9, 15]"
    assert ratio_text(*log(-12, -15, -9), sign=True) == "-12 % [-15, -9]"
    assert ratio_text(*log(0.2, -4, 4), sign=True) == "0 % [-4, 4]"
    assert ratio_text(0.0, *log(-5, 5), sign=True) == "0 % [-5, 5]"
    assert ratio_text(math.log(1.5), math.log(1.2), math.inf) == "50 % [20, inf]"
    assert ratio_text(math.log(1.5), None, None) == "50 %"


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
    assert ratio_text(*log(10, 0, 22), excludes_none=True) == "10 % [>0, 22]"
    assert ratio_text(*log(-10, -22, 0), sign=True, excludes_none=True) == "-10 % [-22, <0]"
    assert ratio_text(*log(10, 2, 22), excludes_none=True) == "10 % [2, 22]"
    assert fmt.ratio(*log(10, 0, 22), excludes_none=True) == "+10 % [>0, 22]"
    assert fmt.ratio(*log(10, 0, 22)) == "+10 % [0, 22]"
    assert lead(lead=math.log(1.1), low=0.0, high=math.log(1.22)) == "string FASTER by 10 % [>0, 22]"
    assert lead(lead=math.log(4), low=0.0, high=math.log(9)) == "string FASTER, 4.0 times as fast [>1, 9.0]"


@pytest.mark.parametrize(("kind", "shown"), [("faster", "[>0, 22]"), ("mixed", "[>0, 22]"), ("undecided", "[0, 22]")])
def test_verdict_and_table_show_the_same_end(kind: VerdictKind, shown: str) -> None:
    found = verdict(kind, 10, 0, 22)
    assert shown in verdicts.verdict_text(found)
    assert verdicts.ratio(found) == f"+10 % {shown}"


FIFTEEN = (math.log(14.66), math.log(13.2), math.log(16.3))


def lead(**figures: float | None) -> str:
    return sentences.render_message(message("verdict_faster", winner="string", materially=False, **figures))


def test_a_lead_of_three_times_or_more_is_a_factor() -> None:
    low, high = FIFTEEN[1:]
    assert lead(lead=FIFTEEN[0], low=low, high=high) == "string FASTER, 14.7 times as fast [13.2, 16.3]"
    assert lead(lead=math.log(3), low=math.log(2.8), high=None) == "string FASTER, 3.0 times as fast [2.8, inf]"
    assert lead(lead=math.log(2.99), low=math.log(2.9), high=math.log(3.1)) == "string FASTER by 199 % [190, 210]"
    assert (
        lead(lead=math.log(250), low=math.log(240), high=math.log(260)) == "string FASTER, 250 times as fast [240, 260]"
    )


def test_the_same_lead_is_a_factor_wherever_it_is_printed() -> None:
    several = message("verdicts_faster", winner="string", least=math.log(1.5), most=FIFTEEN[0])
    assert sentences.render_message(several) == "string FASTER, 1.5 to 14.7 times as fast"
    assert sentences.render_message(message("verdict_in_total", total=FIFTEEN[0])) == "in total 14.7 times"
    figures = dict(zip(("estimate", "low", "high"), FIFTEEN, strict=True))
    assert (
        sentences.render_message(message("verdict_ratio", **figures))
        == fmt.ratio(*FIFTEEN)
        == "14.7 times [13.2, 16.3]"
    )
    assert fmt.ratio(-FIFTEEN[0]) == "-93 %"
    mixed = dict(zip(("lead", "low", "high"), FIFTEEN, strict=True))
    said = sentences.render_message(
        message("verdict_mixed", larger_is_faster=True, winner="string", total=0.1, **mixed)
    )
    assert "(string 14.7 times as fast [13.2, 16.3], in total +11 %)" in said
