"""Kind `cluster`: a Redis Cluster of our own, of primaries that share the hash slots evenly."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from loadstone.experiment.plan.endpoints import Endpoint, even_slots
from loadstone.machine.needs import Need
from loadstone.machine.processes.endings import oom_kills_of
from loadstone.machine.processes.resource_limits import Limits
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers.redis.cluster_control import ClusterControl
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.local import READY_S, EmbeddedSettings, LocalRedis, ProcessSettings
from loadstone.servers.redis.requirements import ask
from loadstone.servers.redis.settings import Settings, check_settings
from loadstone.servers.server import ConfigValue, DeployContext, Module, ServerFacts, ServerSettings
from loadstone.text.language import _

POLL_S = 0.05
NODE_TIMEOUT: Mapping[str, ConfigValue] = {"cluster-node-timeout": 60_000}
"""Milliseconds. Longer than Redis's own, so that nodes of a busy machine are not taken for dead."""


class ClusterSettings(ServerSettings):
    """`nodes` servers of kind `of`, each with these `settings` and `limits` of its own."""

    kind: Literal["cluster"] = "cluster"
    nodes: int = Field(default=3, ge=1, le=64)
    of: Literal["embedded", "process"] = "embedded"
    binary: str | None = Field(default=None, description="with `of: process`: a path, or a name on PATH")
    settings: Settings = Field(default_factory=dict)
    limits: Limits = Limits()

    @field_validator("settings")
    @classmethod
    def _are_known(cls, value: dict[str, ConfigValue], info: ValidationInfo) -> Mapping[str, ConfigValue]:
        return check_settings(value, only_known=info.data.get("of") == "embedded")

    def server(self, name: str) -> "RedisCluster":
        """The cluster, not started."""
        nodes = [self._node().server(f"{name}-{number}") for number in range(1, self.nodes + 1)]
        return RedisCluster(name, nodes, self.modules)

    def needs(self, name: str) -> Sequence[Need]:
        """See `ServerSettings.needs`."""
        return self._node().needs(name)

    def _node(self) -> EmbeddedSettings | ProcessSettings:
        settings = {**NODE_TIMEOUT, **self.settings}
        if self.of == "embedded":
            return EmbeddedSettings(settings=settings, modules=self.modules, limits=self.limits)
        return ProcessSettings(settings=settings, modules=self.modules, limits=self.limits, binary=self.binary)


