"""What a condition can do at most, by its trials at full speed."""

from collections.abc import Iterable

from loadstone.experiment.plan.run_plan import FULL_SERVERS, WARM_BLOCK
from loadstone.experiment.spec.levels import Condition, identity
from loadstone.judge.checks.checks import forbidding
from loadstone.run_folder.trial import TrialRecord


def capacity_of(condition: Condition, records: Iterable[TrialRecord]) -> float | None:
    """Correct replies a second over the condition's trials that count: in the closed model, no check forbids them.

    Trials of other conditions, those that warm the machine up, those with more users than theirs, and those of the open
    model are left out. None where there is none, or nothing was replied.
    """
    condition_id = identity(condition)
    used = [
        record
        for record in records
        if identity(record.condition) == condition_id and record.block != WARM_BLOCK and _counts(record)
    ]
    measured_s = sum(one.duration_s for one in used)
    replied = sum(one.replies for one in used)
    return replied / measured_s if measured_s > 0 and replied > 0 else None


def _counts(trial: TrialRecord) -> bool:
    own_load = trial.search is None and trial.group != FULL_SERVERS
    return trial.facts.closed is not None and own_load and not forbidding(trial)
