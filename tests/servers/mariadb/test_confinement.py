"""What SQL may be sent to a MariaDB of the user's."""

from pathlib import Path

import pytest

from loadstone.safety.errors import UserError
from loadstone.servers.mariadb.confinement import new_tables, require_counting, tables_changed
from loadstone.servers.sql.confinement import SqlProblem
from loadstone.servers.sql.session import statements_in

SCHEMA = Path(__file__).parents[3] / "subjects" / "spring" / "src" / "main" / "resources" / "schema-mariadb.sql"
SCRIPT = """CREATE TABLE author (id INT PRIMARY KEY);
CREATE TABLE book (id INT, author_id INT, FOREIGN KEY (author_id) REFERENCES `Author` (id) ON DELETE CASCADE);
"""


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM post",
        "select count(distinct author) from `post` where title = 'it''s' and score >= 3 -- all\n",
        "SELECT COALESCE(MAX(id), 0) FROM post;",
        "SELECT (SELECT COUNT(*) FROM post) + (SELECT COUNT(*) FROM comment)",
        "SELECT COUNT(*) FROM post JOIN author USING (author_id)",
    ],
)
def test_counting_is_reading_our_database(text: str) -> None:
    require_counting(text)


@pytest.mark.fault("harmful SQL in a manifest or count")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("DELETE FROM post", "it is no SELECT"),
        ("SELECT COUNT(*) FROM mysql.user", "'mysql.' names a database"),
        ("SELECT COUNT(*) FROM `mysql` . `user`", "'mysql.' names a database"),
        ("SELECT 1 INTO OUTFILE '/tmp/x'", "'INTO' is not for counting"),
        ("SELECT COUNT(*) FROM post FOR UPDATE", "'FOR' is not for counting"),
        ("SELECT NEXT VALUE FOR orders", "'NEXT' is not for counting"),
        ("SELECT SLEEP(1000)", "the function 'SLEEP' is not for counting"),
        ("SELECT `sleep`(1000)", "the function 'sleep' is not for counting"),
        ("SELECT sleep /* */ (1000)", "the function 'sleep' is not for counting"),
        ("SELECT LENGTH(LOAD_FILE('/etc/passwd'))", "the function 'LOAD_FILE' is not for counting"),
        ("SELECT COUNT(*) /*!50000 INTO OUTFILE 'x' */ FROM post", "'/*!50000 INTO OUTFIL' is not supported there"),
        ("SELECT COUNT(*) /*M!100100 INTO OUTFILE 'x' */ FROM post", "'/*M!100100 INTO OUTF' is not supported there"),
        ("SELECT /*+ SET_VAR(sql_log_bin=0) */ COUNT(*) FROM post", "is not supported there"),
        ("SELECT COUNT(*) FROM post; DROP TABLE post", "'; DROP TABLE post' is not supported there"),
        ("SELECT COUNT(*) FROM post --\xa0\nINTO OUTFILE 'x'", "is not supported there"),
        ("SELECT @@datadir", "'@@datadir' is not supported there"),
        ("SELECT '\\'' FROM post", "is not supported there"),
        ('SELECT "a" FROM post', "is not supported there"),
        ("SELECT 'a FROM post", "is not supported there"),
        ("", "it is no SELECT"),
    ],
)
def test_any_other_count_is_refused(text: str, why: str) -> None:
    with pytest.raises(SqlProblem) as refused:
        require_counting(text)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("-- a comment\nCREATE TABLE post (id BIGINT PRIMARY KEY)", set()),
        ("# a comment", set()),
        ("create table if not exists `user` (`file` varchar(9), engine text, KEY by_file (`file`)) engine=Aria", set()),
        (
            "CREATE TABLE post (id INT, at TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6), CHECK (id > 0), "
            "CONSTRAINT of FOREIGN KEY (id) REFERENCES author (id) ON DELETE CASCADE) "
            "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (9))",
            set(),
        ),
        ("CREATE OR REPLACE TABLE Post (id INT)", {"post"}),
        ("CREATE UNIQUE INDEX by_title ON post (title(10))", {"post"}),
        ("CREATE TABLE post (title TEXT, KEY by_title (title(10), id), PRIMARY KEY (title(9)))", set()),
        ("ALTER TABLE post ADD COLUMN score INT DEFAULT 0", {"post"}),
        ("ALTER TABLE post CONVERT TO CHARACTER SET utf8mb4", {"post"}),
        ("DROP TABLE IF EXISTS post, author", {"post", "author"}),
        ("TRUNCATE TABLE post", {"post"}),
        ("INSERT INTO post (id, title) VALUES (1, CONCAT('a;', 'b')), (2, NULL)", {"post"}),
        ("REPLACE INTO post VALUES (1, 0xFF, 1e5)", {"post"}),
        ("UPDATE post SET source = 'x' WHERE id IN (1, 2)", {"post"}),
        ("DELETE FROM post WHERE id = 1", {"post"}),
        ("SET NAMES utf8mb4", set()),
        ("SET FOREIGN_KEY_CHECKS = 0", set()),
    ],
)
def test_a_file_of_tables_makes_and_fills_tables(text: str, changed: set[str]) -> None:
    assert tables_changed(text) == changed


def test_the_built_in_application_may_make_its_tables() -> None:
    assert [tables_changed(text) for text in statements_in(SCHEMA.read_text())] == [set(), set()]


