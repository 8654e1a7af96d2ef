"""SQL cut into tokens, so strictly that a server cannot read it otherwise: what is ambiguous is refused.

Refused are comments that a server executes (`/*! */`, `/*+ */`), backslashes in texts and double quotes, both of which
depend on `sql_mode`, variables, and a second statement.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

_TOKEN = re.compile(
    r"(?P<space>\s+|--(?=\s|\Z)[^\n]*|\#[^\n]*|/\*(?![!+]|M!)(?:(?!/\*).)*?\*/)"
    r"|(?P<text>'(?:[^'\\]|'')*')"
    r"|`(?P<quoted>[^`\\\x00]+)`"
    r"|(?P<number>(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![0-9A-Za-z_$]))"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_$]*)"
    r"|(?P<sign>/(?!\*)|\*(?!/)|-(?!-)|[(),.=<>!+%])",
    re.DOTALL | re.ASCII,
)
Kind = Literal["text", "quoted", "number", "word", "sign"]


class SqlProblem(ValueError):
    """What of a statement is not allowed."""


@dataclass(frozen=True)
class Token:
    """A token; of a name in backticks `text` is the name."""

    kind: Kind
    text: str

    @property
    def word(self) -> str:
        """A bare word in capitals; empty for all else."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def is_name(self) -> bool:
        """Whether it may be the name of a table or a column."""
        return self.kind in ("word", "quoted")


def statements_in(script: str) -> list[str]:
    """The statements of a file such as `schema.sql`, each ended by a semicolon at the end of a line."""
    return [statement for statement in re.split(r";[ \t]*(?:\n|$)", script) if statement.strip()]


def tokens_of(statement: str) -> list[Token]:
    """The tokens of one statement, without comments and the semicolon at its end. Raises SqlProblem."""
    found: list[Token] = []
    text, at = statement.strip().removesuffix(";"), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise SqlProblem(f"'{' '.join(text[at : at + 20].split())}' is not supported there")
        at = match.end()
        for kind in ("text", "quoted", "number", "word", "sign"):
            if match[kind] is not None:
                found.append(Token(kind, match[kind]))
    return found


def called(tokens: Sequence[Token]) -> list[tuple[int, Token]]:
    """Every name with a parenthesis behind it, which may be a function, and its place."""
    pairs = enumerate(pairwise(tokens))
    return [(at, one) for at, (one, after) in pairs if one.is_name and (after.kind, after.text) == ("sign", "(")]
