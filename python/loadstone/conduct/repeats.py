"""What is measured again: trials that something outside spoiled, and never one because of its result."""

from loadstone.analyse.checks import outside_causes
from loadstone.record.trial import CheckResult, TrialRecord

SHARE_MAX = 0.2
"""Share of the blocks of a group (of the trials of a table's block) that may be measured again, but at least one."""


def spoiled(trial: TrialRecord) -> CheckResult | None:
    """The check that says what came from outside and spoiled the trial; None if nothing did."""
    return next((check for check in outside_causes(trial) if check.verdict == "invalid"), None)


def allowed(number: int) -> int:
    """How many of `number` may be measured again."""
    return max(1, int(SHARE_MAX * number))
