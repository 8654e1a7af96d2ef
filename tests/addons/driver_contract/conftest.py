"""A driver and a server, on which the contract is tried."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.programs.clients.conftest import EVERY, SHORT, hardly_warmed

from loadstone.addons.driver_contract.lab import Lab, lab_of
from loadstone.programs.clients.chosen import ChosenDriver
from loadstone.servers.server import DeployContext


def lab_in(folder: Path, chosen: ChosenDriver) -> AbstractContextManager[Lab]:
    """The driver, built, and a Redis that is up."""
    return lab_of(chosen, folder, DeployContext(work_root=folder, log_folder=folder / "logs"))


@pytest.fixture(scope="module", params=EVERY)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Driver and Redis; of both nothing may be left."""
    folder = tmp_path_factory.mktemp("contract")
    with lab_in(folder, hardly_warmed(request.param, SHORT.warm_up_s)) as made:
        made.phases = SHORT
        yield made
    assert [path.name for path in folder.glob("loadstone-*")] == []
