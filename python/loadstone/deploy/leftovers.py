"""What a run that was killed left on a server that is not ours: removed, if it is provably the run's.

A ledger may be anybody's text. Whatever it says, keys are removed only below `loadstone:NAME:` (or one by one, below
`loadstone:`), a database only if its own comment names the run, tables only if the database lists them as the run's.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from loadstone.deploy.ledger import Made, describe
from loadstone.deploy.provider import Control
from loadstone.deploy.traces import KEYS, TABLES, Traces, remove_keys, remove_tables
from loadstone.errors import UserError
from loadstone.software.mariadb.control import MariaDbControl
from loadstone.software.mariadb.marks import marked_tables, remove_database, unmark_tables
from loadstone.software.redis.commands.confinement import NAMED
from loadstone.software.redis.control import RedisControl
from loadstone.spec.experiment import OUR_PREFIX


@dataclass(frozen=True)
class Outcome:
    """What became of one thing."""

    thing: Made
    text: str
    """For a person: what was removed, or what stays and why."""
    left: bool


def remove_left(control: Control, run_id: str, things: Iterable[Made]) -> Iterator[Outcome]:
    """Remove what is provably the run's; each as soon as it is done.

    Raises:
        ServerGone: the server does not answer.
        UserError: it refuses.
    """
    found = list(things)
    if isinstance(control, MariaDbControl):
        yield from (_database(control, run_id, thing) for thing in found if thing.kind == "database")
        yield from _tables(control, run_id, [thing for thing in found if thing.kind in TABLES])
        elsewhere = [thing for thing in found if thing.kind in KEYS]
    else:
        yield from (_keys(control, thing) for thing in found if thing.kind in KEYS)
        elsewhere = [thing for thing in found if thing.kind not in KEYS]
    for thing in elsewhere:
        yield Outcome(thing, f"{describe(thing)}: this server has no such thing", left=True)


def remove_earlier(traces: Traces, control: Control) -> None:
    """Remove what earlier sessions of the same run left on a server.

    What is not provably the run's stays, and in the ledger. Raises as `remove_left`.
    """
    if traces.place is None:
        return
    things = traces.ledger.take_earlier(traces.place, (*KEYS, *TABLES))
    for outcome in remove_left(control, traces.ledger.run_id, things) if things else ():
        if not outcome.left:
            traces.gone(outcome.thing)


def _keys(control: RedisControl, thing: Made) -> Outcome:
    whole = thing.kind != "key"
    if not (NAMED.match(thing.name) if whole else thing.name.startswith(OUR_PREFIX)):
        needed = f"{OUR_PREFIX}NAME:" if whole else OUR_PREFIX
        return Outcome(thing, f"{describe(thing)}: only keys that begin with {needed} are ever removed", left=True)
    removed = remove_keys(control, thing)
    return Outcome(thing, f"{describe(thing)}: {f'{removed:,} removed' if removed else 'there were none'}", left=False)


def _database(control: MariaDbControl, run_id: str, thing: Made) -> Outcome:
    if thing.name != control.database:
        return Outcome(thing, f"{describe(thing)}: it is not the one of the server's address", left=True)
    try:
        there = remove_database(control, run_id)
    except UserError as error:
        return Outcome(thing, str(error), left=True)
    return Outcome(thing, f"{describe(thing)}: {'removed' if there else 'it was gone already'}", left=False)


def _tables(control: MariaDbControl, run_id: str, tables: list[Made]) -> Iterator[Outcome]:
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
