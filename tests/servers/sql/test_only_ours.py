"""On a server of the user's nothing is removed or emptied that is not provably ours, whatever its dialect."""

from collections.abc import Iterable
from typing import Any, Self

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import Software
from loadstone.run_folder.ledger import CreatedObject
from loadstone.safety.errors import UserError
from loadstone.servers.sql.dialect import Dialect
from loadstone.servers.sql.session import SqlSession
from loadstone.servers.sql.traces import comment_of, create_marked, owner_of, remove_database, remove_left

RUN, OTHER = "0123456789abcdef" * 2, "f" * 32
MADE, FILLED = CreatedObject("table_made", "loadstone_post"), CreatedObject("table_filled", "loadstone_old")


class Scripted(SqlSession):
    """A session whose server is a few variables; what it is sent that changes something is kept."""

    declared = Software("x", "X", ("x",), "x-url", ("x",), "x://", "table", (), "")
    dialect = Dialect("|", 63, "SETTINGS", "TABLES", {}, "", "", indexes_within=True)

    def __init__(self, database: str, *tables: str, comment: str = "", there: bool = True) -> None:
        super().__init__(Endpoint(), database)
        self.names, self.comment, self.there = list(tables), comment, there
        self.listed: list[tuple[str, str]] = []
        self.sent: list[str] = []

    def query(self, statement: str, *_: object) -> list[tuple[Any, ...]]:
        if statement == self.dialect.tables:
            return [(name,) for name in self.names]
        if statement.startswith("SELECT"):
            return list(self.listed)
        self.sent.append(statement)
        return []

    def patient(self) -> Self:
        return self

    def has_database(self) -> bool:
        return self.there

    def database_comment(self) -> str:
        return self.comment

    def list_as_ours(self, listing: str, tables: Iterable[CreatedObject]) -> None:
        self.names.append(listing)
        self.listed += [(table.name, table.kind) for table in tables]

    def truncate(self, *tables: str) -> None:
        self.query(f"TRUNCATE {self._our_tables(tables)}")

    def _drop(self) -> None: ...

    def _create_database(self, comment: str) -> None:
        self.there, self.comment = True, comment

    def _drop_database(self) -> None:
        self.sent.append(f"DROP DATABASE {self.database}")
        self.there, self.comment = False, ""


@pytest.mark.parametrize(
    "database", ["shop", "loadstones", "Loadstone", "loadstone-1", "loadstone_\n", "", "lōadstone"]
)
def test_a_database_of_another_name_is_neither_made_nor_removed(database: str) -> None:
    control = Scripted(database, there=False)
    with pytest.raises(UserError, match="create it"):
        control.create_database()
    with pytest.raises(UserError, match="only databases that begin with 'loadstone'"):
        control.drop_database()
    assert not control.there
    assert control.sent == []


@pytest.mark.parametrize("table", ["post", "loadstones", "LOADSTONE_post", "loadstone_a|; DROP", "", "x" * 64])
def test_a_table_of_the_users_is_neither_removed_nor_emptied(table: str) -> None:
    control = Scripted("shop", table)
    for act in (control.drop_table, control.truncate):
        with pytest.raises(UserError, match=r"only tables of the database|not a name"):
            act("loadstone_mine", table)
    assert control.sent == []


def test_only_a_database_with_the_runs_mark_is_removed() -> None:
    control = Scripted("loadstone_x", there=False)
    assert create_marked(control, RUN, "a run")
    owner = owner_of(control)
    assert owner is not None
    assert (owner.run_id, owner.run_name) == (RUN, "unnamed")
    with pytest.raises(UserError, match="and is left"):
        remove_database(control, OTHER)
    assert control.sent == []
    assert remove_database(control, RUN)
    assert not remove_database(control, RUN)
    assert control.sent == ["DROP DATABASE loadstone_x"]


@pytest.mark.parametrize("comment", ["", "shop", f"x {comment_of(RUN, 'r')}", comment_of(RUN, "r") + " x", "None"])
def test_another_comment_is_no_mark(comment: str) -> None:
    control = Scripted("loadstone", comment=comment)
    assert owner_of(control) is None
    with pytest.raises(UserError, match="is left"):
        remove_database(control, RUN)
    assert control.there


def test_only_tables_that_the_database_lists_as_the_runs_are_removed() -> None:
    control = Scripted("shop", "loadstone_post", "loadstone_old", "loadstone_theirs")
    control.list_as_ours(f"loadstone_run_{RUN}", [MADE, FILLED])
    things = [
        MADE,
        FILLED,
        CreatedObject("table_made", "loadstone_theirs"),
        CreatedObject("table_made", "loadstone_gone"),
    ]
    left = {outcome.thing.name: outcome.left for outcome in remove_left(control, RUN, things)}
    assert left == {"loadstone_post": False, "loadstone_old": False, "loadstone_theirs": True, "loadstone_gone": False}
    assert control.sent == [
        "DROP TABLE |loadstone_post|",
        "TRUNCATE |loadstone_old|",
        f"DROP TABLE |loadstone_run_{RUN}|",
    ]


def test_tables_that_another_run_lists_are_left() -> None:
    control = Scripted("shop", "loadstone_post")
    control.list_as_ours(f"loadstone_run_{OTHER}", [MADE])
    assert [outcome.left for outcome in remove_left(control, RUN, [MADE])] == [True]
    assert control.sent == []
