"""Which SQL of an experiment or a manifest may be sent to a PostgreSQL that is not ours: the one place that decides.

A small grammar, not a parser: statements that make and fill tables of the schema `public` of the connection's own
database, and a SELECT that counts. What it does not know is refused: COPY, DO, functions, other schemas and roles.
"""

from collections.abc import Collection, Sequence

from loadstone.errors import UserError
from loadstone.software.postgresql.tokens import statements_in, tokens_of
from loadstone.software.sql.tokens import SqlProblem, Token, called


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COUNTED_BY = _words("ABS AVG COALESCE COUNT LENGTH CHAR_LENGTH MAX MIN SUM")
GROUPING = _words("ALL AND ANY AS BETWEEN BY DISTINCT EXISTS FILTER FROM IN IS NOT ON OR SELECT SOME UNION USING WHERE")
"""Words that a parenthesis may follow without a call."""
NOT_COUNTED = _words("FOR INTO LOCK UPDATE INSERT DELETE WITH COPY CALL TABLE")
TYPES = _words(
    "BIGINT BIGSERIAL BIT BOOL BOOLEAN BYTEA CHAR CHARACTER DATE DECIMAL DOUBLE FLOAT INT INTEGER JSON JSONB NUMERIC "
    "PRECISION REAL SERIAL SMALLINT SMALLSERIAL TEXT TIME TIMESTAMP TIMESTAMPTZ UUID VARCHAR VARYING INTERVAL"
)
FUNCTIONS = _words(
    "ABS CAST CEIL CHAR_LENGTH COALESCE CONCAT CONCAT_WS CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP FLOOR "
    "GEN_RANDOM_UUID GREATEST LEAST LEFT LENGTH LOCALTIME LOCALTIMESTAMP LOWER LPAD MD5 MOD NOW NULLIF POWER RANDOM "
    "REPEAT REPLACE REVERSE RIGHT ROUND RPAD SUBSTR SUBSTRING TRIM UPPER"
)
"""Functions that compute, and reach neither files nor other sessions."""
CLAUSES = _words(
    "ADD ALWAYS AND AS BETWEEN BRIN BTREE BY CHECK COLUMN CONFLICT DEFAULT GIN GIST HASH IDENTITY IN INCLUDE KEY NOT "
    "ON OR UNIQUE VALUES WHERE WITH"
)
"""Words of statements on tables that a parenthesis may follow."""
NAMING = _words("CONSTRAINT EXISTS INDEX INTO ON REFERENCES TABLE")
"""Words behind which a name stands."""
NEVER = _words(
    "SELECT UNION COPY PROGRAM DO EXECUTE CALL FUNCTION PROCEDURE TRIGGER RULE EXTENSION LANGUAGE SERVER "
    "TABLESPACE SCHEMA OWNER INHERITS INHERIT ATTACH DETACH RENAME LOGGED POLICY SECURITY COLLATE OPERATOR CASCADE "
    "RETURNING WITH LIKE OF PARTITION TEMP TEMPORARY"
)
"""What no statement of a file of tables may hold, other than as a name in double quotes."""
ALLOWED_AFTER = {("DELETE", "CASCADE"), ("UPDATE", "CASCADE"), ("TIMESTAMP", "WITH"), ("TIME", "WITH")}
"""What may stand all the same, by the word before it."""
_REMEDY = "use CREATE TABLE, CREATE INDEX, ALTER, DROP or TRUNCATE TABLE, INSERT, UPDATE or DELETE"


def require_counting(select: str) -> None:
    """Returns if a statement reads tables of its connection's schema alone. Raises SqlProblem."""
    tokens = tokens_of(select)
    if not tokens or tokens[0].word != "SELECT":
        raise SqlProblem("it is no SELECT")
    for token in tokens:
        if token.word in NOT_COUNTED:
            raise SqlProblem(f"'{token.text}' is not for counting")
    _of_our_schema(tokens)
    for _, token in called(tokens):
        if token.word not in COUNTED_BY | GROUPING:
            raise SqlProblem(f"the function '{token.text}' is not for counting")


def tables_changed(text: str) -> frozenset[str]:
    """The tables that a statement of a file changes, in small letters; not those that it makes where there is none.

    Raises:
        SqlProblem: it is none that may be sent.
    """
    tokens = tokens_of(text)
    if not tokens:
        return frozenset()
    before = ""
    for token in tokens:
        if token.word in NEVER and (before, token.word) not in ALLOWED_AFTER:
            raise SqlProblem(f"'{token.word}' is not supported; {_REMEDY}")
        before = token.word
    _of_our_schema(tokens)
    _calls(tokens)
    return _Statement(tokens).tables()


