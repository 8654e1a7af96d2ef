"""Kind `url`: a server of the user's, a cluster or a primary of theirs. It is never started or stopped, and only keys
under our prefix are touched; what a workload may send to it is decided before it is sent
(`servers.redis.commands.confinement`)."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.errors import UserError
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.redirect_targets import allowed_by
from loadstone.servers.redis.replicas import (
    follows,
    replicas_of,
    require_as_many,
    require_replicas,
    with_readers,
)
from loadstone.servers.redis.requirements import NODE_OF_A_CLUSTER, inspect_server
from loadstone.servers.redis.sentinel import UsersPrimary
from loadstone.servers.redis.settings import READ_BACK
from loadstone.servers.redis.url import (
    SentinelAddress,
    is_sentinel_url,
    names_cluster,
    parse_sentinel_url,
    parse_url,
    read_from,
)
from loadstone.servers.redis.users_cluster import UsersCluster
from loadstone.servers.redis.users_process import local_pid, local_pids, parts_of
from loadstone.servers.server import DeployContext, ServerFacts
from loadstone.servers.transport import remark_on_exposure
from loadstone.servers.urls import valid_by
from loadstone.servers.users_server import UsersServer, UsersServerSettings
from loadstone.text.language import _


def _parse_any(url: str) -> Endpoint | SentinelAddress:
    return parse_sentinel_url(url) if is_sentinel_url(url) else parse_url(url)


class UrlSettings(UsersServerSettings):
    """`url` as `parse_url` takes it, or `parse_sentinel_url`."""

    model_config = ConfigDict(hide_input_in_errors=True)

    kind: Literal["url"] = "url"
    url: Annotated[str, valid_by(_parse_any), Field(repr=False)]

    def server(self, name: str) -> "UrlServer | UsersCluster | UsersPrimary":
        """The server, not queried yet."""
        if is_sentinel_url(self.url):
            return UsersPrimary(name, parse_sentinel_url(self.url), self.modules, read_from(self.url))
        if names_cluster(self.url):
            return UsersCluster(name, parse_url(self.url), self.modules, read_from(self.url), allowed_by(self.url))
        return UrlServer(name, self)


class UrlServer(UsersServer):
    """A server of the user's, and its replicas where they are read from; see `provider.ManyEndpoints`."""

    def __init__(self, name: str, settings: UrlSettings) -> None:
        super().__init__(name, ServerFacts(software="redis", version="", mode="", role=""))
        self._settings = settings
        self._endpoint = parse_url(settings.url)
        self._read_from = read_from(settings.url)
        self._allowed = allowed_by(settings.url)
        self._replicas: tuple[Endpoint, ...] = ()
        self._known: tuple[Endpoint, ...] = ()

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Itself, and who is read from."""
        return with_readers([self._endpoint, *self._replicas], self._read_from)

    def control(self, timeout_s: float = 5.0) -> RedisControl:
        """See `provider.Server.control`."""
        control = RedisControl(self._endpoint, timeout_s).reading_from(self._replicas)
        control.allowed = self._allowed
        return control

    def _inspect(self, context: DeployContext) -> Endpoint:
        context.progress(_("connecting to {name} ({address})", name=self.name, address=self._endpoint.label))
        remark_on_exposure(context, self.name, self._endpoint)
        self.facts = inspect_server(self._endpoint, self._settings.modules)
        if self.facts.mode == "cluster":
            raise UserError(
                "server {name} ({endpoint_label}): {node_of_a_cluster}",
                name=self.name,
                endpoint_label=self._endpoint.label,
                node_of_a_cluster=NODE_OF_A_CLUSTER,
            )
        if self._read_from != "primary":
            self._find_replicas()
        with self.control() as control:
            self.settings_read_back = control.config_get(READ_BACK)
        pids = [local_pid(self._endpoint, self.facts.process_id), *local_pids(self._replicas)]
        self.pids = parts_of(self.name, pids)
        return self._endpoint

    def _find_replicas(self) -> None:
        """Who is read from, in one order throughout. Raises UserError where one of them no longer follows it."""
        following = replicas_of(self._endpoint, self._known, self._allowed)
        self._replicas = tuple(replica for replica in self._known if replica in following) or following
        if not self._known:
            require_replicas(self._endpoint.label, self.endpoints, self._read_from)
            self._known = self._replicas
        require_as_many(self._endpoint.label, self.endpoints, len(self._known))

    def _answers(self) -> bool:
        """Every replica that is read from still follows it, too."""
        return super()._answers() and all(follows(replica) for replica in self._known)
