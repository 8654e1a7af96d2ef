"""Every client library keeps the parts of the contract that hold times against each other."""

import pytest

from loadstone.conduct.contract.lab import Lab
from loadstone.conduct.contract.parts import PARTS, TIMED, Try

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600)]  # the first build downloads its libraries


@pytest.mark.parametrize("part", [pytest.param(part, id=name) for name, part in PARTS if name in TIMED])
def test_it_keeps_its_part_of_the_contract(lab: Lab, part: Try) -> None:
    assert part(lab)
