"""What stands in a table's row beside its rates."""
