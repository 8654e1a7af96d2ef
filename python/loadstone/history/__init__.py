"""All runs of a folder: what each says in a line, an index of them, and what is searched in it."""
