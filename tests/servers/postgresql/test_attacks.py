"""SQL and names that mean harm to a server of the user's; all that is theirs is dumped before and after."""

from pathlib import Path

import pytest

from loadstone.programs.manifest import Manifest, StartCommand
from loadstone.programs.subjects.schema import make_tables
from loadstone.run_folder.ledger import CreatedObject, CreatedObjects
from loadstone.run_folder.ledger_file import RunLedger
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.servers.control import CommandRefusal
from loadstone.servers.deployed import RunningServer
from loadstone.servers.postgresql.url import PostgresqlUrlSettings
from loadstone.servers.server import DeployContext

from .attack_texts import COUNTS, ODD_LETTERS, STATEMENTS
from .conftest import Users

RUN, OTHER_RUN = "0123456789abcdef" * 2, "f" * 32
MARK = f"loadstone run {RUN} ours"
OURS = "CREATE TABLE post (id INT PRIMARY KEY, note TEXT);\n"
TABLE = {"columns": {"id": "int", "note": "text 100"}, "key": "id", "indexes": [["note"]]}


def manifest(tables: object) -> Manifest:
    written = {
        "name": "shop",
        "run": StartCommand(command="true"),
        "environment": {"DB": "${db.host}"},
        "tables": tables,
    }
    return Manifest.model_validate(written)


@pytest.mark.fault(
    "a hundred harmful statements for your PostgreSQL",
    "none is sent; a dump is identical before and after",
    area="commands",
)
def test_no_statement_reaches_what_is_theirs(users: Users, with_theirs: str, tmp_path: Path) -> None:
    """In the place of each name, type and count that a manifest or an experiment may write."""
    file = tmp_path / "file"
    before = users.all_of(with_theirs), users.roles()
    with users.control(with_theirs) as control:
        for text in (statement.replace("FILE", str(file)) for statement in (*STATEMENTS, *ODD_LETTERS)):
            for tables in (
                {text: {"columns": {"id": "int"}, "key": "id"}},
                {"post": {"columns": {text: "int"}, "key": text}},
                {"post": {"columns": {"id": text}, "key": "id"}},
                {"post": {"columns": {"id": f"int, {text}"}, "key": "id"}},
                {"post": {"columns": {"id": "int"}, "key": "id", "indexes": [[text]]}},
            ):
                with pytest.raises(ValueError, match=r"is no name|is no column"):
                    manifest(tables)
            if not control.is_name(text):  # one word may be the name of a table
                with pytest.raises(CommandRefusal):
                    control.confinement().count(text, of_application=True)
            with pytest.raises(UserError, match=r"^count .*(it is not the name of a table|does not exist)"):
                control.count(text)
    assert (users.all_of(with_theirs), users.roles()) == before
    assert not file.exists()


@pytest.mark.fault("a file of SQL for your database")
def test_no_file_of_sql_is_run(users: Users, with_theirs: str, tmp_path: Path) -> None:
    before = users.all_of(with_theirs)
    (tmp_path / "schema.sql").write_text("DROP TABLE theirs;\n")
    theirs = PostgresqlUrlSettings(url=users.url(with_theirs)).server("db")
    endpoint = theirs.start(DeployContext())
    with theirs.control() as control, theirs.control() as monitor:
        deployed = RunningServer(theirs, endpoint, (endpoint,), control, monitor, {})
        with pytest.raises(UserError, match="is run only on a server that loadstone starts"):
            make_tables("shop", manifest({"db": "schema.sql"}), tmp_path, {"db": deployed})
    theirs.stop()
    assert users.all_of(with_theirs) == before


@pytest.mark.fault("a hundred harmful statements for your PostgreSQL")
@pytest.mark.parametrize("text", COUNTS)
def test_no_count_reaches_what_is_theirs(users: Users, with_theirs: str, text: str) -> None:
    with users.control(with_theirs) as control, pytest.raises(CommandRefusal):
        control.confinement().count(text, of_application=True)


def test_tables_and_views_that_were_there_are_theirs(users: Users, with_theirs: str) -> None:
    """A declared table of the same name is not made, and not removed."""
    before = users.all_of(with_theirs)
    declared = manifest({"theirs": TABLE, "theirview": TABLE, "big": TABLE}).declared_tables
    with users.control(with_theirs) as control:
        assert {"theirs", "theirview", "Big"} <= set(control.tables())
        traces = CreatedObjects()
        control.make_tables("tables", declared, traces, ours=False)
        assert not traces.things
    assert users.all_of(with_theirs) == before


@pytest.mark.fault("another user's database, list or view imitates a run's", "it stays", area="commands")
def test_a_database_that_does_not_say_that_it_is_the_runs_is_left(users: Users) -> None:
    name = "loadstone_planted"
    users.psql("postgres", f"CREATE DATABASE {name}")
    users.psql(name, OURS)
    planted = ("", "loadstone run", MARK.replace(RUN, OTHER_RUN), MARK.upper(), f"{MARK} and more", f" {MARK}")
    made = [CreatedObject("database", name), CreatedObject("database", "shop"), CreatedObject("table_made", "post")]
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
            list(control.remove_left(RUN, [CreatedObject("table_made", "post")]))
        users.psql(with_theirs, f"DROP VIEW {ours}; CREATE TABLE {ours} {columns}; INSERT INTO {ours} {values}")
        outcomes = list(
            control.remove_left(RUN, [CreatedObject("table_made", "refers"), CreatedObject("table_filled", "big")])
        )
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
        traces = CreatedObjects(control.place("db"), ledger)
        control.make_tables("tables", manifest({"post": TABLE}).declared_tables, traces, ours=False)
        assert {"post", f"loadstone_run_{ledger.run_id}"} <= set(control.tables())
        control.remove_traces(traces)
    theirs.stop()
    assert users.all_of(with_theirs) == before
