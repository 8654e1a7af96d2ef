"""A Redis in a container."""

from collections.abc import Sequence

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.servers.containers.contained import ANYWHERE, Contents, Settings
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.requirements import inspect_server
from loadstone.servers.redis.settings import READ_BACK, SPELLING, check_settings, config_text, why_it_ended
from loadstone.servers.server import ConfigValue, Module, ServerFacts
from loadstone.servers.settings_in_force import differences
from loadstone.text.message import AnyText


def check(settings: Settings, modules: Sequence[Module]) -> None:  # noqa: ARG001 (the seam's signature)
    """Returns if a container of ours can be given these settings. Raises ValueError."""
    check_settings(settings)


class ContainedRedis:
    """A redis-server, or a relative that takes its configuration file."""

    port = 6379
    program = "redis-server"
    username: str | None = None
    config = "/loadstone-redis.conf"

    def __init__(self, modules: Sequence[Module] = ()) -> None:
        self._modules = modules

    def contents(self, program: str, password: str, volumes: Sequence[str], settings: Settings) -> Contents:
        """See `Contained.contents`."""
        ours: dict[str, ConfigValue] = {"bind": ANYWHERE, "port": self.port, "requirepass": password}
        ours |= {"dir": f'"{next(iter(volumes), "/tmp")}"', "logfile": '""', "daemonize": "no"}
        return Contents([program, self.config], {self.config: config_text(settings, ours)})

    def control(self, endpoint: Endpoint, timeout_s: float) -> RedisControl:
        """See `Contained.control`."""
        return RedisControl(endpoint, timeout_s)

    def read_back(self, endpoint: Endpoint, settings: Settings) -> tuple[ServerFacts, dict[str, str], list[AnyText]]:
        """See `Contained.read_back`."""
        facts = inspect_server(endpoint, self._modules, ours=True)
        with RedisControl(endpoint) as control:
            got = control.config_get(sorted({*READ_BACK, *settings}))
        return facts, got, differences(settings, got, SPELLING)

    def why_it_ended(self, log: Sequence[str]) -> AnyText:
        """See `Contained.why_it_ended`."""
        return why_it_ended(log)
