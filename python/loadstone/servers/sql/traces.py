"""Our tables and our database on a server of the user's: how they are marked as ours, noted and removed, and no others.

Nothing but a mark on the server itself proves which run made them. A database that a run made has the run in its
comment. In a database that was there before, the run's tables are rows of a small table `loadstone_run_<run id>`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import Software
from loadstone.run_folder.ledger import (
    TABLES,
    CreatedObject,
    CreatedObjects,
    ObjectKind,
    RemovalResult,
    ServerIdentity,
    describe,
    place_of,
)
from loadstone.safety.errors import UserError
from loadstone.servers.sql.session import SqlSession
from loadstone.text.message import said

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
    mark = _COMMENT.fullmatch(control.database_comment())
    return Owner(mark[1], mark[2]) if mark else None


def create_marked(control: SqlSession, run_id: str, run_name: str) -> bool:
    """Make our database with its mark, see `SqlSession.create_database`; without one on a server too old for it."""
    return control.create_database(comment_of(run_id, run_name) if run_id else "")


def marking_table(run_id: str) -> str:
    """The name of the table that lists a run's tables."""
    return f"loadstone_run_{run_id}"


def marked_tables(control: SqlSession, run_id: str) -> set[CreatedObject]:
    """The tables that the control's database itself says are the run's."""
    name = marking_table(run_id)
    if name not in control.tables():
        return set()
    rows = control.table(2, f"SELECT name, what FROM {control.quoted(name)}")
    return {
        CreatedObject("table_made" if kind == _KINDS[0] else "table_filled", str(t))
        for t, kind in rows
        if kind in _KINDS
    }


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
            "database '{database}' is not marked as made by this run, and is left; if nothing in it is "
            "needed, drop it yourself",
            database=control.database,
        )
    return False


REMOVABLE: tuple[ObjectKind, ...] = ("database", *TABLES)


def place_of_database(software: Software, server: str, endpoint: Endpoint, database: str) -> ServerIdentity:
    """Where a database is, for the ledger."""
    return place_of(server, endpoint, (software.schemes[0], database))


def note_tables(control: SqlSession, traces: CreatedObjects, tables: Iterable[CreatedObject]) -> None:
    """These tables are about to be made or filled; the server lists them as ours where the whole database is not.

    Raises:
        LoadstoneError: it cannot be noted, or the server does not answer.
    """
    new = [table for table in tables if table not in traces.things]
    if not new:
        return
    traces.note(*new)
    if _are_listed(control, traces):
        control.list_as_ours(marking_table(traces.ledger.run_id), new)


def remove_traces(control: SqlSession, traces: CreatedObjects) -> None:
    """Remove the tables that were made, empty those that were filled, and forget them. Raises LoadstoneError."""
    ours = [thing for thing in traces.things if thing.kind in TABLES]
    if not ours:
        return
    remove_tables(control, ours)
    if _are_listed(control, traces):
        unmark_tables(control, traces.ledger.run_id)
    for thing in ours:
        traces.gone(thing)


def _are_listed(control: SqlSession, traces: CreatedObjects) -> bool:
    """Whether the run's tables are listed one by one: on a server of the user's, in a database of the user's."""
    if traces.place is None or not traces.ledger.run_id:
        return False
    owner = owner_of(control)
    return owner is None or owner.run_id != traces.ledger.run_id


def remove_tables(control: SqlSession, tables: Iterable[CreatedObject]) -> list[CreatedObject]:
    """Drop the tables that were made and empty those that were filled; those that were there. Raises LoadstoneError."""
    requested = set(tables)
    with control.patient() as patient:
        names = patient.tables()
        made = [name for name in names if CreatedObject("table_made", name.lower()) in requested]
        filled = [name for name in names if CreatedObject("table_filled", name) in requested and name not in made]
        patient.remove_tables(made, filled)
    return [CreatedObject("table_made", name.lower()) for name in made] + [
        CreatedObject("table_filled", name) for name in filled
    ]


def remove_left(control: SqlSession, run_id: str, things: Sequence[CreatedObject]) -> Iterator[RemovalResult]:
    """Remove what a killed run left, where the server itself says that it is the run's."""
    yield from (_database(control, run_id, thing) for thing in things if thing.kind == "database")
    yield from _tables(control, run_id, [thing for thing in things if thing.kind in TABLES])


def _database(control: SqlSession, run_id: str, thing: CreatedObject) -> RemovalResult:
    if thing.name != control.database:
        return RemovalResult(
            thing, said("{thing}: it is not the one of the server's address", thing=describe(thing)), left=True
        )
    try:
        there = remove_database(control, run_id)
    except UserError as error:
        return RemovalResult(thing, error.message, left=True)
    return RemovalResult(
        thing,
        said("{thing}: removed", thing=describe(thing))
        if there
        else said("{thing}: it was gone already", thing=describe(thing)),
        left=False,
    )


def _tables(control: SqlSession, run_id: str, tables: list[CreatedObject]) -> Iterator[RemovalResult]:
    if not tables:
        return
    if not control.has_database():
        yield from (
            RemovalResult(thing, said("{thing}: gone with its database", thing=describe(thing)), left=False)
            for thing in tables
        )
        return
    listed = marked_tables(control, run_id)
    removed = remove_tables(control, listed & set(tables))
    if listed <= set(tables):
        unmark_tables(control, run_id)
    names = {name.lower() for name in control.tables()}
    for thing in tables:
        if thing in removed:
            yield RemovalResult(thing, f"{describe(thing)}: removed", left=False)
        elif thing in listed or thing.name.lower() not in names:
            yield RemovalResult(thing, said("{thing}: it was gone already", thing=describe(thing)), left=False)
        else:
            yield RemovalResult(
                thing,
                said(
                    "{thing} was left in place: the database has no mark that this run created it",
                    thing=describe(thing),
                ),
                left=True,
            )
