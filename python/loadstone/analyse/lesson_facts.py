"""Lessons that are told from the trials' own facts: failures, limits, and rows."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from loadstone.analyse.model import Part, ResultTable, Row
from loadstone.analyse.server_side import facts_of, stored_keys, stored_rows
from loadstone.figures import rounded
from loadstone.plan.labels import label_of, level_words
from loadstone.record.part_kinds import declared
from loadstone.record.trial import TrialRecord
from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import fits, identity

Told = tuple[Literal["caught", "did not happen", "unknown"], str]
FALLS = 0.05
"""J: a store's CPU that falls by less is not called falling."""
_PARTS: dict[Part, str] = {
    "generator": "the load program",
    "subject": "the application",
    "server": "the store",
    "pool": "a pool of connections",
    "network": "the network",
    "latency": "nothing but the round trips",
    "paced": "the load's own pace",
    "unknown": "something that could not be seen",
}


def errors_kept_apart(experiment: Experiment, trials: Sequence[TrialRecord]) -> Told:
    """Conditions in which operations failed, and how much higher their rate looks with the failures in it."""
    groups = [members for members in _by_condition(trials) if any(trial.counts.sent for trial in members)]
    if not groups:
        return "unknown", "No operation was sent in this run."
    failing = [members for members in groups if any(_failed(trial) for trial in members)]
    if not failing:
        return "did not happen", f"No operation failed, in none of {len(groups)} conditions."
    worst = max(failing, key=_failed_share)
    elapsed_s = sum(trial.duration_s for trial in worst)
    counted = sum(trial.throughput_per_s * trial.duration_s for trial in worst) / elapsed_s if elapsed_s else 0.0
    right = sum(trial.goodput_per_s * trial.duration_s for trial in worst) / elapsed_s if elapsed_s else 0.0
    more = f" ({percent(counted / right - 1, 1)} more)" if right else ""
    return "caught", (
        f"Operations failed in {len(failing)} of {len(groups)} conditions, most at "
        f"{label_of(experiment, worst[0].condition)}: {percent(_failed_share(worst), 2)}. Counted in they would make "
        f"{rounded(counted)} operations a second of {rounded(right)} correct replies{more}; only correct replies rank."
    )


def percent(share: float, digits: int = 0) -> str:
    """A share as text: `17 %`."""
    return f"{100 * share:.{digits}f} %"


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


def held_back(experiment: Experiment, tables: Sequence[ResultTable], trials: Sequence[TrialRecord]) -> Told:
    """How often which part was the limit, and whether the store's CPU falls as users grow.

    Where it is named for every condition, what was not asked then is answered.
    """
    every = {identity(row.condition): row for table in tables for row in table.rows}
    rows = [row for row in every.values() if row.bottleneck]
    parts = Counter(row.bottleneck.part for row in rows if row.bottleneck is not None)
    known = sum(number for part, number in parts.items() if part != "unknown")
    if not known:
        return "unknown", "What held the conditions back could not be seen."
    listed = ", ".join(f"{_PARTS[part]} in {number}" for part, number in parts.most_common())
    falls = _falling(experiment, rows, trials)
    without = len(every) - len(rows)
    left = f" {without} more gave no figure." if without else ""
    words = f"What held {len(rows)} condition{'' if len(rows) == 1 else 's'} back: {listed}.{left}{falls}"
    return "did not happen" if known == len(every) else "unknown", words


def _falling(experiment: Experiment, rows: Sequence[Row], trials: Sequence[TrialRecord]) -> str:
    """The case in which the store's CPU falls most while users grow: something before the store is the limit."""
    users = {identity(trial.condition): _users(trial) for trial in trials}
    found: list[tuple[float, str]] = []
    for group, factor in _by_users(rows, users):
        first, last = group[0], group[-1]
        before, after = _store_cpu(first), _store_cpu(last)
        if before and after is not None and after < (1 - FALLS) * before:
            ends = [level_words(factor, row.condition[factor], experiment.factors.get(factor)) for row in (first, last)]
            found.append(
                (
                    after / before,
                    f"from {percent(before)} of a core at {ends[0]} to {percent(after)} at {ends[1]} ({last.label})",
                )
            )
    if not found:
        return ""
    more = f"; so it does in {len(found) - 1} more" if len(found) > 1 else ""
    return f" As users grow the store's CPU falls, {min(found)[1]}{more}: the store is not what is full."


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
    model = trial.facts.get("plan", {}).get("model", {})
    return int(model.get("users", 0))


def _store_cpu(row: Row) -> float | None:
    """CPU of all stores together, in cores; None where none was observed."""
    stores = [figures for part, figures in row.seen.items() if declared(row.kinds.get(part)).store]
    shares = [figures["cpu_share"].avg for figures in stores if "cpu_share" in figures]
    return sum(shares) if shares else None


def same_data(experiment: Experiment, trials: Sequence[TrialRecord], scale: float) -> Told:
    """Whether the stores that were driven had been given the same rows."""
    driven = [members[0].condition for members in _by_condition(trials) if any(one.counts.sent for one in members)]
    told = []
    for name, data in experiment.data.items():
        stores = {place.server for place in data.into if any(fits(condition, place.when) for condition in driven)}
        if not stores:
            continue
        if not isinstance(data.rows, int):
            return "unknown", f"How many rows of {name} a store held depends on the condition."
        told.append(f"the same {max(1, round(scale * data.rows)):,} rows of {name} ({', '.join(sorted(stores))})")
    if not told:
        return "unknown", "No store that was given rows was driven in this run."
    return "did not happen", f"Every store held {' and '.join(told)}, written before its first trial."


def rows_as_rows(experiment: Experiment, trials: Sequence[TrialRecord]) -> Told:
    """Whether what was stored, counted as rows, is what was answered; and what counting keys would have said."""
    counted, off = 0, 0
    keyed: dict[str, tuple[int, int]] = {}
    for trial in trials:
        facts = facts_of(trial)
        rows = stored_rows(facts) if facts is not None else None
        if facts is None or rows is None:
            continue
        counted += 1
        off += any(check.name == "stored_rows" and check.verdict == "invalid" for check in trial.checks)
        keys = stored_keys(facts)
        if keys is not None and keys != rows:
            before = keyed.get(identity(trial.condition), (0, 0))
            keyed[identity(trial.condition)] = (before[0] + rows, before[1] + keys)
    if not counted:
        return "unknown", "Nothing that was stored was counted on a server in this run."
    equal = "every trial" if not off else f"{counted - off} of {counted} trials"
    words = f"Rows counted on the server are the correct replies in {equal} ({counted} counted)."
    if off:
        words += f" In {off} they are not: these give no figure."
    labels = {identity(trial.condition): label_of(experiment, trial.condition) for trial in trials}
    if keyed:
        condition, (rows, keys) = max(keyed.items(), key=lambda one: abs(one[1][1] / max(1, one[1][0]) - 1))
        per_row = f"{keys / rows:.3g} keys" if rows else "keys"
        words += f" A row is {per_row} at {labels[condition]}: "
        words += f"counting keys would have said {keys:,} where {rows:,} rows were stored."
    return "caught" if keyed or off else "did not happen", words
