"""MariaDB's SQL cut into tokens; see `sql.tokens`.

Refused are comments that a server executes (`/*! */`, `/*+ */`), backslashes in texts and double quotes, both of which
depend on `sql_mode`, variables, and a second statement.
"""

import re

from loadstone.software.sql.tokens import Token, cut

_TOKEN = re.compile(
    r"(?P<space>\s+|--(?=\s|\Z)[^\n]*|\#[^\n]*|/\*(?![!+]|M!)(?:(?!/\*).)*?\*/)"
    r"|(?P<text>'(?:[^'\\]|'')*')"
    r"|`(?P<quoted>[^`\\\x00]+)`"
    r"|(?P<number>(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![0-9A-Za-z_$]))"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_$]*)"
    r"|(?P<sign>/(?!\*)|\*(?!/)|-(?!-)|[(),.=<>!+%])",
    re.DOTALL | re.ASCII,
)


def tokens_of(statement: str) -> list[Token]:
    """The tokens of one statement, without comments and the semicolon at its end. Raises SqlProblem."""
    return cut(statement, _TOKEN)
