"""Lessons that follow from the trials' own facts: failures, bottlenecks, and rows."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadstone.analyse.model import LessonVerdict, ResultTable, Row
from loadstone.analyse.server_side import stored_keys, stored_rows, users_of
from loadstone.judge.validity.application import stored_rows as stored
from loadstone.message import Message, message
from loadstone.plan.labels import label_of, level_label
from loadstone.record.parts.part_kinds import declared
from loadstone.record.trial import TrialRecord
from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import fits, identity

Found = tuple[LessonVerdict, Message]
FALLS = 0.05
"""J: a store's CPU that falls by less is not called falling."""


def errors_kept_apart(experiment: Experiment, trials: Sequence[TrialRecord]) -> Found:
    """Conditions in which operations failed, and how much higher their rate looks with the failures in it."""
    groups = [members for members in _by_condition(trials) if any(trial.counts.sent for trial in members)]
    if not groups:
        return "unknown", message("lesson_nothing_sent")
    failing = [members for members in groups if any(_failed(trial) for trial in members)]
    if not failing:
        return "did_not_happen", message("lesson_no_errors", conditions=len(groups))
    worst = max(failing, key=_failed_share)
    elapsed_s = sum(trial.duration_s for trial in worst)
    counted = sum(trial.throughput_per_s * trial.duration_s for trial in worst) / elapsed_s if elapsed_s else 0.0
    correct = sum(trial.goodput_per_s * trial.duration_s for trial in worst) / elapsed_s if elapsed_s else 0.0
    return "caught", message(
        "lesson_errors",
        failing=len(failing),
        conditions=len(groups),
        label=label_of(experiment, worst[0].condition),
        failed_share=_failed_share(worst),
        counted_per_s=counted,
        correct_per_s=correct,
    )


def _by_condition(trials: Sequence[TrialRecord]) -> list[list[TrialRecord]]:
    groups: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        groups.setdefault(identity(trial.condition), []).append(trial)
    return list(groups.values())


def _failed(trial: TrialRecord) -> int:
    return sum(trial.counts.errors.values()) + trial.counts.timeouts + trial.counts.in_flight


def _failed_share(trials: Sequence[TrialRecord]) -> float:
    sent = sum(trial.counts.sent for trial in trials)
    return sum(_failed(trial) for trial in trials) / sent if sent else 0.0


def bottlenecks(experiment: Experiment, tables: Sequence[ResultTable], trials: Sequence[TrialRecord]) -> Found:
    """How often which part was the bottleneck, and whether the store's CPU falls as users grow.

    Where it is named for every condition, what was not examined then is answered.
    """
    every = {identity(row.condition): row for table in tables for row in table.rows}
    rows = [row for row in every.values() if row.bottleneck]
    parts = Counter(row.bottleneck.part for row in rows if row.bottleneck is not None)
    known = sum(number for part, number in parts.items() if part != "unknown")
    if not known:
        return "unknown", message("lesson_bottlenecks_unknown")
    return "did_not_happen" if known == len(every) else "unknown", message(
        "lesson_bottlenecks",
        conditions=len(rows),
        parts=[message("lesson_part_in", part=part, conditions=number) for part, number in parts.most_common()],
        without=len(every) - len(rows),
        falls=_falling(experiment, rows, trials),
    )


def _falling(experiment: Experiment, rows: Sequence[Row], trials: Sequence[TrialRecord]) -> Message | None:
    """The case in which the store's CPU falls most while users grow: something before the store is the bottleneck."""
    users = {identity(trial.condition): _users(trial) for trial in trials}
    found: list[_Fall] = []
    for group, factor in _by_users(rows, users):
        first, last = group[0], group[-1]
        before, after = _store_cpu(first), _store_cpu(last)
        if before and after is not None and after < (1 - FALLS) * before:
            ends = [level_label(factor, row.condition[factor], experiment.factors.get(factor)) for row in (first, last)]
            found.append(_Fall(before, after, ends[0], ends[1], last.label))
    if not found:
        return None
    most = min(found, key=lambda fall: (fall.after / fall.before, fall.first, fall.last, fall.label))
    return message(
        "lesson_store_cpu_falls",
        before_cores=most.before,
        after_cores=most.after,
        first=most.first,
        last=most.last,
        label=most.label,
        more_cases=len(found) - 1,
    )