class RedisCluster:
    """A cluster of ours; see `provider.Server`. Its parts are `<name>-1`, `<name>-2`..."""

    ours = True

    def __init__(self, name: str, nodes: Sequence[LocalRedis], modules: Sequence[Module]) -> None:
        self.name = name
        self.facts = ServerFacts(software="redis", version="", mode="cluster", role="")
        self.settings_read_back: Mapping[str, str] = {}
        self.endpoints: tuple[Endpoint, ...] = (Endpoint(),)
        self._nodes = [node.in_cluster() for node in nodes]
        self._modules = modules
        self._context = DeployContext()
        self._ids: list[str] = []

    @property
    def pids(self) -> Mapping[str, int]:
        """The nodes' processes, without those that do not run."""
        return {part: pid for node in self._nodes for part, pid in node.pids.items()}

    def alive(self) -> bool:
        """Whether every node's process runs."""
        return all(node.alive() for node in self._nodes)

    def oom_kills(self) -> int | None:
        """See `endings.HasExitStatus`."""
        return oom_kills_of(self._nodes)

    def how_it_ended(self) -> str:
        """See `endings.HasExitStatus`."""
        return next((f"{node.name}: {ending}" for node in self._nodes if (ending := node.how_it_ended())), "")

    def control(self, timeout_s: float = 5.0) -> ClusterControl:
        """See `provider.Server.control`."""
        return ClusterControl(self.endpoints, timeout_s)

    def start(self, context: DeployContext) -> Endpoint:
        """Start the nodes, give each its slots, and wait until they are one cluster; see `provider.Server.start`."""
        self.stop()
        self._context = context
        try:
            self._found_at([node.start(context) for node in self._nodes])
            with self.control() as control:
                self._form(control)
                self._await_formed(control)
                self._ids = self._node_ids(control)
                self._ask(control)
        except ServerGone as gone:
            self.stop()
            raise UserError(
                "server {name}: the cluster cannot be formed ({gone}); see its nodes' logs", name=self.name, gone=gone
            ) from None
        except BaseException:
            self.stop()
            raise
        return self.endpoints[0]

    def restart(self) -> Endpoint:
        """Start every node again with the data that it kept; the cluster is formed again if one lost its place."""
        self._found_at([node.restart() for node in self._nodes])
        with self.control() as control:
            if self._node_ids(control) == self._ids:
                self._await_formed(control)
                self._ask(control)
                return self.endpoints[0]
        return self.start(self._context)

    def stop(self) -> None:
        """End every node. May be called more than once."""
        for node in self._nodes:
            node.stop()

    def _found_at(self, endpoints: Sequence[Endpoint]) -> None:
        slots = even_slots(len(endpoints))
        self.endpoints = tuple(
            endpoint.model_copy(update={"slots": own}) for endpoint, own in zip(endpoints, slots, strict=True)
        )

    def _form(self, control: ClusterControl) -> None:
        """Slots, an epoch of its own, and an introduction for each node."""
        self._context.progress(_("forming {name} ({nodes} nodes)", name=self.name, nodes=len(self._nodes)))
        first = control.nodes[0]
        for epoch, node in enumerate(control.nodes, start=1):
            for begin, end in node.endpoint.slots:
                self._reported_by(node, "CLUSTER ADDSLOTSRANGE", begin, end)
            node.call("CLUSTER SET-CONFIG-EPOCH", epoch)
        for node in control.nodes[1:]:
            first.call("CLUSTER MEET", node.endpoint.host, node.endpoint.port)

    def _reported_by(self, node: RedisControl, *command: str | int) -> None:
        try:
            node.call(*command)
        except ServerGone as gone:
            if "unknown" in str(gone).lower():
                raise UserError(
                    "server {name}: this Redis cannot form a cluster ({gone}); use Redis 7 or newer",
                    name=self.name,
                    gone=gone,
                ) from None
            raise

    def _await_formed(self, control: ClusterControl) -> None:
        """Wait until every node knows all nodes and serves all slots.

        Raises:
            UserError: that takes too long.
        """
        required = {"cluster_state": "ok", "cluster_known_nodes": str(len(self._nodes))}
        deadline = time.monotonic() + READY_S
        for node in control.nodes:
            while True:
                self._context.raise_if_stopped()
                reported = {str(name): str(value) for name, value in node.call("CLUSTER INFO").items()}
                if all(reported.get(name) == value for name, value in required.items()):
                    break
                if time.monotonic() > deadline:
                    state = {name: reported.get(name) for name in required}
                    raise UserError(
                        "server {name}: no cluster within {ready_s:g} s ({endpoint_label} says {state}); "
                        "see its nodes' logs",
                        name=self.name,
                        ready_s=READY_S,
                        endpoint_label=node.endpoint.label,
                        state=state,
                    )
                time.sleep(POLL_S)

    @staticmethod
    def _node_ids(control: ClusterControl) -> list[str]:
        return [str(node.call("CLUSTER MYID")) for node in control.nodes]

    def _ask(self, control: ClusterControl) -> None:
        """What the cluster says about itself, with its nodes' limits."""
        facts = ask(control, self._modules)
        of_nodes = self._nodes[0].facts
        details = {**of_nodes.details, **facts.details, "nodes": str(len(self._nodes))}
        self.facts = replace(facts, details=details, limits=of_nodes.limits)
        read_back: dict[str, list[str]] = {}
        for node in self._nodes:
            for name, value in node.settings_read_back.items():
                read_back.setdefault(name, []).append(value)
        self.settings_read_back = {name: ", ".join(dict.fromkeys(values)) for name, values in read_back.items()}
