"""A block in rounds, on fakes: all its conditions up, one drive of turns, a record of each."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from loadstone.experiment.plan.rounds import Rounds
from loadstone.experiment.plan.run_plan import Block
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.errors import Interrupted, OutOfSpace, ServerGone, UserError

from ..fakes import DONE
from .conftest import check_of
from .fake_rig import FakeRig, ignored

Open = Callable[..., FakeRig]
ROUNDS = Rounds((3,), slice_s=0.1, settle_s=0.02)
ORDERS = ((0, 1), (1, 0), (0, 1))


def block(rig: FakeRig) -> Block:
    """Both operations of the rig's experiment, in three rounds."""
    trials = [replace(rig.planned(name), in_rounds=True) for name in ("set", "get")]
    return Block(tuple(trials), ORDERS, ROUNDS)


def run(rig: FakeRig) -> list[TrialRecord]:
    return rig.conductor.run(block(rig), ignored)


def test_each_condition_has_its_record_with_its_slices(fake_rig: Open) -> None:
    rig = fake_rig()
    set_, get = run(rig)
    assert [set_, get] == rig.recorded()
    assert [one.condition["operation"] for one in (set_, get)] == ["set", "get"]
    assert set_.started_unix_ns == get.started_unix_ns
    assert len(set_.slices) == len(get.slices) == 3
    assert set_.slices[0] == pytest.approx((0.02, 0.1))
    assert get.slices[0] == pytest.approx((0.12, 0.2))
    assert set_.slices[1] == pytest.approx((0.32, 0.4)), "the second in the second round"
    assert set_.counts.ok == get.counts.ok == DONE
    assert rig.driver.rounds[0].orders == ORDERS


def test_all_data_is_stored_before_the_first_slice_and_no_key_stays(fake_rig: Open) -> None:
    rig = fake_rig()
    run(rig)
    assert [one.operations[0].name for one in rig.driver.shares] == ["set", "set", "get"]
    assert rig.server.store.keys == {}
    assert rig.parts.needed == [one.name for one in block(rig).trials]


def test_a_shared_server_is_held_against_the_sum_of_its_drives(fake_rig: Open) -> None:
    """Both use one server: alone, neither would agree with its counters."""
    rig = fake_rig()
    for found in run(rig):
        assert found.facts.company.drives == 1
        assert check_of(found, "server_counter").verdict == "valid"
        assert check_of(found, "key_count").verdict in ("valid", "unknown")
    alone = rig.trial("set")
    assert alone.facts.company is None


def test_cpu_of_a_part_is_that_of_its_slices(fake_rig: Open) -> None:
    rig = fake_rig()
    set_, _ = run(rig)
    assert set_.cpu_s["redis"] == pytest.approx(3 * 0.04)
    assert set_.facts.parts["redis"].mean_share == pytest.approx(0.5)


@pytest.mark.parametrize("ours", [True, False])
def test_a_server_that_dies_ends_the_whole_block(fake_rig: Open, *, ours: bool) -> None:
    rig = fake_rig(ours=ours)
    rig.driver.at = {"measure": rig.server.end}
    if ours:
        found = run(rig)
    else:
        with pytest.raises(ServerGone):
            run(rig)
        found = rig.recorded()
    assert [one.verdict for one in found] == ["invalid", "invalid"]


def test_parts_that_do_not_start_are_not_tried_for_ever(fake_rig: Open) -> None:
    rig = fake_rig()
    rig.parts.fails = UserError("no port is free")
    for _ in range(4):
        found = run(rig)
        assert [one.verdict for one in found] == ["invalid", "invalid"]
    assert len(rig.parts.needed) == 2 * 2, "twice, and then no more"


def test_an_interruption_records_nothing_and_leaves_no_key(fake_rig: Open) -> None:
    """On a server of the user's; one of ours ends with its keys."""
    rig = fake_rig(ours=False)
    rig.driver.at = {"measure": rig.interrupt}
    with pytest.raises(Interrupted):
        run(rig)
    assert rig.recorded() == []
    assert rig.server.store.keys == {}


def test_a_server_of_the_users_that_loses_keys_ends_the_run(fake_rig: Open) -> None:
    rig = fake_rig(ours=False)
    rig.driver.at = {"measure": lambda: rig.server.store.info.update(evicted_keys=5)}
    with pytest.raises(OutOfSpace):
        run(rig)
    assert {one.verdict for one in rig.recorded()} == {"invalid"}
