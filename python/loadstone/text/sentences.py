"""From a message to its sentence."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from string import Formatter
from typing import Any

from loadstone.slot import Slot
from loadstone.text.english.announcement import ANNOUNCEMENT
from loadstone.text.english.bottleneck import BOTTLENECK
from loadstone.text.english.checks import CHECK_QUESTIONS, CHECKS
from loadstone.text.english.comparisons import COMPARISONS, PAIR_CHECKS
from loadstone.text.english.crashes import CRASHES
from loadstone.text.english.effects import EFFECTS
from loadstone.text.english.figures import FIGURES, QUANTILES, ROWS
from loadstone.text.english.glossary import GLOSSARY
from loadstone.text.english.objectives import OBJECTIVES
from loadstone.text.english.run import HEADLINE, NEXT_STEP, NOTES, PROGRESS, TRUST
from loadstone.text.english.verdicts import VERDICTS
from loadstone.text.figures import digits, duration, rounded
from loadstone.text.language import ENGLISH as IN_ENGLISH
from loadstone.text.language import Spoken, in_language, language, of_author, translated, with_particles

Sentence = str | Callable[..., str]
"""A template, or a function of the figures where a template is not enough (plural, cases)."""
ENGLISH: Mapping[str, Sentence] = {
    "as_written": "{text}",
    "as_typed": lambda text, options: as_typed(text, options),
    **ANNOUNCEMENT,
    **BOTTLENECK,
    **CHECKS,
    **CHECK_QUESTIONS,
    **COMPARISONS,
    **CRASHES,
    **EFFECTS,
    **PROGRESS,
    **FIGURES,
    **GLOSSARY,
    **HEADLINE,
    **NEXT_STEP,
    **NOTES,
    **OBJECTIVES,
    **PAIR_CHECKS,
    **QUANTILES,
    **ROWS,
    **TRUST,
    **VERDICTS,
}
CATALOGUES: Slot[Mapping[str, Sentence]] = Slot("sentences")
"""Those of add-ons: a kind of message -> its sentence."""
_OPTIONS = re.compile(r"(--?[a-zA-Z0-9][\w-]*)(?:, --?[a-zA-Z0-9][\w-]*)*")
"""The options that a sentence begins with."""
_DIGITS = re.compile(r"\.[1-9]g")
_OF_CHECKS = frozenset({"check", "checks"})
"""Figures that are names of checks."""
_NAME = re.compile(r"[^\s{}]+")
"""What a kind looks like that add-ons may have a sentence for: none is loaded to say a template."""
CODE = re.compile(r"[a-z0-9]+(?:[._][a-z0-9]+)+")
"""What a kind looks like that is no template: of words, and in no language."""
_SPEC = re.compile(r"[<>]?[+]?\d{0,2},?(?:\.\d{1,2})?[a-z%]?")


class _SentenceFormatter(Formatter):
    """`str.format` with `FORMATS`, and messages within messages in the language of now.

    A template may stand in a file of anybody: it reaches into no figure, and makes none of them long.
    """

    def get_field(self, field_name: str, _args: Any, kwargs: Any) -> Any:
        """A figure by its name."""
        return kwargs[field_name], field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        """One figure."""
        value = in_language(value)
        if isinstance(value, list | tuple):
            value = type(value)(map(in_language, value))
        if format_spec in FORMATS:
            return FORMATS[format_spec](value)
        if _DIGITS.fullmatch(format_spec) and isinstance(value, int | float):
            return digits(value, int(format_spec[1]))
        if not isinstance(value, datetime) and not _SPEC.fullmatch(format_spec):
            raise ValueError(format_spec)
        return str(super().format_field(value, format_spec))


def render_message(message: Spoken | None) -> str:
    """The sentence of a message in the language of now; empty for none."""
    return "" if message is None else message.spoken()


def sentence_of(kind: str, figures: Mapping[str, Any]) -> str:
    """The sentence of a kind with its figures, in the language of now.

    A kind that the catalogue does not have, or one without its figures, is printed as the data it is: a run's folder
    may be of a later version, or damaged. That the code makes no such message is held by tests.
    """
    try:
        return _sentence(kind, figures)
    except (KeyError, IndexError, AttributeError, TypeError, ValueError, ArithmeticError):
        shown = ", ".join(f"{name}={value}" for name, value in figures.items())
        return f"[{kind}: {shown}]" if shown else f"[{kind}]"


def _sentence(kind: str, figures: Mapping[str, Any]) -> str:
    sentence = ENGLISH.get(kind) or (_of_add_ons().get(kind) if _NAME.fullmatch(kind) else None)
    if callable(sentence):
        return with_particles(sentence(**_readable(figures)))
    if sentence is None and CODE.fullmatch(kind):
        raise KeyError(kind)
    figures = figures if sentence is None else _readable(figures)
    return with_particles(_SentenceFormatter().vformat(translated(sentence or kind), (), figures))


@cache
def _of_add_ons() -> Mapping[str, Sentence]:
    first_wins = reversed([catalogue for _, catalogue in CATALOGUES.items()])
    return {kind: sentence for catalogue in first_wins for kind, sentence in catalogue.items()}


def _readable(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Messages, levels and names of checks in the reader's language."""

    def readable(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [readable(one) for one in value]
        return value.spoken() if isinstance(value, Spoken) else of_author(value)

    return {
        name: check_names(readable(value)) if name in _OF_CHECKS else readable(value) for name, value in figures.items()
    }


def check_names(named: Any) -> Any:
    """A check's name within a sentence, or several: in English as `docs/checks.md` has it, else what it is called."""
    if language() == IN_ENGLISH:
        return named
    if isinstance(named, list):
        return [check_names(one) for one in named]
    return translated(named.replace("_", " ")) if isinstance(named, str) else named


def as_typed(text: str, options: Mapping[str, str]) -> str:
    """A sentence that begins with options, which are named as the user typed them."""
    head = _OPTIONS.match(text) if options else None
    if head is None:
        return text
    return f"{', '.join(options.get(name, name) for name in head[0].split(', '))}{text[head.end() :]}"


def latency(nanoseconds: float) -> str:
    """Write a time in µs or ms with at most three digits, zero included: `0 µs`, `2 ms`."""
    return f"{nanoseconds / 1e3:,.3g} µs" if nanoseconds < 999_500 else f"{digits(nanoseconds / 1e6)} ms"


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
    "word": translated,
}
"""Formats by the name behind the colon. `share`: 0.05 is 5 %. `duration`: of nanoseconds. `clause`: without its full
stop. `word`: of the catalogue (a translation may say so where the English has the word itself)."""
