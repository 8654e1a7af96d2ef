"""SQL cut into tokens, so strictly that a server cannot read it otherwise: what is ambiguous is refused.

How a token looks is each server's own; what no pattern of its `tokens.py` takes cannot be sent.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Kind = Literal["text", "quoted", "number", "word", "sign"]
BLANK = " \t\r\n\f"
"""What no server takes for a part of a name. Other blanks, as U+00A0, may be the last letter of one."""
KINDS: tuple[Kind, ...] = ("text", "quoted", "number", "word", "sign")


class SqlProblem(ValueError):
    """What of a statement is not allowed."""


@dataclass(frozen=True)
class Token:
    """A token; of a quoted name `text` is the name."""

    kind: Kind
    text: str

    @property
    def word(self) -> str:
        """A bare word in capitals; empty for all else."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def sign(self) -> str:
        """A sign; empty for all else."""
        return self.text if self.kind == "sign" else ""

    @property
    def is_name(self) -> bool:
        """Whether it may be the name of a table or a column."""
        return self.kind in ("word", "quoted")


def statements_in(script: str) -> list[str]:
    """The statements of a file such as `schema.sql`, each ended by a semicolon at the end of a line."""
    return [statement for statement in re.split(r";[ \t]*(?:\n|$)", script) if statement.strip()]


def cut(statement: str, pattern: re.Pattern[str]) -> list[Token]:
    """The tokens of one statement, without the semicolon at its end and all that is of none of `KINDS`.

    `pattern` takes one token, in a group that is named by its kind. Raises SqlProblem where it takes none.
    """
    found: list[Token] = []
    text, at = statement.strip(BLANK).removesuffix(";"), 0
    while at < len(text):
        match = pattern.match(text, at)
        if match is None:
            raise SqlProblem(f"'{' '.join(text[at : at + 20].split())}' is not supported there")
        at = match.end()
        found += [Token(kind, match[kind]) for kind in KINDS if match[kind] is not None]
    return found


def called(tokens: Sequence[Token]) -> list[tuple[int, Token]]:
    """Every name with a parenthesis behind it, which may be a function, and its place."""
    pairs = enumerate(pairwise(tokens))
    return [(at, one) for at, (one, after) in pairs if one.is_name and after.sign == "("]
