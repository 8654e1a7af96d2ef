"""The page: one self-contained file of HTML."""
