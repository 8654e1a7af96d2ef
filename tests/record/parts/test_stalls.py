"""What a process did while nothing was answered."""

from types import ModuleType

import pytest

from loadstone.drive.outcome import DriveRecord, Stall
from loadstone.observe.sample import Sample
from loadstone.record.parts.stalls import stalls_of

BEGIN_S = 1000.0
KINDS = {"redis": "redis", "app": "subject"}


@pytest.fixture
def drive(synthetic: ModuleType) -> DriveRecord:
    """Nothing came from 2 s to 5 s; and the driver stood still, which is none of a server's."""
    stalls = (Stall(of="server", begin_s=2.0, end_s=5.0, waiting=9), Stall(of="driver", begin_s=6, end_s=7, waiting=9))
    trial = synthetic.make_trial()
    found: DriveRecord = trial.facts.drive
    return found.model_copy(update={"stalls": stalls, "started_unix_ns": int(BEGIN_S * 1e9)})


def _samples(part: str, share: float, stopped: bool = False) -> list[Sample]:
    """Each second: CPU at a share of one core from 2 s to 5 s, and all of it at other times."""
    cpu_s, found = 0.0, []
    for second in range(9):
        unix_s = BEGIN_S + second
        found.append(Sample(unix_s, part, "cpu_s", cpu_s))
        found.append(Sample(unix_s, part, "stopped", float(stopped and 2 < second < 5)))
        cpu_s += share if 2 <= second < 5 else 1.0
    return found


@pytest.mark.parametrize(
    ("share", "stopped", "state"),
    [(0.0, True, "stopped"), (0.0, False, "idle"), (0.98, False, "busy"), (0.5, False, None)],
)
def test_the_state_of_the_process_is_what_it_did_in_that_time(
    drive: DriveRecord, share: float, stopped: bool, state: str | None
) -> None:
    (found,) = stalls_of(drive, _samples("redis", share, stopped), {"redis": "redis"}, "redis")
    assert (found.begin_s, found.length_s, found.waiting) == (2.0, 3.0, 9)
    assert found.state == state
    assert found.part == (None if state is None else "redis")


def test_behind_an_application_the_one_that_was_stopped_is_named(drive: DriveRecord) -> None:
    samples = [*_samples("app", 0.0), *_samples("redis", 0.0, stopped=True)]
    (found,) = stalls_of(drive, samples, KINDS, "app")
    assert (found.part, found.state) == ("redis", "stopped")
    (found,) = stalls_of(drive, [*_samples("app", 0.0), *_samples("redis", 0.0)], KINDS, "app")
    assert (found.part, found.state) == ("app", "idle"), "both waited: the one that was asked"
    (found,) = stalls_of(drive, [], KINDS, "app")
    assert (found.part, found.state) == (None, None)
