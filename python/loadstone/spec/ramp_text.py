"""A classical ramp as it is written: `1000 over 10 min`."""

import re
from dataclasses import dataclass

from loadstone.spec.problems import shown
from loadstone.spec.units import duration_s

_TEXT = re.compile(r"\s*([0-9][0-9,_]{0,9})\s*(?:v?users)?\s+over\s+(.+?)\s*", re.IGNORECASE | re.ASCII)
_EXAMPLE = "write for example '1000 over 10 min'"
USERS_MIN, USERS_MAX = 5, 65_536
"""Of fewer users a chart has no shape."""


@dataclass(frozen=True)
class Ramp:
    """So many users, who are added step by step over so long a time."""

    users: int
    seconds: float


def ramp_of(value: object) -> Ramp:
    """The ramp that a text states. Raises ValueError that quotes it and says what helps."""
    match = _TEXT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{shown(value)} is no ramp; {_EXAMPLE}")
    users = int(re.sub(r"[,_]", "", match[1]))
    if not USERS_MIN <= users <= USERS_MAX:
        raise ValueError(f"{users} is no number of users of a ramp; write {USERS_MIN} to {USERS_MAX}")
    return Ramp(users, duration_s(match[2]))
