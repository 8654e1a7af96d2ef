"""All runs of a folder: an index of them, what changed between them, and baselines."""