def new_tables(where: str, script: str, theirs: Collection[str]) -> list[str]:
    """The tables that a script will make, in small letters. `theirs`: those that were there before.

    Raises:
        UserError: the script would change a table that was there before, or cannot be told; it begins with `where`.
    """
    before, made = frozenset(table.lower() for table in theirs), set()
    for text in statements_in(script):
        shown = " ".join(text.split())[:60]
        try:
            changed, created = tables_changed(text), table_made(text)
        except SqlProblem as problem:
            raise UserError(f"{where}: '{shown}': {problem}") from None
        for table in sorted(before & changed):
            raise UserError(
                f"{where}: '{shown}': table '{table}' was there before and is not touched; "
                "remove it, or name another database in the server's URL"
            )
        made |= {created} - {""}
    return sorted(made - before)


def table_made(text: str) -> str:
    """The table that a CREATE TABLE makes, in small letters; empty for all else. Raises SqlProblem."""
    statement = _Statement(tokens_of(text))
    if not statement.skip("CREATE", "TABLE"):
        return ""
    statement.skip("IF", "NOT", "EXISTS")
    return statement.name()


def _of_our_schema(tokens: Sequence[Token]) -> None:
    for at, token in enumerate(tokens):
        if (token.kind, token.text) == ("sign", "."):
            before = tokens[at - 1].text if at else ""
            raise SqlProblem(f"'{before}.' names a schema or a table before a name; write the name alone")
        if token.is_name and token.text.lower().startswith("pg_"):
            raise SqlProblem(f"'{token.text}' is the server's own")
        if token.text == "::" and (at + 1 == len(tokens) or tokens[at + 1].word not in TYPES):
            raise SqlProblem("'::' must be followed by a supported type; leave it out")


def _calls(tokens: Sequence[Token]) -> None:
    """Raises SqlProblem for a function that is not known."""
    for at, token in called(tokens):
        is_named = at > 0 and token.is_name and tokens[at - 1].word in NAMING
        if not is_named and token.word not in TYPES | FUNCTIONS | CLAUSES:
            raise SqlProblem(f"the function '{token.text}' is not known here; leave it out")


class _Statement:
    """Goes through the tokens of a statement."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def tables(self) -> frozenset[str]:
        """Which tables it changes. Raises SqlProblem for another kind of statement."""
        if self.skip("CREATE", "TABLE"):
            self.skip("IF", "NOT", "EXISTS")
            self.name()
            self.one_of("(")
            return frozenset()
        if self.skip("CREATE", "UNIQUE", "INDEX") or self.skip("CREATE", "INDEX"):
            self.skip("IF", "NOT", "EXISTS")
            self.name()
            self.one_of("ON")
            self.skip("ON")
            return frozenset({self.name()})
        if self.skip("DROP", "TABLE"):
            self.skip("IF", "EXISTS")
            return frozenset(self.names())
        if self.skip("TRUNCATE"):
            self.skip("TABLE")
            return frozenset(self.names())
        for words, after in _CHANGING:
            if self.skip(*words):
                self.skip("IF", "EXISTS")
                changed = self.name()
                self.one_of(*after)
                return frozenset({changed})
        raise SqlProblem(f"'{self._tokens[0].text}' is not supported; {_REMEDY}")

    def skip(self, *words: str) -> bool:
        """Pass these words if they stand next, in this order; whether they did."""
        if [token.word for token in self._tokens[self._at : self._at + len(words)]] != list(words):
            return False
        self._at += len(words)
        return True

    def name(self) -> str:
        """The name that stands next, in small letters. Raises SqlProblem."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if token is None or not token.is_name or token.word == "ONLY":
            raise SqlProblem("the name of a table is missing")
        self._at += 1
        return token.text.lower()

    def one_of(self, *texts: str) -> None:
        """Returns if one of these words or signs stands next, or nothing where one is empty. Raises SqlProblem."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        found = "" if token is None else token.word or token.text
        if found not in texts:
            raise SqlProblem(f"'{found}' is not supported there")

    def names(self) -> list[str]:
        """Names with commas between, up to the end. Raises SqlProblem."""
        found = [self.name()]
        while self._at < len(self._tokens):
            self.one_of(",")
            self._at += 1
            found.append(self.name())
        return found


_CHANGING = (
    (("ALTER", "TABLE"), ("ADD", "ALTER", "DROP")),
    (("DELETE", "FROM"), ("", "WHERE")),
    (("UPDATE",), ("SET",)),
    (("INSERT", "INTO"), ("(", "VALUES")),
)
