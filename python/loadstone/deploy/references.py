"""`${server.fact}` in a subject's environment, replaced by where the experiment's servers are."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from loadstone.deploy.manifest import REFERENCE
from loadstone.deploy.provider import ServerFacts
from loadstone.errors import UserError
from loadstone.plan.model import Endpoint
from loadstone.secrecy.references import resolve


@dataclass(frozen=True)
class Address:
    """What a subject may know of a server; each field is a `fact`."""

    host: str
    port: str
    user: str = ""
    password: str = field(default="", repr=False)
    database: str = ""

    @property
    def address(self) -> str:
        """Host and port, with a colon between."""
        return f"{self.host}:{self.port}"


def address_of(endpoint: Endpoint, facts: ServerFacts) -> Address:
    """Where a server that was started is; its database by name (MariaDB) or number (Redis).

    Raises:
        UserError: it has no port.
    """
    if endpoint.unix_path is not None:
        raise UserError(f"server {endpoint.label}: a subject needs a host and port; give one by redis://HOST:PORT")
    database = facts.details.get("database", str(endpoint.database))
    return Address(endpoint.host, str(endpoint.port), endpoint.username or "", endpoint.password or "", database)


def resolved(
    environment: Mapping[str, str], servers: Mapping[str, Address], optional: Collection[str], subject: str
) -> dict[str, str]:
    """The environment with every reference replaced. May hold secrets.

    Raises:
        UserError: a reference to a server that the experiment does not have, and that is not optional.
    """
    values: dict[str, str] = {}
    for name, value in environment.items():
        wanted = {server for server, _ in REFERENCE.findall(value)}
        missing = wanted - set(servers)
        for server in sorted(missing - set(optional)):
            known = ", ".join(servers) or "none"
            raise UserError(
                f"subject {subject}: environment.{name}: the experiment has no server '{server}' (it has: {known}); "
                "name one of these, or list it under optional_servers"
            )
        if not missing:
            try:
                secret = resolve(value)
            except UserError as error:
                raise UserError(f"subject {subject}: environment.{name}: {error}") from None
            values[name] = REFERENCE.sub(lambda found: getattr(servers[found[1]], found[2]), secret)
    return values
