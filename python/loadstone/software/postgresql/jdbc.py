"""How an application connects to a PostgreSQL by its JDBC driver, pgJDBC."""

from loadstone.deploy.transport import ca_file_of
from loadstone.plan.endpoints import Tls
from loadstone.software.sql.jdbc import options_text, require_expressible


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
    return options_text(options)
