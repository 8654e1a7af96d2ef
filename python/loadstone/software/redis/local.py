"""A redis-server that we start: on a free loopback port, with a random password, under a guard."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from loadstone.deploy.processes.first_answer import await_answer
from loadstone.deploy.processes.guarded import GuardedProcess
from loadstone.deploy.processes.local_server import OwnServer, PortTaken
from loadstone.deploy.processes.ports import free_port
from loadstone.deploy.processes.resource_limits import Limits, limits_in_force
from loadstone.deploy.provider import ConfigValue, DeployContext, Module, Remark, ServerFacts
from loadstone.deploy.settings_in_force import differences
from loadstone.errors import UserError
from loadstone.plan.endpoints import Endpoint
from loadstone.secrecy.known_secrets import new_password
from loadstone.software.redis.control import RedisControl
from loadstone.software.redis.requirements import READ_BACK, inspect_server
from loadstone.software.redis.settings import SPELLING, config_text, why_it_ended

READY_S = 60.0
"""How long a server may take to load its data."""
CONFIG = "redis.conf"
OURS = frozenset(
    {
        *("bind", "port", "unixsocket", "protected-mode", "tls-port", "tls-key-file-pass"),
        *("requirepass", "masterauth", "user", "aclfile", "rename-command"),
        *("dir", "logfile", "pidfile", "daemonize", "supervised", "include", "loadmodule"),
        *("cluster-enabled", "replicaof", "slaveof"),
    }
)
"""Redis settings that loadstone itself decides, or that would make another kind of server."""


@dataclasses.dataclass(frozen=True)
class Parts:
    """The files that a server is made of."""

    binary: Path
    modules: tuple[Path, ...] = ()


def check_config(settings: Mapping[str, ConfigValue]) -> Mapping[str, ConfigValue]:
    """The settings, if each can be handed to a server of ours.

    Raises:
        ValueError: one cannot; with the reason.
    """
    for name, value in settings.items():
        if name.lower() in OURS:
            raise ValueError(f"'{name}' is decided by loadstone; leave it out, or give a server of your own by URL")
        if not re.fullmatch(r"[a-zA-Z0-9_.-]+", name) or re.search(r"[\r\n\0]", str(value)):
            raise ValueError(f"'{name}: {value!r}' is not a line of a Redis configuration")
    return settings


class LocalRedis(OwnServer):
    """One redis-server process of ours; see `provider.Server`. `find` names its files when it starts."""

    def __init__(
        self,
        name: str,
        find: Callable[[], Parts],
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
        self._parts = Parts(Path())
        self._in_cluster = False

    def in_cluster(self) -> Self:
        """The same as a node of a cluster that is still to be formed: no one queries it yet what it can do."""
        self._in_cluster = True
        return self

    def control(self, timeout_s: float = 5.0) -> RedisControl:
        """See `provider.Server.control`."""
        return RedisControl(self._endpoint, timeout_s)

    def start(self, context: DeployContext) -> Endpoint:
        """See `provider.Server.start`."""
        self.stop()
        self._context = context
        self._parts = self._find()
        context.progress(f"starting {self.name} ({self._parts.binary.name})")
        self._endpoint = Endpoint(host=self._make_host(context), port=free_port(), password=new_password())
        try:
            self._process = self._guarded(context, self._limits)
            command = [str(self._parts.binary), str(self._process.workspace.path / CONFIG)]
            self._process.become(self._on_its_host(command))
            return self._run(self._process)
        except OSError as error:
            self.stop()
            binary = self._parts.binary
            raise UserError(
                f"server {self.name}: cannot be started ({error}); check {binary} and the free room"
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
        config = folder / CONFIG
        config.touch(mode=0o600)
        config.write_text(config_text(self._settings, ours, self._parts.modules))

    def _read_back(self) -> None:
        """Of a node of a cluster that is still to be formed, its settings only."""
        facts = self.facts if self._in_cluster else inspect_server(self._endpoint, self._modules)
        limits = limits_in_force(self._limits, self.limited)
        self.facts = dataclasses.replace(facts, limits=limits, details={**facts.details, **self._host_details()})
        with self.control() as control:
            self.settings_read_back = control.config_get(sorted({*READ_BACK, *self._settings}))
        for line in differences(self._settings, self.settings_read_back, SPELLING):
            self._context.progress(Remark(f"{self.name}: {line}"))

    def _await_ready(self, process: GuardedProcess) -> None:
        control = RedisControl(self._endpoint, timeout_s=1.0)
        await_answer(self.name, control, process, self._context, READY_S, self._why_it_ended)

    def _why_it_ended(self, lines: Sequence[str]) -> Exception:
        """What the log says about an end during the start, as an error for a person."""
        if any("Address already in use" in line for line in lines):
            return PortTaken()
        return UserError(f"server {self.name}: {why_it_ended(lines)}")
