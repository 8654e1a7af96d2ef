"""What servers kept that were killed under load: the tries of a condition are a row.

Tries without a result are named, and count for nothing else.
"""

from collections.abc import Sequence

from loadstone.experiment.plan.labels import condition_label
from loadstone.experiment.spec.experiment import CrashSpec, Experiment, conditions_varied
from loadstone.experiment.spec.levels import Condition, Level, identity, matches
from loadstone.judge.verdict import AnalysisModel
from loadstone.run_folder.crash import CrashRecord
from loadstone.run_folder.reading import RecordedRun
from loadstone.text.message import Message, message

_NAMED = 3
"""Number of the lost keys that are named."""


class CrashRow(AnalysisModel):
    """One condition under which a server was killed."""

    condition: dict[str, Level]
    label: str
    times: int
    acknowledged: int
    """Writes that were answered as stored, all tries together; of keys that were overwritten: the keys."""
    writes: int = 0
    """All writes that were answered as stored: more than `acknowledged` where keys were overwritten."""
    looked_up: bool = False
    """Every acknowledged key was looked up; else writes were counted, which gives bounds."""
    present: int = 0
    """Number of acknowledged writes that are there after the restart; where they were looked up."""
    unacknowledged_present: int = 0
    """There after the restart, sent and never acknowledged; where they were looked up."""
    lost_min: int
    """Number of acknowledged writes that are lost for certain."""
    lost_max: int
    """Lost at most: had everything that was in flight been stored in their place. Where they were looked up it is
    more than `lost_min` only if several writes of a key were in flight at once."""
    lost_worst: int
    """The most of one try (`lost_min`)."""
    restart_s: float
    """The longest time until it served again, in seconds."""
    promised: int | None = None
    """How many a try may lose at most, by the experiment; None: nothing is promised."""
    broken: bool = False
    """A try lost more than is promised, for certain."""
    lost_keys: list[str] = []
    """Some of the lost ones, by name."""
    problems: list[Message] = []
    """Tries without a result: why, one sentence each."""


class CrashTable(AnalysisModel):
    """One crash of the experiment."""

    name: str
    title: str
    note: str
    rows: list[CrashRow]


def crash_tables(run: RecordedRun) -> list[CrashTable]:
    """A table for each crash of the experiment that was tried at least once, in the experiment's order."""
    tables = []
    for crash in run.experiment.crashes:
        tries = [record for record in run.crashes if record.name == crash.name]
        rows = [_row(run.experiment, crash, group) for group in _by_condition(run.experiment, crash, tries)]
        if rows:
            note = " ".join(crash.note.split())
            tables.append(CrashTable(name=crash.name, title=crash.title, note=note, rows=rows))
    return tables


def _by_condition(experiment: Experiment, crash: CrashSpec, tries: Sequence[CrashRecord]) -> list[list[CrashRecord]]:
    """The tries of each condition, in the order in which the crash varies its factors."""
    groups: dict[str, list[CrashRecord]] = {}
    for record in tries:
        groups.setdefault(identity(record.condition), []).append(record)
    planned = [identity(condition) for condition in conditions_varied(experiment, crash.vary)]
    places = {condition: place for place, condition in enumerate(planned)}
    return [groups[condition] for condition in sorted(groups, key=lambda name: places.get(name, len(places)))]


def _row(experiment: Experiment, crash: CrashSpec, tries: Sequence[CrashRecord]) -> CrashRow:
    valid = [record for record in tries if record.tells]
    looked_up = [record.looked_up for record in valid if record.looked_up is not None]
    condition = tries[0].condition
    lost = [record.lost_min or 0 for record in valid]
    promised = _promised(crash, condition)
    return CrashRow(
        condition=condition,
        label=condition_label(experiment, condition, [name for name in crash.vary if name in condition]),
        times=len(valid),
        acknowledged=sum(one.looked_up.keys if one.looked_up else one.acknowledged for one in valid),
        writes=sum(record.acknowledged for record in valid),
        looked_up=len(looked_up) == len(valid),
        present=sum(keys.present for keys in looked_up),
        unacknowledged_present=sum(keys.unacknowledged_present for keys in looked_up),
        lost_min=sum(lost),
        lost_max=sum(record.lost_max or 0 for record in valid),
        lost_worst=max(lost, default=0),
        restart_s=max((record.restart_s or 0.0 for record in valid), default=0.0),
        promised=promised,
        broken=promised is not None and (max(lost, default=0) > promised or any(map(_never_again, tries))),
        lost_keys=[key for keys in looked_up for key in keys.lost_keys][:_NAMED],
        problems=[_problem(record) for record in tries if record not in valid],
    )


def _never_again(record: CrashRecord) -> bool:
    """Whether the server was killed and did not start again: then all that it acknowledged is gone."""
    return record.killed_after_s > 0 and record.restart_s is None


def _promised(crash: CrashSpec, condition: Condition) -> int | None:
    """Return how many acknowledged writes a try may lose under this condition; None: nothing is promised."""
    promise = crash.promise
    return promise.lost if promise is not None and matches(condition, promise.when) else None


def _problem(record: CrashRecord) -> Message:
    why = message("crash_not_restarted") if record.restart_s is None else message("crash_not_counted")
    return message("crash_try", number=record.number, why=record.failure or why)
