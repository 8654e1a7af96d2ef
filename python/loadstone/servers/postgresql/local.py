"""Kind `postgresql`: a PostgreSQL that we start on a free loopback port, with a database of its own, under a guard."""

import os
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from loadstone.machine.needs import Need, program_need
from loadstone.machine.processes.guarded_process import GuardedProcess, ProcessEnvironment
from loadstone.machine.processes.resource_limits import Limits
from loadstone.machine.start_context import LOOPBACK
from loadstone.safety.errors import UserError
from loadstone.servers.local_server import PortTaken
from loadstone.servers.postgresql.control import PostgresqlControl
from loadstone.servers.postgresql.known_settings import KNOWN
from loadstone.servers.postgresql.programs import INSTALLED, PACKAGES, as_user, find, let_read, reached_by, server_user
from loadstone.servers.postgresql.session import SPELLING, canonical
from loadstone.servers.server import ConfigValue, ServerSettings
from loadstone.servers.sql.local import OwnSqlServer, write_private
from loadstone.servers.sql.session import DATABASE
from loadstone.text.message import AnyText, said

HOME, DATA, OPTIONS, LOGINS, PASSWORD = "server", "data", "postgresql.conf", "pg_hba.conf", "password"
MORE_ROOM = said("free some, or set TMPDIR to another disk")
HOW_TO_GET = said(
    "install it ({installed}) or set 'folder' to the folder that holds its bin, or give a server by URL "
    "(--server NAME=postgresql://USER:PASSWORD@HOST:PORT/DATABASE)",
    installed=INSTALLED,
)


def check_settings(settings: Mapping[str, ConfigValue]) -> Mapping[str, ConfigValue]:
    """Return the settings, if each can be given to a server of ours (`KnownSettings.require`). Raises ValueError."""
    for name, value in settings.items():
        KNOWN.require(name, value)
    return settings


class PostgresqlSettings(ServerSettings):
    """`settings` are PostgreSQL's own (`synchronous_commit: false`), written to its configuration and read back.

    `folder` is the folder of an installation outside PATH.
    """

    kind: Literal["postgresql"] = "postgresql"
    may_be_elsewhere = True
    settings: Annotated[dict[str, ConfigValue], AfterValidator(check_settings)] = Field(default_factory=dict)
    limits: Limits = Limits()
    folder: Path | None = None

    def needs(self, name: str) -> Sequence[Need]:
        """See `ServerSettings.needs`."""
        if self.folder is not None:  # the user knows where it comes from
            return ()
        found = find("postgres") if find("initdb") is not None else None
        return [program_need("postgres", f"server {name}", found, PACKAGES)]

    def server(self, name: str) -> "LocalPostgresql":
        """The server, not started."""
        if self.modules:
            raise UserError("servers.{name}.modules: a PostgreSQL has none; leave the key out", name=name)
        return LocalPostgresql(name, self)


