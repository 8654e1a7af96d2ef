"""What the tests of the clients share: a driver, and a server."""

import atexit
import dataclasses
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.programs.clients.loads import Drive, plan, words
from tests.real_servers import QUICK_JVM, UserRedis

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.null_server import NullServerProcess
from loadstone.drivers.outcome import DriveRecord, Interval
from loadstone.experiment.plan.drive_plan import Phases, Plan
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.programs.build import built
from loadstone.programs.clients.chosen import ChosenDriver, chosen_driver
from loadstone.programs.clients.drivers import client_driver
from loadstone.programs.clients.messages import PlanMessage
from loadstone.servers.server import DeployContext

EVERY = words(
    "go-redis", "jedis", "lettuce", "redis-py", "redis-py:mode=asyncio", "ioredis", "ioredis:pool=exclusive"
)  # fmt: skip
"""Every library, in each way in which an operation gets its connection."""
VALUE = Operation(name="get", commands=(ServerCommand(args=("GET", "{key}"), expect="value"),))
SHORT = Phases(warm_up_s=0.05, measure_s=0.15, drain_s=2.0)
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
    chosen = _in_java(chosen_driver(word), QUICK_JVM)
    if chosen.manifest.run.command.startswith("java ") and chosen.other is None:
        chosen = _in_java(chosen, f"-XX:SharedArchiveFile={_classes(chosen.manifest.name)}")
    warm_up_s = min(chosen.manifest.warm_up_s, least_s)
    return dataclasses.replace(chosen, manifest=chosen.manifest.model_copy(update={"warm_up_s": warm_up_s}))


def _in_java(chosen: ChosenDriver, flags: str) -> ChosenDriver:
    """The driver with these flags, where it is a program of the JVM."""
    run = chosen.manifest.run
    run = run.model_copy(update={"command": run.command.replace("java ", f"java {flags} ", 1)})
    return dataclasses.replace(chosen, manifest=chosen.manifest.model_copy(update={"run": run}))


@functools.cache
def _classes(name: str) -> Path:
    """The classes that a driver loads, as its JVM archives them: with it a start takes half the CPU time.

    They are those of a drive that is stopped as soon as it is ready.
    """
    folder = Path(tempfile.mkdtemp(prefix="loadstone-classes-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = folder / "classes.jsa"
    chosen = _in_java(chosen_driver(name), f"{QUICK_JVM} -XX:ArchiveClassesAtExit={archive}")
    place = built(chosen.manifest, chosen.folder, DeployContext(work_root=folder), "driver")
    assert chosen.manifest.build is not None
    command = chosen.manifest.run.words(str(place / chosen.manifest.build.output), str(place))
    null = NullServerProcess({"document_bytes": 222, "replies": {"GET": "value"}})
    try:
        share = chosen.share(plan(null.start(DeployContext(work_root=folder)).port, operations=(VALUE,)))
        line = PlanMessage(plan=share, options=chosen.options).model_dump_json() + "\n"
        subprocess.run(command, input=line.encode(), capture_output=True, check=True, timeout=120)
    finally:
        null.stop()
    assert archive.is_file()
    return archive
