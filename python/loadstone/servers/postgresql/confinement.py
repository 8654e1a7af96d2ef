"""Which SQL of an experiment or a manifest may be sent to a PostgreSQL that is not ours: the one place that decides.

Statements that make and fill tables of the schema `public` of the connection's own database, and a SELECT that counts.
What it does not know is refused: COPY, DO, functions, other schemas and roles. So are backslashes in texts (which
depend on `standard_conforming_strings`), texts with a letter before them (E'', U&'', B'', X''), texts that go on after
an end of line, dollar quotes, comments in comments, parameters, and a second statement.
"""

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from loadstone.safety.errors import UserError
from loadstone.servers.sql.confinement import (
    Reader,
    SqlProblem,
    Token,
    called,
    cut,
    require_select,
    tables_referred_to,
    was_there,
    word_set,
)
from loadstone.servers.sql.session import statements_in
from loadstone.text.language import said

_TOKEN = re.compile(
    r"(?P<space>\s+|--[^\n\r\x00]*|/\*(?:(?!/\*|\*/)[^\x00])*\*/)"
    r"|(?P<text>'(?:[^'\\\x00]|'')*'(?!\s*'))"
    r'|"(?P<quoted>[A-Za-z_][A-Za-z0-9_]{0,62})"(?!")'
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_$.]))"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*+(?![$'&\"]))"
    r"|(?P<sign>::|/(?!\*)|\*(?!/)|-(?!-)|[(),.=<>!+%|])",
    re.DOTALL | re.ASCII,
)
COUNTED_BY = word_set("ABS AVG COALESCE COUNT LENGTH CHAR_LENGTH MAX MIN SUM")
GROUPING = word_set(
    "ALL AND ANY AS BETWEEN BY DISTINCT EXISTS FILTER FROM IN IS NOT ON OR SELECT SOME UNION USING WHERE"
)
"""Words that a parenthesis may follow without a call."""
NOT_COUNTED = word_set("FOR INTO LOCK UPDATE INSERT DELETE WITH COPY CALL TABLE")
TYPES = word_set(
    "BIGINT BIGSERIAL BIT BOOL BOOLEAN BYTEA CHAR CHARACTER DATE DECIMAL DOUBLE FLOAT INT INTEGER JSON JSONB NUMERIC "
    "PRECISION REAL SERIAL SMALLINT SMALLSERIAL TEXT TIME TIMESTAMP TIMESTAMPTZ UUID VARCHAR VARYING INTERVAL"
)
FUNCTIONS = word_set(
    "ABS CAST CEIL CHAR_LENGTH COALESCE CONCAT CONCAT_WS CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP FLOOR "
    "GEN_RANDOM_UUID GREATEST LEAST LEFT LENGTH LOCALTIME LOCALTIMESTAMP LOWER LPAD MD5 MOD NOW NULLIF POWER RANDOM "
    "REPEAT REPLACE REVERSE RIGHT ROUND RPAD SUBSTR SUBSTRING TRIM UPPER"
)
"""Functions that compute, and reach neither files nor other sessions."""
CLAUSES = word_set(
    "ADD ALWAYS AND AS BETWEEN BRIN BTREE BY CHECK COLUMN CONFLICT DEFAULT GIN GIST HASH IDENTITY IN INCLUDE KEY NOT "
    "ON OR UNIQUE VALUES WHERE WITH"
)
"""Words of statements on tables that a parenthesis may follow."""
NAMING = word_set("CONSTRAINT EXISTS INDEX INTO ON REFERENCES TABLE")
"""Words behind which a name stands."""
NEVER = word_set(
    "SELECT UNION COPY PROGRAM DO EXECUTE CALL FUNCTION PROCEDURE TRIGGER RULE EXTENSION LANGUAGE SERVER "
    "TABLESPACE SCHEMA OWNER INHERITS INHERIT ATTACH DETACH RENAME LOGGED POLICY SECURITY COLLATE OPERATOR CASCADE "
    "RETURNING WITH LIKE OF PARTITION TEMP TEMPORARY STATISTICS"
)
"""What no statement of a file of tables may hold, other than as a name in double quotes."""
ALLOWED_AFTER = {("DELETE", "CASCADE"), ("UPDATE", "CASCADE"), ("TIMESTAMP", "WITH"), ("TIME", "WITH")}
"""What may stand all the same, by the word before it."""
OBJECT_TYPES = word_set(
    "REGCLASS REGCOLLATION REGCONFIG REGDICTIONARY REGNAMESPACE REGOPER REGOPERATOR REGPROC REGPROCEDURE REGROLE "
    "REGTYPE"
)
"""Types that look a text up among the server's tables, functions and users."""
_REMEDY = said("use CREATE TABLE, CREATE INDEX, ALTER, DROP or TRUNCATE TABLE, INSERT, UPDATE or DELETE")


def require_counting(select: str) -> None:
    """Returns if a statement reads tables of its connection's schema alone. Raises SqlProblem."""
    require_select(tokens_of(select), NOT_COUNTED, COUNTED_BY | GROUPING, _of_our_schema)


