"""What loadstone and its subjects leave in a server of the user's, so that it can be removed at the end."""

from dataclasses import dataclass, field

from loadstone.deploy.mariadb_control import MariaDbControl
from loadstone.deploy.provider import Control


@dataclass
class Traces:
    """Tables and keys of ours; what was there before is not among them."""

    made: set[str] = field(default_factory=set)
    """Tables that a subject's statements made, in small letters: some servers change the case of names."""
    filled: set[str] = field(default_factory=set)
    """Tables of the user's that were empty when data was written to them."""
    beginnings: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)

    def made_table(self, table: str) -> bool:
        """Whether the table is one that a subject's statements made."""
        return table.lower() in self.made

    def remove(self, control: Control) -> None:
        """Remove the tables that were made, empty those that were filled, remove the keys, and forget them all.

        Raises:
            LoadstoneError: the server does not answer, or does not allow it.
        """
        if isinstance(control, MariaDbControl):
            self._remove_tables(control)
        else:
            for key in sorted(self.keys):
                control.remove_key(key)
            for beginning in sorted(self.beginnings):
                control.remove_beginning(beginning)
        self.made, self.filled, self.beginnings, self.keys = set(), set(), set(), set()

    def _remove_tables(self, control: MariaDbControl) -> None:
        if not self.made and not self.filled:
            return
        with control.patient() as patient:
            patient.query("SET foreign_key_checks = 0")  # of this connection; they may refer to one another
            for table in patient.tables():
                if self.made_table(table):
                    patient.drop_table(table)
                elif table in self.filled:
                    patient.truncate(table)
