"""Where the capacity of a system goes, and what it would do if something changed."""
