"""Our tables and our database on a server of the user's: how they are noted, and removed, and no others."""

from collections.abc import Iterable, Iterator, Sequence

from loadstone.deploy.ledger import TABLES, Kind, Made, Outcome, Place, describe, place_of
from loadstone.deploy.traces import Traces
from loadstone.errors import UserError
from loadstone.plan.endpoints import Endpoint
from loadstone.software.software import Software
from loadstone.software.sql.marks import mark_tables, marked_tables, owner_of, remove_database, unmark_tables
from loadstone.software.sql.session import SqlSession

REMOVABLE: tuple[Kind, ...] = ("database", *TABLES)


def place_of_database(software: Software, server: str, endpoint: Endpoint, database: str) -> Place:
    """Where a database is, for the ledger."""
    return place_of(server, endpoint, (software.schemes[0], database))


def note_tables(control: SqlSession, traces: Traces, tables: Iterable[Made]) -> None:
    """These tables are about to be made or filled; the server lists them as ours where the whole database is not.

    Raises:
        LoadstoneError: it cannot be noted, or the server does not answer.
    """
    new = [table for table in tables if table not in traces.things]
    if not new:
        return
    traces.note(*new)
    if _are_listed(control, traces):
        mark_tables(control, traces.ledger.run_id, new)


def remove_traces(control: SqlSession, traces: Traces) -> None:
    """Remove the tables that were made, empty those that were filled, and forget them. Raises LoadstoneError."""
    found = [thing for thing in traces.things if thing.kind in TABLES]
    if not found:
        return
    remove_tables(control, found)
    if _are_listed(control, traces):
        unmark_tables(control, traces.ledger.run_id)
    for thing in found:
        traces.gone(thing)


def _are_listed(control: SqlSession, traces: Traces) -> bool:
    """Whether the run's tables are listed one by one: on a server of the user's, in a database of the user's."""
    if traces.place is None or not traces.ledger.run_id:
        return False
    owner = owner_of(control)
    return owner is None or owner.run_id != traces.ledger.run_id


def remove_tables(control: SqlSession, tables: Iterable[Made]) -> list[Made]:
    """Drop the tables that were made and empty those that were filled; those that were there. Raises LoadstoneError."""
    requested = set(tables)
    with control.patient() as patient:
        names = patient.tables()
        made = [name for name in names if Made("table_made", name.lower()) in requested]
        filled = [name for name in names if Made("table_filled", name) in requested and name not in made]
        patient.remove_tables(made, filled)
    return [Made("table_made", name.lower()) for name in made] + [Made("table_filled", name) for name in filled]


def remove_left(control: SqlSession, run_id: str, things: Sequence[Made]) -> Iterator[Outcome]:
    """Remove what a killed run left, where the server itself says that it is the run's."""
    yield from (_database(control, run_id, thing) for thing in things if thing.kind == "database")
    yield from _tables(control, run_id, [thing for thing in things if thing.kind in TABLES])


def _database(control: SqlSession, run_id: str, thing: Made) -> Outcome:
    if thing.name != control.database:
        return Outcome(thing, f"{describe(thing)}: it is not the one of the server's address", left=True)
    try:
        there = remove_database(control, run_id)
    except UserError as error:
        return Outcome(thing, str(error), left=True)
    return Outcome(thing, f"{describe(thing)}: {'removed' if there else 'it was gone already'}", left=False)


def _tables(control: SqlSession, run_id: str, tables: list[Made]) -> Iterator[Outcome]:
    if not tables:
        return
    if not control.has_database():
        yield from (Outcome(thing, f"{describe(thing)}: gone with its database", left=False) for thing in tables)
        return
    listed = marked_tables(control, run_id)
    removed = remove_tables(control, listed & set(tables))
    if listed <= set(tables):
        unmark_tables(control, run_id)
    names = {name.lower() for name in control.tables()}
    for thing in tables:
        if thing in removed:
            yield Outcome(thing, f"{describe(thing)}: removed", left=False)
        elif thing in listed or thing.name.lower() not in names:
            yield Outcome(thing, f"{describe(thing)}: it was gone already", left=False)
        else:
            yield Outcome(thing, f"{describe(thing)}: its database does not list it as this run's", left=True)
