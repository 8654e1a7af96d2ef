"""What the options of JDBC URLs have in common."""

from collections.abc import Mapping

from loadstone.deploy.transport import ca_file_of
from loadstone.errors import UserError
from loadstone.plan.endpoints import Tls


def options_text(options: Mapping[str, str]) -> str:
    """Options as they stand after `?` in the URL."""
    return "&".join(f"{name}={value}" for name, value in options.items())


def require_expressible(host: str, port: str, tls: Tls) -> None:
    """Returns if a JDBC URL can say how TLS is to be used. Raises UserError if not."""
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
