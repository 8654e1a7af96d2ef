"""Plural, lists and intervals in English."""

from collections.abc import Sequence

from loadstone.figures import digits


def several(number: int, noun: str, plural: str = "") -> str:
    """`1 trial`, `2 trials`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, or `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def capitalised(sentence: str) -> str:
    """With a capital letter at its beginning."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


def whole_percent(share: float) -> str:
    """A share: `98 %`."""
    return f"{100 * share:.0f} %"


def figure(value: float) -> str:
    """A rate or a number of users: three digits, whole from 100 on."""
    return f"{value:,.0f}" if value >= 100 else digits(value)


def interval(figures: Sequence[float]) -> str:
    """`1,240 [1,190, 1,300]`."""
    value, low, high = map(figure, figures)
    return f"{value} [{low}, {high}]"
