"""The tables that a subject needs, made on the servers of the experiment before anything is written to them."""

import contextlib
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from loadstone.deploy.deployed import Deployed
from loadstone.deploy.ledger import Made
from loadstone.deploy.subjects.manifest import Manifest
from loadstone.errors import ServerGone, UserError
from loadstone.files import read_bytes, why
from loadstone.software.mariadb.control import MariaDbControl
from loadstone.software.sql.confinement import tables_changed
from loadstone.software.sql.tokens import SqlProblem, statements_in

STATEMENTS_MAX_BYTES = 16 * 1024 * 1024
DESTROYING = re.compile(
    r"\b(?:DROP\s+TABLES?|CREATE\s+OR\s+REPLACE\s+TABLE|TRUNCATE|DELETE\s+FROM)\b[^;(]*", re.IGNORECASE
)
CREATED = re.compile(r"\bCREATE\s+(?:OR\s+REPLACE\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?`?(\w+)`?", re.IGNORECASE)


def make_tables(name: str, manifest: Manifest, folder: Path, servers: Mapping[str, Deployed]) -> None:
    """Run the manifest's statements, once on each server that the condition has.

    Raises:
        UserError: the file cannot be read, the server refuses a statement, or its database is not ours.
        ServerGone: the server is not ours and does not answer.
    """
    for server, path in manifest.tables.items():
        if server in servers:
            _run(name, folder / path, server, servers[server])


def read_tables(name: str, file: Path, server: str) -> str:
    """The statements of a subject for a server. Raises UserError if the file cannot be read."""
    where = f"subject {name}: tables.{server}"
    try:
        return read_bytes(file, STATEMENTS_MAX_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UserError(f"{where}: {file} cannot be read ({why(error)}); correct the path, or the file") from None


def _run(name: str, file: Path, server: str, deployed: Deployed) -> None:
    where = f"subject {name}: tables.{server}"
    statements = read_tables(name, file, server)
    digest = hashlib.sha256(statements.encode()).hexdigest()
    place = f"tables of {file}"
    if deployed.holds.get(place) == digest:
        return
    if not isinstance(deployed.control, MariaDbControl):
        raise UserError(f"{where}: the experiment's server '{server}' is no MariaDB and has no tables; leave it out")
    if not deployed.control.is_our_database():
        raise UserError(
            f"{where}: its tables are made in a database of loadstone's only, not in '{deployed.control.database}'; "
            "leave the database out of the server's URL, or name one that begins with 'loadstone_'"
        )
    if not deployed.server.ours:
        _note(where, statements, deployed, deployed.control)
    try:
        deployed.control.run_script(statements)
    except ServerGone as error:
        if not deployed.server.alive() and not deployed.server.ours:
            raise
        raise UserError(f"{where}: {error}; correct {file}") from None
    deployed.holds[place] = digest


def _note(where: str, statements: str, deployed: Deployed, control: MariaDbControl) -> None:
    """The tables that the statements will make on a server of the user's: those, and no others, are removed later.

    Raises:
        UserError: the statements would change, remove, or empty a table that was there before; or the tables cannot
            be noted in the run's ledger.
    """
    traces = deployed.traces
    theirs = {table.lower() for table in control.tables() if not traces.made_table(table)}
    for text in statements_in(statements):
        with contextlib.suppress(SqlProblem):  # one that was let pass: its words alone are looked at, below
            for table in sorted(theirs & tables_changed(text)):
                raise UserError(
                    f"{where}: '{' '.join(text.split())[:60]}': table '{table}' was there before and is not touched; "
                    "remove it, or name another database in the server's URL"
                )
    for statement in DESTROYING.findall(statements):
        for table in sorted(theirs & set(re.findall(r"\w+", statement.lower()))):
            raise UserError(
                f"{where}: '{' '.join(statement.split())}': table '{table}' was there before and is not touched; "
                "remove it, or name another database in the server's URL"
            )
    new = sorted({table.lower() for table in CREATED.findall(statements)} - theirs)
    traces.note_tables(control, [Made("table_made", table) for table in new])
