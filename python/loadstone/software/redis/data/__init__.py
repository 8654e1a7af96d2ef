"""How rows of data reach a Redis quickly."""
