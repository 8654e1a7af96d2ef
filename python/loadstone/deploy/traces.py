"""What loadstone and its subjects leave on a server of the user's, so that it can be removed at the end."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from loadstone.deploy.ledger import NO_LEDGER, Kind, Ledger, Made, Place
from loadstone.deploy.provider import Control
from loadstone.software.mariadb.control import MariaDbControl
from loadstone.software.mariadb.marks import mark_tables, owner_of, unmark_tables
from loadstone.software.redis.control import RedisControl

KEYS: tuple[Kind, ...] = ("numbered_keys", "keys_beginning", "key")
TABLES: tuple[Kind, ...] = ("table_made", "table_filled")


@dataclass
class Traces:
    """Tables and keys of ours; what was there before is not among them. Each is in the ledger before it is made."""

    place: Place | None = None
    """None: the server is ours, and its ledger is never written."""
    ledger: Ledger = NO_LEDGER
    things: dict[Made, None] = field(default_factory=dict)

    def note(self, *things: Made) -> None:
        """These are about to be made. Raises LoadstoneError if that cannot be noted: then they must not be made."""
        if self.place is not None:
            self.ledger.makes(self.place, things)
        self.things |= dict.fromkeys(things)

    def note_tables(self, control: MariaDbControl, tables: Iterable[Made]) -> None:
        """The same for tables, which the server lists as ours, too, where the whole database is not.

        Raises:
            LoadstoneError: it cannot be noted, or the server does not answer.
        """
        new = [table for table in tables if table not in self.things]
        if not new:
            return
        self.note(*new)
        if self.place is not None and self.ledger.run_id and not self._database_is_ours(control):
            mark_tables(control, self.ledger.run_id, new)

    def gone(self, thing: Made) -> None:
        """It is removed."""
        self.things.pop(thing, None)
        if self.place is not None:
            self.ledger.removed(self.place, thing)

    def made_table(self, table: str) -> bool:
        """Whether the table is one that a subject's statements made; some servers change the case of names."""
        return Made("table_made", table.lower()) in self.things

    def filled_table(self, table: str) -> bool:
        """Whether the table is one of the user's that was empty when data was written to it."""
        return Made("table_filled", table) in self.things

    def remove(self, control: Control) -> None:
        """Remove the tables that were made, empty those that were filled, remove the keys, and forget them.

        Raises:
            LoadstoneError: the server does not answer, or does not allow it; what is removed is forgotten all the same.
        """
        if isinstance(control, MariaDbControl):
            self._remove_tables(control)
            return
        for thing in sorted(self.things):
            remove_keys(control, thing)
            self.gone(thing)

    def _remove_tables(self, control: MariaDbControl) -> None:
        found = [thing for thing in self.things if thing.kind in TABLES]
        if not found:
            return
        remove_tables(control, found)
        if self.place is not None and self.ledger.run_id and not self._database_is_ours(control):
            unmark_tables(control, self.ledger.run_id)
        for thing in found:
            self.gone(thing)

    def _database_is_ours(self, control: MariaDbControl) -> bool:
        owner = owner_of(control)
        return owner is not None and owner.run_id == self.ledger.run_id


def remove_keys(control: RedisControl, thing: Made) -> int:
    """Remove keys that were made; how many there were.

    Raises:
        UserError: they do not begin as ours do.
        ServerGone: the server does not answer.
    """
    if thing.kind == "key":
        return control.remove_key(thing.name)
    if thing.kind == "keys_beginning":
        return control.remove_beginning(thing.name)
    if thing.kind != "numbered_keys":
        return 0
    if thing.count > max(control.keys(), 1000):  # to look at every key of the server is shorter
        return control.remove_beginning(thing.name)
    return control.remove_numbered(thing.name, thing.count)


def remove_tables(control: MariaDbControl, tables: Iterable[Made]) -> list[Made]:
    """Drop the tables that were made and empty those that were filled; those that were there. Raises LoadstoneError."""
    wanted, removed = set(tables), []
    with control.patient() as patient:
        patient.query("SET foreign_key_checks = 0")  # of this connection; they may refer to one another
        for table in patient.tables():
            made, filled = Made("table_made", table.lower()), Made("table_filled", table)
            if made in wanted:
                patient.drop_table(table)
                removed.append(made)
            elif filled in wanted:
                patient.truncate(table)
                removed.append(filled)
    return removed
