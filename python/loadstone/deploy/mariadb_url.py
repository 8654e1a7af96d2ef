"""Kind `mariadb-url`: a MariaDB of the user's. Never started or stopped; only our own database and tables change."""

from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

import psutil
from pydantic import ConfigDict, Field

from loadstone.deploy.mariadb_control import NAME, MariaDbControl
from loadstone.deploy.mariadb_facts import READ_BACK, facts_of
from loadstone.deploy.mariadb_words import DATABASE
from loadstone.deploy.provider import DeployContext, ServerFacts, ServerSettings
from loadstone.deploy.url import answering_again
from loadstone.deploy.url_options import TLS_OPTIONS, options_of, password_of, tls_of, truth_of, valid_by
from loadstone.errors import LoadstoneError, ServerGone, UserError
from loadstone.plan.model import Endpoint
from loadstone.secrecy.text import hide_url

SCHEMES = ("mariadb", "mysql")
OPTIONS = ("password_env", "ssl", *TLS_OPTIONS)
PING_TIMEOUT_S = 2.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def parse_mariadb_url(url: str) -> tuple[Endpoint, str]:
    """`mariadb://user:password@host:port/database?option=value` as an endpoint and the database (default: `loadstone`).

    Options: `password_env` (a variable that holds the password), `ssl` (yes or no), and for TLS `ca_file`, `verify`,
    `server_name`, `cert_file`, `key_file`, each of which means `ssl=yes`.

    Raises:
        UserError: it is no such URL; the message never holds the password.
    """
    shown = hide_url(url)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UserError(f"url '{shown}': {error}; write mariadb://USER:PASSWORD@HOST:PORT/DATABASE") from None
    if parts.scheme not in SCHEMES or parts.fragment:
        raise UserError(f"url '{shown}': write mariadb://USER:PASSWORD@HOST:PORT/DATABASE")
    options = options_of(parts, OPTIONS, shown)
    database = unquote(parts.path.strip("/")) or DATABASE
    if not NAME.fullmatch(database):
        raise UserError(f"url '{shown}': database '{database}' may hold letters, digits and _ only")
    encrypted = any(name in options for name in TLS_OPTIONS)
    if "ssl" in options and not truth_of("ssl", options["ssl"], shown) and encrypted:
        raise UserError(f"url '{shown}': ssl={options['ssl']} forbids TLS, and others of its options are for TLS")
    endpoint = Endpoint(
        host=host or "127.0.0.1",
        port=port or 3306,
        username=unquote(parts.username) if parts.username else None,
        password=password_of(parts, options, shown),
        tls=tls_of(options, shown) if encrypted or truth_of("ssl", options.get("ssl", "no"), shown) else None,
    )
    return endpoint, database


class MariaDbUrlSettings(ServerSettings):
    """`url` as `parse_mariadb_url` takes it."""

    model_config = ConfigDict(hide_input_in_errors=True)

    kind: Literal["mariadb-url"] = "mariadb-url"
    url: Annotated[str, valid_by(parse_mariadb_url), Field(repr=False)]

    def server(self, name: str) -> "MariaDbUrl":
        """The server, not asked yet."""
        return MariaDbUrl(name, self)


class MariaDbUrl:
    """A server of the user's; see `provider.Server`. Our database is made if missing, and then removed at the end."""

    ours = False

    def __init__(self, name: str, settings: MariaDbUrlSettings) -> None:
        self.name = name
        self.facts = ServerFacts(software="mariadb", version="", mode="", role="")
        self.settings_read_back: Mapping[str, str] = {}
        self.pids: Mapping[str, int] = {}
        self._endpoint, self._database = parse_mariadb_url(settings.url)
        self._made = False

    def control(self, timeout_s: float = 5.0) -> MariaDbControl:
        """A connection for loadstone's own questions."""
        return MariaDbControl(self._endpoint, self._database, timeout_s)

    def start(self, context: DeployContext) -> Endpoint:
        """Ask the server whether it can serve, and make our database; see `provider.Server.start`."""
        context.progress(f"asking {self.name} ({self._endpoint.label})")
        try:
            with self.control() as control:
                self._made = control.create_database() or self._made
                self.facts = facts_of(control)
                self.settings_read_back = control.settings(READ_BACK)
        except ServerGone as gone:
            raise UserError(str(gone)) from None
        pid = listening_pid(self._endpoint)
        self.pids = {} if pid is None else {self.name: pid}
        return self._endpoint

    def restart(self) -> Endpoint:
        """Go on if it answers again.

        Raises:
            ServerGone: it does not.
        """
        return answering_again(self.start)

    def alive(self) -> bool:
        """Whether it answers."""
        try:
            with self.control(PING_TIMEOUT_S) as control:
                control.ping()
        except LoadstoneError:
            return False
        return True

    def stop(self) -> None:
        """Leaves the server as it was: removes the database that `start` made, and nothing else."""
        if self._made:
            self._made = False
            with self.control() as control:
                control.drop_database()


def listening_pid(endpoint: Endpoint) -> int | None:
    """The one process of this machine that listens at a loopback endpoint, where that can be seen."""
    if endpoint.host not in LOOPBACK:
        return None
    try:
        listening = (c for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN)
        pids = {c.pid for c in listening if c.laddr and c.laddr.port == endpoint.port}
    except (psutil.Error, OSError):
        return None
    return next(iter(pids)) if len(pids) == 1 else None
