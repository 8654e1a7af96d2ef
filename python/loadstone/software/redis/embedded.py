"""Kind `embedded`: Redis 8.2 with RedisJSON out of installed packages; the default, nothing to prepare."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from loadstone.deploy.processes.resource_limits import Limits
from loadstone.deploy.provider import ConfigValue, ServerSettings
from loadstone.software.redis import packages
from loadstone.software.redis.local import LocalRedis, Parts, check_config


class EmbeddedSettings(ServerSettings):
    """`settings` are Redis's own (`appendonly: yes`), written to its configuration and read back."""

    kind: Literal["embedded"] = "embedded"
    settings: Annotated[dict[str, ConfigValue], AfterValidator(check_config)] = Field(default_factory=dict)

    limits: Limits = Limits()

    def server(self, name: str) -> LocalRedis:
        """The server, not started."""
        return LocalRedis(name, self._find, self.settings, self.modules, self.limits)

    def _find(self) -> Parts:
        binary = packages.need_server()
        return Parts(binary, (packages.need_json_module(),) if "json" in self.modules else ())
