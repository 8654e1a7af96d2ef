"""How an application connects to a MariaDB by its JDBC driver, Connector/J."""

from loadstone.deploy.transport import ca_file_of
from loadstone.errors import UserError
from loadstone.plan.drive_plan import Tls

UNREADABLE = "mysql_native_password,client_ed25519,parsec,caching_sha2_password"
"""Plugins by which a server that is not verified does not get to read the password."""


def jdbc_options(host: str, port: str, tls: Tls | None) -> str:
    """What stands after `?` in the URL: verified as loadstone does it, and without files for the server.

    Raises:
        UserError: the server's URL has options that Connector/J cannot be given.
    """
    options = {"allowLocalInfile": "false", "sslMode": "disable"}
    if tls is not None:
        _require_known(host, port, tls)
        options["sslMode"] = "verify-full"
        if not tls.verify:
            options |= {"sslMode": "trust", "restrictedAuth": UNREADABLE}
        elif ca_file_of(tls):
            options["serverSslCert"] = ca_file_of(tls)
    return "&".join(f"{name}={value}" for name, value in options.items())


def _require_known(host: str, port: str, tls: Tls) -> None:
    unknown = {
        "server_name": tls.server_name not in (None, host),
        "cert_file": tls.cert_file is not None,
        "ca_file with '&' in its name": "&" in ca_file_of(tls),
    }
    for option in (option for option, given in unknown.items() if given):
        raise UserError(
            f"server {host}:{port}: {option}: the application connects by JDBC, where this cannot be said; "
            "leave it out, or start the application yourself and name it by --subject"
        )
