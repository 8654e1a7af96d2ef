"""A driver and a server, on which the contract is tried."""

from collections.abc import Iterator

import pytest
from tests.programs.clients.conftest import EVERY, SHORT, hardly_warmed

from loadstone.addons.driver_contract.lab import Lab, lab_of
from loadstone.servers.server import DeployContext


@pytest.fixture(scope="module", params=EVERY)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The driver, built, and a Redis that is up; of both nothing may be left."""
    folder = tmp_path_factory.mktemp("contract")
    context = DeployContext(work_root=folder, log_folder=folder / "logs")
    is_timed = request.module.__name__.endswith("_of_times")
    with lab_of(hardly_warmed(request.param, 0.3 if is_timed else SHORT.warm_up_s), folder, context) as made:
        made.phases = made.phases if is_timed else SHORT
        yield made
    left = [path.name for path in folder.iterdir() if path.name.startswith("loadstone-")]
    assert left == []
