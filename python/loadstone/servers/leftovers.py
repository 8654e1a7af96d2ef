"""Removes what a killed run left on a server that is not ours, if it is provably the run's.

A ledger may be anybody's text. Whatever it says, keys are removed only below `loadstone:NAME:` (or one by one, below
`loadstone:`), a database only if its own comment names the run, tables only if the database lists them as the run's.
That is kept by each software (`servers.control.OwnsObjects.remove_left`).
"""

from collections.abc import Iterable, Iterator

from loadstone.run_folder.ledger import KEYS, TABLES, CreatedObject, CreatedObjects, RemovalResult, describe
from loadstone.safety.bounds.deadlines import REMOVAL, deadline
from loadstone.servers.control import OwnsObjects
from loadstone.text.message import said


def remove_left(control: OwnsObjects, run_id: str, things: Iterable[CreatedObject]) -> Iterator[RemovalResult]:
    """Remove what is provably the run's; each as soon as it is done.

    Raises:
        ServerGone: the server does not answer.
        UserError: it refuses.
    """
    named = list(things)
    for thing in list(named):
        if not _is_text(thing.name):
            named.remove(thing)
            doubt = said("half a character is in its name; no run writes such a line")
            yield RemovalResult(thing, said("{thing}: {doubt}", thing=describe(thing), doubt=doubt), left=True)
    yield from control.remove_left(run_id, [thing for thing in named if thing.kind in control.removable])
    for thing in named:
        if thing.kind not in control.removable:
            yield RemovalResult(thing, said("{thing}: this server has no such thing", thing=describe(thing)), left=True)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def remove_earlier(traces: CreatedObjects, control: OwnsObjects) -> None:
    """Remove what earlier sessions of the same run left on a server.

    What is not provably the run's stays, and in the ledger. Raises as `remove_left`.
    """
    if traces.place is None:
        return
    things = traces.ledger.take_earlier(traces.place, (*KEYS, *TABLES))
    with deadline(REMOVAL):
        for outcome in remove_left(control, traces.ledger.run_id, things) if things else ():
            if not outcome.left:
                traces.gone(outcome.thing)
