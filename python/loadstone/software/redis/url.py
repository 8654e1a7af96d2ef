"""Kind `url`: a server of the user's. It is never started or stopped, and only keys under our prefix are touched.

What a workload may send to it is decided in `confine`, before it is sent.
"""

import ipaddress
import socket
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import SplitResult, unquote, urlsplit

import psutil
from pydantic import ConfigDict, Field, ValidationError

from loadstone.deploy.provider import DeployContext, ServerFacts, ServerSettings
from loadstone.deploy.transport import remark_on_exposure
from loadstone.deploy.urls import TLS_OPTIONS, options_of, password_of, tls_of, valid_by
from loadstone.deploy.users_parts import answering_again
from loadstone.errors import ServerGone, UserError
from loadstone.plan.drive_plan import Endpoint
from loadstone.secrecy.text import hide_url
from loadstone.software.redis.control import RedisControl
from loadstone.software.redis.declared import REDIS
from loadstone.software.redis.requirements import READ_BACK, inspect_server

OPTIONS = ("password_env", "db", *TLS_OPTIONS)
PING_TIMEOUT_S = 2.0
_DIGITS_MAX = 9


def parse_url(url: str) -> Endpoint:
    """`redis://user:password@host:port/db?option=value` as an endpoint; also rediss://, unix:///path.

    Options: `password_env` (a variable that holds the password), `db`, and for rediss
    `ca_file`, `verify`, `server_name`, `cert_file`, `key_file`.

    Raises:
        UserError: it is no such URL; the message never holds the password.
    """
    shown = hide_url(url)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UserError(f"url '{shown}': {error}; write redis://HOST:PORT") from None
    if parts.scheme not in REDIS.schemes:
        raise UserError(f"url '{shown}': begins with none of redis://, rediss://, unix://")
    options = options_of(parts, OPTIONS, shown)
    for name in (name for name in TLS_OPTIONS if name in options and parts.scheme != "rediss"):
        raise UserError(f"url '{shown}': '{name}' is for TLS only; write rediss://")
    try:
        login = {
            "username": unquote(parts.username) if parts.username else None,
            "password": password_of(parts, options, shown),
            "database": _database(parts, options, shown),
        }
        if parts.scheme == "unix":
            if not parts.path:
                raise UserError(f"url '{shown}': names no socket; write unix:///path/to/redis.sock")
            return Endpoint(unix_path=unquote(parts.path), **login)
        tls = tls_of(options, shown) if parts.scheme == "rediss" else None
        return Endpoint(host=host or "127.0.0.1", port=6379 if port is None else port, tls=tls, **login)
    except ValidationError as error:
        raise UserError(f"url '{shown}': {error.errors()[0]['loc'][0]}: {error.errors()[0]['msg']}") from None


class UrlSettings(ServerSettings):
    """`url` as `parse_url` takes it."""

    model_config = ConfigDict(hide_input_in_errors=True)

    kind: Literal["url"] = "url"
    url: Annotated[str, valid_by(parse_url), Field(repr=False)]

    def server(self, name: str) -> "UrlServer":
        """The server, not queried yet."""
        return UrlServer(name, self)


class UrlServer:
    """A server of the user's; see `provider.Server`."""

    ours = False

    def __init__(self, name: str, settings: UrlSettings) -> None:
        self.name = name
        self.facts = ServerFacts(software="redis", version="", mode="", role="")
        self.settings_read_back: Mapping[str, str] = {}
        self.pids: Mapping[str, int] = {}
        self._settings = settings
        self._endpoint = parse_url(settings.url)

    def control(self, timeout_s: float = 5.0) -> RedisControl:
        """See `provider.Server.control`."""
        return RedisControl(self._endpoint, timeout_s)

    def start(self, context: DeployContext) -> Endpoint:
        """Ask the server whether it can be loaded; see `provider.Server.start`."""
        context.progress(f"connecting to {self.name} ({self._endpoint.label})")
        remark_on_exposure(context, self.name, self._endpoint)
        self.facts = inspect_server(self._endpoint, self._settings.modules)
        if self.facts.mode == "cluster":
            raise UserError(
                f"server {self.name} ({self._endpoint.label}): it is a node of a cluster, which is not loaded by URL; "
                "give a single server, or let loadstone start a cluster (kind: cluster)"
            )
        try:
            with self.control() as control:
                self.settings_read_back = control.config_get(READ_BACK)
        except ServerGone as gone:
            raise UserError(str(gone)) from None
        pid = local_pid(self._endpoint, self.facts.process_id)
        self.pids = {} if pid is None else {self.name: pid}
        return self._endpoint

    def restart(self) -> Endpoint:
        """Go on if it answers again.

        Raises:
            ServerGone: it does not.
        """
        return answering_again(self.start)

    def alive(self) -> bool:
        """Whether it answers a PING."""
        try:
            with self.control(PING_TIMEOUT_S) as control:
                control.ping()
        except ServerGone:
            return False
        return True

    def stop(self) -> None:
        """Nothing: the server is the user's."""


def local_pid(endpoint: Endpoint, reported: int | None) -> int | None:
    """The process that serves `endpoint`, if it is one of this machine and can be observed; else None.

    `reported` is the id that the server itself gives: a forwarder or a container that listens in its
    place has another.
    """
    if reported is None or not psutil.pid_exists(reported) or not _is_here(endpoint):
        return None
    try:
        listeners = _listeners(endpoint)
    except (psutil.Error, OSError):
        listeners = set()
    listeners.discard(None)
    if listeners:
        return reported if reported in listeners else None
    try:  # no right to see whose socket it is; servers write their address into their title
        title = " ".join(psutil.Process(reported).cmdline())
    except psutil.Error:
        return None
    return reported if (endpoint.unix_path or f":{endpoint.port}") in title else None


def _listeners(endpoint: Endpoint) -> set[int | None]:
    if endpoint.unix_path is not None:
        return {c.pid for c in psutil.net_connections("unix") if str(c.laddr) == endpoint.unix_path}
    listening = (c for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN)
    return {c.pid for c in listening if c.laddr and c.laddr.port == endpoint.port}


def _is_here(endpoint: Endpoint) -> bool:
    if endpoint.unix_path is not None:
        return True
    mine = {address.address.split("%")[0] for addresses in psutil.net_if_addrs().values() for address in addresses}
    try:
        theirs = {
            str(found[4][0]) for found in socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        }
    except OSError:
        return False
    return any(address in mine or ipaddress.ip_address(address).is_loopback for address in theirs)


def _database(parts: SplitResult, options: Mapping[str, str], shown: str) -> int:
    text = options.get("db") or ("" if parts.scheme == "unix" else parts.path.strip("/"))
    if text and (not text.isdecimal() or len(text) > _DIGITS_MAX):
        raise UserError(f"url '{shown}': database '{text[:40]}' is not a number; write .../0")
    return int(text or 0)