@dataclass(frozen=True)
class _Fall:
    """The store's CPU with the fewest users and with the most, in cores."""

    before: float
    after: float
    first: str
    last: str
    label: str


def _by_users(rows: Sequence[Row], users: dict[str, int]) -> Iterator[tuple[list[Row], str]]:
    """Rows that differ in one factor alone, which changes the number of users; the fewest first."""
    for factor in sorted({name for row in rows for name in row.condition}):
        groups: dict[str, list[Row]] = {}
        for row in rows:
            rest = {name: level for name, level in row.condition.items() if name != factor}
            groups.setdefault(identity(rest), []).append(row)
        for group in groups.values():
            known = [row for row in group if users.get(identity(row.condition))]
            if len({users[identity(row.condition)] for row in known}) > 1:
                yield sorted(known, key=lambda row: users[identity(row.condition)]), factor


def _users(trial: TrialRecord) -> int:
    return users_of(trial) or 0


def _store_cpu(row: Row) -> float | None:
    """CPU of all stores together, in cores; None where none was observed."""
    stores = [figures for part, figures in row.seen.items() if declared(row.kinds.get(part)).store]
    shares = [figures["cpu_share"].avg for figures in stores if "cpu_share" in figures]
    return sum(shares) if shares else None


def same_data(experiment: Experiment, trials: Sequence[TrialRecord], scale: float) -> Found:
    """Whether the stores that were driven had been given the same rows."""
    driven = [members[0].condition for members in _by_condition(trials) if any(one.counts.sent for one in members)]
    same: list[Message] = []
    for name, data in experiment.data.items():
        stores = {place.server for place in data.into if any(fits(condition, place.when) for condition in driven)}
        if not stores:
            continue
        if not isinstance(data.rows, int):
            return "unknown", message("lesson_rows_vary", data=name)
        rows = max(1, round(scale * data.rows))
        same.append(message("lesson_rows_of", data=name, rows=rows, stores=sorted(stores)))
    if not same:
        return "unknown", message("lesson_no_rows")
    return "did_not_happen", message("lesson_same_rows", data=same)


def rows_as_rows(experiment: Experiment, trials: Sequence[TrialRecord]) -> Found:
    """Whether what was stored, counted as rows, is what was answered; and what counting keys would have said."""
    counted, off = 0, 0
    keyed: dict[str, tuple[int, int]] = {}
    for trial in trials:
        rows = stored_rows(trial.facts)
        if rows is None:
            continue
        counted += 1
        off += any(check.name == stored.name and check.verdict == "invalid" for check in trial.checks)
        keys = stored_keys(trial.facts)
        if keys is not None and keys != rows:
            before = keyed.get(identity(trial.condition), (0, 0))
            keyed[identity(trial.condition)] = (before[0] + rows, before[1] + keys)
    if not counted:
        return "unknown", message("lesson_nothing_counted")
    labels = {identity(trial.condition): label_of(experiment, trial.condition) for trial in trials}
    said = message("lesson_rows_counted", counted=counted, unequal=off, keyed=_keyed(keyed, labels))
    return "caught" if keyed or off else "did_not_happen", said


def _keyed(keyed: Mapping[str, tuple[int, int]], labels: Mapping[str, str]) -> Message | None:
    """The condition in which the number of keys is furthest from that of rows; None where they are the same."""
    if not keyed:
        return None
    condition, (rows, keys) = max(keyed.items(), key=lambda one: abs(one[1][1] / max(1, one[1][0]) - 1))
    return message("lesson_keys_counted", rows=rows, keys=keys, label=labels[condition])
