"""What the room of PostgreSQL offers; see `software.room`."""

from loadstone.deploy.ledger import Place
from loadstone.software.postgresql.control import PostgresqlControl
from loadstone.software.postgresql.declared import POSTGRESQL
from loadstone.software.postgresql.known_settings import KNOWN
from loadstone.software.postgresql.local import PostgresqlSettings
from loadstone.software.postgresql.programs import installed
from loadstone.software.postgresql.url import PostgresqlUrlSettings, jdbc_options, parse_postgresql_url
from loadstone.software.room import Room
from loadstone.software.sql.confinement import ConfinedSql, reaches_out
from loadstone.software.sql.session import statements_in
from loadstone.software.sql.traces import place_of_database


def place(server: str, url: str) -> Place:
    """Where a URL leads. Raises UserError if it is not the URL of a PostgreSQL."""
    return place_of_database(POSTGRESQL, server, *parse_postgresql_url(url))


ROOM = Room(
    kinds={"postgresql": PostgresqlSettings, "postgresql-url": PostgresqlUrlSettings},
    place=place,
    reaches_out=reaches_out(PostgresqlControl.grammar),
    known_settings=KNOWN,
    confinement=ConfinedSql(PostgresqlControl.grammar),
    statements=statements_in,
    facts=(installed,),
    jdbc_options=jdbc_options,
)
