"""`docs/checks.md` says of which checks a Redis alone has; its table is written by `scripts/checks.py`."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.scripts import checked

from loadstone.judge.checks.checks import CHECKS, judge_trial
from loadstone.run_folder.trial import TrialRecord

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "checks.md").read_text()


def names_of(line: dict[str, Any]) -> set[str]:
    """The checks whose question arises in a trial."""
    return {check.name for check in judge_trial(TrialRecord.model_validate(line)).checks}


def becomes_another_software(line: dict[str, Any]) -> None:
    """What was a Redis is a database, which was not started again."""
    start = {"before": "a", "after": "a", "between_s": 1.0}
    line["facts"] |= {"servers": {}, "kinds": {"redis": "mariadb"}, "starts": {"redis": start}}


def test_make_docs_has_nothing_to_write() -> None:
    assert checked("checks") == (0, "")


def test_the_checks_of_a_redis_alone_are_listed(clean: dict[str, Any], injectors: ModuleType) -> None:
    (listed,) = re.findall(r"What only a Redis has \(([^)]*)\)", TEXT)
    without = names_of(injectors.injected(clean, becomes_another_software))
    assert set(re.findall(r"`(\w+)`", listed)) == names_of(clean) - without


def test_every_limit_says_where_it_comes_from_and_why() -> None:
    limits = [check.limit for check in CHECKS if check.limit is not None]
    assert [limit.source for limit in limits if not re.fullmatch(r"[SJX]: .{10,}[^.]", limit.source)] == []


def test_a_check_that_bounds_the_rate_is_at_most_suspect() -> None:
    bounding = [check for check in CHECKS if check.about == "rate"]
    assert bounding
    assert all(check.limit is not None and check.limit.invalid == float("inf") for check in bounding)
