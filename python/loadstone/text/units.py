"""Texts with a unit, as people write them (`10 kB`, `250 ms`), read strictly into numbers.

A number without a unit is taken as it is, in the unit that stands last in the field's name.
"""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

from loadstone.text.language import translatable
from loadstone.text.message import said
from loadstone.text.problem import Problem
from loadstone.text.wording import shown

Number = int | float


@dataclass(frozen=True)
class UnitKind:
    """One kind of quantity: its units with their size in the base unit, and examples of right texts."""

    noun: str
    """What the quantity is, with its article: `a size`."""
    units: dict[str, Fraction]
    examples: str
    whole: bool = False
    """Whether only whole base units make sense, as with bytes."""


_TIME_S = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}


_TIME_WORDS = {
    "s": ("sec", "secs", "second", "seconds"),
    "min": ("mins", "minute", "minutes"),
    "h": ("hr", "hrs", "hour", "hours"),
}
_WRITTEN = {word: unit for unit, words in _TIME_WORDS.items() for word in words} | {
    "KB": "kB",
    "\N{MICRO SIGN}s": "us",
    "\N{GREEK SMALL LETTER MU}s": "us",
}
"""Other ways in which people write a unit. `kb` and `mb` are none: to Redis they are 1024 and 1024 * 1024 bytes."""


def _time_in(base: str) -> UnitKind:
    """Times with `base` as the unit of the result."""
    sizes = {unit: size / _TIME_S[base] for unit, size in _TIME_S.items()}
    return UnitKind(translatable("a time"), sizes, "`250 ms`, `5 s`, `2 min`")


BYTES = UnitKind(
    translatable("a size"),
    {
        "B": Fraction(1),
        "kB": Fraction(1000),
        "MB": Fraction(1000**2),
        "GB": Fraction(1000**3),
        "TB": Fraction(1000**4),
        "KiB": Fraction(1024),
        "MiB": Fraction(1024**2),
        "GiB": Fraction(1024**3),
        "TiB": Fraction(1024**4),
    },
    translatable("`100 B`, `10 kB` (1000 bytes each), `1 KiB` (1024 bytes), `1 MiB`"),
    whole=True,
)
SECONDS = _time_in("s")
MILLISECONDS = _time_in("ms")
MICROSECONDS = _time_in("us")
PER_SECOND = UnitKind(
    translatable("a rate"),
    {"/s": Fraction(1), "/min": Fraction(1, 60), "/h": Fraction(1, 3600)},
    "`1000/s`, `60/min`",
)
BITS_PER_SECOND = UnitKind(
    translatable("a bandwidth"),
    {
        "kbit/s": Fraction(1000),
        "Mbit/s": Fraction(1000**2),
        "Gbit/s": Fraction(1000**3),
    },
    "`100 Mbit/s`, `1 Gbit/s`, `512 kbit/s`",
)
SHARE = UnitKind(translatable("a share"), {"%": Fraction(1, 100)}, "`10 %`, `0.5 %`")

DURATION = UnitKind(translatable("a time"), SECONDS.units | {"m": Fraction(60)}, "`90 s`, `20 min`, `1 h`")
"""A length that a person decides on: `20m` means minutes here."""
LATENCY_NS = {unit: size * 10**9 for unit, size in _TIME_S.items() if size <= 1}
"""Units in which a response time is written, in nanoseconds."""
LONGEST_S = 30 * 24 * 3600.0
NEVER = "never"
MOST_PER_S = 1_000_000_000

_BY_SUFFIX = {
    "_per_s": PER_SECOND,
    "_bytes": BYTES,
    "_share": SHARE,
    "_ms": MILLISECONDS,
    "_us": MICROSECONDS,
    "_s": SECONDS,
}

_TEXT = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([^\s0-9.]*)\s*", re.ASCII)


def kind_of(field: str) -> UnitKind | None:
    """The kind of quantity that a field of this name holds; None for a plain number or text."""
    return next((kind for suffix, kind in _BY_SUFFIX.items() if field.endswith(suffix)), None)


def unit_written(word: str) -> str:
    """The unit that a word stands for, as messages write it; the word itself where it is no other way to write one."""
    return _WRITTEN.get(word, word)


