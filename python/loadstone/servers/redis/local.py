"""Kinds `embedded`, `valkey` and `process`: a server that we start.

It listens on a free loopback port, with a random password, under a guard. Embedded ones, Redis 8.2 (the default) and
Valkey 9, come out of installed packages.
"""

import dataclasses
import shutil
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import Field

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.installed_programs import install_line
from loadstone.machine.needs import Need, program_need
from loadstone.machine.processes.guarded_process import GuardedProcess
from loadstone.machine.processes.resource_limits import Limits, limits_in_force
from loadstone.machine.start_context import LastingStep
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import new_password
from loadstone.servers.local_server import OwnServer, PortTaken, await_answer
from loadstone.servers.redis import packages
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.requirements import inspect_server
from loadstone.servers.redis.settings import (
    READ_BACK,
    SPELLING,
    EmbeddedServerSettings,
    Settings,
    config_text,
    why_it_ended,
)
from loadstone.servers.server import ConfigValue, DeployContext, Module, ServerFacts, ServerSettings
from loadstone.servers.settings_in_force import differences
from loadstone.text.language import _
from loadstone.text.message import said

READY_S = 60.0
"""How long a server may take to load its data."""
LOADED_BYTES_PER_S = 5e6
"""Slower than that no server loads a snapshot."""
CONFIG = "redis.conf"
SNAPSHOT = "dump.rdb"
PACKAGES = ("redis-server", "valkey", "redis")
"""Those of a server on PATH, as systems call them."""


@dataclasses.dataclass(frozen=True)
class ServerFiles:
    """The files that a server is made of."""

    binary: Path
    modules: tuple[Path, ...] = ()


class LocalRedis(OwnServer):
    """One redis-server process of ours; see `provider.Server`. `find` names its files when it starts."""

    def __init__(
        self,
        name: str,
        find: Callable[[], ServerFiles],
        settings: Mapping[str, ConfigValue],
        modules: Sequence[Module],
        limits: Limits | None = None,
    ) -> None:
        super().__init__(name)
        self.facts = ServerFacts(software="redis", version="", mode="", role="")
        self.settings_read_back: Mapping[str, str] = {}
        self._find = find
        self._settings = settings
        self._modules = modules
        self._limits = limits or Limits()
        self._parts = ServerFiles(Path())
        self._in_cluster = False
        self._dump: Path | None = None

    def in_cluster(self) -> Self:
        """Return this server as a node of a cluster that is still to be formed: what it can do is queried later."""
        self._in_cluster = True
        return self

    def begin_with(self, dump: Path) -> None:
        """Load a copy of this snapshot (`dump.rdb`) at each start. Raises UserError where a setting forbids that."""
        if str(self._settings.get("appendonly", "no")).lower() in ("yes", "true"):
            raise UserError(
                "server {name}: with appendonly it begins with its append-only file, and not with a snapshot; leave "
                "appendonly out",
                name=self.name,
            )
        self._dump = dump

    def control(self, timeout_s: float = 5.0) -> RedisControl:
        """See `provider.Server.control`."""
        return RedisControl(self._endpoint, timeout_s)

    def start(self, context: DeployContext) -> Endpoint:
        """See `provider.Server.start`."""
        self.stop()
        self._context = context
        self._parts = self._find()
        context.progress(_("starting {name} ({program})", name=self.name, program=self._parts.binary.name))
        host = self._make_host(context)
        self._endpoint = Endpoint(host=host, port=self._free_port(host), password=new_password())
        try:
            self._process = self._guarded(context, self._limits)
            if self._dump is not None:
                copy_snapshot(self._dump, self._process.workspace.path / SNAPSHOT)
            command = [str(self._parts.binary), str(self._process.workspace.path / CONFIG)]
            self._process.become(self._on_its_host(command))
            return self._run(self._process)
        except OSError as error:
            self.stop()
            binary = self._parts.binary
            raise UserError(
                "server {name}: cannot be started ({error}); check {binary} and the free room",
                name=self.name,
                error=error,
                binary=binary,
            ) from None
        except BaseException:
            self.stop()
            raise

    def _write_files(self, folder: Path) -> None:
        """The configuration file, for our eyes only: what the experiment sets, then ours."""
        ours: dict[str, ConfigValue] = {
            "bind": self._endpoint.host,
            "port": self._endpoint.port,
            "cluster-enabled": "yes" if self._in_cluster else "no",
            "requirepass": self._endpoint.password or "",
            "dir": f'"{folder}"',
            "logfile": '""',
            "daemonize": "no",
        }
        if self._dump is not None:
            ours["dbfilename"] = SNAPSHOT
        config = folder / CONFIG
        config.touch(mode=0o600)
        config.write_text(config_text(self._settings, ours, self._parts.modules))

    def _read_back(self) -> None:
        """Read back the server's facts; for a node of a cluster that is still to be formed, its settings only."""
        facts = self.facts if self._in_cluster else inspect_server(self._endpoint, self._modules)
        limits = limits_in_force(self._limits, self.limited)
        self.facts = dataclasses.replace(facts, limits=limits, details={**facts.details, **self._host_details()})
        with self.control() as control:
            self.settings_read_back = control.config_get(sorted({*READ_BACK, *self._settings}))
        for line in differences(self._settings, self.settings_read_back, SPELLING):
            self._context.progress(LastingStep(_("{name}: {line}", name=self.name, line=line)))

    def _await_ready(self, process: GuardedProcess) -> None:
        control = RedisControl(self._endpoint, timeout_s=1.0)
        within_s = READY_S + (self._dump.stat().st_size / LOADED_BYTES_PER_S if self._dump is not None else 0.0)
        await_answer(self.name, control, process, self._context, within_s, self._why_it_ended)

    def _why_it_ended(self, lines: Sequence[str]) -> Exception:
        """What the log says about an end during the start, as an error for a person."""
        if any("Address already in use" in line for line in lines):
            return PortTaken()
        return UserError("server {name}: {lines}", name=self.name, lines=why_it_ended(lines))