@pytest.mark.fault("harmful SQL in a manifest or count", "refused", area="commands")
@pytest.mark.parametrize(
    "text",
    [
        "DROP DATABASE loadstone",
        "DROP TABLE prod.users",
        "DROP TABLE `prod`.`users`",
        "TRUNCATE TABLE post, prod.users",
        "CREATE DATABASE mine",
        "USE prod",
        "GRANT ALL ON *.* TO me",
        "SET GLOBAL general_log = 1",
        "SET @@global.general_log = 1",
        "SET foreign_key_checks = 0, GLOBAL general_log = 1",
        "SET PASSWORD = ''",
        "SET NAMES gbk",
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE post",
        "CREATE TABLE copy SELECT 1",
        "CREATE TABLE copy AS (SELECT 1)",
        "CREATE TABLE copy LIKE mysql.user",
        "CREATE TABLE far (id INT) ENGINE=FEDERATED CONNECTION='mysql://h/d/t'",
        "CREATE TABLE far (id INT) ENGINE CONNECT",
        "CREATE TABLE far (id INT) ENGINE = `CSV`",
        "CREATE TABLE far (id INT) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (9) ENGINE SPIDER)",
        "CREATE TABLE far (id INT) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (9) STORAGE ENGINE `CONNECT`)",
        "ALTER TABLE far ADD PARTITION (PARTITION q VALUES LESS THAN (19) ENGINE SPIDER)",
        "ALTER TABLE far ADD c INT, DISCARD TABLESPACE",
        "ALTER TABLE far IMPORT PARTITION p TABLESPACE",
        "ALTER TABLE far TRUNCATE PARTITION p",
        "CREATE TABLE all_of (id INT) ENGINE=MyISAM UNION=(theirs)",
        "CREATE TABLE there (id INT) DATA DIRECTORY='/var/www'",
        "CREATE TABLE post (id INT DEFAULT (sys_exec('id')))",
        "CREATE TABLE post (id INT DEFAULT (`sleep`(9)))",
        "CREATE TABLE post (id INT DEFAULT (sleep(9)), KEY k (id))",
        "CREATE TABLE post (id INT, KEY k (id)) COMMENT='x' CHECK (sleep(9))",
        "INSERT INTO post (id) VALUES (sleep(9))",
        "CREATE TABLE post (id INT DEFAULT (NEXT VALUE FOR orders))",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t BEFORE INSERT ON post FOR EACH ROW SET x = 1",
        "CREATE PROCEDURE p() DROP TABLE post",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DROP TABLE post",
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')",
        "CREATE USER me",
        "ALTER TABLE post RENAME TO other",
        "ALTER TABLE post RENAME other",
        "ALTER TABLE post EXCHANGE PARTITION p WITH TABLE other",
        "ALTER TABLE post CONVERT TABLE other TO PARTITION p",
        "ALTER TABLE post IMPORT TABLESPACE",
        "RENAME TABLE post TO other",
        "INSERT DELAYED INTO theirs VALUES (1)",
        "INSERT INTO post VALUES (LOAD_FILE('/etc/passwd'))",
        "INSERT INTO post SELECT 1",
        "UPDATE post, theirs SET a = 1",
        "UPDATE post `SET`, theirs SET a = 1",
        "UPDATE post `SET` JOIN theirs SET a = 1",
        "DELETE FROM post `WHERE`",
        "DROP TABLE post `,` theirs",
        "DELETE FROM post, theirs USING post",
        "DELETE post FROM post",
        "CALL p()",
        "DO SLEEP(9)",
        "KILL 1",
        "SHUTDOWN",
        "FLUSH TABLES",
        "INSTALL SONAME 'x'",
        "HANDLER post OPEN",
        "/*!50000 DROP TABLE post */",
        "INSERT INTO post VALUES (1 /*!, (2) */)",
        "INSERT INTO post VALUES (1); DROP TABLE theirs",
        "--\xa0comment\nDROP TABLE theirs",
        "--x\nDROP TABLE theirs",
    ],
)
def test_any_other_statement_is_refused(text: str) -> None:
    with pytest.raises(SqlProblem):
        tables_changed(text)


def test_what_is_checked_is_what_is_sent() -> None:
    assert statements_in("A ; \nB 'x;\ny';\n\n;\nC") == ["A ", "B 'x", "y'", "C"]


def test_tables_that_refer_to_one_another_are_the_scripts_own() -> None:
    assert new_tables("schema.sql", SCRIPT, ["other"]) == ["author", "book"]


def test_no_foreign_key_binds_a_table_that_was_there() -> None:
    with pytest.raises(UserError, match="'author' was there before"):
        new_tables("schema.sql", SCRIPT, ["author"])


@pytest.mark.fault("harmful SQL in a manifest or count")
@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE post (title TEXT DEFAULT LOAD_FILE(0x2F6574632F706173737764), id INT)",
        "CREATE OR REPLACE TABLE post (id INT, waits INT DEFAULT SLEEP(1000))",
        "CREATE TABLE IF NOT EXISTS post (id INT, waits INT DEFAULT BENCHMARK(1000000000, id))",
        "CREATE INDEX by_title ON post (LOAD_FILE(0x2F6574632F706173737764))",
        "INSERT INTO post (SYS_EXEC(0x6964)) VALUES (1)",
    ],
)
def test_a_call_is_not_taken_for_the_length_of_an_index(text: str) -> None:
    with pytest.raises(SqlProblem, match="is not known here"):
        tables_changed(text)
