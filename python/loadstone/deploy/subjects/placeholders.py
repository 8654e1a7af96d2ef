"""`${server.fact}` in a subject's environment, replaced by where the experiment's servers are."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.deploy.provider import ServerFacts
from loadstone.deploy.subjects.manifest import REFERENCE
from loadstone.errors import UserError
from loadstone.plan.model import Endpoint, Tls
from loadstone.secrecy.references import resolve

UNREADABLE = "mysql_native_password,client_ed25519,parsec,caching_sha2_password"
"""Plugins by which a server that nobody verified does not get to read the password."""


@dataclass(frozen=True)
class Address:
    """What a subject may know of a server; each field is a `fact`."""

    host: str
    port: str
    user: str = ""
    password: str = field(default="", repr=False)
    database: str = ""
    encryption: Tls | None = None
    """What `tls`, `ca_file` and `jdbc_options` are made of."""

    @property
    def address(self) -> str:
        """Host and port, with a colon between."""
        return f"{self.host}:{self.port}"

    @property
    def tls(self) -> str:
        """Whether the server is to be spoken to by TLS."""
        return "true" if self.encryption is not None else "false"

    @property
    def ca_file(self) -> str:
        """The file of the CA that signed its certificate; empty: one that this machine trusts."""
        return str(Path(self.encryption.ca_file).absolute()) if self.encryption and self.encryption.ca_file else ""

    @property
    def jdbc_options(self) -> str:
        """How MariaDB's Connector/J is to connect: verified as loadstone does it, and without files for the server.

        Raises:
            UserError: its URL has options that Connector/J cannot be given.
        """
        options = {"allowLocalInfile": "false", "sslMode": "disable"}
        if self.encryption is not None:
            self._require_jdbc(self.encryption)
            options["sslMode"] = "verify-full"
            if not self.encryption.verify:
                options |= {"sslMode": "trust", "restrictedAuth": UNREADABLE}
            elif self.ca_file:
                options["serverSslCert"] = self.ca_file
        return "&".join(f"{name}={value}" for name, value in options.items())

    def _require_jdbc(self, tls: Tls) -> None:
        unknown = {
            "server_name": tls.server_name not in (None, self.host),
            "cert_file": tls.cert_file is not None,
            "ca_file with '&' in its name": "&" in self.ca_file,
        }
        for option in (option for option, given in unknown.items() if given):
            raise UserError(
                f"server {self.address}: {option}: the application connects by JDBC, where this cannot be said; "
                "leave it out, or start the application yourself and name it by --subject"
            )


def address_of(endpoint: Endpoint, facts: ServerFacts) -> Address:
    """Where a server that was started is; its database by name (MariaDB) or number (Redis).

    Raises:
        UserError: it has no port.
    """
    if endpoint.unix_path is not None:
        raise UserError(f"server {endpoint.label}: a subject needs a host and port; give one by redis://HOST:PORT")
    database = facts.details.get("database", str(endpoint.database))
    login = (endpoint.username or "", endpoint.password or "")
    return Address(endpoint.host, str(endpoint.port), *login, database, endpoint.tls)


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


def unencrypted(environment: Mapping[str, str], servers: Mapping[str, Address]) -> list[str]:
    """Servers that take TLS and whose address the environment gives without saying so."""
    named: dict[str, set[str]] = {}
    for value in environment.values():
        for server, fact in REFERENCE.findall(value):
            named.setdefault(server, set()).add(fact)
    return [
        server
        for server, facts in named.items()
        if server in servers
        and servers[server].encryption is not None
        and not facts & {"tls", "ca_file", "jdbc_options"}
    ]
