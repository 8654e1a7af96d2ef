"""What servers lost that were killed under load: a row a condition, over its tries."""

from collections.abc import Sequence

from loadstone.analyse.model import CrashRow, CrashTable
from loadstone.message import Message, message
from loadstone.plan.labels import condition_label
from loadstone.record.crash import CrashRecord
from loadstone.record.reading import Run
from loadstone.spec.experiment import Crash, Experiment, conditions_varied
from loadstone.spec.levels import Condition, fits, identity

_NAMED = 3


def make_crash_tables(run: Run) -> list[CrashTable]:
    """A table for each crash of the experiment that was tried at least once, in the experiment's order."""
    tables = []
    for crash in run.experiment.crashes:
        tried = [record for record in run.crashes if record.name == crash.name]
        rows = [_row(run.experiment, crash, records) for records in _by_condition(run.experiment, crash, tried)]
        if rows:
            note = " ".join(crash.note.split())
            tables.append(CrashTable(name=crash.name, title=crash.title, note=note, rows=rows))
    return tables


def _by_condition(experiment: Experiment, crash: Crash, tried: Sequence[CrashRecord]) -> list[list[CrashRecord]]:
    """The tries of each condition, in the order in which the crash varies its factors."""
    groups: dict[str, list[CrashRecord]] = {}
    for record in tried:
        groups.setdefault(identity(record.condition), []).append(record)
    planned = [identity(condition) for condition in conditions_varied(experiment, crash.vary)]
    places = {condition: place for place, condition in enumerate(planned)}
    return [groups[condition] for condition in sorted(groups, key=lambda one: places.get(one, len(places)))]


def _row(experiment: Experiment, crash: Crash, tries: Sequence[CrashRecord]) -> CrashRow:
    """Tries without a result are named, and count for nothing else."""
    valid = [one for one in tries if one.tells]
    looked_up = [one.looked_up for one in valid if one.looked_up is not None]
    condition = tries[0].condition
    lost = [one.lost_min or 0 for one in valid]
    promised = _promised(crash, condition)
    return CrashRow(
        condition=condition,
        label=condition_label(experiment, condition, [name for name in crash.vary if name in condition]),
        times=len(valid),
        acknowledged=sum(one.looked_up.keys if one.looked_up else one.acknowledged for one in valid),
        writes=sum(one.acknowledged for one in valid),
        looked_up=len(looked_up) == len(valid),
        present=sum(one.present for one in looked_up),
        unacknowledged_present=sum(one.unacknowledged_present for one in looked_up),
        lost_min=sum(lost),
        lost_max=sum(one.lost_max or 0 for one in valid),
        lost_worst=max(lost, default=0),
        restart_s=max((one.restart_s or 0.0 for one in valid), default=0.0),
        promised=promised,
        broken=promised is not None and (max(lost, default=0) > promised or any(map(_never_again, tries))),
        lost_keys=[key for one in looked_up for key in one.lost_keys][:_NAMED],
        problems=[_problem(one) for one in tries if one not in valid],
    )


def _never_again(one: CrashRecord) -> bool:
    """Whether the server was killed and did not start again: then all that it acknowledged is gone."""
    return one.killed_after_s > 0 and one.restart_s is None


def _promised(crash: Crash, condition: Condition) -> int | None:
    """How many acknowledged writes a try may lose under this condition; None: nothing is promised."""
    promise = crash.promise
    return promise.lost if promise is not None and fits(condition, promise.when) else None


def _problem(one: CrashRecord) -> Message:
    unrestarted = one.restart_s is None
    why = message("crash_not_restarted") if unrestarted else message("crash_not_counted")
    return message("crash_try", number=one.number, why=one.failure or why)
