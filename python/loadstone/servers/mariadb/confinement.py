"""Which SQL of an experiment or a manifest may be sent to a MariaDB that is not ours: the one place that decides.

Statements that make and fill tables of the connection's own database, and a SELECT that counts. What it does not know
is refused. So are comments that a server executes (`/*! */`, `/*+ */`), backslashes in texts and double quotes, both of
which depend on `sql_mode`, variables, and a second statement.
"""

import contextlib
import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from loadstone.servers.sql.confinement import (
    Reader,
    SqlProblem,
    Token,
    cut,
    require_select,
    tables_referred_to,
    was_there,
    word_set,
)
from loadstone.servers.sql.session import statements_in
from loadstone.text.language import said

_TOKEN = re.compile(
    r"(?P<space>\s+|--(?=\s|\Z)[^\n]*|\#[^\n]*|/\*(?![!+]|M!)(?:(?!/\*).)*?\*/)"
    r"|(?P<text>'(?:[^'\\]|'')*')"
    r"|`(?P<quoted>[^`\\\x00]+)`"
    r"|(?P<number>(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![0-9A-Za-z_$]))"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_$]*)"
    r"|(?P<sign>/(?!\*)|\*(?!/)|-(?!-)|[(),.=<>!+%])",
    re.DOTALL | re.ASCII,
)
COUNTED_BY = word_set("ABS AVG COALESCE COUNT IFNULL LENGTH CHAR_LENGTH MAX MIN SUM")
GROUPING = word_set("ALL AND ANY AS BETWEEN BY EXISTS FROM IN IS NOT ON OR SELECT SOME UNION USING WHERE")
"""Words that a parenthesis may follow without a call."""
NOT_COUNTED = word_set("DUMPFILE FOR INTO LOCK NEXT OUTFILE PREVIOUS PROCEDURE UPDATE")
TYPES = word_set(
    "BIGINT BINARY BIT BLOB BOOL BOOLEAN CHAR CHARACTER DATE DATETIME DEC DECIMAL DOUBLE ENUM FIXED FLOAT INT "
    "INTEGER JSON LONGBLOB LONGTEXT MEDIUMBLOB MEDIUMINT MEDIUMTEXT NCHAR NUMERIC NVARCHAR PRECISION REAL SET "
    "SMALLINT TEXT TIME TIMESTAMP TINYBLOB TINYINT TINYTEXT UUID INET4 INET6 VARBINARY VARCHAR VARCHARACTER "
    "VARYING VECTOR YEAR"
)
FUNCTIONS = word_set(
    "ABS CAST CEIL CHAR_LENGTH COALESCE CONCAT CONCAT_WS CONVERT CRC32 CURDATE CURRENT_DATE CURRENT_TIME "
    "CURRENT_TIMESTAMP CURTIME DATE_ADD DATE_FORMAT DATE_SUB FLOOR FROM_UNIXTIME GREATEST HEX IF IFNULL "
    "JSON_ARRAY JSON_EXTRACT JSON_OBJECT JSON_UNQUOTE JSON_VALID JSON_VALUE LEAST LEFT LENGTH LOCALTIME "
    "LOCALTIMESTAMP LOWER LPAD MD5 MOD NOW NULLIF POINT POW RAND REPEAT REPLACE REVERSE RIGHT ROUND RPAD SHA1 SHA2 "
    "SUBSTR SUBSTRING TRIM UNHEX UNIX_TIMESTAMP UPPER UTC_TIMESTAMP UUID"
)
"""Functions that compute, and reach neither files nor other sessions."""
CLAUSES = word_set(
    "ADD ALWAYS AND AS BETWEEN BTREE BY CHECK COLUMN COLUMNS DEFAULT FULLTEXT HASH IN INDEX KEY LESS LIST NOT ON "
    "OR PARTITION RANGE SPATIAL THAN UNIQUE USING VALUE VALUES WHERE"
)
"""Words of statements on tables that a parenthesis may follow."""
NAMING = word_set("CONSTRAINT EXISTS FULLTEXT IGNORE INDEX INTO KEY ON PARTITION REFERENCES SPATIAL TABLE UNIQUE")
"""Words behind which a name stands."""
NEVER = (
    *(("SELECT",), ("UNION",), ("NEXT", "VALUE"), ("DATA", "DIRECTORY"), ("INDEX", "DIRECTORY")),
    *(("CONVERT", "TABLE"), ("CONVERT", "PARTITION")),
)
"""What no statement of a file of tables may hold, other than as names in backticks: other tables, files and places."""
ALTERS = word_set(
    "ADD ALGORITHM ALTER AUTO_INCREMENT CHANGE CHARACTER CHARSET COLLATE COMMENT CONVERT DEFAULT DISABLE DROP ENABLE "
    "ENGINE FORCE LOCK MODIFY PARTITION RENAME ROW_FORMAT"
)
"""What each change of an ALTER TABLE may begin with: others take rows from files or from other tables."""
ENGINES = word_set("ARIA COLUMNSTORE INNODB MEMORY MYISAM ROCKSDB TOKUDB")
"""Engines that keep rows in the server itself: others reach files and servers elsewhere."""
SESSION = frozenset({"FOREIGN_KEY_CHECKS", "SQL_NOTES", "TIME_ZONE", "UNIQUE_CHECKS"})
CHARACTER_SETS = frozenset({"UTF8", "UTF8MB3", "UTF8MB4"})
"""In others a byte may hide the end of a name."""
DESTROYING = re.compile(
    r"\b(?:DROP\s+TABLES?|CREATE\s+OR\s+REPLACE\s+TABLE|TRUNCATE|DELETE\s+FROM)\b[^;(]*", re.IGNORECASE
)
CREATED = re.compile(r"\bCREATE\s+(?:OR\s+REPLACE\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?`?(\w+)`?", re.IGNORECASE)
_REMEDY = said(
    "use CREATE TABLE, CREATE INDEX, ALTER, DROP or TRUNCATE TABLE, INSERT, REPLACE, UPDATE, DELETE or SET NAMES"
)


