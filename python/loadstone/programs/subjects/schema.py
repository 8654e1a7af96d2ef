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
from loadstone.servers.deployed import RunningServer

STATEMENTS_MAX_BYTES = 16 * 1024 * 1024


def make_tables(name: str, manifest: Manifest, folder: Path, servers: Mapping[str, RunningServer]) -> None:
    """Make the manifest's tables, once on each server that the condition has.

    Raises:
        UserError: the server does not take a table, its database is not ours, or a file of SQL is for a server of the
            user's or cannot be read.
        ServerGone: the server is not ours and does not answer.
    """
    for server, path in manifest.scripts.items():
        if server in servers:
            _run_script(name, folder / path, server, servers[server])
    if manifest.declared_tables:
        for server in sorted(manifest.servers_named & servers.keys()):
            _make_declared(name, manifest, servers[server])


def users_script(name: str, file: str, server: str, address: str) -> UserError:
    """The error for a file of SQL that is meant for a server of the user's."""
    return UserError(
        "subject {name}: tables.{server}: '{file}' is run only on a server that loadstone starts, and {server} "
        "({address}) is not one; declare its tables (NAME: {{columns: ..., key: ...}}), see docs/subjects.md",
        name=name,
        server=server,
        file=file,
        address=address,
    )


def _run_script(name: str, file: Path, server: str, deployed: RunningServer) -> None:
    where = f"subject {name}: tables.{server}"
    if not deployed.server.ours:
        raise users_script(name, file.name, server, deployed.control.endpoint.label)
    try:
        script = pinned_files.check(file, read_bytes(file, STATEMENTS_MAX_BYTES)).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UserError(
            "{where}: {file} cannot be read ({error}); correct the path, or the file",
            where=where,
            file=file,
            error=why(error),
        ) from None
    digest = hashlib.sha256(script.encode()).hexdigest()
    place = f"tables of {file}"
    if deployed.contents.get(place) == digest:
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
    try:
        store.run_script(script)
    except ServerGone as error:
        raise UserError("{where}: {error}; correct {file}", where=where, error=error, file=file) from None
    deployed.contents[place] = digest


def _make_declared(name: str, manifest: Manifest, deployed: RunningServer) -> None:
    store, tables = deployed.control, manifest.declared_tables
    place, digest = f"tables of {name}", hashlib.sha256(repr(tables).encode()).hexdigest()
    if not isinstance(store, TableStore) or deployed.contents.get(place) == digest:
        return
    where = f"subject {name}: tables"
    try:
        store.make_tables(where, tables, deployed.traces, ours=deployed.server.ours)
    except ServerGone as error:
        if not deployed.server.alive() and not deployed.server.ours:
            raise
        raise UserError("{where}: {error}; correct the manifest", where=where, error=error) from None
    deployed.contents[place] = digest
