"""SQL and names that mean harm to a server of the user's; all that is theirs is dumped before and after."""

import contextlib
from pathlib import Path

import pytest

from loadstone.run_folder.ledger import Made, Traces
from loadstone.run_folder.ledger_file import RunLedger
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.servers.control import Refusal
from loadstone.servers.postgresql.confinement import new_tables, tables_changed
from loadstone.servers.postgresql.url import PostgresqlUrlSettings
from loadstone.servers.server import DeployContext
from loadstone.servers.sql.confinement import SqlProblem

from .attack_texts import COUNTS, ODD_LETTERS, STATEMENTS
from .conftest import Users

RUN, OTHER_RUN = "0123456789abcdef" * 2, "f" * 32
MARK = f"loadstone run {RUN} ours"
OURS = "CREATE TABLE post (id INT PRIMARY KEY, note TEXT);\n"


@pytest.mark.fault(
    "a hundred harmful statements for your PostgreSQL",
    "none is sent; a dump is identical before and after",
    area="commands",
)
def test_no_statement_reaches_what_is_theirs(users: Users, with_theirs: str, tmp_path: Path) -> None:
    """As a run sends them: each that the grammar lets pass, and that names none of their tables, is executed."""
    file = tmp_path / "file"
    before = users.all_of(with_theirs), users.roles()
    executed = []
    with users.control(with_theirs) as control:
        for text in (*STATEMENTS, *ODD_LETTERS):
            script = f"{OURS}{text.replace('FILE', str(file))};\n"
            try:
                for statement in control.statements(script):
                    control.confinement().statement(statement)
                control.prepare_tables("tables", script, Traces(), ours=False)
            except (Refusal, LoadstoneError):
                continue
            with contextlib.suppress(LoadstoneError):
                control.run_script(script)
                executed.append(text)
            control.query("DROP TABLE IF EXISTS post, mine CASCADE")
    assert executed == []
    assert (users.all_of(with_theirs), users.roles()) == before
    assert not file.exists()


@pytest.mark.fault("a hundred harmful statements for your PostgreSQL")
@pytest.mark.parametrize("text", COUNTS)
def test_no_count_reaches_what_is_theirs(users: Users, with_theirs: str, text: str) -> None:
    with users.control(with_theirs) as control, pytest.raises(Refusal):
        control.confinement().count(text, of_application=True)


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE post SET note = TRIM(LEADING 'x' FROM note) WHERE id IS DISTINCT FROM 4",
        "TRUNCATE TABLE post",
        "\n\tDELETE FROM post -- all\n",
        "ALTER TABLE post ADD COLUMN author INT REFERENCES author (id) ON DELETE CASCADE",
    ],
)
def test_what_looks_alike_is_taken(text: str) -> None:
    assert tables_changed(text) == {"post"}


def test_tables_that_refer_to_one_another_are_the_scripts_own() -> None:
    script = "CREATE TABLE author (id INT);\nCREATE TABLE post (id INT, by INT REFERENCES author (id));\n"
    assert new_tables("schema.sql", script, ["other"]) == ["author", "post"]
    with pytest.raises(UserError, match="'author' was there before"):
        new_tables("schema.sql", script, ["author"])


def test_views_and_tables_elsewhere_are_theirs(users: Users, with_theirs: str) -> None:
    with users.control(with_theirs) as control:
        assert {"theirs", "theirview", "Big"} <= set(control.tables())
        with pytest.raises(UserError, match="'theirview' was there before"):
            control.prepare_tables("tables", "DELETE FROM theirview", Traces(), ours=False)
    with pytest.raises(SqlProblem, match="reads another table"):
        tables_changed("INSERT INTO post TABLE theirs")


@pytest.mark.fault("another user's database, list or view imitates a run's", "it stays", area="commands")
def test_a_database_that_does_not_say_that_it_is_the_runs_is_left(users: Users) -> None:
    name = "loadstone_planted"
    users.psql("postgres", f"CREATE DATABASE {name}")
    users.psql(name, OURS)
    planted = ("", "loadstone run", MARK.replace(RUN, OTHER_RUN), MARK.upper(), f"{MARK} and more", f" {MARK}")
    made = [Made("database", name), Made("database", "shop"), Made("table_made", "post")]
    with users.control(name) as control:
        for comment in planted:
            control.query(f"COMMENT ON DATABASE {name} IS '{comment}'")
            outcomes = {outcome.thing: outcome.left for outcome in control.remove_left(RUN, made)}
            assert outcomes == dict.fromkeys(made, True), comment
            assert control.tables() == ["post"]
        control.query(f"COMMENT ON DATABASE {name} IS '{MARK}'")
        assert not next(control.remove_left(RUN, made)).left
        assert not control.has_database()


@pytest.mark.fault("another user's database, list or view imitates a run's")
def test_tables_that_no_list_of_the_runs_names_are_left(users: Users, with_theirs: str) -> None:
    """Lists of another run, a view in the place of ours, and one with names of theirs that the run did not note."""
    theirs, ours = f"loadstone_run_{OTHER_RUN}", f"loadstone_run_{RUN}"
    columns = "(name VARCHAR(64), what VARCHAR(16))"
    values = "VALUES ('theirs', 'table_made'), ('Big', 'table_filled')"
    before = users.all_of(with_theirs)
    users.psql(with_theirs, f"CREATE TABLE {theirs} {columns}; INSERT INTO {theirs} {values}")
    users.psql(with_theirs, f"CREATE VIEW {ours} AS {values}")
    with users.control(with_theirs) as control:
        with pytest.raises(LoadstoneError):
            list(control.remove_left(RUN, [Made("table_made", "post")]))
        users.psql(with_theirs, f"DROP VIEW {ours}; CREATE TABLE {ours} {columns}; INSERT INTO {ours} {values}")
        outcomes = list(control.remove_left(RUN, [Made("table_made", "refers"), Made("table_filled", "big")]))
        assert [outcome.left for outcome in outcomes] == [True, True]
        assert {theirs, ours} <= set(control.tables())
    users.psql(with_theirs, f"DROP TABLE {theirs}, {ours}")
    assert users.all_of(with_theirs) == before


def test_a_run_leaves_a_database_of_the_users_as_it_was(users: Users, with_theirs: str, tmp_path: Path) -> None:
    before = users.all_of(with_theirs)
    theirs = PostgresqlUrlSettings(url=users.url(with_theirs)).server("db")
    ledger = RunLedger(tmp_path)
    theirs.start(DeployContext(ledger=ledger))
    with theirs.control() as control:
        traces = Traces(control.place("db"), ledger)
        control.prepare_tables("tables", OURS, traces, ours=False)
        control.run_script(OURS)
        assert {"post", f"loadstone_run_{ledger.run_id}"} <= set(control.tables())
        control.remove_traces(traces)
    theirs.stop()
    assert users.all_of(with_theirs) == before
