"""`docs/checks.md` has every check, with the limits of the code."""

import re
from math import isinf
from pathlib import Path

import pytest

from loadstone.judge.validity.check import Check
from loadstone.judge.validity.checks import CHECKS

TEXT = (Path(__file__).parents[3] / "docs" / "checks.md").read_text()
ROWS = {
    match[1]: [cell.strip() for cell in line.split("|")[2:-1]]
    for line in TEXT.splitlines()
    if (match := re.match(r"\| `(\w+)` \|", line))
}


def test_the_table_has_each_check_once_and_no_other() -> None:
    assert sorted(ROWS) == sorted(check.name for check in CHECKS)


def figures(cell: str) -> list[float]:
    """The numbers in a cell of the table."""
    return [float(number) for number in re.findall(r"\d*\.?\d+", cell)]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_each_check_is_explained(check: Check) -> None:
    assert f"**`{check.name}`**" in TEXT


@pytest.mark.parametrize("check", [c for c in CHECKS if c.limit is not None], ids=lambda check: check.name)
def test_the_limits_are_those_of_the_code(check: Check) -> None:
    assert check.limit is not None
    _, valid, invalid, source = ROWS[check.name]
    if check.name in {"placement", "samples"}:
        assert source == check.limit.source[0]
        return
    assert check.limit.valid in figures(valid)
    if isinf(check.limit.invalid):
        assert "never" in invalid
    else:
        assert check.limit.invalid in figures(invalid)
    assert source == check.limit.source[0]
