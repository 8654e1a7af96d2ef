"""PostgreSQL's SQL cut into tokens, so strictly that the server cannot read it otherwise: what is ambiguous is refused.

Refused are backslashes in texts (which depend on `standard_conforming_strings`), texts with a letter before them
(E'', U&'', B'', X''), texts that go on after an end of line, dollar quotes, comments in comments, parameters, and a
second statement.
"""

import re

from loadstone.software.sql.tokens import SqlProblem, Token

_TOKEN = re.compile(
    r"(?P<space>\s+|--[^\n\r]*|/\*(?:(?!/\*|\*/).)*\*/)"
    r"|(?P<text>'(?:[^'\\\x00]|'')*'(?!\s*'))"
    r'|"(?P<quoted>[A-Za-z_][A-Za-z0-9_]{0,62})"(?!")'
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_$.]))"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*(?![$'&\"]))"
    r"|(?P<cast>::)"
    r"|(?P<sign>/(?!\*)|\*(?!/)|-(?!-)|[(),.=<>!+%|])",
    re.DOTALL | re.ASCII,
)
_END = re.compile(r";[ \t]*(?:\n|$)")


def statements_in(script: str) -> list[str]:
    """The statements of a file such as `schema.sql`, each ended by a semicolon at the end of a line."""
    return [statement for statement in _END.split(script) if statement.strip()]


def tokens_of(statement: str) -> list[Token]:
    """The tokens of one statement, without comments and the semicolon at its end; a cast is the sign `::`.

    Raises:
        SqlProblem: something in it is not taken.
    """
    found: list[Token] = []
    text, at = statement.strip().removesuffix(";"), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise SqlProblem(f"'{' '.join(text[at : at + 20].split())}' is not supported there")
        at = match.end()
        if match["cast"] is not None:
            found.append(Token("sign", "::"))
        for kind in ("text", "quoted", "number", "word", "sign"):
            if match[kind] is not None:
                found.append(Token(kind, match[kind]))
    return found
