"""What a driver is checked on: a Redis of our own, and servers that answer at once or late."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from loadstone import registry
from loadstone.conduct.chosen_drivers import ChosenDriver, require_can
from loadstone.conduct.drivers import ClientDriver, client_driver
from loadstone.deploy.control import KeyStore
from loadstone.deploy.null_server import NullServerProcess
from loadstone.deploy.provider import DeployContext, Server
from loadstone.drive.driver import drive_alone
from loadstone.drive.native import NativeDriver
from loadstone.drive.outcome import DriveRecord, Interval
from loadstone.errors import UserError
from loadstone.plan.drive_plan import Closed, Documents, Keys, Phases, Plan, Pool, Verify
from loadstone.plan.endpoints import Endpoint
from loadstone.plan.operations import Command, Operation
from loadstone.spec.experiment import OUR_PREFIX

KEYS = 200
PREFIX = f"{OUR_PREFIX}contract:"


class Wrong(Exception):
    """A part of the contract is not kept; the text says how."""


class NotClaimed(Exception):
    """A part takes what the manifest does not claim, so that no plan with it ever reaches the driver; says what."""


def require(is_so: bool, otherwise: str) -> None:
    """Raises Wrong."""
    if not is_so:
        raise Wrong(otherwise)


class Counting(Protocol):
    """A control that counts commands."""

    def commandstats(self) -> dict[str, int]: ...
    def call(self, *command: Any) -> Any: ...
    def info(self, *sections: str) -> Any: ...


@dataclass
class Lab:
    """A driver, built, and a Redis that is up."""

    client: ClientDriver
    context: DeployContext
    server: Server
    endpoint: Endpoint
    guards: set[int]
    """The processes that guard the driver's programs which run now."""
    intervals: list[Interval] = field(default_factory=list)
    """Of the drive that was made last."""
    phases: Phases = field(default_factory=lambda: Phases(warm_up_s=0.2, measure_s=0.6, drain_s=2.0))
    """Of a plan that says nothing else."""

    @property
    def chosen(self) -> ChosenDriver:
        """The driver as it was chosen."""
        return self.client.chosen

    def can(self, *features: str) -> bool:
        """Whether the manifest claims all of these."""
        return set(features) <= set(self.chosen.manifest.can.features)

    def plan(self, *operations: Operation, endpoint: Endpoint | None = None, **changed: Any) -> Plan:
        """A plan of these operations: short, on the Redis, as the driver gets it. Raises NotClaimed."""
        made = {
            "endpoints": (endpoint or self.endpoint,),
            "model": Closed(users=4),
            "pool": Pool(connections=4),
            "phases": self.phases,
            "operations": operations,
            "keys": Keys(prefix=PREFIX, count=KEYS),
            "documents": Documents(payload_bytes=100, field_bytes=10),
            "verify": Verify(read_back_max=32),
            "interval_s": 0.2,
            **changed,
        }
        plan = self.chosen.share(Plan(**made))
        try:
            require_can(self.chosen.manifest, plan)
        except UserError as refused:
            raise NotClaimed(str(refused).partition(": ")[2].partition("; ")[0]) from None
        return plan

    def drive(self, plan: Plan) -> DriveRecord:
        """Drive it. Raises DriveFailed."""
        self.intervals = []
        return drive_alone(self.client.driver, plan, self.intervals.append)

    def store(self, plan: Plan, operation: Operation) -> None:
        """Have the native engine store every key of a plan once."""
        keys = plan.keys.model_copy(update={"distribution": "exactly_once", "loaded": False})
        phases = Phases(warm_up_s=0.0, measure_s=0.001, measure_max_s=10.0)
        stores = {"operations": (operation,), "keys": keys, "phases": phases, "model": Closed(users=4)}
        drive_alone(NativeDriver(), plan.model_copy(update=stores))

    @contextmanager
    def counted(self) -> Iterator[dict[str, int]]:
        """Command -> how often the Redis executed it within the block; filled at its end."""
        executed: dict[str, int] = {}
        with self.server.control() as control:
            before = _counts(control)
            yield executed
            executed |= {name: count - before.get(name, 0) for name, count in _counts(control).items()}

    def forget(self) -> None:
        """Remove the keys."""
        with self.server.control() as control:
            if isinstance(control, KeyStore):
                control.remove_numbered(PREFIX, KEYS)


def _counts(control: Any) -> dict[str, int]:
    return {str(name).upper(): int(count) for name, count in control.commandstats().items()}


@contextmanager
def lab_of(chosen: ChosenDriver, work: Path, context: DeployContext) -> Iterator[Lab]:
    """The driver built and a Redis started; ended with all that they left. Raises UserError."""
    guards: set[int] = set()
    client = client_driver(chosen, context, guards)
    server = registry.server("redis", {"kind": "embedded"})
    endpoint = server.start(DeployContext(work_root=work, stopped=context.stopped))
    try:
        yield Lab(client, context, server, endpoint, guards)
    finally:
        server.stop()


@contextmanager
def null_server(plan_of: Lab, **options: Any) -> Iterator[Endpoint]:
    """A server that answers `GET` with a value, and is slow in known ways."""
    null = NullServerProcess({"document_bytes": 222, "replies": {"GET": "value"}, **options})
    try:
        yield null.start(DeployContext(work_root=plan_of.context.work_root))
    finally:
        null.stop()


def of(name: str, *arguments: str, expect: str, writes: str = "nothing", read_back: Command | None = None) -> Operation:
    """An operation of one command."""
    command = Command(args=arguments, expect=expect)
    return Operation(name=name, commands=(command,), writes=writes, read_back=read_back)


GET_BACK = Command(args=("GET", "{key}"), expect="document")
SET = of("set", "SET", "{key}", "{document}", expect="ok", writes="document", read_back=GET_BACK)
GET = of("get", "GET", "{key}", expect="document")
UPDATE = Operation(
    name="update",
    commands=(GET_BACK, Command(args=("SET", "{key}", "{changed}"), expect="ok")),
    writes="field",
    read_back=GET_BACK,
)
VALUE = of("get", "GET", "{key}", expect="value")
