"""Every client library keeps the parts of the contract that do not depend on what runs beside it."""

import pytest
from tests.programs.clients.conftest import EVERY

from loadstone.addons.driver_contract.lab import Lab
from loadstone.addons.driver_contract.parts import PARTS, TIMED, Try

pytestmark = pytest.mark.timeout(600)  # the first build downloads its libraries
OF_THE_PROGRAM = {
    "keys by their distribution",
    "several keys",
    "arguments",
    "texts, each key once",
    "plans that are wrong",
}
"""What has nothing to do with the way in which an operation gets its connection: tried once of each library."""
OF_REPLIES = {"replies of every kind", "verdicts", "wrong replies are found", "commands that are refused"}
"""What is done with a reply once it is there: in both ways of ioredis by the same lines (redis-py reads in two)."""
OF_BOTH_JVMS = {"keys by their distribution", "plans that are wrong"}
"""What `clients/jvm-common` does before a library is asked for anything: tried of Jedis."""
BETWEEN = "counts, pool of 8"
"""Pools of 1 and of 64 are tried."""
UNTIMED = [
    pytest.param(word.values[0], part, id=f"{word.values[0]}-{name}", marks=word.marks)
    for word in EVERY
    for name, part in PARTS
    if name not in TIMED | {BETWEEN}
    and not (name in OF_THE_PROGRAM and ":" in word.values[0])
    and not (name in OF_BOTH_JVMS and word.values[0] == "lettuce")
    and not (name in OF_REPLIES and word.values[0] == "ioredis:pool=exclusive")
]


@pytest.mark.fault(
    "a server redirects a client library to another host", "the library stays; no password goes there", area="replies"
)
@pytest.mark.parametrize(("lab", "part"), UNTIMED, indirect=["lab"])
def test_it_keeps_its_part_of_the_contract(lab: Lab, part: Try) -> None:
    assert part(lab)


def test_every_part_that_is_named_is_one() -> None:
    assert {name for name, _ in PARTS} >= TIMED | OF_THE_PROGRAM | OF_REPLIES | OF_BOTH_JVMS | {BETWEEN}
