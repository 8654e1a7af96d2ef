"""What the tests of the clients share: a driver, a server, and all that the contract is tried on."""

import dataclasses
from collections.abc import Callable, Iterator

import pytest
from tests.clients.loads import Drive, words
from tests.servers import UserRedis

from loadstone.conduct.chosen_drivers import ChosenDriver, chosen_driver
from loadstone.conduct.contract.lab import Lab, lab_of
from loadstone.conduct.drivers import client_driver
from loadstone.deploy.provider import DeployContext
from loadstone.drive.driver import drive_alone
from loadstone.drive.outcome import DriveRecord, Interval
from loadstone.plan.drive_plan import Plan

EVERY = words(
    "go-redis", "jedis", "lettuce", "redis-py", "redis-py:mode=asyncio", "ioredis", "ioredis:pool=exclusive"
)  # fmt: skip
"""Every library, in each way in which an operation gets its connection."""
LEAST_WARM_UP_S = 0.3
"""Nothing here is a matter of speed."""


@pytest.fixture
def drive(context: DeployContext) -> Drive:
    """Drives a plan with a driver, to its record; `taken` gets each interval."""

    def driven(word: str, share: Plan, taken: Callable[[Interval], None] = lambda _: None) -> DriveRecord:
        return drive_alone(client_driver(chosen_driver(word), context).driver, share, taken)

    return driven


@pytest.fixture
def store(user_redis: Callable[..., UserRedis]) -> UserRedis:
    return user_redis()


@pytest.fixture(scope="module", params=EVERY)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The driver, built, and a Redis that is up; of both nothing may be left."""
    folder = tmp_path_factory.mktemp("contract")
    context = DeployContext(work_root=folder, log_folder=folder / "logs")
    with lab_of(_hardly_warmed(request.param), folder, context) as made:
        yield made
    left = [path.name for path in folder.iterdir() if path.name.startswith("loadstone-")]
    assert left == []


def _hardly_warmed(word: str) -> ChosenDriver:
    chosen = chosen_driver(word)
    warm_up_s = min(chosen.manifest.warm_up_s, LEAST_WARM_UP_S)
    return dataclasses.replace(chosen, manifest=chosen.manifest.model_copy(update={"warm_up_s": warm_up_s}))
