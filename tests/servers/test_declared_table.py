"""Tables that a manifest declares: what they may be, and what is said of one that is wrong."""

import re
from pathlib import Path
from typing import Any

import pytest

from loadstone.programs.manifest import Manifest, StartCommand, read_manifest
from loadstone.safety.secrets.known import redact
from loadstone.servers.declared_table import TYPES, DeclaredColumn, Table, column_of

ENVIRONMENT = {"DB": "${mariadb.address}", "OTHER": "${postgresql.host}:${postgresql.port}"}


def manifest(tables: dict[str, Any], **more: Any) -> Manifest:
    return Manifest.model_validate(
        {"name": "shop", "run": StartCommand(command="true"), "environment": ENVIRONMENT, "tables": tables, **more}
    )


@pytest.mark.parametrize(
    ("written", "column"),
    [
        ("int", DeclaredColumn("int")),
        ("bigint auto", DeclaredColumn("bigint", auto=True)),
        ("decimal 10 2 null", DeclaredColumn("decimal", (10, 2), null=True)),
        ("double", DeclaredColumn("double")),
        ("boolean null", DeclaredColumn("boolean", null=True)),
        ("text", DeclaredColumn("text")),
        (" text   100 ", DeclaredColumn("text", (100,))),
        ("timestamp", DeclaredColumn("timestamp")),
    ],
)
def test_a_column_is_a_type_with_sizes(written: str, column: DeclaredColumn) -> None:
    assert column_of(written) == column


@pytest.mark.parametrize(
    "written",
    [
        *("", "blob", "INT", "int 4", "text 0", "text 16001", "text 1 2", "decimal", "decimal 10", "decimal 2 3"),
        *("decimal 66 0", "text auto", "int auto null", "int null auto", "int; DROP TABLE x", "int\0", "int) --", 7),
        *("int DEFAULT (sleep(9))", "text 100 CHARACTER SET gbk", "int REFERENCES theirs (id)"),
    ],
)
def test_any_other_column_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match=re.escape(f"'{' '.join(str(written).split())}'" if written else "''")):
        column_of(written)


COLUMNS = {"id": "bigint auto", "name": "text 100", "note": "text null"}


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ({"columns": COLUMNS}, "product.key: Field required"),
        ({"columns": {}, "key": "id"}, "product.columns: "),
        ({"columns": COLUMNS, "key": "ID"}, "product.key.0: 'ID' is no name"),
        ({"columns": COLUMNS, "key": "price"}, "product: key and indexes: there is no column 'price'; there are id, "),
        ({"columns": COLUMNS, "key": "id", "indexes": [["price"]]}, "there is no column 'price'"),
        ({"columns": COLUMNS, "key": "id", "indexes": [[]]}, "product.indexes.0: "),
        ({"columns": COLUMNS, "key": "id", "indexes": [["note"]]}, "the text 'note' needs a length"),
        ({"columns": COLUMNS, "key": ["id", "name"]}, "columns.id: a column that is auto must be the key by itself"),
        ({"columns": {"id": "int null"}, "key": "id"}, "columns.id: a column of the key cannot be null"),
        ({"columns": {"id": "serial"}, "key": "id"}, "product.columns.id: 'serial' is no column; write a type (int, "),
        ({"columns": {"i d": "int"}, "key": "id"}, "'i d' is no name; use small letters, digits and _, at most 48"),
        ({"columns": COLUMNS, "key": "id", "engine": "CONNECT"}, "product.engine: unknown key; known are columns, key"),
        (7, "product: "),
    ],
)
def test_what_is_wrong_with_a_table_is_said_of_it(table: object, what: str) -> None:
    with pytest.raises(ValueError, match=re.escape(what)):
        manifest({"product": table})


@pytest.mark.fault("harmful names in a manifest's tables", "refused, naming the field", area="commands")
@pytest.mark.parametrize(
    "name", ["", "Post", "mysql.user", "post`", 'post"', "post; DROP TABLE theirs", "é", "x" * 49, "po st", "a\0", "1a"]
)
def test_a_name_is_small_letters_digits_and_underscores(name: str) -> None:
    for tables in (
        {name: {"columns": {"id": "int"}, "key": "id"}},
        {"post": {"columns": {"id": "int", name: "int"}, "key": "id"}},
        {"post": {"columns": {"id": "int"}, "key": name}},
        {"post": {"columns": {"id": "int"}, "key": "id", "indexes": [[name]]}},
    ):
        with pytest.raises(ValueError, match="is no name"):
            manifest(tables)


def test_a_key_and_an_index_may_have_several_columns() -> None:
    table = Table.model_validate({"columns": {"a": "int", "b": "int"}, "key": ["a", "b"], "indexes": [["b", "a"]]})
    assert (table.key, table.indexes) == (("a", "b"), (("b", "a"),))


def test_tables_are_made_where_the_environment_leads() -> None:
    declared = manifest({"post": {"columns": {"id": "int"}, "key": "id"}, "mariadb": "more.sql"})
    assert list(declared.declared_tables) == ["post"]
    assert declared.scripts == {"mariadb": "more.sql"}
    assert declared.servers_named == {"mariadb", "postgresql"}
    with pytest.raises(ValueError, match="no value of 'environment' names the server"):
        manifest({"post": {"columns": {"id": "int"}, "key": "id"}}, environment={})


def test_a_column_called_password_is_no_secret(tmp_path: Path) -> None:
    table = "{columns: {id: int, password: text 77, token: text}, key: id}"
    text = f"name: x\nrun: {{command: a}}\nenvironment: {{A: '${{db.host}}'}}\ntables: {{t: {table}}}\n"
    (tmp_path / "subject.yaml").write_text(text)
    assert read_manifest(tmp_path)[0].declared_tables["t"].columns["password"] == DeclaredColumn("text", (77,))
    assert redact("a text 77 of it") == "a text 77 of it"


def test_there_are_seven_types() -> None:
    assert TYPES == ("int", "bigint", "decimal", "double", "boolean", "text", "timestamp")
