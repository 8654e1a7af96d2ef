"""What a script of a subject makes on a server of the user's: its own tables, and nothing of what was there before."""

import contextlib
import re
from collections.abc import Collection

from loadstone.software.mariadb.confinement import tables_changed
from loadstone.software.mariadb.tokens import tokens_of
from loadstone.software.sql.grammar import tables_referred_to, was_there
from loadstone.software.sql.tokens import SqlProblem, statements_in

DESTROYING = re.compile(
    r"\b(?:DROP\s+TABLES?|CREATE\s+OR\s+REPLACE\s+TABLE|TRUNCATE|DELETE\s+FROM)\b[^;(]*", re.IGNORECASE
)
CREATED = re.compile(r"\bCREATE\s+(?:OR\s+REPLACE\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?`?(\w+)`?", re.IGNORECASE)


def new_tables(where: str, script: str, theirs: Collection[str]) -> list[str]:
    """The tables that a script will make, in small letters. `theirs`: those that were there before.

    Raises:
        UserError: the script would change, remove, or empty a table that was there before; it begins with `where`.
    """
    before = frozenset(table.lower() for table in theirs)
    for text in statements_in(script):
        with contextlib.suppress(SqlProblem):  # one that was let pass: its text alone is looked at, below
            for table in sorted(before & (tables_changed(text) | tables_referred_to(tokens_of(text)))):
                raise was_there(where, " ".join(text.split())[:60], table)
    for statement in DESTROYING.findall(script):
        for table in sorted(before & set(re.findall(r"\w+", statement.lower()))):
            raise was_there(where, " ".join(statement.split()), table)
    return sorted({table.lower() for table in CREATED.findall(script)} - before)
