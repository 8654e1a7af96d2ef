"""Every client library keeps the parts of the contract that hold times against each other."""

import pytest
from tests.programs.clients.conftest import EVERY

from loadstone.addons.driver_contract.lab import Lab
from loadstone.addons.driver_contract.parts import PARTS, TIMED, Try

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600)]  # the first build downloads its libraries
OF_THE_PLAN = {
    "phases and intervals",
    "a rate that changes",
    "users who start",
    "operations count by their intended time",
    "stop",
    "the end of its input",
}
"""What is timed before an operation asks for its connection: by the same lines in both ways of ioredis, and in both
libraries of the JVM (redis-py has two)."""
TWINS = ("ioredis:pool=exclusive", "lettuce")
"""Those whose lines another word shows: ioredis, jedis."""
TRIED = [
    pytest.param(word.values[0], part, id=f"{word.values[0]}-{name}", marks=word.marks)
    for word in EVERY
    for name, part in PARTS
    if name in TIMED and not (name in OF_THE_PLAN and word.values[0] in TWINS)
]


@pytest.mark.parametrize(("lab", "part"), TRIED, indirect=["lab"])
def test_it_keeps_its_part_of_the_contract(lab: Lab, part: Try) -> None:
    assert part(lab)
