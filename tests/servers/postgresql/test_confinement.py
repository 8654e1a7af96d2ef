"""What of PostgreSQL's SQL is sent to a server of the user's."""

from pathlib import Path

import pytest

from loadstone.safety.errors import UserError
from loadstone.servers.postgresql.confinement import new_tables, require_counting, tables_changed
from loadstone.servers.sql.confinement import SqlProblem

FINE = {
    "CREATE TABLE IF NOT EXISTS post (id BIGINT GENERATED ALWAYS AS IDENTITY, at TIMESTAMP WITH TIME ZONE)": set(),
    'CREATE TABLE "post" (id SERIAL PRIMARY KEY, n NUMERIC(10, 2) DEFAULT 0, t VARCHAR(20) NOT NULL)': set(),
    "CREATE UNIQUE INDEX one ON post (title)": {"post"},
    "INSERT INTO post (id, note) VALUES (1, 'it''s; -- not a comment'), (2, now()::text)": {"post"},
    "DROP TABLE IF EXISTS post, author;": {"post", "author"},
    "/* one */ TRUNCATE post -- and all": {"post"},
    "ALTER TABLE post ADD COLUMN x INT REFERENCES author (id) ON DELETE CASCADE": {"post"},
}
REFUSED = [
    "COPY post FROM PROGRAM 'id'",
    "COPY post TO '/tmp/x'",
    "DO $$ BEGIN END $$",
    "INSERT INTO post VALUES ($$x$$)",
    "INSERT INTO post VALUES ($tag$x$tag$)",
    r"INSERT INTO post VALUES (E'\'; DROP TABLE x; --')",
    r"INSERT INTO post VALUES ('\')",
    "INSERT INTO post VALUES (U&'x')",
    "INSERT INTO post VALUES ('a'\n'b')",
    "/* a /* b */ c */ DROP TABLE post",
    "DROP TABLE post; DROP TABLE other",
    "DROP TABLE post CASCADE",
    "DROP TABLE other.post",
    'DROP TABLE "po""st"',
    "DELETE FROM ONLY post",
    "DELETE FROM pg_class",
    "DELETE FROM post USING other",
    "UPDATE post SET a = pg_read_file('/etc/passwd')",
    "INSERT INTO post SELECT * FROM other",
    "CREATE TABLE post AS SELECT 1",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'x'",
    "CREATE TEMP TABLE post (id INT)",
    "CREATE EXTENSION dblink",
    "ALTER TABLE post RENAME TO other",
    "ALTER TABLE post OWNER TO other",
    "ALTER SYSTEM SET fsync = off",
    "SET ROLE other",
    "GRANT ALL ON post TO public",
    "VACUUM",
]


@pytest.mark.parametrize("text", FINE)
def test_tables_are_made_and_filled(text: str) -> None:
    assert tables_changed(text) == FINE[text]


@pytest.mark.parametrize("text", REFUSED)
def test_all_else_is_refused(text: str) -> None:
    with pytest.raises(SqlProblem):
        tables_changed(text)


@pytest.mark.parametrize("text", ["SELECT COUNT(*) FROM post", "select sum(n) from post where t = 'x' and (id > 1)"])
def test_a_count_is_taken(text: str) -> None:
    require_counting(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT pg_sleep(9)",
        "SELECT 1 INTO other",
        "SELECT count(*) FROM pg_authid",
        "SELECT count(*) FROM other.post",
        "SELECT lo_import('/etc/passwd')",
        'SELECT "pg_sleep"(9)',
        "SELECT 1; SELECT 2",
        "WITH x AS (DELETE FROM post RETURNING 1) SELECT count(*) FROM x",
        "SELECT count(*) FROM post FOR UPDATE",
        "SELECT $$x$$",
    ],
)
def test_a_count_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SqlProblem):
        require_counting(text)


def test_the_built_in_application_may_make_its_tables() -> None:
    schema = Path(__file__).parents[3] / "subjects/spring/src/main/resources/schema-postgresql.sql"
    assert new_tables("schema", schema.read_text(), []) == ["post", "row_added"]


def test_a_table_that_was_there_is_not_touched() -> None:
    script = "CREATE TABLE IF NOT EXISTS post (id INT);\nCREATE TABLE author (id INT);\n"
    assert new_tables("schema.sql", script, ["post"]) == ["author"]
    with pytest.raises(UserError, match="'post' was there before"):
        new_tables("schema.sql", "DROP TABLE Post;", ["post"])
