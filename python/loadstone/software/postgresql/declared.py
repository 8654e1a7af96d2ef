"""What PostgreSQL declares of itself."""

from loadstone.software.software import Software

POSTGRESQL = Software(
    name="postgresql",
    title="PostgreSQL",
    kinds=("postgresql", "postgresql-url"),
    url_kind="postgresql-url",
    schemes=("postgresql", "postgres"),
    url_form="postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
    rows="table",
    counts_by=("SELECT",),
    how_to_count="write SELECT COUNT(*) FROM a table",
)
