"""What the room of MariaDB offers; see `servers.software_room`."""

from loadstone.experiment.software import MARIADB
from loadstone.run_folder.ledger import ServerIdentity
from loadstone.servers.containers.contained import InContainer
from loadstone.servers.mariadb.contained import ContainedMariaDb, check
from loadstone.servers.mariadb.known_settings import KNOWN
from loadstone.servers.mariadb.local import MariaDbSettings, installed
from loadstone.servers.mariadb.session import MariaDbSession
from loadstone.servers.mariadb.url import MariaDbUrlSettings, jdbc_options, parse_mariadb_url
from loadstone.servers.software_room import Room
from loadstone.servers.sql.confinement import ConfinedSql, reaches_out
from loadstone.servers.sql.traces import place_of_database


def place(server: str, url: str) -> ServerIdentity:
    """Where a URL leads. Raises UserError if it is not the URL of a MariaDB."""
    return place_of_database(MARIADB, server, *parse_mariadb_url(url))


ROOM = Room(
    kinds={"mariadb": MariaDbSettings, "mariadb-url": MariaDbUrlSettings},
    place=place,
    reaches_out=reaches_out,
    known_settings=KNOWN,
    confinement=ConfinedSql(MariaDbSession),
    facts=(installed,),
    jdbc_options=jdbc_options,
    in_container=InContainer(check, lambda _: ContainedMariaDb()),
)
