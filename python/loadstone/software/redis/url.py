"""Kind `url`: a server of the user's. It is never started or stopped, and only keys under our prefix are touched.

What a workload may send to it is decided in `confine`, before it is sent.
"""

from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pydantic import ConfigDict, Field, ValidationError

from loadstone.bounds.conversation import LOOK, OPENING, within
from loadstone.deploy.provider import DeployContext, ServerFacts, ServerSettings
from loadstone.deploy.transport import remark_on_exposure
from loadstone.deploy.urls import TLS_OPTIONS, TRUTH, host_of, options_of, password_of, tls_of, truth_of, valid_by
from loadstone.deploy.users_parts import PING_TIMEOUT_S, answering_again
from loadstone.errors import ServerGone, UserError
from loadstone.plan.endpoints import Endpoint
from loadstone.secrecy.text import hide_url
from loadstone.software.redis.cluster.announced import HOSTS, allowed_by, allowed_hosts
from loadstone.software.redis.cluster.cluster_control import CLUSTER
from loadstone.software.redis.cluster.users_cluster import UsersCluster
from loadstone.software.redis.control import RedisControl
from loadstone.software.redis.declared import REDIS
from loadstone.software.redis.reads.following import follows, replicas_of
from loadstone.software.redis.reads.read_from import (
    READ_FROM,
    read_from,
    require_as_many,
    require_read_from,
    require_replicas,
    with_readers,
)
from loadstone.software.redis.requirements import NODE_OF_A_CLUSTER, READ_BACK, inspect_server
from loadstone.software.redis.sentinel.sentinel_url import Watched, is_sentinel_url, parse_sentinel_url
from loadstone.software.redis.sentinel.users_primary import UsersPrimary
from loadstone.software.redis.users_process import local_pid, local_pids, parts_of

OPTIONS = ("password_env", "db", CLUSTER, READ_FROM, HOSTS, *TLS_OPTIONS)
TLS_SCHEMES = ("rediss", "valkeys")
_DIGITS_MAX = 9


def parse_url(url: str) -> Endpoint:
    """`redis://user:password@host:port/db?option=value` as an endpoint; also rediss://, unix:///path.

    valkey:// and valkeys:// are the same as redis:// and rediss://.

    Options: `password_env` (a variable that holds the password), `db`, `cluster` (load the whole cluster that the
    server is a node of), `read_from` (primary, replica or any), `hosts` (where other nodes and replicas that the server
    announces may be; any host without it), and for rediss `ca_file`, `verify`, `server_name`,
    `cert_file`, `key_file`.

    Raises:
        UserError: it is no such URL; the message never holds the password.
    """
    shown = hide_url(url)
    if is_sentinel_url(url):
        raise UserError(f"url '{shown}': it names Sentinels, and an address of the server itself is needed here")
    try:
        parts = urlsplit(url)
        host, port = host_of(parts), parts.port
    except ValueError as error:
        raise UserError(f"url '{shown}': {error}; write redis://HOST:PORT") from None
    if parts.scheme not in REDIS.schemes:
        known = ", ".join(f"{scheme}://" for scheme in REDIS.schemes)
        raise UserError(f"url '{shown}': begins with none of {known}")
    options = options_of(parts, OPTIONS, shown)
    for name in (name for name in TLS_OPTIONS if name in options and parts.scheme not in TLS_SCHEMES):
        raise UserError(f"url '{shown}': '{name}' is for TLS only; write rediss://")
    try:
        login = {
            "username": unquote(parts.username) if parts.username else None,
            "password": password_of(parts, options, shown),
            "database": _database(parts, options, shown),
        }
        _require_cluster(options, parts, login["database"], shown)
        require_read_from(options, shown)
        allowed_hosts(options, shown)
        if parts.scheme == "unix":
            if READ_FROM in options:
                raise UserError(f"url '{shown}': replicas are reached by TCP; write redis://HOST:PORT of their primary")
            if not parts.path:
                raise UserError(f"url '{shown}': names no socket; write unix:///path/to/redis.sock")
            return Endpoint(unix_path=unquote(parts.path), **login)
        tls = tls_of(options, shown) if parts.scheme in TLS_SCHEMES else None
        return Endpoint(host=host or "127.0.0.1", port=6379 if port is None else port, tls=tls, **login)
    except ValidationError as error:
        raise UserError(f"url '{shown}': {error.errors()[0]['loc'][0]}: {error.errors()[0]['msg']}") from None


