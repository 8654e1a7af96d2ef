"""Every client library keeps the parts of the contract that do not depend on what runs beside it."""

import pytest

from loadstone.conduct.contract.lab import Lab
from loadstone.conduct.contract.parts import PARTS, TIMED, Try

pytestmark = pytest.mark.timeout(600)  # the first build downloads its libraries
UNTIMED = [pytest.param(part, id=name) for name, part in PARTS if name not in TIMED]


@pytest.mark.fault(
    "a server redirects a client library to another host", "the library stays; no password goes there", area="replies"
)
@pytest.mark.parametrize("part", UNTIMED)
def test_it_keeps_its_part_of_the_contract(lab: Lab, part: Try) -> None:
    assert part(lab)


def test_every_timed_part_is_one() -> None:
    assert {name for name, _ in PARTS} >= TIMED
