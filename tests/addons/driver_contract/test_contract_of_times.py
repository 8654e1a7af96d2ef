"""Every client library keeps the parts of the contract that hold times against each other."""

import pytest
from tests.addons.driver_contract.kept import of_words
from tests.programs.clients.conftest import EVERY

from loadstone.addons.driver_contract.lab import Lab
from loadstone.addons.driver_contract.parts import PARTS, TIMED, Try

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600)]  # the first build downloads its libraries
KEPT = {
    "lettuce": {"a slower server"},
    "redis-py:mode=asyncio": {"think time", "arrivals of the open model", "a server that freezes", "a slower server"},
    "ioredis:pool=exclusive": {"a server that freezes"},
}
"""Parts of those whose runtime another word shows whole: what is not by the same lines. The others are `mark.prove`.

The rest is timed before an operation asks for its connection: by `clients/jvm-common`, and by the same lines in both
ways of ioredis; of redis-py the waiting alone is in two, and by think time and arrivals it is tried.
"""
TRIED = of_words(EVERY, [(name, part) for name, part in PARTS if name in TIMED], KEPT)


@pytest.mark.parametrize(("lab", "part"), TRIED, indirect=["lab"])
def test_it_keeps_its_part_of_the_contract(lab: Lab, part: Try) -> None:
    assert part(lab)
