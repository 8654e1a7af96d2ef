"""A MariaDB of the user's by its URL (kind `mariadb-url`), and by that of its JDBC driver, Connector/J.

It is never started or stopped; only our own database and tables change.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.safety.errors import UserError
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.sql.url import UsersSqlServer, jdbc_text, parse_sql_url, require_expressible
from loadstone.servers.transport import ca_file_of, is_loopback
from loadstone.servers.urls import TLS_OPTIONS, parse_bool, tls_of, valid_by
from loadstone.servers.users_server import UsersServerSettings

OPTIONS = ("password_env", "ssl", "ssl-mode", *TLS_OPTIONS)
MODES = {
    "DISABLED": {"ssl": "no"},
    "REQUIRED": {"ssl": "yes", "verify": "no"},
    "VERIFY_IDENTITY": {"ssl": "yes", "verify": "yes"},
}
"""MySQL's own names for TLS, and ours."""


def parse_mariadb_url(url: str) -> tuple[Endpoint, str]:
    """`mariadb://user:password@host:port/database?option=value` as an endpoint and the database (default: `loadstone`).

    Options: `password_env` (a variable that holds the password), `ssl` (yes or no; without it yes on every host that
    is not loopback), and for TLS `ca_file`, `verify`, `server_name`, `cert_file`, `key_file`, each of which means
    `ssl=yes`; `ssl-mode` (DISABLED, REQUIRED, VERIFY_IDENTITY) in the place of `ssl` and `verify`.

    Raises:
        UserError: the URL is not of this form; the message never holds the password.
    """
    return parse_sql_url(url, MariaDbControl, 3306, OPTIONS, _tls)


def _tls(options: dict[str, str], host: str, shown: str) -> Tls | None:
    """With a verified certificate on every host that is not loopback, unless the options say otherwise."""
    if "ssl-mode" in options:
        mode = MODES.get(options["ssl-mode"].upper())
        if mode is None:
            raise UserError(
                "url '{shown}': ssl-mode '{options}' is none of {modes}",
                shown=shown,
                options=options["ssl-mode"],
                modes=", ".join(MODES),
            )
        if "ssl" in options or "verify" in options:
            raise UserError("url '{shown}': ssl-mode sets the same as ssl and verify; leave these out", shown=shown)
        options = options | mode
    encrypted = any(name in options for name in TLS_OPTIONS)
    if "ssl" not in options:
        return tls_of(options, shown) if encrypted or not is_loopback(host) else None
    if parse_bool("ssl", options["ssl"], shown):
        return tls_of(options, shown)
    if encrypted:
        raise UserError(
            "url '{shown}': ssl={options} forbids TLS, and other options require TLS",
            shown=shown,
            options=options["ssl"],
        )
    return None


class MariaDbUrlSettings(UsersServerSettings):
    """`url` as `parse_mariadb_url` takes it."""

    model_config = ConfigDict(hide_input_in_errors=True)

    kind: Literal["mariadb-url"] = "mariadb-url"
    url: Annotated[str, valid_by(parse_mariadb_url), Field(repr=False)]

    def server(self, name: str) -> "MariaDbUrl":
        """The server, not queried yet."""
        return MariaDbUrl(name, *parse_mariadb_url(self.url))


class MariaDbUrl(UsersSqlServer):
    """A MariaDB of the user's."""

    def control(self, timeout_s: float = 5.0) -> MariaDbControl:
        """A connection for loadstone's own questions."""
        return MariaDbControl(self._endpoint, self._database, timeout_s)


UNREADABLE = "mysql_native_password,client_ed25519,parsec,caching_sha2_password"
"""Plugins by which a server that is not verified does not get to read the password."""


def jdbc_options(host: str, port: str, tls: Tls | None) -> str:
    """What stands after `?` in the URL: verified as loadstone does it, and without files for the server.

    Raises:
        UserError: the server's URL has options that Connector/J cannot be given.
    """
    options = {"allowLocalInfile": "false", "sslMode": "disable"}
    if tls is not None:
        require_expressible(host, port, tls)
        options["sslMode"] = "verify-full"
        if not tls.verify:
            options |= {"sslMode": "trust", "restrictedAuth": UNREADABLE}
        elif ca_file_of(tls):
            options["serverSslCert"] = ca_file_of(tls)
    return jdbc_text(options)
