"""What a driver is checked on: a Redis of our own, and servers that answer at once, late, or by a script."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.null_server import NullServerProcess
from loadstone.drivers.outcome import DriveRecord, Interval
from loadstone.experiment.plan.drive_plan import Closed, Documents, Keys, Phases, Plan, Pool, Verify
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.experiment.spec.experiment import OUR_PREFIX
from loadstone.programs.clients.chosen import ChosenDriver, require_can
from loadstone.programs.clients.drivers import ClientDriver, client_driver
from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.servers.control import KeyStore
from loadstone.servers.server import DeployContext, Server

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
    """Intervals of the newest drive."""
    phases: Phases = field(default_factory=lambda: Phases(warm_up_s=0.2, measure_s=0.6, drain_s=2.0))
    """Phases of a plan that says nothing else."""

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
    server = registry.make_server("redis", {"kind": "embedded"})
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


def of(
    name: str, *arguments: str, expect: str, writes: str = "nothing", read_back: ServerCommand | None = None
) -> Operation:
    """An operation of one command."""
    command = ServerCommand(args=arguments, expect=expect)
    return Operation(name=name, commands=(command,), writes=writes, read_back=read_back)


GET_BACK = ServerCommand(args=("GET", "{key}"), expect="document")
SET = of("set", "SET", "{key}", "{document}", expect="ok", writes="document", read_back=GET_BACK)
GET = of("get", "GET", "{key}", expect="document")
UPDATE = Operation(
    name="update",
    commands=(GET_BACK, ServerCommand(args=("SET", "{key}", "{changed}"), expect="ok")),
    writes="field",
    read_back=GET_BACK,
)
VALUE = of("get", "GET", "{key}", expect="value")


HELLO = b"*6\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.4.0\r\n$5\r\nproto\r\n:"
GREETING = frozenset({b"HELLO", b"AUTH", b"CLIENT", b"SELECT", b"PING", b"COMMAND"})
NIL = b"$-1\r\n"
OK = b"+OK\r\n"

ScriptedReply = Callable[[list[bytes]], bytes | None]
"""What a server says to a command; None: nothing, ever."""


def text(said: str | bytes) -> bytes:
    """A bulk string as RESP has it."""
    letters = said.encode() if isinstance(said, str) else said
    return b"$%d\r\n%b\r\n" % (len(letters), letters)


def items(said: Sequence[str | bytes]) -> bytes:
    """A list of bulk strings."""
    return b"*%d\r\n%b" % (len(said), b"".join(map(text, said)))


class ScriptedRedis:
    """Listens on a port, and answers what it is sent; `greets` answers the commands of the connection."""

    def __init__(
        self, answer: ScriptedReply, greets: ScriptedReply | None = None, address: tuple[str, int] = ("127.0.0.1", 0)
    ):
        """Raises OSError: this machine has no such address."""
        self._answer = answer
        self._greets = greets or _greeting
        self._listener = socket.create_server(address, backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.commands: list[list[bytes]] = []
        self._accepted: list[socket.socket] = []
        threading.Thread(target=self._accept, name="scripted-redis", daemon=True).start()

    def close(self) -> None:
        """End all connections. May be called more than once."""
        self._listener.close()
        for connection in tuple(self._accepted):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                connection, _ = self._listener.accept()
                self._accepted.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError, IndexError), connection, connection.makefile("rb") as sent:
            while command := _command(sent):
                self.commands.append(command)
                said = (self._greets if command[0].upper() in GREETING else self._answer)(command)
                if said is not None:
                    connection.sendall(said)


def _command(sent: BinaryIO) -> list[bytes]:
    """The next command; empty at the end."""
    head = sent.readline()
    if not head:
        return []
    return [sent.read(int(sent.readline()[1:]) + 2)[:-2] for _ in range(int(head[1:]))]


def _greeting(command: list[bytes]) -> bytes:
    match command[0].upper():
        case b"HELLO":
            return HELLO.replace(b"*6", b"%3", 1) + b"3\r\n" if command[1:2] == [b"3"] else HELLO + b"2\r\n"
        case b"PING":
            return b"+PONG\r\n"
        case b"COMMAND":
            return b"*0\r\n"
    return b"+OK\r\n"


@contextmanager
def scripted(answer: ScriptedReply, greets: ScriptedReply | None = None) -> Iterator[ScriptedRedis]:
    """A scripted server, closed in the end."""
    server = ScriptedRedis(answer, greets)
    try:
        yield server
    finally:
        server.close()