def require_counting(select: str) -> None:
    """Returns if a statement reads tables of its connection's database alone. Raises SqlProblem."""
    require_select(tokens_of(select), NOT_COUNTED, COUNTED_BY | GROUPING, _no_other_database)


def tables_changed(text: str) -> frozenset[str]:
    """The tables that a statement of a file changes, in small letters; not those that it makes where they are missing.

    Raises:
        SqlProblem: the statement may not be sent.
    """
    tokens = tokens_of(text)
    if not tokens:
        return frozenset()
    words = [token.word for token in tokens]
    if words[0] == "SET":
        _setting(tokens)
        return frozenset()
    for at in range(len(words)):
        for never in NEVER:
            if tuple(words[at : at + len(never)]) == never:
                raise SqlProblem("'{never}' is not supported; {remedy}", never=" ".join(never), remedy=_REMEDY)
    _no_other_database(tokens)
    if words[0] in ("ALTER", "CREATE"):
        _engine(tokens)
    _calls(tokens)
    return _tables(tokens)


def _no_other_database(tokens: Sequence[Token]) -> None:
    for at, token in enumerate(tokens):
        if token.sign == ".":
            before = tokens[at - 1].text if at else ""
            raise SqlProblem(
                "'{before}.' names a database or a table before a name; write the name alone", before=before
            )


def _calls(tokens: Sequence[Token]) -> None:
    """Raises SqlProblem for a function that is not known. `title(10)` of an index is not a call."""
    lists_names: list[bool] = []
    begin = [token.word for token in tokens[:4]]
    makes_table = begin[:1] == ["CREATE"] and "TABLE" in begin
    for at, token in enumerate(tokens):
        if token == Token("sign", ")") and lists_names:
            lists_names.pop()
        if token != Token("sign", "("):
            continue
        before = tokens[at - 1] if at else token
        is_named = at > 1 and before.is_name and tokens[at - 2].word in NAMING
        is_length = bool(lists_names and lists_names[-1]) and _is_length(tokens[at + 1 : at + 3])
        begins_columns = makes_table and not lists_names
        lists_names.append(not begins_columns and (is_named or before.word in ("KEY", "INDEX", "UNIQUE")))
        if before.is_name and not is_named and not is_length and before.word not in TYPES | FUNCTIONS | CLAUSES:
            raise SqlProblem("the function '{before_text}' is not known here; leave it out", before_text=before.text)


def _is_length(inner: Sequence[Token]) -> bool:
    """Whether a parenthesis holds a whole number alone: `0x2F` may be a text, as the name of a file."""
    return len(inner) == 2 and inner[0].kind == "number" and inner[0].text.isdigit() and inner[1].sign == ")"


