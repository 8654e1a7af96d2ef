"""From a message to its sentence."""

from collections.abc import Callable, Mapping
from typing import Any

from loadstone.message import AS_WRITTEN, Message
from loadstone.report.text.english.announcement import ANNOUNCEMENT
from loadstone.report.text.english.answers import ANSWERS
from loadstone.report.text.english.bottleneck import BOTTLENECK
from loadstone.report.text.english.checks import CHECK_QUESTIONS, CHECKS
from loadstone.report.text.english.comparisons import COMPARISONS, PAIR_CHECKS, RUN_DIFFERENCES, VERDICTS
from loadstone.report.text.english.crashes import CRASHES
from loadstone.report.text.english.effects import EFFECTS
from loadstone.report.text.english.figures import FIGURES, QUANTILES, ROWS
from loadstone.report.text.english.glossary import GLOSSARY, TERMS
from loadstone.report.text.english.lessons import LESSONS
from loadstone.report.text.english.objectives import OBJECTIVES
from loadstone.report.text.english.run import HEADLINE, NEXT_STEP, NOTES, TRUST
from loadstone.report.text.english.saturation import SATURATION
from loadstone.report.text.english.saturation_report import SATURATION_REPORT
from loadstone.report.text.plain_text import SentenceFormatter

Sentence = str | Callable[..., str]
"""A template, or a function of the figures where a template is not enough (plural, cases)."""
ENGLISH: Mapping[str, Sentence] = {
    AS_WRITTEN: "{text}",
    **ANNOUNCEMENT,
    **ANSWERS,
    **BOTTLENECK,
    **CHECKS,
    **CHECK_QUESTIONS,
    **COMPARISONS,
    **CRASHES,
    **EFFECTS,
    **FIGURES,
    **GLOSSARY,
    **HEADLINE,
    **LESSONS,
    **NEXT_STEP,
    **NOTES,
    **OBJECTIVES,
    **PAIR_CHECKS,
    **QUANTILES,
    **ROWS,
    **RUN_DIFFERENCES,
    **SATURATION,
    **SATURATION_REPORT,
    **TRUST,
    **VERDICTS,
}
LANGUAGES: Mapping[str, Mapping[str, Sentence]] = {"en": ENGLISH}
GLOSSARIES: Mapping[str, Mapping[str, Mapping[str, str]]] = {"en": TERMS}
"""The groups of terms that a report explains: language, group, term, meaning."""


def text(message: Message | None, language: str = "en") -> str:
    """The sentence of a message; empty for none.

    A message of a kind that the catalogue does not have, or without its figures, is printed as the data it is: a run's
    folder may be of a later version, or damaged. That the code makes no such message is held by tests.
    """
    if message is None:
        return ""
    try:
        return _sentence(message, language)
    except (KeyError, IndexError, AttributeError, TypeError, ValueError, ArithmeticError):
        figures = ", ".join(f"{name}={value}" for name, value in message.figures.items())
        return f"[{message.kind}: {figures}]" if figures else f"[{message.kind}]"


def figures_of(message: Message) -> dict[str, Any]:
    """A message's figures, messages among them as such."""
    return _plain(message.figures)


def _sentence(message: Message, language: str) -> str:
    sentence = LANGUAGES[language][message.kind]
    if callable(sentence):
        return sentence(**_spoken(message.figures, language))
    return SentenceFormatter(lambda inner: text(inner, language)).vformat(sentence, (), _plain(message.figures))


def _plain(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _message(value) for name, value in figures.items()}


def _spoken(figures: Mapping[str, Any], language: str) -> dict[str, Any]:
    def speak(value: Any) -> Any:
        value = _message(value)
        if isinstance(value, Message):
            return text(value, language)
        return [speak(one) for one in value] if isinstance(value, list | tuple) else value

    return {name: speak(value) for name, value in figures.items()}


def _message(value: Any) -> Any:
    """A message that came back from a file as a mapping is one again."""
    if isinstance(value, Mapping) and value.keys() == {"kind", "figures"}:
        return Message.model_validate(value)
    if isinstance(value, list | tuple):
        return [_message(one) for one in value]
    return value