def copy_snapshot(dump: Path, copy: Path) -> None:
    """Copy it into a server's folder, where there is room for it and for what the server saves. Raises UserError."""
    free, needed = shutil.disk_usage(copy.parent).free, 2 * dump.stat().st_size
    if free < needed:
        raise UserError(
            "{dump}: a copy, and what a server saves of it, take {needed:,.0f} MB, and {folder} has {free:,.0f} MB "
            "left; set TMPDIR to a folder with more room",
            dump=dump,
            needed=needed / 1e6,
            folder=copy.parent.parent,
            free=free / 1e6,
        )
    copy.touch(mode=0o600)
    shutil.copyfile(dump, copy)


class _FromPackage(ServerSettings):
    """`settings` are the server's own (`appendonly: yes`), written to its configuration and read back."""

    may_have_own_host = True
    may_be_elsewhere = True
    settings: EmbeddedServerSettings = Field(default_factory=dict)
    limits: Limits = Limits()

    def server(self, name: str) -> LocalRedis:
        """The server, not started."""
        return LocalRedis(name, self._find, self.settings, self.modules, self.limits)

    @abstractmethod
    def _find(self) -> ServerFiles:
        """The files that it is made of. Raises UserError."""

    def _modules(self) -> tuple[Path, ...]:
        return (packages.need_json_module(),) if "json" in self.modules else ()

    def needs(self, name: str) -> Sequence[Need]:
        """See `ServerSettings.needs`."""
        brought = packages.valkey_need(name) if self.kind == "valkey" else packages.server_need(name)
        return [brought, *([packages.json_need(name)] if "json" in self.modules else [])]


class EmbeddedSettings(_FromPackage):
    """A Redis."""

    kind: Literal["embedded"] = "embedded"

    def _find(self) -> ServerFiles:
        return ServerFiles(packages.need_server(), self._modules())


class ValkeySettings(_FromPackage):
    """A Valkey: the same protocol, settings and modules."""

    kind: Literal["valkey"] = "valkey"

    def _find(self) -> ServerFiles:
        return ServerFiles(packages.need_valkey(), self._modules())


class ProcessSettings(ServerSettings):
    """`binary` is a path or a name on PATH; `json_module` a rejson.so, or the embedded one where there is one."""

    kind: Literal["process"] = "process"
    may_have_own_host = True
    may_be_elsewhere = True
    binary: str | None = None
    json_module: str | None = None
    settings: Settings = Field(default_factory=dict)
    limits: Limits = Limits()

    def server(self, name: str) -> LocalRedis:
        """The server, not started."""
        return LocalRedis(name, lambda: self._find(name), self.settings, self.modules, self.limits)

    def needs(self, name: str) -> Sequence[Need]:
        """See `ServerSettings.needs`; RedisJSON may be built into the server, which only that tells."""
        if self.binary is not None:  # the user knows where it comes from
            return ()
        return [program_need("redis-server", f"server {name}", packages.find_local_server(), PACKAGES)]

    def _find(self, name: str) -> ServerFiles:
        binary = shutil.which(self.binary) if self.binary else packages.find_local_server()
        if binary is None:
            problem = said("no redis-server on PATH")
            if self.binary:
                problem = said("binary '{binary}' is not an executable file", binary=self.binary)
            raise UserError(
                "server {name}: {problem}; install one ({how}), name it with "
                "'binary', or use the embedded server (kind: embedded)",
                name=name,
                problem=problem,
                how=install_line(*PACKAGES),
            )
        return ServerFiles(Path(binary).absolute(), self._modules(name))

    def _modules(self, name: str) -> tuple[Path, ...]:
        """The JSON module to load. None if none is found: the server may have JSON built in, which the probe tells."""
        if self.json_module is not None:
            path = Path(self.json_module)
            if not path.is_file():
                raise UserError(
                    "server {name}: json_module '{path}' is not a file; give the path of a rejson.so",
                    name=name,
                    path=path,
                )
            return (path.resolve(),)
        module = packages.find_json_module() if "json" in self.modules else None
        return (module,) if module is not None else ()
