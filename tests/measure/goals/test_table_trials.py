"""How long a table's block takes, by what was measured of it so far."""

from types import ModuleType

import pytest

from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.measure.goals.table import TableTrials
from loadstone.run_folder.trial import TrialRecord

START_S = 1_790_000_000
CONDITIONS = tuple({"n": number} for number in range(1, 6))
OWN_S = 3.0


@pytest.fixture
def table(synthetic: ModuleType) -> TableTrials:
    """Two blocks of five conditions; by the plan a trial takes 3 s, and 1 s beside."""
    group = Group(
        name="table",
        conditions=CONDITIONS,
        pairs=(),
        metric="goodput_per_s",
        margin=0.05,
        looks=(2,),
        sequential=False,
        warm_block=False,
        trial_s=3.0,
        overhead_s=1.0,
    )
    plan = synthetic.make_plan()
    planned = [
        PlannedTrial(f"b{block:02d}-{order:03d}", CONDITIONS[order - 1], block, order, {}, plan, None, "table")
        for block in (1, 2)
        for order in range(1, 6)
    ]
    return TableTrials(group, planned)


@pytest.fixture
def template(synthetic: ModuleType) -> TrialRecord:
    return synthetic.make_trial()


def measure(table: TableTrials, template: TrialRecord, first: int, *begins_s: float) -> None:
    """The trials of block 1 from the `first` on, each with the time it began at."""
    for order, at_s in enumerate(begins_s, start=first):
        changes = {
            "trial": f"b01-{order:03d}",
            "block": 1,
            "order": order,
            "started_unix_ns": int((START_S + at_s) * 1e9),
            "phases": {"measure": (0.0, OWN_S)},
        }
        table.add(template.model_copy(update=changes))


def test_the_plan_tells_as_long_as_nothing_was_measured(table: TableTrials, template: TrialRecord) -> None:
    assert (table.block_s(), table.left_s()) == (20, 40)
    measure(table, template, 1, 0)
    assert table.left_s() == 36


def test_starts_of_servers_are_not_taken_for_what_every_trial_needs(table: TableTrials, template: TrialRecord) -> None:
    measure(table, template, 1, 0, 63, 126)
    assert table.left_s() == pytest.approx(7 * (OWN_S + 1.0)), "an application started before each of them so far"
    measure(table, template, 4, 131, 136)
    assert table.left_s() == pytest.approx(5 * (OWN_S + 31.0)), "two pauses of four are starts"


def test_a_pause_is_longer_than_planned_once_a_block_is_whole(table: TableTrials, template: TrialRecord) -> None:
    measure(table, template, 1, 0, 5, 10, 15)
    assert table.block_s() == pytest.approx(5 * (OWN_S + 1.0))
    measure(table, template, 5, 80)
    assert table.block_s() == pytest.approx(5 * (OWN_S + 2.0)), "the one start is left out"
