"""Replaces `${server.fact}` in a subject's environment by where the experiment's servers are."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.experiment.software import SOFTWARE
from loadstone.programs.manifest import REFERENCE
from loadstone.safety.errors import SubjectFailed, UserError
from loadstone.safety.secrets.references import resolve
from loadstone.servers import registry
from loadstone.servers.server import ServerFacts
from loadstone.servers.transport import ca_file_of
from loadstone.text.message import said


@dataclass(frozen=True)
class ServerFactsForSubject:
    """What a subject may know of a server; each field is a `fact`."""

    host: str
    port: str
    user: str = ""
    password: str = field(default="", repr=False)
    database: str = ""
    encryption: Tls | None = None
    """What `tls`, `ca_file` and `jdbc_options` are made of."""
    software: str = ""
    """Name in `servers.registry.SOFTWARE`; empty: not known."""
    behind_line: bool = False
    """Whether host and port are those of the line to it."""

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
        return ca_file_of(self.encryption)

    @property
    def tls_name(self) -> str:
        """The name that its certificate must be for; empty: there is none to verify."""
        tls = self.encryption
        return (tls.server_name or self.host) if tls is not None and tls.verify else ""

    @property
    def jdbc_options(self) -> str:
        """Return how the server's JDBC driver is to connect: verified as loadstone does it, and without files for the
        server.

        Raises:
            UserError: its software has none, or its URL has options that the driver cannot be given.
        """
        options = registry.room(self.software).jdbc_options if self.software in SOFTWARE else None
        if options is None:
            raise UserError(
                "server {address}: an application does not connect to it by JDBC; leave it out", address=self.address
            )
        tls = self.encryption
        if tls is not None and self.behind_line and not tls.verify:
            tls = tls.model_copy(update={"server_name": None})  # the line's own, and no one verifies it
        return options(self.host, self.port, tls)


def address_of(
    endpoint: Endpoint, facts: ServerFacts, software: str = "", *, behind_line: bool = False
) -> ServerFactsForSubject:
    """Where a server of a software that was started is, or the line to it; its database by name or number.

    Raises:
        UserError: it has no port.
    """
    if endpoint.unix_path is not None:
        raise UserError(
            "server {endpoint_label}: a subject needs a host and port; give one by redis://HOST:PORT",
            endpoint_label=endpoint.label,
        )
    database = facts.details.get("database", str(endpoint.database))
    login = (endpoint.username or "", endpoint.password or "")
    return ServerFactsForSubject(
        endpoint.host, str(endpoint.port), *login, database, endpoint.tls, software, behind_line
    )


def resolved(
    environment: Mapping[str, str],
    servers: Mapping[str, ServerFactsForSubject],
    optional: Collection[str],
    subject: str,
) -> dict[str, str]:
    """The environment with every reference replaced. May hold secrets.

    Raises:
        UserError: a reference to a server that the experiment does not have, and that is not optional.
    """
    values: dict[str, str] = {}
    for name, value in environment.items():
        required = {server for server, _ in REFERENCE.findall(value)}
        missing = required - set(servers)
        for server in sorted(missing - set(optional)):
            known = ", ".join(servers) or "none"
            raise UserError(
                "subject {subject}: environment.{name}: the experiment has no server '{server}' (it has: "
                "{known}); name one of these, or list it under optional_servers",
                subject=subject,
                name=name,
                server=server,
                known=known,
            )
        if not missing:
            try:
                secret = resolve(value)
            except UserError as error:
                problem = said("{place}: {problem}", place=f"environment.{name}", problem=error)
                raise SubjectFailed(subject, problem) from None
            values[name] = REFERENCE.sub(lambda found: getattr(servers[found[1]], found[2]), secret)
    return values


def unencrypted(environment: Mapping[str, str], servers: Mapping[str, ServerFactsForSubject]) -> list[str]:
    """Servers that take TLS and whose address the environment gives without saying so."""
    return [
        server
        for server, facts in _named(environment).items()
        if server in servers and servers[server].encryption is not None and not facts & _ENCRYPTING
    ]


def require_verifiable(
    environment: Mapping[str, str], servers: Mapping[str, ServerFactsForSubject], subject: str
) -> None:
    """Returns if a subject can verify the certificate of each server that is behind a line, whose address it gets.

    Raises:
        UserError: nothing in its environment says for which name.
    """
    for server, facts in _named(environment).items():
        address = servers.get(server)
        if (
            address is None
            or not address.behind_line
            or not facts & _ENCRYPTING
            or address.tls_name in ("", address.host)
        ):
            continue
        by_jdbc = "jdbc_options" in facts
        if by_jdbc or "tls_name" not in facts:
            remedy = "by JDBC no other name can be given:" if by_jdbc else f"give it ${{{server}.tls_name}}, or"
            raise UserError(
                "subject {subject}: servers.{server}.link: the application connects to the line, and would "
                "verify the certificate for {host} instead of {tls_name}; {remedy} leave out link for this "
                "server, or give up verification with ?verify=no",
                subject=subject,
                server=server,
                host=address.host,
                tls_name=address.tls_name,
                remedy=remedy,
            )


_ENCRYPTING = frozenset({"tls", "ca_file", "jdbc_options"})
"""Facts that say to an application that a server takes TLS."""


def _named(environment: Mapping[str, str]) -> dict[str, set[str]]:
    """Server -> the facts of it that an environment has."""
    named: dict[str, set[str]] = {}
    for value in environment.values():
        for server, fact in REFERENCE.findall(value):
            named.setdefault(server, set()).add(fact)
    return named
