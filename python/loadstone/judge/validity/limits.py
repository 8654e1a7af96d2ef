"""What a limit is. Each stands beside its check, and says where it comes from; `docs/checks.md` is written from them.

Sources: S - simulation, J - judgement, X - exact by definition. All are upper limits; a figure up to
`valid` passes, up to `invalid` it is suspect, beyond that it is invalid.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """Where a check's figure stops being valid, and where it becomes invalid. In `unit`."""

    valid: float
    invalid: float
    unit: str
    source: str
    """The source's letter, and why the limit is there; `docs/checks.md` prints it."""
    beyond: str = ""
    """What a figure past `valid` is, where it is neither suspect nor invalid."""
