"""What loadstone and its subjects leave on a server of the user's, so that it can be removed at the end.

How it is removed is its software's: `deploy.control.HoldsOurs`.
"""

from dataclasses import dataclass, field

from loadstone.deploy.ledger import NO_LEDGER, Ledger, Made, Place


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
