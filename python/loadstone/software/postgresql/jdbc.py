"""How an application connects to a PostgreSQL by its JDBC driver, pgJDBC."""

from loadstone.deploy.transport import ca_file_of
from loadstone.errors import UserError
from loadstone.plan.drive_plan import Tls


def jdbc_options(host: str, port: str, tls: Tls | None) -> str:
    """What stands after `?` in the URL: verified as loadstone does it, and in no schema but ours.

    Raises:
        UserError: the server's URL has options that pgJDBC cannot be given.
    """
    options = {"currentSchema": "public", "sslmode": "disable"}
    if tls is not None:
        _require_known(host, port, tls)
        options["sslmode"] = "verify-full" if tls.verify else "require"
        if tls.verify and ca_file_of(tls):
            options["sslrootcert"] = ca_file_of(tls)
        elif tls.verify:
            options["sslfactory"] = "org.postgresql.ssl.DefaultJavaSSLFactory"
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
