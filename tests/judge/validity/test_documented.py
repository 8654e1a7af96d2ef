"""`docs/checks.md` has every check, with the limits of the code."""

import re
from math import isinf
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.validity.check import Check
from loadstone.judge.validity.checks import CHECKS
from loadstone.judge.validity.trial_verdict import judge_trial
from loadstone.record.trial import TrialRecord

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


def section(title: str) -> str:
    """What stands below a heading of the page."""
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def names_of(line: dict[str, Any]) -> set[str]:
    """The checks whose question arises in a trial."""
    return {check.name for check in judge_trial(TrialRecord.model_validate(line)).checks}


def becomes_another_software(line: dict[str, Any]) -> None:
    """What was a Redis is a database, which was not started again."""
    start = {"before": "a", "after": "a", "between_s": 1.0}
    line["facts"] |= {"servers": {}, "kinds": {"redis": "mariadb"}, "starts": {"redis": start}}


def test_the_checks_of_a_redis_alone_are_listed(clean: dict[str, Any], injectors: ModuleType) -> None:
    (listed,) = re.findall(r"What only a Redis has \(([^)]*)\)", TEXT)
    without = names_of(injectors.injected(clean, becomes_another_software))
    assert set(re.findall(r"`(\w+)`", listed)) == names_of(clean) - without


def test_every_check_answers_a_rule() -> None:
    answering = {
        name for line in section("Which rule stands where").splitlines() for name in re.findall(r"`(\w+)`", line)
    }
    assert answering == {check.name for check in CHECKS}
