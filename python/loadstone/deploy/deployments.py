"""All servers of a run: each condition's settings are started once and kept up until the run ends."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from loadstone.deploy.provider import DeployContext, Server
from loadstone.deploy.redis_control import RedisControl
from loadstone.plan.model import Endpoint

MONITOR_TIMEOUT_S = 0.8
"""Below the monitors' second: a server that hangs must not hold up the other monitors."""


@dataclass
class Deployed:
    """One server that runs, and how to talk to it."""

    server: Server
    endpoint: Endpoint
    control: RedisControl
    """For loadstone's own questions between the phases."""
    monitor: RedisControl
    """Used by the monitors and nothing else."""

    def close(self) -> None:
        self.control.close()
        self.monitor.close()


class Deployments:
    """Servers by their name and settings. A context manager: leaving it stops all that are ours."""

    def __init__(self, make: Callable[[str, Mapping[str, Any]], Server], context: DeployContext) -> None:
        """`make` is `registry.server`: it validates the settings."""
        self._make = make
        self._context = context
        self._running: dict[str, Deployed] = {}

    def need(self, wanted: Mapping[str, Mapping[str, Any]]) -> dict[str, Deployed]:
        """The servers of a condition, by name; started if they do not run yet, restarted if they died.

        Raises:
            UserError: one cannot be started or cannot serve.
            ServerGone: one that is not ours does not answer any more.
        """
        return {name: self._one(name, settings) for name, settings in wanted.items()}

    def _one(self, name: str, settings: Mapping[str, Any]) -> Deployed:
        key = json.dumps([name, settings], sort_keys=True, default=str)
        found = self._running.get(key)
        if found is not None and found.server.alive():
            return found
        if found is not None:
            found.close()
            endpoint = found.server.restart()
            server = found.server
        else:
            server = self._make(name, settings)
            endpoint = server.start(self._context)
        deployed = Deployed(server, endpoint, RedisControl(endpoint), RedisControl(endpoint, MONITOR_TIMEOUT_S))
        self._running[key] = deployed
        return deployed

    def stop(self) -> None:
        """Stop every server that is ours and close every connection. May be called more than once."""
        while self._running:
            _, deployed = self._running.popitem()
            deployed.close()
            deployed.server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
