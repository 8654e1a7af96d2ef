"""Keys that are many: how far storing and removing them is, and who does not wait for it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import pytest
from tests.measure.fake_rig import FakeRig, planned_run

from loadstone.experiment.plan.key_time import FEW, LOADED_PER_S, REMOVED_PER_S, keys_s
from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.machine.start_context import LastingStep
from loadstone.measure.key_progress import removing, storing

Open = Callable[..., FakeRig]


def clock(step_s: float) -> Callable[[], float]:
    """A clock that goes on by so much each time it is read."""
    seconds: Iterator[float] = count(0.0, step_s)
    return lambda: next(seconds)


def test_few_keys_are_not_worth_a_line() -> None:
    told: list[str] = []
    progress = storing(told.append, 100_000)
    progress.begin()
    progress.done(50_000)
    assert told == []


def test_many_keys_are_counted_down() -> None:
    told: list[str] = []
    progress = removing(told.append, 40_000_000, "127.0.0.1:7000", lambda: False)
    progress._clock = clock(10.0)
    progress._began_s = progress._told_s = 0.0
    progress.begin()
    progress.done(0)
    progress.done(10_000_000)
    assert told[0] == "removing 40 M keys from 127.0.0.1:7000: about 2 min"
    assert told[-1] == "removing 40 M keys from 127.0.0.1:7000: 25 % done, about 30 s left"


def test_who_asks_to_stop_is_told_how_not_to_wait() -> None:
    told: list[str] = []
    removing(told.append, 40_000_000, "127.0.0.1:7000", lambda: True).begin(lasting=True)
    assert told[0].endswith("; Ctrl-C again leaves them to loadstone clean")
    assert isinstance(told[0], LastingStep)


def test_the_forecast_has_the_keys_of_large_key_spaces() -> None:
    _, run_plan = planned_run()
    assert run_plan.keys_s() == 0.0
    large = [_with_keys(trial, FEW + LOADED_PER_S) for trial in run_plan.trials]
    assert keys_s(large[0].plan, None) == LOADED_PER_S / REMOVED_PER_S
    longer = replace(run_plan, trials=tuple(large))
    assert longer.expected_s() == pytest.approx(run_plan.expected_s() + longer.keys_s())


def _with_keys(trial: PlannedTrial, number: int) -> PlannedTrial:
    plan = trial.plan.model_copy(update={"keys": trial.plan.keys.model_copy(update={"count": number})})
    return replace(trial, plan=plan)


@pytest.mark.fault(
    "a second Ctrl-C while keys are removed", "they stay for `loadstone clean`, which is said", area="interrupted"
)
def test_who_does_not_wait_leaves_the_keys(fake_rig: Open) -> None:
    rig = fake_rig(ours=False)
    planned = _with_keys(rig.planned(), 2_000_000)
    ready = rig.parts.need(planned)
    rig.server.store.keys[f"{planned.plan.keys.prefix}{0:012}"] = "1"
    with pytest.raises(KeyboardInterrupt), rig.measurement.prepare(planned, ready):
        raise KeyboardInterrupt
    assert len(rig.server.store.keys) == 1


def test_keys_of_a_server_of_ours_end_with_it_when_the_run_is_stopped(fake_rig: Open) -> None:
    rig = fake_rig()
    planned = rig.planned()
    ready = rig.parts.need(planned)
    rig.server.store.keys[f"{planned.plan.keys.prefix}{0:012}"] = "1"
    rig.stopping.set()
    with rig.measurement.prepare(planned, ready):
        pass
    assert len(rig.server.store.keys) == 1
