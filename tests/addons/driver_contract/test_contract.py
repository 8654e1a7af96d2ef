"""Every client library keeps the parts of the contract that do not depend on what runs beside it."""

import pytest
from tests.addons.driver_contract.kept import of_words
from tests.programs.clients.conftest import EVERY
from tests.programs.clients.loads import words

from loadstone.addons.driver_contract.lab import Lab
from loadstone.addons.driver_contract.parts import PARTS, TIMED, Try
from loadstone.addons.driver_contract.replies import CASES, judged

pytestmark = pytest.mark.timeout(600)  # the first build downloads its libraries
OF_THE_LIBRARY = {
    "connections",
    "arrivals that are dropped",
    "timeouts",
    "a server that dies",
}
"""How an operation gets its connection, and what becomes of both: of every word."""
OF_CONNECTING = {
    "no server, wrong password",
    "stays at its host",
    "a greeting that is not answered",
    "a greeting that is refused at length",
    "replies that cannot be read",
}
"""What a library does by itself with a connection: in both ways of ioredis by the same lines."""
BETWEEN = "counts, pool of 8"
"""Pools of 1 and of 64 are tried."""
NAMES = {name for name, _ in PARTS} - TIMED - {BETWEEN}
COVERED = {"counts, pool of 1", "wrong replies are found", "commands that are refused"}
"""Of one library, go-redis. The others' counts are those of 64 connections; what they call a reply, and with one
connection, is tried by `verdicts` and `replies of every kind`."""
KEPT = {
    **dict.fromkeys(("jedis", "redis-py", "ioredis"), NAMES - COVERED),
    "lettuce": (OF_THE_LIBRARY | OF_CONNECTING | {"counts, pool of 1"}) - {"arrivals that are dropped"},
    "redis-py:mode=asyncio": OF_THE_LIBRARY | OF_CONNECTING | {"counts, pool of 64", "stop", "the end of its input"},
    "ioredis:pool=exclusive": OF_THE_LIBRARY | {"counts, pool of 64"},
}
"""Parts of those whose runtime another word shows whole: what is not by the same lines. The others are `mark.prove`.

An arrival is dropped, a text made and a reply judged by `clients/jvm-common`; by `driver/` of redis-py in both ways.
"""
UNTIMED = of_words(EVERY, [(name, part) for name, part in PARTS if name in NAMES], KEPT)


@pytest.mark.fault(
    "a server redirects a client library to another host", "the library stays; no password goes there", area="replies"
)
@pytest.mark.parametrize(("lab", "part"), UNTIMED, indirect=["lab"])
def test_it_keeps_its_part_of_the_contract(lab: Lab, part: Try) -> None:
    assert part(lab)


@pytest.mark.parametrize("lab", words("lettuce", "redis-py:mode=asyncio"), indirect=True)
def test_it_calls_replies_what_they_are(lab: Lab) -> None:
    """What a library makes of each reply, in one drive; the part `verdicts` takes seven."""
    judged(lab, CASES, loaded=True)


def test_every_part_that_is_named_is_one() -> None:
    assert {name for name, _ in PARTS} >= TIMED | {BETWEEN} | COVERED | OF_THE_LIBRARY | OF_CONNECTING
