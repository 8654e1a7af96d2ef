"""Kind `replicated`: a primary Redis of ours with replicas, so that WAIT has somebody to wait for."""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.needs import Need
from loadstone.machine.processes.endings import oom_kills_of
from loadstone.machine.processes.resource_limits import Limits
from loadstone.safety.errors import UserError
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.local import READY_S, EmbeddedSettings, LocalRedis, ProcessSettings
from loadstone.servers.redis.replicas import ReadFrom, with_readers
from loadstone.servers.redis.settings import SPELLING, Settings, check_settings
from loadstone.servers.server import ConfigValue, DeployContext, ServerFacts, ServerSettings
from loadstone.text.problem import Problem

POLL_S = 0.02
NEEDING_REPLICAS = ("min-replicas-to-write", "min-slaves-to-write")
"""Settings under which a primary refuses writes until its replicas are there: given to it then."""
AT_ONCE: Mapping[str, ConfigValue] = {"repl-diskless-sync-delay": 0}
"""A primary otherwise waits 5 s for further replicas before it sends its data to the first."""


class ReplicatedSettings(ServerSettings):
    """`of` says whose program runs, `binary` and `json_module` as of kind `process`; the rest is each server's own."""

    kind: Literal["replicated"] = "replicated"
    of: Literal["embedded", "process"] = "embedded"
    replicas: int = Field(default=1, ge=1, le=16)
    read_from: ReadFrom = "primary"
    binary: str | None = None
    json_module: str | None = None
    settings: Settings = Field(default_factory=dict)
    limits: Limits = Limits()

    @field_validator("settings")
    @classmethod
    def _are_known(cls, value: dict[str, ConfigValue], info: ValidationInfo) -> Mapping[str, ConfigValue]:
        return check_settings(value, only_known=info.data.get("of") == "embedded")

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if self.of == "embedded" and (self.binary is not None or self.json_module is not None):
            raise Problem("'binary' and 'json_module' are for 'of: process'; leave them out, or write it")
        return self

    def needs(self, name: str) -> Sequence[Need]:
        """See `ServerSettings.needs`."""
        if self.of == "embedded":
            return EmbeddedSettings(modules=self.modules).needs(name)
        return ProcessSettings(binary=self.binary).needs(name)

    def server(self, name: str) -> "ReplicatedRedis":
        """The server, not started."""
        late = {key: value for key, value in self.settings.items() if key.lower() in NEEDING_REPLICAS}
        given: dict[str, Any] = {
            "modules": self.modules,
            "settings": {**AT_ONCE, **{key: value for key, value in self.settings.items() if key not in late}},
            "limits": self.limits,
        }
        each = (
            EmbeddedSettings(**given)
            if self.of == "embedded"
            else ProcessSettings(**given, binary=self.binary, json_module=self.json_module)
        )
        replicas = [each.server(f"{name}-replica-{number}") for number in range(1, self.replicas + 1)]
        return ReplicatedRedis(each.server(name), replicas, late, self.read_from)


