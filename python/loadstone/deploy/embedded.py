"""Kind `embedded`: Redis 8.2 with RedisJSON out of installed packages; the default, nothing to prepare."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from loadstone.deploy import parts
from loadstone.deploy.limits import Limits
from loadstone.deploy.local_redis import LocalRedis, Parts, check_config
from loadstone.deploy.provider import ConfigValue, ServerSettings


class EmbeddedSettings(ServerSettings):
    """`settings` are Redis's own (`appendonly: yes`), written to its configuration and read back."""

    kind: Literal["embedded"] = "embedded"
    settings: Annotated[dict[str, ConfigValue], AfterValidator(check_config)] = Field(default_factory=dict)

    limits: Limits = Limits()

    def server(self, name: str) -> LocalRedis:
        """The server, not started."""
        return LocalRedis(name, self._find, self.settings, self.modules, self.limits)

    def _find(self) -> Parts:
        binary = parts.need_server()
        return Parts(binary, (parts.need_json_module(),) if "json" in self.modules else ())
