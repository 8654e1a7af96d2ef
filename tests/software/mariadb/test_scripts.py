"""What a script of a subject makes on a server of the user's, and what it may not bind to its own."""

import pytest

from loadstone.errors import UserError
from loadstone.software.mariadb.scripts import new_tables

SCRIPT = """CREATE TABLE author (id INT PRIMARY KEY);
CREATE TABLE book (id INT, author_id INT, FOREIGN KEY (author_id) REFERENCES `Author` (id) ON DELETE CASCADE);
"""


def test_tables_that_refer_to_one_another_are_the_scripts_own() -> None:
    assert new_tables("schema.sql", SCRIPT, ["other"]) == ["author", "book"]


def test_no_foreign_key_binds_a_table_that_was_there() -> None:
    with pytest.raises(UserError, match="'author' was there before"):
        new_tables("schema.sql", SCRIPT, ["author"])
