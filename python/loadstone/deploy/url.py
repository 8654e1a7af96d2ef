"""Kind `url`: a server of the user's. It is never started or stopped, and only keys under our prefix are touched."""

import difflib
import ipaddress
import os
import socket
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import psutil
from pydantic import AfterValidator, ConfigDict, Field, ValidationError

from loadstone.deploy.probe import READ_BACK, probe
from loadstone.deploy.provider import DeployContext, ServerFacts, ServerSettings
from loadstone.deploy.redis_control import RedisControl
from loadstone.errors import ServerGone, UserError
from loadstone.plan.model import Endpoint, Tls

SCHEMES = ("redis", "rediss", "unix")
TLS_OPTIONS = ("ca_file", "verify", "server_name", "cert_file", "key_file")
OPTIONS = ("password_env", "db", *TLS_OPTIONS)
TRUTH = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
PING_TIMEOUT_S = 2.0


def parse_url(url: str) -> Endpoint:
    """`redis://user:password@host:port/db?option=value` as an endpoint; also rediss://, unix:///path.

    Options: `password_env` (a variable that holds the password), `db`, and for rediss
    `ca_file`, `verify`, `server_name`, `cert_file`, `key_file`.

    Raises:
        UserError: it is no such URL; the message never holds the password.
    """
    shown = redact(url)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UserError(f"url '{shown}': {error}; write redis://HOST:PORT") from None
    if parts.scheme not in SCHEMES:
        raise UserError(f"url '{shown}': begins with none of redis://, rediss://, unix://")
    options = _options(parts, shown)
    try:
        login = {
            "username": unquote(parts.username) if parts.username else None,
            "password": _password(parts, options, shown),
            "database": _database(parts, options, shown),
        }
        if parts.scheme == "unix":
            if not parts.path:
                raise UserError(f"url '{shown}': names no socket; write unix:///path/to/redis.sock")
            return Endpoint(unix_path=unquote(parts.path), **login)
        return Endpoint(
            host=host or "127.0.0.1", port=6379 if port is None else port, tls=_tls(parts, options, shown), **login
        )
    except ValidationError as error:
        raise UserError(f"url '{shown}': {error.errors()[0]['loc'][0]}: {error.errors()[0]['msg']}") from None


def redact(url: str) -> str:
    """The URL as it may be shown: `***` for the password."""
    scheme, separator, rest = url.partition("://")
    login, at, address = rest.rpartition("@")  # the last one: an unescaped password may hold any character
    return f"{scheme}{separator}{login.partition(':')[0]}:***@{address}" if at else url


def _valid_url(url: str) -> str:
    try:
        parse_url(url)
    except UserError as error:
        raise ValueError(str(error).removeprefix("url ")) from None
    return url


class UrlSettings(ServerSettings):
    """`url` as `parse_url` takes it."""

    model_config = ConfigDict(hide_input_in_errors=True)

    kind: Literal["url"] = "url"
    url: Annotated[str, AfterValidator(_valid_url), Field(repr=False)]

    def server(self, name: str) -> "UrlServer":
        """The server, not asked yet."""
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

    def start(self, context: DeployContext) -> Endpoint:
        """Ask the server whether it can be loaded; see `provider.Server.start`."""
        context.progress(f"asking {self.name} ({self._endpoint.label})")
        self.facts = probe(self._endpoint, self._settings.modules)
        try:
            with RedisControl(self._endpoint) as control:
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
            with RedisControl(self._endpoint, PING_TIMEOUT_S) as control:
                control.ping()
        except ServerGone:
            return False
        return True

    def stop(self) -> None:
        """Nothing: the server is the user's."""


Answer = TypeVar("Answer")


def answering_again(start: Callable[[DeployContext], Answer]) -> Answer:
    """What `start` returns, for something of the user's that may have come back.

    Raises:
        ServerGone: it did not.
    """
    try:
        return start(DeployContext())
    except UserError as error:
        raise ServerGone(f"{error}. It is not ours to restart: start it, then use --resume") from None


def local_pid(endpoint: Endpoint, told: int | None) -> int | None:
    """The process that serves `endpoint`, if it is one of this machine and can be seen; else None.

    `told` is the id that the server itself gives: a forwarder or a container that listens in its
    place has another.
    """
    if told is None or not psutil.pid_exists(told) or not _is_here(endpoint):
        return None
    try:
        listeners = _listeners(endpoint)
    except (psutil.Error, OSError):
        listeners = set()
    listeners.discard(None)
    if listeners:
        return told if told in listeners else None
    try:  # no right to see whose socket it is; servers write their address into their title
        title = " ".join(psutil.Process(told).cmdline())
    except psutil.Error:
        return None
    return told if (endpoint.unix_path or f":{endpoint.port}") in title else None


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


def _options(parts: SplitResult, shown: str) -> dict[str, str]:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in options:
        if name not in OPTIONS:
            near = difflib.get_close_matches(name, OPTIONS, n=1, cutoff=0.4)
            hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(OPTIONS)}"
            raise UserError(f"url '{shown}': unknown option '{name}'; {hint}")
        if name in TLS_OPTIONS and parts.scheme != "rediss":
            raise UserError(f"url '{shown}': '{name}' is for TLS only; write rediss://")
    return options


def _password(parts: SplitResult, options: Mapping[str, str], shown: str) -> str | None:
    variable = options.get("password_env")
    if variable is None:
        return unquote(parts.password) if parts.password else None
    if variable not in os.environ:
        raise UserError(f"url '{shown}': password_env: the environment has no variable '{variable}'; export it")
    return os.environ[variable]


def _database(parts: SplitResult, options: Mapping[str, str], shown: str) -> int:
    text = options.get("db") or ("" if parts.scheme == "unix" else parts.path.strip("/"))
    if text and not text.isdecimal():
        raise UserError(f"url '{shown}': database '{text}' is not a number; write .../0")
    return int(text or 0)


def _tls(parts: SplitResult, options: Mapping[str, str], shown: str) -> Tls | None:
    if parts.scheme != "rediss":
        return None
    given: dict[str, Any] = {name: options[name] for name in TLS_OPTIONS if name in options}
    if "verify" in given:
        if given["verify"] not in TRUTH:
            raise UserError(f"url '{shown}': verify '{given['verify']}' is neither yes nor no")
        given["verify"] = TRUTH[given["verify"]]
    return Tls(**given)
