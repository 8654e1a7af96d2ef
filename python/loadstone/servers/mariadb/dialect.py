"""Writes SQL for a MariaDB; a MySQL 8 takes the same."""

from loadstone.servers.sql.dialect import Dialect

DIALECT = Dialect(
    quote="`",
    name_length_max=64,
    settings="SHOW GLOBAL VARIABLES",
    tables="SHOW TABLES",
    types={
        "int": "INT",
        "bigint": "BIGINT",
        "decimal": "DECIMAL({}, {})",
        "double": "DOUBLE",
        "boolean": "BOOLEAN",
        "text": "VARCHAR({})",
        "timestamp": "DATETIME(6)",  # its TIMESTAMP changes by itself in older versions
    },
    long_text="LONGTEXT",
    auto="AUTO_INCREMENT",
    indexes_within=True,  # MySQL knows no CREATE INDEX IF NOT EXISTS
    table_end=" ENGINE = InnoDB",
)
