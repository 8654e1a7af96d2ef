"""Looking keys up after a crash: what is stored beside what was acknowledged, on a control with scripted replies."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from loadstone.drivers.outcome import Acknowledged
from loadstone.experiment.plan.drive_plan import Closed, Keys, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.measure import crashes
from loadstone.measure.crashes import KeyLookup
from loadstone.run_folder.crash import LookedUp
from loadstone.safety.errors import Interrupted
from loadstone.servers.redis.control import RedisControl


class Scripted(RedisControl):
    """Holds these texts by their key's number."""

    def __init__(self, held: Mapping[int, bytes]) -> None:
        super().__init__(Endpoint())
        self._held = held

    def pipelined(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        return [self._held.get(int(command[1][2:])) for command in commands]

    def present(self, keys: Sequence[str]) -> list[bool]:
        return [int(key[2:]) in self._held for key in keys]


PLAN = Plan(
    endpoints=(Endpoint(),),
    model=Closed(users=1),
    pool=Pool(connections=1),
    operations=(Operation(name="set", commands=(ServerCommand(args=("SET", "{key}", "x")),)),),
    keys=Keys(prefix="k:"),
)


def looked_up(held: Mapping[int, bytes], acknowledged: Acknowledged, *command: str) -> LookedUp:
    return KeyLookup(Scripted(held), PLAN, command, lambda _: None, lambda: None).run(acknowledged)


def test_keys_that_are_written_once_are_there_or_not() -> None:
    # Keys 0 to 9 were begun, 0 to 5 acknowledged; 10 to 19 were never touched.
    kept = Acknowledged(begun=(10, 1, 10, 0), newest=(6, 1, 14, 0), certain=(6, 1, 14, 0))
    found = looked_up(dict.fromkeys([0, 1, 2, 4, 7, 8, 15], b"x"), kept, "EXISTS")
    assert (found.keys, found.present, found.lost, found.unordered) == (6, 4, 2, 0)
    assert (found.unacknowledged_present, found.lost_keys) == (2, ("k:000000000003", "k:000000000005"))


def document(version: int) -> bytes:
    return b'{"id":"000000000001","version":"%010d"}' % version


@pytest.mark.parametrize(
    ("stored", "fate"),
    [
        (document(7), "present"),
        (document(8), "present"),  # sent, never acknowledged
        (document(6), "unordered"),  # 6 and 7 were in flight at once
        (document(5), "unordered"),
        (document(4), "lost"),  # 5 was written when 4 had been acknowledged
        (None, "lost"),
        (b"", "lost"),
        (b"OK", "lost"),
        (b"[1]", "lost"),
        (document(9), "lost"),  # never begun: none of this drive's
    ],
)
def test_the_stored_version_is_compared_with_the_acknowledged_ones(stored: bytes | None, fate: str) -> None:
    kept = Acknowledged(begun=(1, 8), newest=(1, 7), certain=(1, 5))
    found = looked_up({} if stored is None else {0: stored}, kept, "GET")
    assert (found.keys, getattr(found, fate), found.present + found.lost + found.unordered) == (1, 1, 1)
    assert found.unacknowledged_present == (stored == document(8))


def test_a_field_that_holds_the_version_is_read_as_a_number() -> None:
    kept = Acknowledged(begun=(2, 3), newest=(2, 3), certain=(2, 3))
    found = looked_up({0: b"0000000003", 1: b"0000000002"}, kept, "HGET", "v")
    assert (found.present, found.lost) == (1, 1)


def test_a_key_without_an_acknowledged_write_cannot_be_lost() -> None:
    kept = Acknowledged(begun=(3, 2), newest=(3, 0), certain=(3, 0))
    found = looked_up({1: document(1)}, kept, "GET")
    assert (found.keys, found.lost, found.unacknowledged_present) == (0, 0, 1)


def test_a_long_look_up_reports_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, said = Acknowledged(begun=(2500, 1), newest=(2500, 1), certain=(2500, 1)), list[str]()
    one = KeyLookup(Scripted({}), PLAN, ("EXISTS",), said.append, lambda: None)
    monkeypatch.setattr(crashes, "QUIET_S", 3600.0)
    assert one.run(kept).lost == 2500
    assert said == [], "a short one reports nothing"
    monkeypatch.setattr(crashes, "QUIET_S", 0.0)
    one.run(kept)
    assert said[0] == "looking up what was acknowledged: 1,000 of 2,500 keys"


def test_a_look_up_can_be_interrupted() -> None:
    def stop() -> None:
        raise Interrupted("interrupted")

    kept = Acknowledged(begun=(1, 1), newest=(1, 1), certain=(1, 1))
    with pytest.raises(Interrupted):
        KeyLookup(Scripted({}), PLAN, ("EXISTS",), lambda _: None, stop).run(kept)
