"""A PostgreSQL of the user's by its URL (kind `postgresql-url`), and by that of its JDBC driver, pgJDBC.

It is never started or stopped; only what is ours changes.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.safety.errors import UserError
from loadstone.servers.postgresql.control import PostgresqlControl
from loadstone.servers.sql.url import UsersSqlServer, jdbc_text, parse_sql_url, require_expressible
from loadstone.servers.transport import ca_file_of, is_loopback
from loadstone.servers.urls import TLS_OPTIONS, tls_of, valid_by
from loadstone.servers.users_server import UsersServerSettings

OPTIONS = ("password_env", "sslmode", *TLS_OPTIONS)
MODES: dict[str, dict[str, str] | None] = {
    "disable": None,
    "require": {"verify": "no"},
    "verify-full": {"verify": "yes"},
}
"""libpq's own names for TLS, and ours; its other modes give way to no TLS, or do not look at the name."""


def parse_postgresql_url(url: str) -> tuple[Endpoint, str]:
    """`postgresql://user:password@host:port/database?option=value` as an endpoint, and its database (`loadstone`).

    Options: `password_env` (a variable that holds the password), `sslmode` (disable, require, verify-full; without it
    verify-full on every host that is not loopback), and for TLS `ca_file`, `verify`, `server_name`, `cert_file`,
    `key_file`, each of which means TLS.

    Raises:
        UserError: the URL is not of this form; the message never holds the password.
    """
    return parse_sql_url(url, PostgresqlControl, 5432, OPTIONS, _tls)


def _tls(options: dict[str, str], host: str, shown: str) -> Tls | None:
    """With a verified certificate on every host that is not loopback, unless the options say otherwise."""
    encrypted = any(name in options for name in TLS_OPTIONS)
    if "sslmode" not in options:
        return tls_of(options, shown) if encrypted or not is_loopback(host) else None
    mode = options["sslmode"]
    if mode not in MODES:
        raise UserError(
            "url '{shown}': sslmode '{mode}' is none of {modes}", shown=shown, mode=mode, modes=", ".join(MODES)
        )
    settings = MODES[mode]
    if settings is None:
        if encrypted:
            raise UserError("url '{shown}': sslmode=disable forbids TLS, and other options require TLS", shown=shown)
        return None
    if "verify" in options:
        raise UserError("url '{shown}': sslmode and verify set the same; leave one out", shown=shown)
    return tls_of(options | settings, shown)


class PostgresqlUrlSettings(UsersServerSettings):
    """`url` as `parse_postgresql_url` takes it."""

    model_config = ConfigDict(hide_input_in_errors=True)

    kind: Literal["postgresql-url"] = "postgresql-url"
    url: Annotated[str, valid_by(parse_postgresql_url), Field(repr=False)]

    def server(self, name: str) -> "PostgresqlUrl":
        """The server, not queried yet."""
        return PostgresqlUrl(name, *parse_postgresql_url(self.url))


class PostgresqlUrl(UsersSqlServer):
    """A PostgreSQL of the user's."""

    def control(self, timeout_s: float = 5.0) -> PostgresqlControl:
        """A connection for loadstone's own questions."""
        return PostgresqlControl(self._endpoint, self._database, timeout_s)


def jdbc_options(host: str, port: str, tls: Tls | None) -> str:
    """What stands after `?` in the URL: verified as loadstone does it, and in no schema but ours.

    Raises:
        UserError: the server's URL has options that pgJDBC cannot be given.
    """
    options = {"currentSchema": "public", "sslmode": "disable"}
    if tls is not None:
        require_expressible(host, port, tls)
        options["sslmode"] = "verify-full" if tls.verify else "require"
        if tls.verify and ca_file_of(tls):
            options["sslrootcert"] = ca_file_of(tls)
        elif tls.verify:
            options["sslfactory"] = "org.postgresql.ssl.DefaultJavaSSLFactory"
    return jdbc_text(options)