def _parse_any(url: str) -> Endpoint | Watched:
    return parse_sentinel_url(url) if is_sentinel_url(url) else parse_url(url)


def names_cluster(url: str) -> bool:
    """Whether a URL that `parse_url` takes stands for a whole cluster."""
    return TRUTH.get(dict(parse_qsl(urlsplit(url).query)).get(CLUSTER, ""), False)


class UrlSettings(ServerSettings):
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


class UrlServer:
    """A server of the user's, and its replicas where they are read from; see `provider.Server`, `ManyEndpoints`."""

    ours = False

    def __init__(self, name: str, settings: UrlSettings) -> None:
        self.name = name
        self.facts = ServerFacts(software="redis", version="", mode="", role="")
        self.settings_read_back: Mapping[str, str] = {}
        self.pids: Mapping[str, int] = {}
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
        return RedisControl(self._endpoint, timeout_s).reading_from(self._replicas)

    @within(OPENING)
    def start(self, context: DeployContext) -> Endpoint:
        """Ask the server whether it can be loaded; see `provider.Server.start`."""
        context.progress(f"connecting to {self.name} ({self._endpoint.label})")
        remark_on_exposure(context, self.name, self._endpoint)
        self.facts = inspect_server(self._endpoint, self._settings.modules)
        if self.facts.mode == "cluster":
            raise UserError(f"server {self.name} ({self._endpoint.label}): {NODE_OF_A_CLUSTER}")
        if self._read_from != "primary":
            self._find_replicas()
        try:
            with self.control() as control:
                self.settings_read_back = control.config_get(READ_BACK)
            pids = [local_pid(self._endpoint, self.facts.process_id), *local_pids(self._replicas)]
        except ServerGone as gone:
            raise UserError(str(gone)) from None
        self.pids = parts_of(self.name, pids)
        return self._endpoint

    def _find_replicas(self) -> None:
        """Who is read from, in one order throughout. Raises UserError where one of them no longer follows it."""
        found = replicas_of(self._endpoint, self._known, self._allowed)
        self._replicas = tuple(one for one in self._known if one in found) or found
        if not self._known:
            require_replicas(self._endpoint.label, self.endpoints, self._read_from)
            self._known = self._replicas
        require_as_many(self._endpoint.label, self.endpoints, len(self._known))

    def restart(self) -> Endpoint:
        """Go on if it answers again.

        Raises:
            ServerGone: it does not.
        """
        return answering_again(self.start)

    @within(LOOK)
    def alive(self) -> bool:
        """Whether it answers a PING, and every replica that is read from still follows it."""
        try:
            with self.control(PING_TIMEOUT_S) as control:
                control.ping()
        except ServerGone:
            return False
        return all(follows(replica) for replica in self._known)

    def stop(self) -> None:
        """Nothing: the server is the user's."""


def _require_cluster(options: Mapping[str, str], parts: SplitResult, database: object, shown: str) -> None:
    """What stands beside `cluster` is possible. Raises UserError."""
    if CLUSTER not in options or not truth_of(CLUSTER, options[CLUSTER], shown):
        return
    if parts.scheme == "unix":
        raise UserError(f"url '{shown}': a cluster's nodes are reached by TCP; write redis://HOST:PORT of one of them")
    if database:
        raise UserError(f"url '{shown}': a cluster has database 0 alone; leave the {database} out")


def _database(parts: SplitResult, options: Mapping[str, str], shown: str) -> int:
    text = options.get("db") or ("" if parts.scheme == "unix" else parts.path.strip("/"))
    if text and (not text.isdecimal() or len(text) > _DIGITS_MAX):
        raise UserError(f"url '{shown}': database '{text[:40]}' is not a number; write .../0")
    return int(text or 0)
