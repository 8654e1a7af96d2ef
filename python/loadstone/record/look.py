"""A look at a group of conditions: judged after so many blocks, and what followed, a line of `looks.jsonl`."""

from typing import Literal

from loadstone.record.trial import Line

Reason = Literal["go on", "decided", "last look", "out of budget", "spoiled"]


class Look(Line):
    """One look. A group whose newest look says `stop` is finished; it is judged at that number of blocks."""

    format: Literal[1] = 1
    group: str
    blocks: int
    """Complete blocks so far, the warm one not counted."""
    unix_s: float
    elapsed_s: float
    """Seconds since the run began, those of earlier sessions of a resumed run included."""
    words: list[str]
    """The verdict of each pair on the primary metric, in the order of the group's pairs."""
    stop: bool
    reason: Reason
    """decided: every pair is; last look, out of budget: no more blocks; spoiled: INVALID, too many blocks were
    spoiled from outside."""
