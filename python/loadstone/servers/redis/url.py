"""URLs of Redis, of its clusters, and of primaries that Sentinels watch: what each option of them means."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pydantic import ValidationError

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import REDIS
from loadstone.run_folder.ledger import ServerIdentity, place_of
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_texts import hide_url
from loadstone.servers.redis.redirect_targets import ANYWHERE, HOSTS, AllowedHosts, allowed_hosts
from loadstone.servers.redis.replicas import CHOICES, ReadFrom
from loadstone.servers.urls import (
    TLS_OPTIONS,
    TRUTH,
    host_of,
    options_of,
    parse_bool,
    password_of,
    port_of,
    tls_of,
    unfit,
)
from loadstone.text.message import said

CLUSTER = "cluster"
"""The option that stands for the whole cluster of the server."""
READ_FROM = "read_from"
OPTIONS = ("password_env", "db", CLUSTER, READ_FROM, HOSTS, *TLS_OPTIONS)
SENTINEL_SCHEMES = ("redis+sentinel", "rediss+sentinel")
SENTINEL_OPTIONS = ("password_env", READ_FROM, HOSTS, "sentinel_user", "sentinel_password_env", *TLS_OPTIONS)
SENTINEL_FORM = said("write redis+sentinel://HOST:26379/NAME, with the name by which Sentinel knows the primary")
SENTINEL_PORT = 26_379
PRIMARY_NAME = re.compile(r"[A-Za-z0-9._-]{1,200}")
"""As Sentinel takes them."""
_DATABASE = re.compile(r"[0-9]{1,9}")


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
        raise UserError(
            "url '{shown}': it names Sentinels, and an address of the server itself is needed here", shown=shown
        )
    try:
        parts = urlsplit(url)
        host, port = host_of(parts), port_of(parts)
    except ValueError as error:
        raise UserError("url '{shown}': {error}; write redis://HOST:PORT", shown=shown, error=error) from None
    if parts.scheme not in REDIS.schemes:
        known = ", ".join(f"{scheme}://" for scheme in REDIS.schemes)
        raise UserError("url '{shown}': begins with none of {known}", shown=shown, known=known)
    options, path = options_of(parts, OPTIONS, shown), parts.path.strip("/")
    for name in (name for name in TLS_OPTIONS if name in options and parts.scheme not in REDIS.tls_schemes):
        raise UserError("url '{shown}': '{name}' is for TLS only; write rediss://", shown=shown, name=name)
    try:
        login = {
            "username": unquote(parts.username) if parts.username else None,
            "password": password_of(parts, options, shown),
            "database": _database(options.get("db") or ("" if parts.scheme == "unix" else path), "write .../0", shown),
        }
        _require_cluster(options, parts, login["database"], shown)
        _require_read_from(options, shown)
        allowed_hosts(options, shown)
        if parts.scheme == "unix":
            if READ_FROM in options:
                raise UserError(
                    "url '{shown}': replicas are reached by TCP; write redis://HOST:PORT of their primary", shown=shown
                )
            if not parts.path:
                raise UserError("url '{shown}': names no socket; write unix:///path/to/redis.sock", shown=shown)
            return Endpoint(unix_path=unquote(parts.path), **login)
        tls = tls_of(options, shown) if parts.scheme in REDIS.tls_schemes else None
        return Endpoint(host=host or "127.0.0.1", port=6379 if port is None else port, tls=tls, **login)
    except ValidationError as error:
        raise unfit(shown, error) from None


def names_cluster(url: str) -> bool:
    """Whether a URL that `parse_url` takes stands for a whole cluster."""
    return TRUTH.get(dict(parse_qsl(urlsplit(url).query)).get(CLUSTER, ""), False)


def read_from(url: str) -> ReadFrom:
    """Who is read from at a URL that was checked."""
    chosen = dict(parse_qsl(urlsplit(url).query)).get(READ_FROM)
    return next((choice for choice in CHOICES if choice == chosen), "primary")


@dataclass(frozen=True)
class SentinelAddress:
    """A primary, by who watches it."""

    name: str
    sentinels: tuple[Endpoint, ...]
    """With a login of their own."""
    login: Endpoint
    """Login of the primary and its replicas: everything but their address."""
    allowed: AllowedHosts = ANYWHERE
    """The hosts that these may be at."""

    @property
    def label(self) -> str:
        """As printed for people."""
        return f"{self.name} of {','.join(sentinel.label for sentinel in self.sentinels)}"

    def place(self, server: str) -> ServerIdentity:
        """Where it is, for the ledger: the primary, which may change."""
        scheme = SENTINEL_SCHEMES[self.login.tls is not None]
        hosts = ",".join(
            sentinel.label if ":" not in sentinel.host else f"[{sentinel.host}]:{sentinel.port}"
            for sentinel in self.sentinels
        )
        login = any((self.login.username, self.login.password, self.login.tls, self.sentinels[0].password))
        return ServerIdentity(server, f"{scheme}://{hosts}/{self.name}/{self.login.database}", login)


def is_sentinel_url(url: str) -> bool:
    """Whether a URL names Sentinels."""
    return url.partition("://")[0] in SENTINEL_SCHEMES


def parse_sentinel_url(url: str) -> SentinelAddress:
    """`redis+sentinel://USER:PASSWORD@HOST,HOST:PORT/NAME/DATABASE`: who watches which primary.

    Options: `password_env` (a variable that holds the password of the primary), `read_from`, `hosts` (where the primary
    and its replicas may be: the Sentinels decide who gets the password), `sentinel_user` and
    `sentinel_password_env` (the login of the Sentinels, where they have one), and for rediss+sentinel, which encrypts
    both, `ca_file`, `verify`, `server_name`, `cert_file`, `key_file`.

    Raises:
        UserError: it is no such URL; the message never holds a password.
    """
    shown = hide_url(url)
    try:
        parts = urlsplit(url)
        hosts = [urlsplit(f"//{host}") for host in parts.netloc.rpartition("@")[2].split(",")]
        places = [(host_of(host), port_of(host) or SENTINEL_PORT) for host in hosts]
    except ValueError as error:
        raise UserError(
            "url '{shown}': {error}; {sentinel_form}", shown=shown, error=error, sentinel_form=SENTINEL_FORM
        ) from None
    options = options_of(parts, SENTINEL_OPTIONS, shown)
    _require_read_from(options, shown)
    for option in (option for option in TLS_OPTIONS if option in options and parts.scheme not in REDIS.tls_schemes):
        raise UserError(
            "url '{shown}': '{option}' is for TLS only; write {sentinel_schemes}://",
            shown=shown,
            option=option,
            sentinel_schemes=SENTINEL_SCHEMES[1],
        )
    name, _, database = unquote(parts.path.strip("/")).partition("/")
    if not PRIMARY_NAME.fullmatch(name) or not all(host for host, _ in places):
        raise UserError(
            "url '{shown}': names no primary, or no Sentinel; {sentinel_form}", shown=shown, sentinel_form=SENTINEL_FORM
        )
    number = _database(database, f"write .../{name}/0", shown)
    tls = tls_of(options, shown) if parts.scheme in REDIS.tls_schemes else None
    theirs = {"password_env": options["sentinel_password_env"]} if "sentinel_password_env" in options else {}
    try:
        login = Endpoint(
            tls=tls,
            username=unquote(parts.username) if parts.username else None,
            password=password_of(parts, options, shown),
            database=number,
        )
        sentinel = Endpoint(
            tls=tls,
            username=options.get("sentinel_user"),
            password=password_of(urlsplit("//"), theirs, shown),
            sentinel_of=name,
        )
    except ValidationError as error:
        raise unfit(shown, error) from None
    sentinels = (sentinel.model_copy(update={"host": host, "port": port}) for host, port in places)
    return SentinelAddress(name, tuple(sentinels), login, allowed_hosts(options, shown))


def place(server: str, url: str) -> ServerIdentity:
    """Where a URL leads, for the ledger. Raises UserError."""
    if is_sentinel_url(url):
        return parse_sentinel_url(url).place(server)
    endpoint = parse_url(url)
    return place_of_cluster(server, endpoint) if names_cluster(url) else place_of(server, endpoint)


def place_of_cluster(server: str, named: Endpoint) -> ServerIdentity:
    """Where a cluster of the user's is: at the node that the URL names."""
    node = place_of(server, named)
    return replace(node, address=f"{node.address}?{CLUSTER}=yes")


