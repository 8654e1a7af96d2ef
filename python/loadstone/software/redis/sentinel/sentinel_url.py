"""`redis+sentinel://USER:PASSWORD@HOST,HOST:PORT/NAME/DATABASE`: a primary by the Sentinels that watch it."""

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pydantic import ValidationError

from loadstone.deploy.ledger import Place
from loadstone.deploy.urls import TLS_OPTIONS, host_of, options_of, password_of, tls_of
from loadstone.errors import UserError
from loadstone.plan.endpoints import Endpoint
from loadstone.secrecy.text import hide_url
from loadstone.software.redis.cluster.announced import ANYWHERE, HOSTS, Allowed, allowed_hosts
from loadstone.software.redis.reads.read_from import READ_FROM, require_read_from

SCHEMES = ("redis+sentinel", "rediss+sentinel")
TLS_SCHEME = "rediss+sentinel"
LOGIN = ("sentinel_user", "sentinel_password_env")
OPTIONS = ("password_env", READ_FROM, HOSTS, *LOGIN, *TLS_OPTIONS)
FORM = "write redis+sentinel://HOST:26379/NAME, with the name by which Sentinel knows the primary"
PORT = 26_379
NAME = re.compile(r"[A-Za-z0-9._-]{1,200}")
"""As Sentinel takes them."""
_DATABASE = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Watched:
    """A primary, by who watches it."""

    name: str
    sentinels: tuple[Endpoint, ...]
    """With a login of their own."""
    login: Endpoint
    """Of the primary and its replicas: everything but their address."""
    allowed: Allowed = ANYWHERE
    """The hosts that these may be at."""

    @property
    def label(self) -> str:
        """As printed for people."""
        return f"{self.name} of {','.join(one.label for one in self.sentinels)}"

    def place(self, server: str) -> Place:
        """Where it is, for the ledger: the primary, which may change."""
        scheme = SCHEMES[0] if self.login.tls is None else TLS_SCHEME
        hosts = ",".join(one.label if ":" not in one.host else f"[{one.host}]:{one.port}" for one in self.sentinels)
        login = any((self.login.username, self.login.password, self.login.tls, self.sentinels[0].password))
        return Place(server, f"{scheme}://{hosts}/{self.name}/{self.login.database}", login)


def is_sentinel_url(url: str) -> bool:
    """Whether a URL is of this form."""
    return url.partition("://")[0] in SCHEMES


def parse_sentinel_url(url: str) -> Watched:
    """Who watches which primary.

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
        places = [(host_of(host), host.port or PORT) for host in hosts]
    except ValueError as error:
        raise UserError(f"url '{shown}': {error}; {FORM}") from None
    options = options_of(parts, OPTIONS, shown)
    require_read_from(options, shown)
    for option in (option for option in TLS_OPTIONS if option in options and parts.scheme != TLS_SCHEME):
        raise UserError(f"url '{shown}': '{option}' is for TLS only; write {TLS_SCHEME}://")
    name, _, database = unquote(parts.path.strip("/")).partition("/")
    if not NAME.fullmatch(name) or not all(host for host, _ in places):
        raise UserError(f"url '{shown}': names no primary, or no Sentinel; {FORM}")
    if database and not _DATABASE.fullmatch(database):
        raise UserError(f"url '{shown}': database '{database[:40]}' is not a number; write .../{name}/0")
    tls = tls_of(options, shown) if parts.scheme == TLS_SCHEME else None
    theirs = {"password_env": options["sentinel_password_env"]} if "sentinel_password_env" in options else {}
    try:
        login = Endpoint(
            tls=tls,
            username=unquote(parts.username) if parts.username else None,
            password=password_of(parts, options, shown),
            database=int(database or 0),
        )
        sentinel = Endpoint(
            tls=tls,
            username=options.get("sentinel_user"),
            password=password_of(urlsplit("//"), theirs, shown),
            sentinel_of=name,
        )
    except ValidationError as error:
        raise UserError(f"url '{shown}': {error.errors()[0]['loc'][0]}: {error.errors()[0]['msg']}") from None
    sentinels = (sentinel.model_copy(update={"host": host, "port": port}) for host, port in places)
    return Watched(name, tuple(sentinels), login, allowed_hosts(options, shown))
