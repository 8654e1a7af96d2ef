"""How an application connects to a MariaDB by its JDBC driver, Connector/J."""

from loadstone.deploy.transport import ca_file_of
from loadstone.plan.endpoints import Tls
from loadstone.software.sql.jdbc import options_text, require_expressible

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
    return options_text(options)