def _engine(tokens: Sequence[Token]) -> None:
    """Every engine that is named is one of `ENGINES`. Among the columns `engine` without `=` is a column."""
    depth, is_partitioned = 0, False
    for at, token in enumerate(tokens):
        is_partitioned = is_partitioned or token.word == "PARTITION"  # each partition may name an engine, without `=`
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "sign" else 0
        after = tokens[at + 1 : at + 3]
        equals = after[:1] == [Token("sign", "=")]
        named = after[1:] if equals else after[:1]
        if token.word != "ENGINE" or not named or (depth and not equals and not is_partitioned):
            continue
        if not equals and named[0].kind == "sign":  # a column
            continue
        engine = named[0].text.strip("'")
        if engine.upper() not in ENGINES:
            raise SqlProblem("the engine '{engine}' may keep its rows elsewhere; use InnoDB", engine=engine)


def _setting(tokens: Sequence[Token]) -> None:
    """SET NAMES, or SET of one of `SESSION` to one value. Raises SqlProblem."""
    words = [token.word for token in tokens]
    rest = tokens[2:] if words[1:2] in (["SESSION"], ["LOCAL"]) else tokens[1:]
    if words[1:2] == ["NAMES"]:
        is_fine = len(tokens) == 3 and tokens[2].text.strip("'").upper() in CHARACTER_SETS
    else:
        is_fine = len(rest) == 3 and rest[0].word in SESSION and rest[1].text == "=" and rest[2].kind != "sign"
    if not is_fine:
        raise SqlProblem(
            "SET is supported for NAMES utf8mb4, and for one of {session} of the session",
            session=", ".join(sorted(SESSION)),
        )


def _tables(tokens: Sequence[Token]) -> frozenset[str]:
    """Which tables the statement changes. Raises SqlProblem for another kind of statement."""
    reader = Reader(tokens)
    if reader.skip("CREATE"):
        return _created(reader, tokens)
    if reader.skip("DROP", "TABLE"):
        reader.skip("IF", "EXISTS")
        return reader.names()
    if reader.skip("TRUNCATE"):
        reader.skip("TABLE")
        return reader.names()
    if reader.skip("ALTER", "TABLE"):
        reader.skip("IF", "EXISTS")
        _renames_no_table(tokens)
        changed = reader.name()
        _alters(tokens[reader.at :])
        return frozenset({changed})
    if reader.skip("DELETE", "FROM"):
        changed = reader.name()
        reader.one_of("", "WHERE", "ORDER", "LIMIT")
        return frozenset({changed})
    if reader.skip("UPDATE"):
        changed = reader.name()
        reader.one_of("SET")
        return frozenset({changed})
    if reader.skip("INSERT") or reader.skip("REPLACE"):
        reader.skip("IGNORE")
        reader.skip("INTO")
        changed = reader.name()
        reader.one_of("(", "VALUES", "VALUE", "SET")
        return frozenset({changed})
    raise SqlProblem("'{text}' is not supported; {remedy}", text=tokens[0].text, remedy=_REMEDY)


def _alters(tokens: Sequence[Token]) -> None:
    """Raises SqlProblem where a change of the table, the first or one behind a comma, is not one of `ALTERS`."""
    depth, begins = 0, True
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token.sign, 0)
        if begins and token.word not in ALTERS:
            raise SqlProblem("ALTER TABLE ... {text} is not supported; {remedy}", text=token.text, remedy=_REMEDY)
        begins = token.sign == "," and depth == 0


def _renames_no_table(tokens: Sequence[Token]) -> None:
    for token, after in pairwise([*tokens, Token("sign", "")]):
        if token.word == "RENAME" and after.word not in ("COLUMN", "INDEX", "KEY"):
            raise SqlProblem("'RENAME' gives a table another name; make it under that name")


def _created(reader: Reader, tokens: Sequence[Token]) -> frozenset[str]:
    replaces = reader.skip("OR", "REPLACE")
    if reader.skip("TABLE"):
        reader.skip("IF", "NOT", "EXISTS")
        made = frozenset({reader.name()})
        return made if replaces else frozenset()
    for kind in ("UNIQUE", "FULLTEXT", "SPATIAL"):
        if reader.skip(kind):
            break
    if reader.skip("INDEX"):
        reader.skip("IF", "NOT", "EXISTS")
        reader.name()
        if reader.skip("ON"):
            return frozenset({reader.name()})
    raise SqlProblem(
        "CREATE {text} is not supported; {remedy}", text=tokens[1].text if len(tokens) > 1 else "", remedy=_REMEDY
    )


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


def tokens_of(statement: str) -> list[Token]:
    """The tokens of one statement, without comments and the semicolon at its end. Raises SqlProblem."""
    return cut(statement, _TOKEN)
