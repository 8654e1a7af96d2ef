"""All sentences: one catalogue for each language."""
