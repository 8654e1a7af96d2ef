"""What the room of PostgreSQL offers; see `servers.software_room`."""

from loadstone.experiment.software import POSTGRESQL
from loadstone.run_folder.ledger import ServerIdentity
from loadstone.servers.postgresql.known_settings import KNOWN
from loadstone.servers.postgresql.local import PostgresqlSettings
from loadstone.servers.postgresql.programs import installed
from loadstone.servers.postgresql.session import PostgresqlSession
from loadstone.servers.postgresql.url import PostgresqlUrlSettings, jdbc_options, parse_postgresql_url
from loadstone.servers.software_room import Room
from loadstone.servers.sql.confinement import ConfinedSql, reaches_out
from loadstone.servers.sql.traces import place_of_database


def place(server: str, url: str) -> ServerIdentity:
    """Where a URL leads. Raises UserError if it is not the URL of a PostgreSQL."""
    return place_of_database(POSTGRESQL, server, *parse_postgresql_url(url))


ROOM = Room(
    kinds={"postgresql": PostgresqlSettings, "postgresql-url": PostgresqlUrlSettings},
    place=place,
    reaches_out=reaches_out,
    known_settings=KNOWN,
    confinement=ConfinedSql(PostgresqlSession),
    facts=(installed,),
    jdbc_options=jdbc_options,
)