class LocalPostgresql(OwnSqlServer):
    """One PostgreSQL of ours; see `provider.Server`."""

    program: ClassVar[str] = "postgres"
    how_to_get: ClassVar[AnyText] = HOW_TO_GET
    # On SIGTERM it would wait for its clients to leave.
    around: ClassVar[ProcessEnvironment] = ProcessEnvironment(
        environment={"LC_ALL": "C", "PGDATA": ""}, end_signal=signal.SIGINT
    )

    def control(self, timeout_s: float = 5.0) -> PostgresqlControl:
        """A connection for loadstone's own questions."""
        return PostgresqlControl(self._endpoint, DATABASE, timeout_s)

    def _first_control(self) -> PostgresqlControl:
        return PostgresqlControl(self._endpoint, timeout_s=2.0)

    def _find(self, program: str, folder: Path | None) -> Path | None:
        return find(program, folder)

    def _make_data_folder(self, process: GuardedProcess) -> None:
        """Its system tables, in UTF-8 and ordered by bytes, and our user; the password's file is gone afterwards."""
        home, user = process.workspace.path / HOME, server_user()
        data, password, place = home / DATA, home / PASSWORD, reached_by(user, home)
        for path in (home, data):
            path.mkdir(mode=0o700)
        if user is not None:
            os.chown(data, user.pw_uid, user.pw_gid)
        password.touch(mode=0o600)
        password.write_text(f"{self._endpoint.password}\n")
        for path in (home, password):
            let_read(user, path)
        making = [str(self._need("initdb")), f"--pgdata={place}/{DATA}", f"--username={DATABASE}"]
        making += [f"--pwfile={place}/{PASSWORD}", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]
        process.become(as_user(user, home, [*making, "--no-sync", "--no-instructions"]))
        self._run_to_its_end(process)
        password.unlink()
        if process.exit_status != 0:
            raise self._why_it_ended(process.log_lines())
        serving = [str(self._need(self.program)), f"-D{place}/{DATA}", f"--config_file={place}/{OPTIONS}"]
        process.become(as_user(user, home, serving))

    def _write_files(self, folder: Path) -> None:
        """Its configuration: what the experiment sets, then ours."""
        home, user = folder / HOME, server_user()
        place = reached_by(user, home)
        ours: dict[str, ConfigValue] = {
            "listen_addresses": self._endpoint.host,
            "port": self._endpoint.port,
            "unix_socket_directories": "",
            "data_directory": f"{place}/{DATA}",
            "hba_file": f"{place}/{LOGINS}",
            "password_encryption": "scram-sha-256",
            "logging_collector": False,
            "log_destination": "stderr",
            "lc_messages": "C",
        }
        who = f"{LOOPBACK}/32" if self._endpoint.host == LOOPBACK else "all"
        logins = f"host all all {who} scram-sha-256\n"
        write_private(home, {OPTIONS: options_text(self._settings.settings, ours), LOGINS: logins})
        for file in (OPTIONS, LOGINS):
            let_read(user, home / file)

    def _read_back(self) -> None:
        requested = self._settings.settings
        with self.control() as control:
            control.create_database()
            unclear = without_unit(requested, control.units())
            if unclear:
                raise UserError(
                    "server {name}: settings: {unclear}: {requested} has no unit; write one, as {unclear}: "
                    "{requested}{control}",
                    name=self.name,
                    unclear=unclear[0],
                    requested=requested[unclear[0]],
                    control=_example(control, unclear[0]),
                )
        super()._read_back()

    def _why_it_ended(self, lines: Sequence[str]) -> Exception:
        if port_is_taken(lines):
            return PortTaken()
        return UserError("server {name}: {lines}", name=self.name, lines=why_it_ended(lines, MORE_ROOM))


def _example(control: PostgresqlControl, name: str) -> str:
    """A unit that would be right for a setting."""
    unit = control.units().get(canonical(name), "")
    return unit.lstrip("0123456789") if not unit.endswith("B") else "MB"


ERROR = re.compile(r"\b(?:FATAL|ERROR|PANIC):\s+(.*)")
REFUSED = re.compile(r"(?:unrecognized configuration parameter|invalid value for parameter|syntax error in file).*")
ANY_LINE = re.compile(r"^(?:[\d.: -]+\w+ \[\d+\] )?(?:\w+:\s+)?")


def options_text(requested: Mapping[str, ConfigValue], ours: Mapping[str, ConfigValue]) -> str:
    """A `postgresql.conf`: what the experiment sets, then what loadstone decides."""
    values = {canonical(name): value for name, value in requested.items()} | dict(ours)
    return "".join(f"{name} = {_quoted(SPELLING.written(value))}\n" for name, value in values.items())


def _quoted(value: str) -> str:
    bare = "" if value == SPELLING.nothing else value
    return "'" + bare.replace("\\", "\\\\").replace("'", "''") + "'"


def without_unit(requested: Mapping[str, ConfigValue], units: Mapping[str, str]) -> list[str]:
    """Settings whose number has no unit though the server has one for it: it would be one of pages, kB or minutes."""
    return [
        name
        for name, value in requested.items()
        if units.get(canonical(name)) and re.fullmatch(r"\d*\.?\d+", str(value)) and float(value) != 0
    ]


def port_is_taken(log: Sequence[str]) -> bool:
    """Whether it ended because another listens on its port."""
    return any("Address already in use" in line for line in log)


def why_it_ended(log: Sequence[str], more_room: AnyText) -> AnyText:
    """What a log says about an end during the start, for a person. `more_room`: what helps if the disk is full."""
    text = "\n".join(log)
    if re.search(r"No space left", text):
        return said("no room is left for its data; {remedy}", remedy=more_room)
    refused = REFUSED.search(text)
    if refused is not None:
        return said("settings: {line}; correct the name or the value", line=refused[0][:300])
    errors = ERROR.findall(text)
    lines = [ANY_LINE.sub("", line.strip()) for line in log if line.strip()]
    reported = next(iter(errors), lines[-1] if lines else "nothing").rstrip(".")
    return said("it ended while it started; its log: {log}", log=reported[:300])
