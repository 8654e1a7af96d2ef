"""A row of what `loadstone doctor` says."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Fact:
    """One row: `remedy` says what helps, and is empty when `verdict` is ok."""

    name: str
    value: str
    verdict: Literal["ok", "warn"]
    remedy: str = ""
