"""A look at a group of conditions: judged after so many blocks, and what followed, a line of `looks.jsonl`."""

from typing import Any, Literal

from pydantic import model_validator

from loadstone.experiment.plan.rounds import LONGER_TIMES
from loadstone.run_folder.trial import Line
from loadstone.text.message import Recorded

Reason = Literal["go on", "decided", "last look", "out of budget", "not needed", "spoiled", "carry-over"]
VerdictKind = Literal["invalid", "equivalent", "faster", "mixed", "undecided", "not_decidable"]
_BEFORE: dict[str, VerdictKind] = {
    "INVALID: ": "invalid",
    "EQUIVALENT within ": "equivalent",
    "MIXED: ": "mixed",
    "UNDECIDED: ": "undecided",
    "NOT DECIDABLE HERE: ": "not_decidable",
}
"""How the sentences began that folders of before hold in place of verdicts; all others named a winner."""


class LookVerdict(Line):
    """The verdict of a pair at a look. Ratios are ln(B / A); None where the data do not give them."""

    kind: VerdictKind
    winner: Literal["a", "b"] | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    check: str = ""
    """The check that forbade a verdict; empty where none did."""


class Look(Line):
    """One look. A group whose newest look says `stop` is finished; it is judged at that number of blocks."""

    format: Literal[1] = 1
    group: str
    stage: int = 0
    """Of the group: how often its slices had been made longer."""
    blocks: int
    """Complete blocks so far, the warm one not counted."""
    unix_s: float
    elapsed_s: float
    """Seconds since the run began, those of earlier sessions of a resumed run included."""
    verdicts: list[LookVerdict]
    """Of each pair on the primary metric, in the order of the group's pairs."""
    stop: bool
    """Whether the group ends here."""
    reason: Reason
    """`go on`; `decided`: every pair is; `last look`; `out of budget`: no further whole block fits; `not needed`:
    another group gave a gate its answer; `carry-over`: something reached from one slice into the next, and the group
    goes on with longer slices; `spoiled`: of earlier versions."""
    answered: bool = False
    """Whether each pair has a verdict, by its metric or by what a request costs, or can have none."""
    carried: Recorded | None = None
    """Of `carry-over`: what reached from one slice into the next, and by how much."""

    @model_validator(mode="before")
    @classmethod
    def _of_before(cls, line: Any) -> Any:
        """Lines of before held sentences (`words`): their kinds are all that is needed of them."""
        if not isinstance(line, dict) or "words" not in line or "verdicts" in line:
            return line
        kept = {name: value for name, value in line.items() if name != "words"}
        return {**kept, "verdicts": [{"kind": _kind_of_before(str(sentence))} for sentence in line["words"]]}


def carried_on(before: Look | None) -> float:
    """ln of what may still reach into slices that are `LONGER_TIMES` as long as those of this look; 0 if unknown."""
    shift = before.carried.figures.get("shift") if before is not None and before.carried is not None else None
    return abs(float(shift)) / LONGER_TIMES if isinstance(shift, int | float) else 0.0


def _kind_of_before(sentence: str) -> VerdictKind:
    return next((kind for beginning, kind in _BEFORE.items() if sentence.startswith(beginning)), "faster")
