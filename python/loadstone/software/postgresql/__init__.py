"""PostgreSQL: everything that is special to it."""
