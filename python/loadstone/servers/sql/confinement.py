"""Which SQL of a run may be sent to a server of the user's: what the grammars of its dialects have in common.

A statement is cut into tokens so strictly that a server cannot read it otherwise; what is ambiguous is refused. A
grammar is small, no parser of SQL: what it does not know is refused. How a token looks, and which statements, words and
functions are allowed, stands in the `confinement.py` of each server.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from loadstone.safety.errors import UserError
from loadstone.servers.control import Refusal
from loadstone.text.language import said
from loadstone.text.problem import Problem

Kind = Literal["text", "quoted", "number", "word", "sign"]
BLANK = " \t\r\n\f"
"""What no server takes for a part of a name. Other blanks, as U+00A0, may be the last letter of one."""
KINDS: tuple[Kind, ...] = ("text", "quoted", "number", "word", "sign")


class SqlProblem(Problem):
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


def cut(statement: str, pattern: re.Pattern[str]) -> list[Token]:
    """The tokens of one statement, without the semicolon at its end and all that is of none of `KINDS`.

    `pattern` takes one token, in a group that is named by its kind. Raises SqlProblem where it takes none.
    """
    tokens: list[Token] = []
    text, at = statement.strip(BLANK).removesuffix(";"), 0
    while at < len(text):
        match = pattern.match(text, at)
        if match is None:
            raise SqlProblem("'{split}' is not supported there", split=" ".join(text[at : at + 20].split()))
        at = match.end()
        tokens += [Token(kind, match[kind]) for kind in KINDS if match[kind] is not None]
    return tokens


def called(tokens: Sequence[Token]) -> list[tuple[int, Token]]:
    """Every name with a parenthesis behind it, which may be a function, and its place."""
    pairs = enumerate(pairwise(tokens))
    return [(at, name) for at, (name, after) in pairs if name.is_name and after.sign == "("]


def word_set(text: str) -> frozenset[str]:
    """Words with spaces between."""
    return frozenset(text.split())


def require_select(
    tokens: Sequence[Token],
    never: Collection[str],
    before_parenthesis: Collection[str],
    require_own: Callable[[Sequence[Token]], None],
) -> None:
    """Returns if it is a SELECT that only reads, of tables of its connection's own.

    Args:
        tokens: of the statement.
        never: what it may not hold.
        before_parenthesis: what a parenthesis may follow, known functions among them.
        require_own: raises SqlProblem for a name of something that is not the connection's own.

    Raises:
        SqlProblem: it is another statement.
    """
    if not tokens or tokens[0].word != "SELECT":
        raise SqlProblem("it is no SELECT")
    for token in tokens:
        if token.word in never:
            raise SqlProblem("'{token_text}' is not for counting", token_text=token.text)
    require_own(tokens)
    for _, token in called(tokens):
        if token.word not in before_parenthesis:
            raise SqlProblem("the function '{token_text}' is not for counting", token_text=token.text)


def tables_referred_to(tokens: Sequence[Token]) -> frozenset[str]:
    """The tables, in small letters, that a statement binds to its own: from then on they cannot lose what is there."""
    return frozenset(name.text.lower() for before, name in pairwise(tokens) if before.word == "REFERENCES")


def was_there(where: str, statement: str, table: str) -> UserError:
    """The error for a statement of a script that would change a table of the user's; it begins with `where`."""
    return UserError(
        "{where}: '{statement}': table '{table}' was there before and is not touched; remove it, or name "
        "another database in the server's URL",
        where=where,
        statement=statement,
        table=table,
    )


class Reader:
    """Goes through the tokens of a statement. A quoted name is never taken for a word or a sign of the language."""

    def __init__(self, tokens: Sequence[Token], no_names: Collection[str] = ()) -> None:
        """`no_names`: bare words that cannot be the name of a table."""
        self._tokens = tokens
        self._no_names = no_names
        self._at = 0

    def skip(self, *words: str) -> bool:
        """Pass these words if they stand next, in this order; whether they did."""
        if [token.word for token in self._tokens[self._at : self._at + len(words)]] != list(words):
            return False
        self._at += len(words)
        return True

    def name(self) -> str:
        """The name that stands next, in small letters. Raises SqlProblem."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if token is None or not token.is_name or token.word in self._no_names:
            raise SqlProblem("the name of a table is missing")
        self._at += 1
        return token.text.lower()

    def one_of(self, *texts: str) -> None:
        """Returns if one of these words or signs stands next, or nothing where one is empty. Raises SqlProblem."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        is_value = token is not None and not token.word and not token.sign
        next_text = "" if token is None else token.word or token.text
        if is_value or next_text not in texts:
            raise SqlProblem("'{next_text}' is not supported there", next_text=next_text)

    @property
    def at(self) -> int:
        """How many tokens were passed."""
        return self._at

    def names(self) -> frozenset[str]:
        """Names with commas between, up to the end, in small letters. Raises SqlProblem."""
        names = {self.name()}
        while self._at < len(self._tokens):
            self.one_of(",")
            self._at += 1
            names.add(self.name())
        return frozenset(names)


@dataclass(frozen=True)
class Grammar:
    """What a server's room knows of its SQL. What it does not know raises SqlProblem, and is not sent."""

    require_counting: Callable[[str], None]
    """Returns if a statement reads tables of its connection's database alone."""
    tables_changed: Callable[[str], Collection[str]]
    """The tables that a statement of a file changes, in small letters."""
    new_tables: Callable[[str, str, Collection[str]], list[str]]
    """The tables that a script will make, by where it stands, itself, and the tables that were there before.

    Raises UserError where it would change one of these.
    """


class ConfinedSql:
    """See `servers.control.Confinement`. The server is not consulted: what the grammar does not know is refused."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar

    def command(self, command: Sequence[str], prefix: str) -> None:  # noqa: ARG002 (the seam's signature)
        """It takes no load."""
        raise Refusal(said("it accepts no commands"), said("name another server as the target"))

    def row_command(self, text: str) -> None:  # noqa: ARG002 (the seam's signature)
        """Its rows go into a table."""
        raise Refusal(said("it accepts no commands"), said("name a table"))

    def count(self, text: str, *, of_application: bool) -> None:  # noqa: ARG002 (the database is the same)
        """A SELECT of the connection's own database."""
        try:
            self._grammar.require_counting(text)
        except SqlProblem as problem:
            raise _refusal(problem) from None

    def statement(self, text: str) -> None:
        """One that changes tables of the connection's own database."""
        try:
            self._grammar.tables_changed(text)
        except SqlProblem as problem:
            raise _refusal(problem) from None


def reaches_out(grammar: Grammar) -> Callable[[Sequence[str]], bool]:
    """Whether a statement is not known to work on tables alone: it may reach files or programs."""

    def reaches(statement: Sequence[str]) -> bool:
        for allowed in (grammar.require_counting, grammar.tables_changed):
            try:
                allowed(" ".join(statement))
            except SqlProblem:
                continue
            return False
        return True

    return reaches


def _refusal(problem: SqlProblem) -> Refusal:
    reason, _, remedy = str(problem).partition("; ")
    return Refusal(reason, remedy or said("leave it out"))
