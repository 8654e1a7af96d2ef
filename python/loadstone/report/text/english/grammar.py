"""Plural and lists in English."""

from collections.abc import Sequence


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