class ReplicatedRedis:
    """A primary and its replicas, as one server whose endpoint is the primary's; see `provider.Server`.

    Those that are read from are endpoints, too; see `provider.ManyEndpoints`.
    """

    ours = True

    def __init__(
        self,
        primary: LocalRedis,
        replicas: Sequence[LocalRedis],
        late: Mapping[str, ConfigValue],
        read_from: ReadFrom = "primary",
    ) -> None:
        """`late`: settings of the primary, given to it when all replicas are in sync."""
        self.name = primary.name
        self.facts = primary.facts
        self.settings_read_back: Mapping[str, str] = {}
        self._primary = primary
        self._replicas = replicas
        self._late = late
        self._read_from: ReadFrom = read_from
        self._context = DeployContext()
        self._endpoints: dict[str, Endpoint] = {}

    @property
    def pids(self) -> Mapping[str, int]:
        """The processes that run: the primary under the server's name, the replicas as `NAME-replica-1`..."""
        return {part: pid for server in self._all() for part, pid in server.pids.items()}

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The primary, and who is read from."""
        endpoints = [self._endpoints[self.name]]
        if self._read_from != "primary":
            endpoints += [
                self._endpoints[replica.name].model_copy(update={"replica_of": 0}) for replica in self._replicas
            ]
        return with_readers(endpoints, self._read_from)

    def alive(self) -> bool:
        """Whether all of them run."""
        return all(server.alive() for server in self._all())

    def oom_kills(self) -> int | None:
        """See `endings.HasExitStatus`."""
        return oom_kills_of(self._all())

    def how_it_ended(self) -> str:
        """See `endings.HasExitStatus`."""
        return next((f"{server.name}: {ending}" for server in self._all() if (ending := server.how_it_ended())), "")

    def control(self, timeout_s: float = 5.0) -> RedisControl:
        """Queries the primary; see `provider.Server.control`."""
        return self._primary.control(timeout_s).reading_from(self.endpoints[1:])

    def start(self, context: DeployContext) -> Endpoint:
        """See `provider.Server.start`."""
        self.stop()
        self._context = context
        try:
            for server in self._all():
                self._endpoints[server.name] = server.start(context)
            return self._replicate()
        except BaseException:
            self.stop()
            raise

    def restart(self) -> Endpoint:
        """Bring those back that died, or all of them if none did; each with the data that it kept."""
        died = [server for server in self._all() if not server.alive()]
        for server in died or self._all():
            self._endpoints[server.name] = server.restart()
        return self._replicate()

    def stop(self) -> None:
        """See `provider.Server.stop`."""
        for server in reversed(self._all()):
            server.stop()

    def _all(self) -> list[LocalRedis]:
        return [self._primary, *self._replicas]

    def _replicate(self) -> Endpoint:
        """Make the replicas follow the primary, wait until they hold its data, and read back what it is."""
        endpoint = self._endpoints[self.name]
        for replica in self._replicas:
            with replica.control() as control:
                control.call("CONFIG SET", "masterauth", endpoint.password or "")
                control.call("REPLICAOF", endpoint.host, endpoint.port)
        self._await_sync()
        with self.control() as control:
            for name, value in self._late.items():
                control.call("CONFIG SET", name, SPELLING.written(value))
            names = [*self._primary.settings_read_back, *self._late]
            self.settings_read_back = control.config_get(dict.fromkeys(names))
        self.facts = self._facts()
        return endpoint

    def _facts(self) -> ServerFacts:
        facts = self._primary.facts
        return dataclasses.replace(facts, details={**facts.details, "replicas in sync": str(len(self._replicas))})

    def _await_sync(self) -> None:
        """Returns when every replica follows the primary's writes.

        Raises:
            UserError: one does not; names it, and how far it came.
        """
        deadline = time.monotonic() + READY_S
        with self.control() as control:
            while waiting := self._not_in_sync(control):
                self._context.raise_if_stopped()
                dead = next((server.name for server in self._all() if not server.alive()), None)
                if dead is not None:
                    raise UserError("server {dead}: it ended before the replicas were in sync; see its log", dead=dead)
                if time.monotonic() > deadline:
                    told = ", ".join(f"{name}: {state}" for name, state in waiting.items())
                    raise UserError(
                        "server {name}: not in sync within {seconds:g} s ({states}); see their logs",
                        name=self.name,
                        seconds=READY_S,
                        states=told,
                    )
                time.sleep(POLL_S)

    def _not_in_sync(self, control: RedisControl) -> dict[str, str]:
        """Replica -> its state as the primary sees it, of those that are not in sync."""
        replication = control.info("replication")
        states = {
            int(value["port"]): str(value["state"])
            for key, value in replication.items()
            if key.startswith("slave") and isinstance(value, Mapping) and "port" in value
        }
        reported = {
            replica.name: states.get(self._endpoints[replica.name].port, "unknown") for replica in self._replicas
        }
        return {name: state for name, state in reported.items() if state != "online"}
