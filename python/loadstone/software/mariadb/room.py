"""What the room of MariaDB offers; see `software.room`."""

from loadstone.deploy.containers.contained import InContainer
from loadstone.deploy.ledger import Place
from loadstone.software.mariadb.contained import ContainedMariaDb, check
from loadstone.software.mariadb.control import MariaDbControl
from loadstone.software.mariadb.declared import MARIADB
from loadstone.software.mariadb.known_settings import KNOWN
from loadstone.software.mariadb.local import MariaDbSettings, installed
from loadstone.software.mariadb.url import MariaDbUrlSettings, jdbc_options, parse_mariadb_url
from loadstone.software.room import Room
from loadstone.software.sql.confinement import ConfinedSql, reaches_out
from loadstone.software.sql.session import statements_in
from loadstone.software.sql.traces import place_of_database


def place(server: str, url: str) -> Place:
    """Where a URL leads. Raises UserError if it is not the URL of a MariaDB."""
    return place_of_database(MARIADB, server, *parse_mariadb_url(url))


ROOM = Room(
    kinds={"mariadb": MariaDbSettings, "mariadb-url": MariaDbUrlSettings},
    place=place,
    reaches_out=reaches_out(MariaDbControl.grammar),
    known_settings=KNOWN,
    confinement=ConfinedSql(MariaDbControl.grammar),
    statements=statements_in,
    facts=(installed,),
    jdbc_options=jdbc_options,
    in_container=InContainer(check, lambda _: ContainedMariaDb()),
)
