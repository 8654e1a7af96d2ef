import math

import pytest

from loadstone.report import figure_format as fmt
from loadstone.text.figures import difference_text, digits, percent_text
from loadstone.text.message import message


@pytest.mark.parametrize(
    ("nanoseconds", "words"),
    [
        (None, "—"),
        (0, "0 ns"),
        (840, "840 ns"),
        (999.6, "1.0 µs"),
        (8_400, "8.4 µs"),
        (84_312, "84 µs"),
        (999_499, "999 µs"),
        (999_500, "1.00 ms"),
        (1_200_000, "1.20 ms"),
        (12_345_678, "12.3 ms"),
        (123_456_789, "123 ms"),
        (1_500_000_000, "1.50 s"),
        (1_234_500_000_000, "1,234 s"),
    ],
)
def test_duration(nanoseconds: float | None, words: str) -> None:
    assert fmt.duration(nanoseconds) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "—"), (0.05, "0.05 s"), (15, "15.0 s"), (118, "118 s"), (125, "2 min 5 s"), (4325, "1 h 12 min")],
)
def test_seconds(value: float | None, words: str) -> None:
    assert fmt.seconds(value) == words


@pytest.mark.parametrize(("value", "words"), [(-3, "0 s"), (12.4, "12 s"), (240, "4 min"), (3900, "1 h 5 min")])
def test_rough_time(value: float, words: str) -> None:
    assert fmt.rough_time(value) == words


@pytest.mark.parametrize(
    ("per_second", "words"),
    [(None, "—"), (0, "0"), (0.42, "0.42"), (8.43, "8.43"), (84.27, "84.3"), (843.4, "843"), (18_432.4, "18,432")],
)
def test_rate(per_second: float | None, words: str) -> None:
    assert fmt.rate(per_second) == words


@pytest.mark.parametrize(
    ("byte_count", "words"),
    [(None, "—"), (132, "132 B"), (1000, "1 kB"), (10_122, "10.1 kB"), (56e6, "56 MB"), (2e9, "2 GB")],
)
def test_size(byte_count: float | None, words: str) -> None:
    assert fmt.size(byte_count) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [(None, "—"), (0, "0 %"), (0.934, "93.4 %"), (1, "100 %"), (1.5, "150 %"), (0.0012, "0.12 %"), (0.9996, "100 %")],
)
def test_percent(share: float | None, words: str) -> None:
    assert fmt.percent(share) == words


@pytest.mark.parametrize(
    ("percents", "words"),
    [
        ((12, 9, 15), "+12 % [9, 15]"),
        ((-12, -15, -9), "-12 % [-15, -9]"),
        ((1.6, -0.4, 3), "+1.6 % [-0.4, 3.0]"),
        ((0, -4, 4), "0 % [-4, 4]"),
        ((12, None, None), "+12 %"),
        ((50, 20, math.inf), "+50 % [20, inf]"),
    ],
)
def test_ratio(percents: tuple[float | None, ...], words: str) -> None:
    logs = [None if value is None else math.log1p(value / 100) for value in percents]
    assert fmt.ratio(*logs) == words


def test_without_an_estimate_there_is_no_ratio() -> None:
    assert fmt.ratio(None) == "—"
    assert fmt.plus_minus(None) == "—"


@pytest.mark.parametrize("spread", [0.001, 0.004, 0.02, 0.3, 2.0])
@pytest.mark.parametrize("estimate", [-1.0, -0.02, 0.0, 0.0004, 0.12, 1.3])
def test_ratios_are_rounded_as_in_the_sentence_of_the_verdict(estimate: float, spread: float) -> None:
    ends = (estimate, estimate - spread, estimate + 1.1 * spread)
    said = message("verdict_ratio", **dict(zip(("estimate", "low", "high"), ends, strict=True)))
    assert fmt.ratio(*ends) == fmt.sentence(said)
    assert estimate > 1 or fmt.ratio(*ends) == difference_text(*ends)
    assert fmt.plus_minus(spread) == (f"±{percent_text(spread)}" if spread < 0.4 else "7.4 times")


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (None, "%", "—"),
        (93.4, "%", "93.4 %"),
        (1_200_000, "ns", "1.20 ms"),
        (2.5, "s", "2.50 s"),
        (1500, "bytes", "1.5 kB"),
        (18_432, "per_s", "18,432 /s"),
        (0.95, "", "0.95"),
        (0.000024, "%", "<0.001 %"),
        (1, "blocks", "1 block"),
        (8, "blocks", "8 blocks"),
        (1, "ms", "1 ms"),
    ],
)
def test_quantity(value: float | None, unit: str, words: str) -> None:
    assert fmt.quantity(value, unit) == words


def test_plain_leaves_nothing_that_repaints_or_turns_the_text() -> None:
    assert fmt.plain("a\x1b[31mred\x1b[0m\nb\t\u202ec\u200bd ") == "a [31mred [0m b c d"
    assert fmt.plain("µs — 가 ✓") == "µs — 가 ✓"


@pytest.mark.parametrize("value", [0.000012, 0.5, 9.99, 99.6, 99.96, 123.4, 999.7, 1234.5, 99_999])
def test_no_figure_is_a_power_of_ten(value: float) -> None:
    said = [
        digits(value, 2), digits(value), digits(value, 4),
        fmt.number(value), fmt.size(1e6 * value), fmt.percent(value / 100),
        fmt.sentence(message("check.errors.failed", percent=value, kinds={"wrong": 3})),
        fmt.sentence(message("pair.error_difference.unequal", a=value, b=value)),
        fmt.sentence(message("check.temporary_files.written", server="db", megabytes_per_s=value)),
    ]  # fmt: skip
    assert [text for text in said if "e+" in text or "e-" in text] == []


@pytest.mark.parametrize(("value", "words"), [(99.6, "100"), (97.4, "97"), (0.42, "0.42"), (1234.5, "1,234")])
def test_two_digits_at_least(value: float, words: str) -> None:
    assert digits(value, 2) == words
