"""What loadstone and its subjects leave in a server of the user's, so that it can be removed at the end."""

from dataclasses import dataclass, field

from loadstone.deploy.mariadb_control import MariaDbControl
from loadstone.deploy.provider import Control


@dataclass
class Traces:
    """Tables that rows were written to; beginnings of keys, and whole keys."""

    tables: set[str] = field(default_factory=set)
    beginnings: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)

    def remove(self, control: Control) -> None:
        """Empty the tables, remove the keys, and forget them.

        Raises:
            LoadstoneError: the server does not answer, or does not allow it.
        """
        if isinstance(control, MariaDbControl):
            with control.patient() as patient:
                present = set(patient.tables()) if self.tables else set()
                for table in sorted(self.tables & present):
                    patient.truncate(table)
        else:
            for key in sorted(self.keys):
                control.remove_key(key)
            for beginning in sorted(self.beginnings):
                control.remove_beginning(beginning)
        self.tables, self.beginnings, self.keys = set(), set(), set()
