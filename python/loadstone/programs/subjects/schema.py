"""Makes the tables that a subject needs, before anything is written to them."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from loadstone.experiment.software import with_tables
from loadstone.programs.manifest import Manifest
from loadstone.safety.bounds import pinned_files
from loadstone.safety.bounds.files import read_bytes, why
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers.control import TableStore
from loadstone.servers.deployed import Deployed

STATEMENTS_MAX_BYTES = 16 * 1024 * 1024


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
        return pinned_files.check(file, read_bytes(file, STATEMENTS_MAX_BYTES)).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UserError(
            "{where}: {file} cannot be read ({error}); correct the path, or the file",
            where=where,
            file=file,
            error=why(error),
        ) from None


def _run(name: str, file: Path, server: str, deployed: Deployed) -> None:
    where = f"subject {name}: tables.{server}"
    statements = read_tables(name, file, server)
    digest = hashlib.sha256(statements.encode()).hexdigest()
    place = f"tables of {file}"
    if deployed.holds.get(place) == digest:
        return
    store = deployed.control
    if not isinstance(store, TableStore):
        known = " and no ".join(one.title for one in with_tables())
        raise UserError(
            "{where}: the experiment's server '{server}' is no {known} and has no tables; leave it out",
            where=where,
            server=server,
            known=known,
        )
    store.prepare_tables(where, statements, deployed.traces, ours=deployed.server.ours)
    try:
        store.run_script(statements)
    except ServerGone as error:
        if not deployed.server.alive() and not deployed.server.ours:
            raise
        raise UserError("{where}: {error}; correct {file}", where=where, error=error, file=file) from None
    deployed.holds[place] = digest
