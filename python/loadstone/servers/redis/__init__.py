"""Redis and what speaks its protocol."""
