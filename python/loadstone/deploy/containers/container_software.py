"""What runs in a container: how it is told its settings and its password, and what it says about itself.

Secrets go by files inside the container. A command line is seen by every user of the machine, and a
container's environment by everybody who may inspect it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from loadstone.deploy.provider import ConfigValue, Control, Module, ServerFacts
from loadstone.deploy.settings_in_force import differences
from loadstone.plan.model import Endpoint
from loadstone.software.mariadb import facts as mariadb_facts
from loadstone.software.mariadb import settings as mariadb_settings
from loadstone.software.mariadb.control import MariaDbControl, canonical
from loadstone.software.redis import requirements
from loadstone.software.redis import settings as redis_settings
from loadstone.software.redis.control import RedisControl
from loadstone.software.redis.requirements import inspect_server

Settings = Mapping[str, ConfigValue]
ANYWHERE = "0.0.0.0"


@dataclass(frozen=True)
class Contents:
    """What a container is given before it starts."""

    command: Sequence[str]
    files: Mapping[str, str] = field(repr=False)
    """Path -> text."""
    environment: Mapping[str, str] = field(default_factory=dict)


class Software(Protocol):
    """A kind of server that runs in a container."""

    port: int
    """Where it listens inside."""
    program: str
    """What starts it, unless the experiment names another."""
    username: str | None
    """Whom the load logs in as."""

    def contents(self, program: str, password: str, volumes: Sequence[str], settings: Settings) -> Contents:
        """What starts it with these settings. `volumes`: folders that the image keeps its data in."""

    def control(self, endpoint: Endpoint, timeout_s: float) -> Control:
        """A connection for loadstone's own questions."""

    def read_back(self, endpoint: Endpoint, settings: Settings) -> tuple[ServerFacts, dict[str, str], list[str]]:
        """What it is, its settings, and where it took others than asked, a line each."""

    def why_it_ended(self, log: Sequence[str]) -> str:
        """What its output says about an end during the start."""


class ContainedRedis:
    """A redis-server, or a relative that takes its configuration file."""

    port = 6379
    program = "redis-server"
    username: str | None = None
    config = "/loadstone-redis.conf"

    def __init__(self, modules: Sequence[Module] = ()) -> None:
        self._modules = modules

    def contents(self, program: str, password: str, volumes: Sequence[str], settings: Settings) -> Contents:
        """See `Software.contents`."""
        ours: dict[str, ConfigValue] = {"bind": ANYWHERE, "port": self.port, "requirepass": password}
        ours |= {"dir": f'"{next(iter(volumes), "/tmp")}"', "logfile": '""', "daemonize": "no"}
        return Contents([program, self.config], {self.config: redis_settings.config_text(settings, ours)})

    def control(self, endpoint: Endpoint, timeout_s: float) -> RedisControl:
        """See `Software.control`."""
        return RedisControl(endpoint, timeout_s)

    def read_back(self, endpoint: Endpoint, settings: Settings) -> tuple[ServerFacts, dict[str, str], list[str]]:
        """See `Software.read_back`."""
        facts = inspect_server(endpoint, self._modules)
        with RedisControl(endpoint) as control:
            got = control.config_get(sorted({*requirements.READ_BACK, *settings}))
        return facts, got, differences(settings, got, redis_settings.SPELLING)

    def why_it_ended(self, log: Sequence[str]) -> str:
        """See `Software.why_it_ended`."""
        return redis_settings.why_it_ended(log)


class ContainedMariaDb:
    """A MariaDB whose image reads `/etc/mysql/mariadb.conf.d`, as the official one and Debian's do."""

    port = 3306
    program = "mariadbd"
    username: str | None = mariadb_settings.DATABASE
    options, init, root_password = (
        "/etc/mysql/mariadb.conf.d/zz-loadstone.cnf",
        "/loadstone-init.sql",
        "/loadstone-root-password",
    )

    def contents(self, program: str, password: str, volumes: Sequence[str], settings: Settings) -> Contents:  # noqa: ARG002
        """See `Software.contents`. The data lies where the image has it."""
        ours: dict[str, ConfigValue] = {"bind_address": ANYWHERE, "port": self.port, "skip_name_resolve": True}
        files = {
            self.options: mariadb_settings.options_text(settings, {**ours, "user": "mysql"}),
            self.init: mariadb_settings.init_text("%", password),
            self.root_password: password,
        }
        return Contents(
            [program, f"--init-file={self.init}"], files, {"MARIADB_ROOT_PASSWORD_FILE": self.root_password}
        )

    def control(self, endpoint: Endpoint, timeout_s: float) -> MariaDbControl:
        """See `Software.control`."""
        return MariaDbControl(endpoint, mariadb_settings.DATABASE, timeout_s)

    def read_back(self, endpoint: Endpoint, settings: Settings) -> tuple[ServerFacts, dict[str, str], list[str]]:
        """See `Software.read_back`."""
        with self.control(endpoint, 5.0) as control:
            facts = mariadb_facts.facts_of(control)
            got = control.settings({*mariadb_facts.READ_BACK, *map(canonical, settings)})
        return facts, got, mariadb_facts.differences(settings, got)

    def why_it_ended(self, log: Sequence[str]) -> str:
        """See `Software.why_it_ended`."""
        return mariadb_settings.why_it_ended(log, "free some where the container engine keeps its containers")
