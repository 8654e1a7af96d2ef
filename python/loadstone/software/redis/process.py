"""Kind `process`: a redis-server that is installed on this machine, started by us."""

import shutil
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from loadstone.deploy.processes.resource_limits import Limits
from loadstone.deploy.provider import ConfigValue, ServerSettings
from loadstone.errors import UserError
from loadstone.software.redis import packages
from loadstone.software.redis.local import LocalRedis, Parts, check_config


class ProcessSettings(ServerSettings):
    """`binary` is a path or a name on PATH; `json_module` a rejson.so, or the embedded one where there is one."""

    kind: Literal["process"] = "process"
    may_have_own_host = True
    binary: str | None = None
    json_module: str | None = None
    settings: Annotated[dict[str, ConfigValue], AfterValidator(check_config)] = Field(default_factory=dict)

    limits: Limits = Limits()

    def server(self, name: str) -> LocalRedis:
        """The server, not started."""
        return LocalRedis(name, lambda: self._find(name), self.settings, self.modules, self.limits)

    def _find(self, name: str) -> Parts:
        binary = shutil.which(self.binary) if self.binary else packages.find_local_server()
        if binary is None:
            problem = f"binary '{self.binary}' is not an executable file" if self.binary else "no redis-server on PATH"
            raise UserError(
                f"server {name}: {problem}; install one (Debian: apt-get install redis-server), name it with 'binary', "
                "or use the embedded server (kind: embedded)"
            )
        return Parts(Path(binary).absolute(), self._modules(name))

    def _modules(self, name: str) -> tuple[Path, ...]:
        """The JSON module to load. None if none is found: the server may have JSON built in, which the probe tells."""
        if self.json_module is not None:
            path = Path(self.json_module)
            if not path.is_file():
                raise UserError(f"server {name}: json_module '{path}' is not a file; give the path of a rejson.so")
            return (path.resolve(),)
        found = packages.find_json_module() if "json" in self.modules else None
        return (found,) if found is not None else ()
