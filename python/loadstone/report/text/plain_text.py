"""How figures stand in sentences: `{share:percent}`, `{waited_ns:duration}`, `{count:count}`, `{names:list}`."""

import re
from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any

from loadstone.figures import digits, duration, rounded
from loadstone.message import Message

_DIGITS = re.compile(r"\.[1-9]g")
Speak = Callable[[Message], str]


def latency(nanoseconds: float) -> str:
    """A time in us or ms with at most three digits, zero included: `0 us`, `2 ms`."""
    return f"{nanoseconds / 1e3:,.3g} us" if nanoseconds < 999_500 else f"{digits(nanoseconds / 1e6)} ms"


FORMATS: Mapping[str, Callable[[Any], str]] = {
    "percent": lambda share: f"{rounded(100 * share)} %",
    "duration": duration,
    "duration_s": lambda seconds: duration(1e9 * seconds),
    "rounded": rounded,
    "count": lambda number: f"{number:,}",
    "list": ", ".join,
    "phrases": "; ".join,
    "sentences": " ".join,
    "clause": lambda sentence: sentence.rstrip("."),
    "latency": latency,
}
"""By the name behind the colon. `share`: 0.05 is 5 %. `duration`: of nanoseconds. `clause`: without its full stop."""


class SentenceFormatter(Formatter):
    """`str.format` with `FORMATS`, and messages within messages spoken by `speak`."""

    def __init__(self, speak: Speak) -> None:
        self._speak = speak

    def format_field(self, value: Any, format_spec: str) -> str:
        """One figure."""
        if isinstance(value, Message):
            value = self._speak(value)
        if isinstance(value, Sequence) and not isinstance(value, str):
            value = [self._speak(one) if isinstance(one, Message) else one for one in value]
        if format_spec in FORMATS:
            return FORMATS[format_spec](value)
        if _DIGITS.fullmatch(format_spec) and isinstance(value, int | float):
            return digits(value, int(format_spec[1]))
        return str(super().format_field(value, format_spec))
