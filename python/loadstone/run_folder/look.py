"""A look at a group of conditions: judged after so many blocks, and what followed, a line of `looks.jsonl`."""

from typing import Literal

from loadstone.experiment.plan.rounds import LONGER_TIMES
from loadstone.run_folder.trial import RecordModel
from loadstone.text.message import Message

Reason = Literal["go on", "decided", "last look", "out of budget", "not needed", "carry-over"]
VerdictKind = Literal["invalid", "equivalent", "faster", "mixed", "undecided", "not_decidable"]


class LookVerdict(RecordModel):
    """The verdict of a pair at a look. Ratios are ln(B / A); None where the data do not give them."""

    kind: VerdictKind
    winner: Literal["a", "b"] | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    check: str = ""
    """The check that forbade a verdict; empty where none did."""


class Look(RecordModel):
    """One look. A group whose newest look says `stop` is finished; it is judged at that number of blocks."""

    format: Literal[1] = 1
    group: str
    stage: int = 0
    """How many times the slices of this group had been lengthened before this look."""
    blocks: int
    """Complete blocks so far, the warm one not counted."""
    unix_s: float
    elapsed_s: float
    """Seconds since the run began, those of earlier sessions of a resumed run included."""
    verdicts: list[LookVerdict]
    """Verdicts of each pair on the primary metric, in the order of the group's pairs."""
    stop: bool
    """Whether the group ends here."""
    reason: Reason
    """`go on`; `decided`: every pair is; `last look`; `out of budget`: no further whole block fits; `not needed`:
    another group gave the answer; `carry-over`: something reached from one slice into the next, and the group
    goes on with longer slices."""
    answered: bool = False
    """Whether each pair has a verdict, by its metric or by what a request costs, or can have none."""
    carried: Message | None = None
    """For `carry-over`, what reached from one slice into the next, and by how much."""


def carried_on(before: Look | None) -> float:
    """ln of what may still reach into slices that are `LONGER_TIMES` as long as those of this look; 0 if unknown."""
    shift = before.carried.figures.get("shift") if before is not None and before.carried is not None else None
    return abs(float(shift)) / LONGER_TIMES if isinstance(shift, int | float) else 0.0
