"""Ten thousand days, in pieces: what is played is kept, and an interruption costs one piece."""

import subprocess
from pathlib import Path

import pytest

from .__main__ import days

FIRST, DAYS, PIECE = 1001, 10_000, 250
"""About 70 minutes of one core; 1 to 1,000 are played by `make test`."""
PLAYED = Path(__file__).parents[2] / "runs" / "prove" / "simulated-days"
"""The commit, and the pieces that were played on it without anything wrong."""


@pytest.mark.prove
def test_ten_thousand_days_break_and_nothing_is_lost_or_counted_twice() -> None:
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
    PLAYED.parent.mkdir(parents=True, exist_ok=True)
    played = PLAYED.read_text().split() if PLAYED.exists() else []
    if played[:1] != [commit.stdout.strip()]:
        played = [commit.stdout.strip()]
    for first in range(FIRST, FIRST + DAYS, PIECE):
        if str(first) not in played:
            wrong, _ = days(first, PIECE)
            assert wrong == []
            played.append(str(first))
            PLAYED.write_text("\n".join(played))
