"""What is searched among runs: words, and `experiment:`, `verdict:` and `tag:` before what must be one of those."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

VERDICTS = ("faster", "equivalent", "mixed", "undecided", "not_decidable", "invalid")
LETTERS_MAX = 400
_ALSO = {"same": "equivalent", "not-decidable": "not_decidable"}


@dataclass(frozen=True)
class Query:
    """All of this must hold."""

    experiment: str = ""
    verdicts: Sequence[str] = ()
    """One of its pairs has each of them."""
    tags: Sequence[str] = ()
    words: Sequence[str] = ()
    """In its name, experiment, question, headline, pairs, tags, note, machine or versions."""
    archived: bool = False
    text: str = field(default="", compare=False)
    """As it was written."""

    def condition(self) -> tuple[str, tuple[object, ...]]:
        """The condition on a line of the index, with its values."""
        parts, values = ["archived = ?"], [int(self.archived)]
        found: list[object] = list(values)
        if self.experiment:
            parts.append("experiment = ?")
            found.append(self.experiment)
        for column, wanted in (("kinds", self.verdicts), ("tags", self.tags)):
            for one in wanted:
                parts.append(f"instr({column}, ?) > 0")
                found.append(f" {one} ")
        for word in self.words:
            parts.append("instr(words, ?) > 0")
            found.append(word.casefold())
        return " AND ".join(parts), tuple(found)


def parse_query(text: str, *, archived: bool = False) -> Query:
    """A query as it is written: `verdict:faster tag:baseline "8 workers"`. Whatever is written is one."""
    text = text[:LETTERS_MAX].replace("\0", " ")
    try:
        written = shlex.split(text)
    except ValueError:  # a quotation mark alone
        written = text.split()
    experiment, verdicts, tags, words = "", [], [], []
    for word in written:
        kind, _, value = word.partition(":")
        if kind == "experiment" and value:
            experiment = value
        elif kind == "verdict" and value:
            verdicts.append(_ALSO.get(value.casefold(), value.casefold()))
        elif kind == "tag" and value:
            tags.append(value)
        else:
            words.append(word)
    return Query(experiment, tuple(verdicts), tuple(tags), tuple(words), archived, text)
