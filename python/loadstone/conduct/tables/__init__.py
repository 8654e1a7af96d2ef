"""The rows of tables, measured: decks that take turns in rounds, and trials one by one."""
