"""What a block says, as text: the words of messages, figures in their units."""

from collections.abc import Callable, Mapping

from loadstone.report import figure_format as fmt
from loadstone.report.document import Phrase, SectionCell, Unit, Words
from loadstone.report.verdicts import MARKS
from loadstone.text.language import _, translated
from loadstone.text.message import Message

_WRITTEN: Mapping[Unit, Callable[[float | None], str]] = {
    "count": fmt.count,
    "seconds": fmt.seconds,
    "ns": fmt.duration,
    "per_s": fmt.rate,
    "share": fmt.percent,
    "bytes": fmt.size,
}
"""How a figure of a section is written."""


def words(said: Words | None) -> str:
    """A text without control characters, in the reader's language; empty for none."""
    return fmt.sentence(said) if said is None or isinstance(said, Message) else fmt.plain(said)


def cell(figure: SectionCell) -> str:
    """A figure of a section, or what is said in its place."""
    said = words(figure.said) if figure.said is not None else _WRITTEN[figure.unit](figure.value)
    return said if figure.verdict is None else f"{MARKS[figure.verdict]} {said}"


def phrase_text(phrase: Phrase) -> str:
    """The sentence where nothing can be pointed at."""
    terms = {name: term.text or translated(term.term) for name, term in phrase.terms}
    return f"{words(phrase.before)} {_(phrase.template, **terms)}".lstrip()