def parse(text: str, kind: UnitKind) -> Number:
    """The number that `text` stands for, in the base unit of `kind`.

    Raises ValueError that quotes the text, says what is wrong and gives examples of right ones.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise Problem(
            "'{text}' is not {noun}; write for example {examples}",
            text=text,
            noun=said(kind.noun),
            examples=said(kind.examples),
        )
    digits, unit = match.groups()
    if not unit:
        raise Problem("'{text}' has no unit; write for example {examples}", text=text, examples=said(kind.examples))
    unit = unit if unit in kind.units else unit_written(unit)
    if unit not in kind.units:
        nearest = [known for known in kind.units if known.lower() == unit.lower()]
        near = [known for known in kind.units if known[0].lower() == unit[0].lower()]  # `1 PB` is not `1 B`
        nearest = nearest or get_close_matches(unit, near, n=1)
        hint = said("did you mean `{near}`? ", near=f"{digits} {nearest[0]}") if nearest else ""
        raise Problem(
            "'{text}' is not {noun}; {hint}write for example {examples}",
            text=text,
            noun=said(kind.noun),
            hint=hint,
            examples=said(kind.examples),
        )
    value = Fraction(digits) * kind.units[unit]
    if kind.whole and value.denominator != 1:
        raise Problem(
            "'{text}' is not a whole number of bytes; write for example {examples}",
            text=text,
            examples=said(kind.examples),
        )
    return int(value) if value.denominator == 1 else float(value)


def parse_any(text: str) -> tuple[str, Number] | None:
    """`text` read with whichever kind of unit fits, as (noun of the kind, number); None if none fits."""
    for kind in (BYTES, SECONDS, PER_SECOND, SHARE):
        try:
            return kind.noun, parse(text, kind)
        except ValueError:
            continue
    return None


def duration_s(value: object) -> float:
    """Seconds of a text like `45 min`, `20m` or `1h`; a number is seconds already.

    Raises ValueError if it is no time, not more than 0, or more than 30 days.
    """
    seconds = _read(value, DURATION)
    if not 0 < seconds <= LONGEST_S:
        raise Problem("{value} must be more than 0 s and at most 30 days; write for example 45 min", value=shown(value))
    return seconds


def margin_share(value: object) -> float:
    """The share that a margin stands for: `5 %` and 0.05 are the same.

    Raises ValueError if it is no share, not more than 0, or more than 1.
    """
    share = _read(value, SHARE)
    if not 0 < share <= 1:
        raise Problem(
            "{value} must be more than 0 and at most 100 %; write for example 5 % or 0.05", value=shown(value)
        )
    return share


def rate_or_share(value: object) -> tuple[float | None, float | None]:
    """The rate a second, or else the share of a capacity, that `5000/s` or `50 %` stands for; `never`: neither.

    Raises ValueError if it is none of these, not more than 0, or a share of 100 % and more.
    """
    examples = said("write for example 50 %, 5000/s, or never")
    if value == NEVER:
        return None, None
    unit, number = (parse_any(value) if isinstance(value, str) else None) or ("", 0)
    if unit == SHARE.noun and not 0 < number < 1:
        raise Problem(
            "{value} must be more than 0 and less than 100 % of what a row can do; {examples}",
            value=shown(value),
            examples=examples,
        )
    if unit == PER_SECOND.noun and not 0 < number <= MOST_PER_S:
        raise Problem(
            "{value} must be more than 0 and at most {most_per_s:,}/s; {examples}",
            value=shown(value),
            most_per_s=MOST_PER_S,
            examples=examples,
        )
    if unit == SHARE.noun:
        return None, float(number)
    if unit == PER_SECOND.noun:
        return float(number), None
    raise Problem("{value} is no rate and no share; {examples}", value=shown(value), examples=examples)


def _read(value: object, kind: UnitKind) -> float:
    """A text with its unit, or a number as it is."""
    if isinstance(value, str):
        return float(parse(value, kind))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise Problem(
        "{value} is not {noun}; write for example {examples}",
        value=shown(value),
        noun=said(kind.noun),
        examples=said(kind.examples),
    )
