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
"""What is timed before an operation asks for its connection: in both ways of ioredis by the same lines (redis-py has
two)."""
TRIED = [
    pytest.param(word.values[0], part, id=f"{word.values[0]}-{name}", marks=word.marks)
    for word in EVERY
    for name, part in PARTS
    if name in TIMED and not (name in OF_THE_PLAN and word.values[0] == "ioredis:pool=exclusive")
]


@pytest.mark.parametrize(("lab", "part"), TRIED, indirect=["lab"])
def test_it_keeps_its_part_of_the_contract(lab: Lab, part: Try) -> None:
    assert part(lab)
