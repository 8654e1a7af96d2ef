"""Kind `mariadb-url`: a MariaDB of the user's. Never started or stopped; only our own database and tables change."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

from pydantic import ConfigDict, Field

from loadstone.deploy.ledger import Made, Place
from loadstone.deploy.provider import DeployContext, ServerFacts, ServerSettings
from loadstone.deploy.transport import is_loopback, remark_on_exposure
from loadstone.deploy.urls import TLS_OPTIONS, options_of, password_of, tls_of, truth_of, valid_by
from loadstone.deploy.users_parts import answering_again, listening_pid
from loadstone.errors import LoadstoneError, ServerGone, UserError
from loadstone.plan.drive_plan import Endpoint, Tls
from loadstone.secrecy.text import hide_url
from loadstone.software.mariadb.control import MariaDbControl
from loadstone.software.mariadb.declared import MARIADB
from loadstone.software.mariadb.facts import READ_BACK, facts_of
from loadstone.software.mariadb.marks import create_marked, owner_of, remove_database
from loadstone.software.mariadb.session import NAME
from loadstone.software.mariadb.settings import DATABASE
from loadstone.software.mariadb.traces import place_of_database

OPTIONS = ("password_env", "ssl", "ssl-mode", *TLS_OPTIONS)
MODES = {
    "DISABLED": {"ssl": "no"},
    "REQUIRED": {"ssl": "yes", "verify": "no"},
    "VERIFY_IDENTITY": {"ssl": "yes", "verify": "yes"},
}
"""MySQL's own names for TLS, and ours."""
PING_TIMEOUT_S = 2.0


def parse_mariadb_url(url: str) -> tuple[Endpoint, str]:
    """`mariadb://user:password@host:port/database?option=value` as an endpoint and the database (default: `loadstone`).

    Options: `password_env` (a variable that holds the password), `ssl` (yes or no; without it yes on every host that
    is not loopback), and for TLS `ca_file`, `verify`, `server_name`, `cert_file`, `key_file`, each of which means
    `ssl=yes`; `ssl-mode` (DISABLED, REQUIRED, VERIFY_IDENTITY) in the place of `ssl` and `verify`.

    Raises:
        UserError: it is no such URL; the message never holds the password.
    """
    shown = hide_url(url)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UserError(f"url '{shown}': {error}; write mariadb://USER:PASSWORD@HOST:PORT/DATABASE") from None
    if parts.scheme not in MARIADB.schemes or parts.fragment:
        raise UserError(f"url '{shown}': write mariadb://USER:PASSWORD@HOST:PORT/DATABASE")
    options = options_of(parts, OPTIONS, shown)
    database = unquote(parts.path.strip("/")) or DATABASE
    if not NAME.fullmatch(database):
        raise UserError(f"url '{shown}': database '{database}' may hold letters, digits and _ only")
    endpoint = Endpoint(
        host=host or "127.0.0.1",
        port=port or 3306,
        username=unquote(parts.username) if parts.username else None,
        password=password_of(parts, options, shown),
        tls=_tls(options, host or "127.0.0.1", shown),
    )
    return endpoint, database


def _tls(options: dict[str, str], host: str, shown: str) -> Tls | None:
    """With a verified certificate on every host that is not loopback, unless the options say otherwise."""
    if "ssl-mode" in options:
        mode = MODES.get(options["ssl-mode"].upper())
        if mode is None:
            raise UserError(f"url '{shown}': ssl-mode '{options['ssl-mode']}' is none of {', '.join(MODES)}")
        if "ssl" in options or "verify" in options:
            raise UserError(f"url '{shown}': ssl-mode sets the same as ssl and verify; leave these out")
        options = options | mode
    encrypted = any(name in options for name in TLS_OPTIONS)
    if "ssl" not in options:
        return tls_of(options, shown) if encrypted or not is_loopback(host) else None
    if truth_of("ssl", options["ssl"], shown):
        return tls_of(options, shown)
    if encrypted:
        raise UserError(f"url '{shown}': ssl={options['ssl']} forbids TLS, and other options require TLS")
    return None


class MariaDbUrlSettings(ServerSettings):
    """`url` as `parse_mariadb_url` takes it."""

    model_config = ConfigDict(hide_input_in_errors=True)

    kind: Literal["mariadb-url"] = "mariadb-url"
    url: Annotated[str, valid_by(parse_mariadb_url), Field(repr=False)]

    def server(self, name: str) -> "MariaDbUrl":
        """The server, not queried yet."""
        return MariaDbUrl(name, self)


class MariaDbUrl:
    """A server of the user's; see `provider.Server`. Our database is made if missing, and then removed at the end."""

    ours = False

    def __init__(self, name: str, settings: MariaDbUrlSettings) -> None:
        self.name = name
        self.facts = ServerFacts(software="mariadb", version="", mode="", role="")
        self.settings_read_back: Mapping[str, str] = {}
        self.pids: Mapping[str, int] = {}
        self._endpoint, self._database = parse_mariadb_url(settings.url)
        self._made = False
        self._marked = False
        """Whether the database that was made says so itself."""
        self._context = DeployContext()

    def control(self, timeout_s: float = 5.0) -> MariaDbControl:
        """A connection for loadstone's own questions."""
        return MariaDbControl(self._endpoint, self._database, timeout_s)

    def start(self, context: DeployContext) -> Endpoint:
        """Ask the server whether it can serve, and make our database; see `provider.Server.start`.

        What an earlier session of the run left of it is removed first.
        """
        self._context = context
        context.progress(f"connecting to {self.name} ({self._endpoint.label})")
        remark_on_exposure(context, self.name, self._endpoint)
        try:
            with self.control() as control:
                if not control.has_database():
                    control.require_creatable()
                    control.database = ""
                self.facts = replace(facts_of(control), details={"database": self._database})
                self.settings_read_back = control.settings(READ_BACK)
            if not context.only_asking:
                with self.control() as control:
                    self._make_database(control)
        except ServerGone as gone:
            raise UserError(str(gone)) from None
        pid = listening_pid(self._endpoint)
        self.pids = {} if pid is None else {self.name: pid}
        return self._endpoint

    def restart(self) -> Endpoint:
        """Go on if it answers again.

        Raises:
            ServerGone: it does not.
        """
        return answering_again(lambda _: self.start(self._context))

    def alive(self) -> bool:
        """Whether it answers."""
        try:
            with self.control(PING_TIMEOUT_S) as control:
                control.ping()
        except LoadstoneError:
            return False
        return True

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

    def _make_database(self, control: MariaDbControl) -> None:
        """Make our database if it is missing. Raises UserError if it is another run's, or it cannot be noted."""
        ledger = self._context.ledger
        owner = owner_of(control)
        if owner is not None and owner.run_id != ledger.run_id:
            raise UserError(
                f"server {self.name}: database '{self._database}' was made by the run {owner.run_name}, which goes on "
                f"or was killed; wait for its end, or remove what it left by: loadstone clean {owner.run_name} "
                "(where that run was started), or name another database in the URL"
            )
        place, database = self._noted
        if owner is not None and database in ledger.take_earlier(place, (database.kind,)):
            control.drop_database()
        if not control.has_database():
            ledger.makes(place, [database])
            self._made = create_marked(control, ledger.run_id, ledger.run_name) or self._made
            self._marked = owner_of(control) is not None

    @property
    def _noted(self) -> tuple[Place, Made]:
        """Our database, as the ledger has it."""
        return place_of_database(self.name, self._endpoint, self._database), Made("database", self._database)