def tables_changed(text: str) -> frozenset[str]:
    """The tables that a statement of a file changes, in small letters; not those that it makes where they are missing.

    Raises:
        SqlProblem: the statement may not be sent.
    """
    tokens = tokens_of(text)
    if not tokens:
        return frozenset()
    before = ""
    for token in tokens:
        if token.word in NEVER and (before, token.word) not in ALLOWED_AFTER:
            raise SqlProblem("'{word}' is not supported; {remedy}", word=token.word, remedy=_REMEDY)
        before = token.word
    _of_our_schema(tokens)
    _calls(tokens)
    _reads_no_table(tokens)
    return _tables(tokens)


def new_tables(where: str, script: str, theirs: Collection[str]) -> list[str]:
    """The tables that a script will make, in small letters. `theirs`: those that were there before.

    Raises:
        UserError: the script would change a table that was there before, or is not known; it begins with `where`.
    """
    before, made = frozenset(table.lower() for table in theirs), set()
    for text in statements_in(script):
        shown = " ".join(text.split())[:60]
        try:
            changed, created = tables_changed(text) | tables_referred_to(tokens_of(text)), table_made(text)
        except SqlProblem as problem:
            raise UserError("{where}: '{shown}': {problem}", where=where, shown=shown, problem=problem) from None
        for table in sorted(before & changed):
            raise was_there(where, shown, table)
        made |= {created} - {""}
    return sorted(made - before)


def tokens_of(statement: str) -> list[Token]:
    """The tokens of one statement, without comments and the semicolon at its end; a cast is the sign `::`.

    Raises:
        SqlProblem: something in it is not taken.
    """
    return cut(statement, _TOKEN)


def table_made(text: str) -> str:
    """The table that a CREATE TABLE makes, in small letters; empty for all else. Raises SqlProblem."""
    reader = Reader(tokens_of(text), _NO_NAMES)
    if not reader.skip("CREATE", "TABLE"):
        return ""
    reader.skip("IF", "NOT", "EXISTS")
    return reader.name()


def _of_our_schema(tokens: Sequence[Token]) -> None:
    for at, token in enumerate(tokens):
        if token.sign == ".":
            before = tokens[at - 1].text if at else ""
            raise SqlProblem("'{before}.' names a schema or a table before a name; write the name alone", before=before)
        if token.is_name and (token.text.lower().startswith("pg_") or token.text.upper() in OBJECT_TYPES):
            raise SqlProblem("'{token_text}' is the server's own", token_text=token.text)
        if token.sign == "::" and (at + 1 == len(tokens) or tokens[at + 1].word not in TYPES):
            raise SqlProblem("'::' must be followed by a supported type; leave it out")


def _calls(tokens: Sequence[Token]) -> None:
    """Raises SqlProblem for a function that is not known."""
    for at, token in called(tokens):
        is_named = at > 0 and token.is_name and tokens[at - 1].word in NAMING
        if not is_named and token.word not in TYPES | FUNCTIONS | CLAUSES:
            raise SqlProblem("the function '{token_text}' is not known here; leave it out", token_text=token.text)


def _reads_no_table(tokens: Sequence[Token]) -> None:
    """Raises SqlProblem where rows of a table are read: by TABLE, which is short for SELECT, or by UPDATE ... FROM."""
    depth = 0
    for at, (before, token) in enumerate(pairwise(tokens), start=1):
        depth += {"(": 1, ")": -1}.get(before.text, 0) if before.kind == "sign" else 0
        is_source = token.word == "FROM" and depth == 0 and before.word != "DISTINCT"
        if at > 1 and (token.word == "TABLE" or is_source):
            raise SqlProblem("'{token_text}' reads another table; leave it out", token_text=token.text)


def _tables(tokens: Sequence[Token]) -> frozenset[str]:
    """Which tables the statement changes. Raises SqlProblem for another kind of statement."""
    reader = Reader(tokens, _NO_NAMES)
    if reader.skip("CREATE", "TABLE"):
        reader.skip("IF", "NOT", "EXISTS")
        reader.name()
        reader.one_of("(")
        return frozenset()
    if reader.skip("CREATE", "UNIQUE", "INDEX") or reader.skip("CREATE", "INDEX"):
        reader.skip("IF", "NOT", "EXISTS")
        reader.name()
        reader.one_of("ON")
        reader.skip("ON")
        return frozenset({reader.name()})
    if reader.skip("DROP", "TABLE"):
        reader.skip("IF", "EXISTS")
        return reader.names()
    if reader.skip("TRUNCATE"):
        reader.skip("TABLE")
        return reader.names()
    for begins, after in _CHANGING:
        if reader.skip(*begins):
            reader.skip("IF", "EXISTS")
            changed = reader.name()
            reader.one_of(*after)
            return frozenset({changed})
    raise SqlProblem("'{text}' is not supported; {remedy}", text=tokens[0].text, remedy=_REMEDY)


_NO_NAMES = ("ONLY",)
_CHANGING = (
    (("ALTER", "TABLE"), ("ADD", "ALTER", "DROP")),
    (("DELETE", "FROM"), ("", "WHERE")),
    (("UPDATE",), ("SET",)),
    (("INSERT", "INTO"), ("(", "VALUES")),
)
