"""What MariaDB declares of itself."""

from loadstone.software.software import Software

MARIADB = Software(
    name="mariadb",
    title="MariaDB",
    kinds=("mariadb", "mariadb-url"),
    url_kind="mariadb-url",
    schemes=("mariadb", "mysql"),
    url_form="mariadb://USER:PASSWORD@HOST:PORT/DATABASE",
    rows="table",
    counts_by=("SELECT",),
    how_to_count="write SELECT COUNT(*) FROM a table",
    in_container=True,
)
