"""What the grammars of SQL have in common by which rooms decide what may be sent to a server that is not ours.

A grammar is small, no parser of SQL: what it does not know is refused.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from loadstone.errors import UserError
from loadstone.software.sql.tokens import SqlProblem, Token, called


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
            raise SqlProblem(f"'{token.text}' is not for counting")
    require_own(tokens)
    for _, token in called(tokens):
        if token.word not in before_parenthesis:
            raise SqlProblem(f"the function '{token.text}' is not for counting")


def tables_referred_to(tokens: Sequence[Token]) -> frozenset[str]:
    """The tables, in small letters, that a statement binds to its own: from then on they cannot lose what is there."""
    return frozenset(name.text.lower() for before, name in pairwise(tokens) if before.word == "REFERENCES")


def was_there(where: str, statement: str, table: str) -> UserError:
    """The error for a statement of a script that would change a table of the user's; it begins with `where`."""
    return UserError(
        f"{where}: '{statement}': table '{table}' was there before and is not touched; "
        "remove it, or name another database in the server's URL"
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
        found = "" if token is None else token.word or token.text
        if is_value or found not in texts:
            raise SqlProblem(f"'{found}' is not supported there")

    def names(self) -> frozenset[str]:
        """Names with commas between, up to the end, in small letters. Raises SqlProblem."""
        found = {self.name()}
        while self._at < len(self._tokens):
            self.one_of(",")
            self._at += 1
            found.add(self.name())
        return frozenset(found)
