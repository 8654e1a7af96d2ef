"""Kinds `embedded` and `valkey`: Redis 8.2, the default, and Valkey 9, out of installed packages."""

from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from loadstone.deploy.processes.resource_limits import Limits
from loadstone.deploy.provider import ConfigValue, ServerSettings
from loadstone.software.redis import packages
from loadstone.software.redis.local import LocalRedis, Parts, check_config


class _FromPackage(ServerSettings):
    """`settings` are the server's own (`appendonly: yes`), written to its configuration and read back."""

    may_have_own_host = True
    settings: Annotated[dict[str, ConfigValue], AfterValidator(check_config)] = Field(default_factory=dict)

    limits: Limits = Limits()

    def server(self, name: str) -> LocalRedis:
        """The server, not started."""
        return LocalRedis(name, self._find, self.settings, self.modules, self.limits)

    @abstractmethod
    def _find(self) -> Parts:
        """The files that it is made of. Raises UserError."""

    def _modules(self) -> tuple[Path, ...]:
        return (packages.need_json_module(),) if "json" in self.modules else ()


class EmbeddedSettings(_FromPackage):
    """A Redis."""

    kind: Literal["embedded"] = "embedded"

    def _find(self) -> Parts:
        return Parts(packages.need_server(), self._modules())


class ValkeySettings(_FromPackage):
    """A Valkey: the same protocol, settings and modules."""

    kind: Literal["valkey"] = "valkey"

    def _find(self) -> Parts:
        return Parts(packages.need_valkey(), self._modules())
