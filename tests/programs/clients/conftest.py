"""What the tests of the clients share: a driver, and a server."""

import dataclasses
from collections.abc import Callable

import pytest
from tests.programs.clients.loads import Drive, words
from tests.real_servers import QUICK_JVM, UserRedis

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.outcome import DriveRecord, Interval
from loadstone.experiment.plan.drive_plan import Phases, Plan
from loadstone.programs.clients.chosen import ChosenDriver, chosen_driver
from loadstone.programs.clients.drivers import client_driver
from loadstone.servers.server import DeployContext

EVERY = words(
    "go-redis", "jedis", "lettuce", "redis-py", "redis-py:mode=asyncio", "ioredis", "ioredis:pool=exclusive"
)  # fmt: skip
"""Every library, in each way in which an operation gets its connection."""
SHORT = Phases(warm_up_s=0.1, measure_s=0.3, drain_s=2.0)
"""Where no times are held against each other."""


@pytest.fixture
def drive(context: DeployContext) -> Drive:
    """Drives a plan with a driver, to its record; `taken` gets each interval."""

    def driven(word: str, share: Plan, taken: Callable[[Interval], None] = lambda _: None) -> DriveRecord:
        return drive_alone(client_driver(hardly_warmed(word, SHORT.warm_up_s), context).driver, share, taken)

    return driven


@pytest.fixture
def store(user_redis: Callable[..., UserRedis]) -> UserRedis:
    return user_redis()


def hardly_warmed(word: str, least_s: float) -> ChosenDriver:
    """The driver as it was chosen, in a JVM that starts quickly: nothing here is a matter of speed."""
    chosen = chosen_driver(word)
    command = chosen.manifest.run.command.replace("java ", f"java {QUICK_JVM} ", 1)
    run = chosen.manifest.run.model_copy(update={"command": command})
    changed = {"warm_up_s": min(chosen.manifest.warm_up_s, least_s), "run": run}
    return dataclasses.replace(chosen, manifest=chosen.manifest.model_copy(update=changed))
