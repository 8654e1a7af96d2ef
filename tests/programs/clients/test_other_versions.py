"""Drivers with another version of their library than the pinned one, from its registry: built, and held to a load."""

import shutil

import pytest
from tests.programs.clients.loads import Drive, plan, require_all_correct
from tests.real_servers import UserRedis

from loadstone.programs.clients.chosen import chosen_driver
from loadstone.programs.clients.drivers import client_driver
from loadstone.safety.errors import UserError
from loadstone.servers.server import DeployContext

pytestmark = pytest.mark.timeout(900)  # each build downloads its libraries
OTHERS = [
    ("redis-py", "8.0.0", "python3"),
    ("ioredis", "5.8.2", "npm"),
    ("jedis", "7.3.0", "mvn"),
    pytest.param("lettuce", "7.4.1.RELEASE", "mvn", marks=pytest.mark.prove),  # built as jedis is
    pytest.param("go-redis", "9.20.0", "go", marks=pytest.mark.prove),  # as the pinned one, after another `go get`
]
TOOLS = {"python3": "redis-py", "npm": "ioredis", "mvn": "jedis", "go": "go-redis"}


@pytest.mark.parametrize(("library", "version", "tool"), OTHERS)
def test_it_drives_with_the_version_that_was_asked_for(
    drive: Drive, store: UserRedis, library: str, version: str, tool: str
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"no {tool}")
    record = drive(f"{library}:version={version}", plan(store.port))
    require_all_correct(record)
    assert record.program is not None
    assert record.program.version == version


@pytest.mark.fault("a version of a library that does not exist")
@pytest.mark.parametrize(("tool", "library"), TOOLS.items())
def test_one_that_no_registry_has_is_said_in_a_line(context: DeployContext, tool: str, library: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"no {tool}")
    with pytest.raises(UserError) as error:
        client_driver(chosen_driver(f"{library}:version=99.98.97"), context)
    assert str(error.value).startswith(
        f"driver {library}:version=99.98.97: no such version of {library} is published; write one that is, as "
    )
