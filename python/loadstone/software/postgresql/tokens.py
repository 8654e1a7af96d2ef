"""PostgreSQL's SQL cut into tokens; see `sql.tokens`.

Refused are backslashes in texts (which depend on `standard_conforming_strings`), texts with a letter before them
(E'', U&'', B'', X''), texts that go on after an end of line, dollar quotes, comments in comments, parameters, and a
second statement.
"""

import re

from loadstone.software.sql.tokens import Token, cut

_TOKEN = re.compile(
    r"(?P<space>\s+|--[^\n\r\x00]*|/\*(?:(?!/\*|\*/)[^\x00])*\*/)"
    r"|(?P<text>'(?:[^'\\\x00]|'')*'(?!\s*'))"
    r'|"(?P<quoted>[A-Za-z_][A-Za-z0-9_]{0,62})"(?!")'
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_$.]))"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*+(?![$'&\"]))"
    r"|(?P<sign>::|/(?!\*)|\*(?!/)|-(?!-)|[(),.=<>!+%|])",
    re.DOTALL | re.ASCII,
)


def tokens_of(statement: str) -> list[Token]:
    """The tokens of one statement, without comments and the semicolon at its end; a cast is the sign `::`.

    Raises:
        SqlProblem: something in it is not taken.
    """
    return cut(statement, _TOKEN)