def _require_cluster(options: Mapping[str, str], parts: SplitResult, database: object, shown: str) -> None:
    """What stands beside `cluster` is possible. Raises UserError."""
    if CLUSTER not in options or not parse_bool(CLUSTER, options[CLUSTER], shown):
        return
    if parts.scheme == "unix":
        raise UserError(
            "url '{shown}': a cluster's nodes are reached by TCP; write redis://HOST:PORT of one of them", shown=shown
        )
    if database:
        raise UserError(
            "url '{shown}': a cluster has database 0 alone; leave the {database} out", shown=shown, database=database
        )


def _require_read_from(options: Mapping[str, str], shown: str) -> None:
    """Raises UserError where the option names none of the choices."""
    chosen = options.get(READ_FROM, "primary")
    if chosen not in CHOICES:
        raise UserError(
            "url '{shown}': {read_from} '{chosen}' is none of {choices}",
            shown=shown,
            read_from=READ_FROM,
            chosen=chosen[:40],
            choices=", ".join(CHOICES),
        )


def _database(text: str, remedy: str, shown: str) -> int:
    if text and not _DATABASE.fullmatch(text):
        raise UserError(
            "url '{shown}': database '{text}' is not a number; {remedy}", shown=shown, text=text[:40], remedy=remedy
        )
    return int(text or 0)
