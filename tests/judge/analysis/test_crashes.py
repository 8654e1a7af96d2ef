"""What a killed server lost, by condition."""

from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from loadstone.experiment.spec.experiment import CrashSpec
from loadstone.judge.analysis.crashes import CrashRow, crash_tables
from loadstone.run_folder.crash import CrashRecord
from loadstone.run_folder.reading import RecordedRun, read_run
from loadstone.text.sentences import render_message

CRASH = {
    "name": "durability", "title": "Writes lost", "server": "redis", "count": "DBSIZE",
    "vary": {"operation": ["set"], "idle": ["few", "many"]}, "note": "Killed\n  under load.",
}  # fmt: skip


@pytest.fixture(scope="module")
def run(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    read = read_run(synthetic.write_run(tmp_path_factory.mktemp("runs"), until=1))
    experiment = read.experiment.model_copy(update={"crashes": (CrashSpec.model_validate(CRASH),)})
    return replace(read, experiment=experiment)


def crash(idle: str, number: int, **changes: Any) -> CrashRecord:
    condition = {"operation": "set", "payload": "1 kB", "workers": 32, "idle": idle}
    given: dict[str, Any] = {
        "name": "durability", "trial": f"crash-{idle}-{number}", "condition": condition, "number": number,
        "acknowledged": 1000, "unknown": 4, "found": 1000, "restart_s": 0.2,
        "killed_after_s": 1.0, "started_unix_ns": 5,
    }  # fmt: skip
    return CrashRecord.model_validate(given | changes)


def rows(run: RecordedRun, *crashes: CrashRecord) -> list[CrashRow]:
    (table,) = crash_tables(replace(run, crashes=crashes))
    assert (table.title, table.note) == ("Writes lost", "Killed under load.")
    return table.rows


def test_a_row_adds_up_the_tries_of_its_condition(run: RecordedRun) -> None:
    few, many = rows(
        run, crash("many", 1), crash("few", 1, found=900), crash("few", 2, found=990, restart_s=0.5), crash("many", 2)
    )
    assert few.label == "set, few"
    assert (few.times, few.acknowledged, few.restart_s) == (2, 2000, 0.5)
    assert (few.lost_min, few.lost_max, few.lost_worst) == (110, 118, 100)
    assert (many.label, many.lost_min, many.lost_max) == ("set, many", 0, 8)


def test_a_try_that_tells_nothing_is_named_and_not_counted(run: RecordedRun) -> None:
    (few,) = rows(
        run,
        crash("few", 1),
        crash("few", 2, found=0, failure="the driver never reached it."),
        crash("few", 3, found=None),
        crash("few", 4, restart_s=None, found=None),
    )
    assert (few.times, few.acknowledged, few.lost_min) == (1, 1000, 0)
    assert [render_message(problem) for problem in few.problems] == [
        "Try 2: the driver never reached it.",
        "Try 3: what it held could not be counted.",
        "Try 4: it did not start again.",
    ]


@pytest.mark.parametrize(
    ("acknowledged", "unknown", "found", "lost"),
    [
        (100, 0, 100, (0, 0)),
        (100, 5, 98, (2, 7)),
        (100, 5, 103, (0, 2)),
        (100, 5, 120, (0, 0)),
        (100, 5, -30, (100, 100)),
        (0, 5, -3, (0, 0)),
    ],
)
def test_no_more_is_lost_than_was_acknowledged(
    acknowledged: int, unknown: int, found: int, lost: tuple[int, int]
) -> None:
    reported = crash("few", 1, acknowledged=acknowledged, unknown=unknown, found=found)
    assert (reported.lost_min, reported.lost_max) == lost


def looked_up(**found: Any) -> dict[str, Any]:
    given = {"keys": 1000, "present": 1000, "lost": 0, "unacknowledged_present": 0}
    return {"found": None, "looked_up": given | found}


def test_what_was_looked_up_is_exact(run: RecordedRun) -> None:
    first = looked_up(present=997, lost=3, unacknowledged_present=2, lost_keys=["k:1", "k:2", "k:3"])
    (few,) = rows(run, crash("few", 1, **first), crash("few", 2, **looked_up(unacknowledged_present=1)))
    assert (few.looked_up, few.times, few.acknowledged, few.writes) == (True, 2, 2000, 2000)
    assert (few.lost_min, few.lost_max, few.lost_worst, few.present) == (3, 3, 3, 1997)
    assert (few.unacknowledged_present, few.lost_keys) == (3, ["k:1", "k:2", "k:3"])


def test_of_overwritten_keys_the_keys_are_counted(run: RecordedRun) -> None:
    found = looked_up(keys=100, present=97, lost=1, unordered=2)
    (few,) = rows(run, crash("few", 1, **found))
    assert (few.acknowledged, few.writes, few.lost_min, few.lost_max) == (100, 1000, 1, 3)


def test_a_row_with_a_try_that_was_counted_is_one_of_bounds(run: RecordedRun) -> None:
    (few,) = rows(run, crash("few", 1, **looked_up()), crash("few", 2))
    assert (few.looked_up, few.lost_min, few.lost_max) == (False, 0, 4)


@pytest.mark.parametrize(("when", "lost", "broken"), [({}, 0, True), ({}, 2, False), ({"idle": "few"}, 0, False)])
def test_a_promise_is_broken_by_what_is_lost_for_certain(
    run: RecordedRun, when: dict[str, str], lost: int, broken: bool
) -> None:
    promising = CrashSpec.model_validate(CRASH | {"promise": {"when": when, "lost": lost}})
    promised = replace(run, experiment=run.experiment.model_copy(update={"crashes": (promising,)}))
    (many,) = rows(promised, crash("many", 1, **looked_up(present=998, lost=2)), crash("many", 2, found=999, unknown=9))
    assert (many.promised, many.broken) == (None if when else lost, broken)


def test_a_range_breaks_no_promise(run: RecordedRun) -> None:
    promising = CrashSpec.model_validate(CRASH | {"promise": {"lost": 0}})
    promised = replace(run, experiment=run.experiment.model_copy(update={"crashes": (promising,)}))
    (few,) = rows(promised, crash("few", 1))
    assert (few.lost_max, few.promised, few.broken) == (4, 0, False)


def test_without_a_try_there_is_no_table(run: RecordedRun) -> None:
    assert crash_tables(run) == []
    assert crash_tables(replace(run, crashes=(crash("few", 1, name="another"),))) == []
