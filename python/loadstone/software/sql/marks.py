"""How a server that is not ours says itself which run made a database or tables there: nothing else proves it.

A database that a run made has the run in its comment. In a database that was there before, the run's tables are rows of
a small table `loadstone_run_<run id>`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from loadstone.deploy.ledger import Made
from loadstone.errors import UserError
from loadstone.software.sql.session import SqlSession

_COMMENT = re.compile(r"loadstone run ([0-9a-f]{32}) (\S{1,200})")
_NAME = re.compile(r"[\w.-]{1,200}", re.ASCII)
_KINDS = ("table_made", "table_filled")


@dataclass(frozen=True)
class Owner:
    """The run that made a database, as its comment says."""

    run_id: str
    run_name: str


def comment_of(run_id: str, run_name: str) -> str:
    """What the comment of a database says that a run makes."""
    return f"loadstone run {run_id} {run_name if _NAME.fullmatch(run_name) else 'unnamed'}"


def owner_of(control: SqlSession) -> Owner | None:
    """The run that made the control's database; None: none did, it is not there, or the server is too old to say it."""
    found = _COMMENT.fullmatch(control.database_comment())
    return Owner(found[1], found[2]) if found else None


def create_marked(control: SqlSession, run_id: str, run_name: str) -> bool:
    """Make our database with its mark, see `SqlSession.create_database`; without one on a server too old for it."""
    return control.create_database(comment_of(run_id, run_name) if run_id else "")


def marking_table(run_id: str) -> str:
    """The name of the table that lists a run's tables."""
    return f"loadstone_run_{run_id}"


def mark_tables(control: SqlSession, run_id: str, tables: Iterable[Made]) -> None:
    """List tables as the run's, in a database that was there before. A user who may not make tables cannot.

    Raises:
        LoadstoneError: the server does not answer.
    """
    control.list_as_ours(marking_table(run_id), tables)


def marked_tables(control: SqlSession, run_id: str) -> set[Made]:
    """The tables that the control's database itself says are the run's."""
    name = marking_table(run_id)
    if name not in control.tables():
        return set()
    rows = control.table(2, f"SELECT name, what FROM {control.quoted(name)}")
    return {Made("table_made" if kind == _KINDS[0] else "table_filled", str(t)) for t, kind in rows if kind in _KINDS}


def unmark_tables(control: SqlSession, run_id: str) -> None:
    """Remove the list, where there is one."""
    name = marking_table(run_id)
    if name in control.tables():
        control.drop_table(name)


def remove_database(control: SqlSession, run_id: str) -> bool:
    """Remove a database that has the run's mark; False: it is gone already.

    Raises:
        UserError: it is there, and does not say that the run made it.
    """
    owner = owner_of(control)
    if owner is not None and owner.run_id == run_id:
        control.drop_database()
        return True
    if control.has_database():
        raise UserError(
            f"database '{control.database}' is not marked as made by this run, and is left; "
            "if nothing in it is needed, drop it yourself"
        )
    return False
