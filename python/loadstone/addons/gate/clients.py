"""Two versions of a client library of a gate: what `--base jedis=7.1.0` or `--head redis-py,mode=asyncio` means."""

from dataclasses import dataclass, replace

from loadstone.addons.gate.experiment import gate_fields, gate_question
from loadstone.addons.gate.options import GateOptions
from loadstone.addons.gate.redis import one_kind_of_request
from loadstone.addons.gate.services import gate_folder
from loadstone.addons.gate.spec import BASE, HEAD
from loadstone.cli.ad_hoc_experiment import AdHocLoad, Target
from loadstone.cli.named_servers import server_of
from loadstone.cli.redis_experiment import RedisRequest
from loadstone.cli.targets import SERVER
from loadstone.experiment.spec.driver_names import VERSION, DriverWord, names
from loadstone.safety import terminal
from loadstone.safety.errors import UserError

TRIAL = "1500 ms"
"""Short: how starts differ is what makes the interval wide, and no trial's length changes that."""
COLUMNS = ("goodput", "interval", "p50", "p95", "p99", "p999", "max", "errors", "driver_cpu", "redis_cpu", "held_back")


@dataclass(frozen=True)
class Client:
    """One side of the gate."""

    option: str
    name: str
    """As the user wrote it."""
    word: DriverWord

    @property
    def library(self) -> str:
        """Its driver."""
        return self.word.place


def is_client(text: str) -> bool:
    """Whether a version is one of a client library that there is a driver for."""
    return text.partition(",")[0].partition("=")[0] in names()


def client_of(text: str, option: str) -> Client:
    """`jedis`, `jedis=7.1.0`; behind commas the driver's options, `redis-py=8.1.0,mode=asyncio`. Raises UserError."""
    first, *rest = (part.strip() for part in text.split(","))
    library, equals, version = first.partition("=")
    if equals and not version:
        raise UserError("{option} {text}: which version? Write for example {text}1.2.3", option=option, text=text)
    options = [(VERSION, version)] if equals else []
    for part in rest:
        name, equals, value = part.partition("=")
        if not (name and equals and value):
            raise UserError(
                "{option}: '{text}' is no option; write NAME=VALUE, as mode=asyncio", option=option, text=part
            )
        options.append((name, value))
    return Client(option, text, DriverWord(library, tuple(options)))


def require_clients(base: str, head: str) -> None:
    """Raises UserError where one side is a client library, and the other one a server."""
    if is_client(base) != is_client(head):
        library, server = (base, head) if is_client(base) else (head, base)
        raise UserError(
            "--base, --head: {library} is a client library, and {server} is not; name two of a kind",
            library=library,
            server=server,
        )


def client_gate(base: str, head: str, server: str | None, asked: RedisRequest, gate: GateOptions) -> AdHocLoad:
    """Two client libraries, or two versions of one, that load the same server. Raises UserError."""
    sides = (client_of(base, "--base"), client_of(head, "--head"))
    common = one_kind_of_request(asked)
    settings = {"kind": "embedded"} if server is None else server_of(server, "--server").settings
    if common.rows[0].modules:
        settings |= {"modules": list(common.rows[0].modules)}
    return replace(
        common,
        command="gate",
        load=asked.load,
        question=gate_question(base, head, common.rows[0].name),
        targets=tuple(
            Target(label, SERVER, settings, driver=str(one.word))
            for label, one in zip((BASE, HEAD), sides, strict=True)
        ),
        columns=COLUMNS,
        trial=TRIAL,
        twin=gate.twin,
        # Each trial starts both programs.
        compared_by=gate_fields(base, head, gate, restarts=True, starts_differ=0.0),
    )


def build(ad_hoc: AdHocLoad) -> None:
    """Build both programs, so that no build is a part of the budget. Raises UserError that names the option."""
    from loadstone.machine.installed_programs import require_programs
    from loadstone.machine.start_context import step_subject
    from loadstone.programs.clients.chosen import chosen_driver
    from loadstone.programs.clients.drivers import client_driver
    from loadstone.servers.server import DeployContext

    told: set[str] = set()

    def tell(step: str) -> None:
        if step_subject(step) not in told:
            told.add(step_subject(step))
            terminal.remark(step)

    with gate_folder() as folder:
        for option, target in zip(("--base", "--head"), ad_hoc.targets, strict=True):
            word = DriverWord.of(target.driver)
            version = dict(word.options).get(VERSION)
            called = f"{option} {word.place}={version}" if version else f"{option} {word.place}"
            chosen = chosen_driver(target.driver, called)
            require_programs(called, chosen.manifest)
            client_driver(chosen, DeployContext(work_root=folder, progress=tell))
