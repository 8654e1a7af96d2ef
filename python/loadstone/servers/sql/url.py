"""A server of the user's that speaks SQL, by its URL; and what the options of JDBC URLs have in common.

It is never started or stopped; only what is ours changes.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.run_folder.ledger import CreatedObject, ServerIdentity
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_texts import hide_url
from loadstone.servers.server import DeployContext, ServerFacts
from loadstone.servers.sql.control import SqlControl
from loadstone.servers.sql.session import DATABASE
from loadstone.servers.sql.traces import create_marked, owner_of, remove_database
from loadstone.servers.transport import ca_file_of, remark_on_exposure
from loadstone.servers.urls import host_of, options_of, password_of, port_of
from loadstone.servers.users_server import UsersServer, answering_again, listening_pid
from loadstone.text.language import _

LOOPBACK = "127.0.0.1"


def parse_sql_url(
    url: str,
    control: type[SqlControl],
    port: int,
    known: Sequence[str],
    tls_of: Callable[[dict[str, str], str, str], Tls | None],
) -> tuple[Endpoint, str]:
    """`scheme://user:password@host:port/database?option=value` as an endpoint, and its database (`loadstone`).

    Args:
        url: of a server of the user's.
        control: of its software.
        port: where the URL has none.
        known: the options that it may have, `password_env` among them.
        tls_of: what they say of TLS, by the options, the host and the URL as it may be shown.

    Raises:
        UserError: the URL is not of this form; the message never holds the password.
    """
    shown, software = hide_url(url), control.declared
    try:
        parts = urlsplit(url)
        host, given_port = host_of(parts), port_of(parts)
    except ValueError as error:
        raise UserError(
            "url '{shown}': {error}; write {url_form}", shown=shown, error=error, url_form=software.url_form
        ) from None
    if parts.scheme not in software.schemes or parts.fragment:
        raise UserError("url '{shown}': write {url_form}", shown=shown, url_form=software.url_form)
    options = options_of(parts, known, shown)
    database = unquote(parts.path.strip("/")) or DATABASE
    if not control.is_name(database):
        raise UserError(
            "url '{shown}': database '{database}' may hold letters, digits and _ only", shown=shown, database=database
        )
    endpoint = Endpoint(
        host=host or LOOPBACK,
        port=given_port or port,
        username=unquote(parts.username) if parts.username else None,
        password=password_of(parts, options, shown),
        tls=tls_of(options, host or LOOPBACK, shown),
    )
    return endpoint, database


class UsersSqlServer(UsersServer):
    """A server of the user's. Our database is made if missing, and then removed at the end."""

    def __init__(self, name: str, endpoint: Endpoint, database: str) -> None:
        self._endpoint = endpoint
        self._database = database
        super().__init__(name, ServerFacts(software=self.control().declared.name, version="", mode="", role=""))
        self._made = False
        self._marked = False
        """Whether the database that was made says so itself."""
        self._context = DeployContext()

    @abstractmethod
    def control(self, timeout_s: float = 5.0) -> SqlControl:
        """A connection for loadstone's own questions."""

    def _inspect(self, context: DeployContext) -> Endpoint:
        """Make our database, too; what an earlier session of the run left of it is removed first."""
        self._context = context
        context.progress(_("connecting to {name} ({address})", name=self.name, address=self._endpoint.label))
        remark_on_exposure(context, self.name, self._endpoint)
        with self.control() as control:
            if not control.has_database():
                control.require_creatable()
                control.close()
                control.database = ""
            self.facts = replace(control.facts(), details={"database": self._database})
            self.settings_read_back = control.settings(control.RECORDED)
        if not context.only_asking:
            with self.control() as control:
                self._make_database(control)
        pid = listening_pid(self._endpoint)
        self.pids = {} if pid is None else {self.name: pid}
        return self._endpoint

    def restart(self) -> Endpoint:
        """With the ledger of its start: what it notes there goes on."""
        return answering_again(lambda _: self.start(self._context))

    def stop(self) -> None:
        """Leaves the server as it was: removes the database that `start` made, and nothing else."""
        if not self._made:
            return
        with self.control() as control:
            if self._marked:
                remove_database(control, self._context.ledger.run_id)
            else:
                control.drop_database()
        self._made = False
        self._context.ledger.removed(*self._noted)

    def _make_database(self, control: SqlControl) -> None:
        """Make our database if it is missing. Raises UserError if it is another run's, or it cannot be noted."""
        ledger = self._context.ledger
        owner = owner_of(control)
        if owner is not None and owner.run_id != ledger.run_id:
            raise UserError(
                "server {name}: database '{database}' was made by the run {run_name}, which goes on or was "
                "killed; wait for its end, or remove what it left by: loadstone clean {run_name} (where that run "
                "was started), or name another database in the URL",
                name=self.name,
                database=self._database,
                run_name=owner.run_name,
            )
        place, database = self._noted
        if owner is not None and database in ledger.take_earlier(place, (database.kind,)):
            control.drop_database()
        if not control.has_database():
            ledger.makes(place, [database])
            self._made = create_marked(control, ledger.run_id, ledger.run_name) or self._made
            self._marked = owner_of(control) is not None

    @property
    def _noted(self) -> tuple[ServerIdentity, CreatedObject]:
        """Our database, as the ledger has it."""
        return self.control().place(self.name), CreatedObject("database", self._database)


def jdbc_text(options: Mapping[str, str]) -> str:
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
            "server {host}:{port}: {option}: the application connects by JDBC, where this cannot be said; "
            "leave it out, or start the application yourself and name it by --subject",
            host=host,
            port=port,
            option=option,
        )
